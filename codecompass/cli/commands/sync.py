"""`codecompass sync`: brings the index up to date."""

import asyncclick

from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.terminal import printable

HELP = """
    Bring the index up to what has changed.

    Costs about as much as the changes do. Searching does this by itself; sync is for hooks and scripts that want it
    done before anybody asks.
"""


@make_command(
    "sync",
    text=HELP,
    examples=(
        Example("codecompass sync", "this project"),
        Example("echo 'codecompass sync &' >> .git/hooks/post-checkout", "after every change of branch"),
        Example("codecompass sync --json | jq .changed_files", "how many files had changed"),
    ),
)
@asyncclick.option("--force", is_flag=True, help="Build the index again from nothing.")
def command(invocation: Invocation, force: bool) -> None:
    """Updates the index and prints a summary."""
    from codecompass.cli.jobs import run_job_in_turn, summary
    from codecompass.cli.semantic import make_vectors
    from codecompass.cli.workspace import choose, ensure_registered
    from codecompass.protocol.encode import encode

    options = invocation.options
    with invocation.registry() as registry:
        choice = choose(registry, workspace=options.workspace, name=options.project_id)
        project = ensure_registered(registry, choice)
        job = run_job_in_turn(invocation, registry, project, force=force, cause="command")
    if options.as_json:
        invocation.terminal.json(encode(job))
    else:
        invocation.terminal.line(f"{printable(job.repo_root)}: {summary(job)}")
        for warning in job.warnings:
            invocation.terminal.warn(printable(warning))
    make_vectors(invocation, project)

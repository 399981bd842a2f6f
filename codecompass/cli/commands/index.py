"""`codecompass index`: indexes a project, or lists what would be indexed."""

import asyncclick

from codecompass import amounts
from codecompass.cli.command import command as make_command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import IndexPlan
from codecompass.cli.terminal import printable
from codecompass.errors import InvalidInput

HELP = """
    Index a project, from nothing where needed.

    PATH is the project's directory; without it, the project that the current directory belongs to. What is indexed
    already is only brought up to date. Files of .gitignore and .codecompassignore, dependencies, secrets, binary and
    generated files are left out; codecompass status says how many, and status --path FILE why.
"""


@make_command(
    "index",
    text=HELP,
    examples=(
        Example("codecompass index", "this project"),
        Example("codecompass index ~/src/linux", "another directory"),
        Example("codecompass index --dry-run", "list what would be indexed, and what not"),
        Example("codecompass index --force", "build the index again from nothing"),
    ),
)
@asyncclick.argument("path", required=False, type=asyncclick.Path())
@asyncclick.option("--force", is_flag=True, help="Build the index again from nothing; the old one answers meanwhile.")
@asyncclick.option("--dry-run", is_flag=True, help="Only list what would be indexed.")
def command(invocation: Invocation, path: str | None, force: bool, dry_run: bool) -> None:
    """Indexes the project and prints a summary; with `dry_run` prints the plan."""
    from codecompass.cli.workspace import choose, ensure_registered

    options = invocation.options
    if path is not None and options.workspace is not None:
        raise InvalidInput("PATH and --workspace both name a directory. Give one of them.", field="workspace")
    with invocation.registry() as registry:
        choice = choose(registry, workspace=path or options.workspace, name=options.project_id)
        if not dry_run:
            from codecompass.cli.jobs import run_job_in_turn, summary
            from codecompass.cli.semantic import make_vectors
            from codecompass.protocol.encode import encode

            project = ensure_registered(registry, choice)
            job = run_job_in_turn(invocation, registry, project, force=force, cause="command")
            if options.as_json:
                invocation.terminal.json(encode(job))
            else:
                invocation.terminal.line(f"{printable(job.repo_root)}: {summary(job)}")
                for warning in job.warnings:
                    invocation.terminal.warn(printable(warning))
                for quarantined in job.quarantined:
                    invocation.terminal.warn(f"{quarantined}: its parse was stopped; it is searchable as text only")
            make_vectors(invocation, project)
            return
    from codecompass.cli.dry_run import plan

    _write_plan(invocation, plan(choice.root, invocation.settings_for(choice.root).index))


def _write_plan(invocation: Invocation, found: IndexPlan) -> None:
    from codecompass.protocol.encode import encode

    terminal = invocation.terminal
    if invocation.options.as_json:
        terminal.json(encode(found))
        return
    for file in found.files:
        terminal.line(printable(file.path))
    for warning in found.warnings:
        terminal.warn(warning)
    terminal.note(f"{amounts.count(len(found.files), 'file')} ({amounts.size(found.total_bytes)}) would be indexed", "bold")
    reasons: dict[str, int] = {}
    for left_out in found.skipped:
        reasons[left_out.reason] = reasons.get(left_out.reason, 0) + 1
    if reasons:
        named = ", ".join(f"{number:,} {reason}" for reason, number in sorted(reasons.items()))
        terminal.note(f"left out: {named}", "dim")
    if found.ignored_files or found.ignored_directories:
        files = amounts.count(found.ignored_files, "file")
        directories = amounts.count(found.ignored_directories, "directory", "directories")
        terminal.note(f"ignored: {files} and {directories}", "dim")

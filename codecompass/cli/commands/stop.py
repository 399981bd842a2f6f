"""`codecompass stop`: ends the index job of a project, whichever process runs it."""

import time
from typing import TYPE_CHECKING, Final

import asyncclick

from codecompass.cli import failure
from codecompass.cli.command import command
from codecompass.cli.help import Example
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import StoppedJob
from codecompass.cli.project_completion import ProjectName
from codecompass.cli.terminal import printable
from codecompass.errors import InvalidInput
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from codecompass.cli.workspace import Choice
    from codecompass.store.job_log import JobRecord
    from codecompass.store.registry import Registry

END_DEADLINE_SECONDS: Final = 30 * SECONDS
"""How long to wait for the end of a job: its process looks for requests twice a second, between two batches of files."""

POLL_SECONDS: Final = 0.1 * SECONDS


@command(
    "stop",
    text="""
    End the running index job of a project, whichever process runs it: another terminal, an editor's server or the page.

    PROJECT is its name, id or directory; without it, the project that the current directory belongs to. What is published
    stays and can be searched. A project whose first index is ended is forgotten, unless it was made known with init. The
    exit code is 3 where no job runs.
    """,
    examples=(
        Example("codecompass stop", "the job of this project"),
        Example("codecompass stop ~/src/linux", "that of another directory"),
    ),
)
@asyncclick.argument("project", required=False, type=ProjectName())
def stop(invocation: Invocation, project: str | None) -> int:
    """Ends the job and waits for its end; the exit code is 1 if that does not come."""
    from codecompass.cli.workspace import choose, choose_named
    from codecompass.store.job_log import JobLog

    options, terminal = invocation.options, invocation.terminal
    if project is not None and (options.workspace is not None or options.project_id is not None):
        raise InvalidInput("PROJECT, --workspace and --project-id all name a project. Give one of them.", field="project")
    with invocation.registry() as registry:
        choice = choose(registry, options) if project is None else choose_named(registry, project)
        root = printable(str(choice.root))
        job = JobLog(registry).active(choice.project_id)
        if job is None:
            terminal.note(f"no index job of {root} is running")
            return failure.NOT_FOUND
        JobLog(registry).request_stop(job.job_id)
        status = _wait_for_end(invocation, registry, job)
        if status == "cancelled":
            _forget_unfinished(invocation, registry, choice)
    if options.as_json:
        invocation.print_json(
            StoppedJob(
                job_id=job.job_id,
                project_id=choice.project_id,
                name=choice.name,
                repo_root=str(choice.root),
                status=status,
            )
        )
    elif status in ("queued", "running"):
        terminal.warn(f"job {job.job_id} of {root} has not ended yet; it runs in process {job.process.pid}")
    else:
        terminal.line(f"job {job.job_id} of {root} has ended: {status}")
    return failure.FAILED if status in ("queued", "running") else failure.DONE


def _wait_for_end(invocation: Invocation, registry: "Registry", job: "JobRecord") -> str:
    """Returns the status of the job at its end, or as it is after END_DEADLINE_SECONDS."""
    from codecompass.store.job_log import JobLog

    log, gives_up_at = JobLog(registry), time.monotonic() + END_DEADLINE_SECONDS
    while True:
        log.recover(invocation.home)
        found = log.find(job.job_id)
        if found is None:
            return "cancelled"  # with its project, by the process that had registered it
        if found.status not in ("queued", "running") or time.monotonic() > gives_up_at:
            return found.status
        time.sleep(POLL_SECONDS)


def _forget_unfinished(invocation: Invocation, registry: "Registry", choice: "Choice") -> None:
    from codecompass.cli.workspace import is_complete

    project = registry.find(choice.project_id)
    is_ours_to_keep = project is None or project.is_default or project.alias is not None
    if not is_ours_to_keep and not is_complete(invocation.home.project(choice.project_id), choice.project_id):
        registry.remove(choice.project_id)

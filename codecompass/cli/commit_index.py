"""Opens the index of a commit for a question on the command line about a ref, and builds it first if there is none."""

import time
from functools import partial
from typing import TYPE_CHECKING

from codecompass import formatting
from codecompass.actors.answering import not_ready, patience_of
from codecompass.actors.commits import built_index
from codecompass.actors.index_limits import IndexLimits, index_limits
from codecompass.cli.invocation import Invocation
from codecompass.cli.jobs import ShowProgress, progress_bar, wait_for_other
from codecompass.cli.terminal import printable
from codecompass.errors import IndexInProgress
from codecompass.scan.git_revisions import NamedCommit
from codecompass.settings import Settings
from codecompass.store.commit_indexes import note_use, remove_commit, remove_leftovers, surplus_commits
from codecompass.store.index import WorkspaceIndex
from codecompass.store.job_log import new_job_id
from codecompass.store.registry import Project

if TYPE_CHECKING:
    from codecompass.actors.job_state import JobReport


def commit_index(invocation: Invocation, project: Project, commit: NamedCommit, settings: Settings) -> WorkspaceIndex:
    """Returns the index of a commit, built now if there is none.

    Raises IndexNotReady if another process takes too long to build it, and what `CommitJob.run` raises.
    """
    layout = invocation.home.project(project.project_id)
    limits = index_limits(settings.index)
    own = layout.commit(commit.commit)
    gives_up_at = time.monotonic() + patience_of(settings).first_answer_wait
    while built_index(own, commit, limits) is None:
        try:
            _make_room(invocation, project, commit, settings.storage.max_refs)
            _build(invocation, project, commit, settings, limits)
        except IndexInProgress as error:
            if time.monotonic() > gives_up_at:
                raise not_ready(None, has_text=False) from error
            wait_for_other(own, gives_up_at)
    note_use(own)
    return WorkspaceIndex(own, project.project_id)


def _make_room(invocation: Invocation, project: Project, commit: NamedCommit, max_refs: int) -> None:
    layout = invocation.home.project(project.project_id)
    others, surplus = surplus_commits(layout, commit.commit, max_refs)
    for each in others:
        if surplus > 0:
            surplus -= remove_commit(each) > 0
    remove_leftovers(layout)


def _build(invocation: Invocation, project: Project, commit: NamedCommit, settings: Settings, limits: IndexLimits) -> None:
    import trio

    from codecompass import log

    log.configure(log.level_for(settings.log.level, invocation.options.verbosity), settings.log.format)
    invocation.terminal.note(f"indexing {printable(commit.name)} ({commit.commit[:12]}) first", "dim")
    with progress_bar(invocation.terminal) as show:
        report = trio.run(partial(_run, invocation, project, commit, settings, limits, show))
    files, symbols = formatting.count(report.file_count, "file"), formatting.count(report.symbol_count, "symbol")
    invocation.terminal.note(f"indexed {files}, {symbols} in {formatting.duration(report.duration_seconds)}", "dim")


async def _run(
    invocation: Invocation,
    project: Project,
    commit: NamedCommit,
    settings: Settings,
    limits: IndexLimits,
    show: ShowProgress,
) -> "JobReport":
    from codecompass.actors.commit_indexing import CommitJob
    from codecompass.actors.job_context import JobContext, JobOrder
    from codecompass.actors.worker_pool import default_pool_size, open_worker_pool

    async with open_worker_pool(settings.index.workers or default_pool_size()) as pool:
        context = JobContext(
            root=project.root,
            layout=invocation.home.project(project.project_id),
            pool=pool,
            limits=limits,
            on_progress=show,
        )
        return await CommitJob(context, JobOrder(job_id=new_job_id()), commit).run()

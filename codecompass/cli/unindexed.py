"""Answers a question on the command line from the project's files, while another process makes its first index."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Generic, TypeVar, cast

import trio
from msgspec.structs import replace

from codecompass.actors.asking import QueryContext, Standing, StoredIndex, ask, query_settings
from codecompass.actors.blocking_calls import BlockingCall, BlockingCalls
from codecompass.actors.differences import IsCancelled, with_differences
from codecompass.actors.index_limits import index_limits
from codecompass.actors.question import QueryRequest, Question
from codecompass.actors.tree_comparison import TreeComparison
from codecompass.actors.unindexed_answers import answer_unindexed
from codecompass.actors.unindexed_files import UnindexedFiles
from codecompass.actors.worker_pool import default_pool_size, open_worker_pool
from codecompass.cli.answering import ReplyT, time_for
from codecompass.cli.invocation import Invocation
from codecompass.errors import CodeCompassError
from codecompass.protocol.replies import Reply
from codecompass.query.options import QueryOptions
from codecompass.scan.git_revisions import NamedCommit
from codecompass.scan.walk import ScanResult, scan
from codecompass.settings import Settings
from codecompass.store.index import WorkspaceIndex
from codecompass.store.registry import Project

T = TypeVar("T")


def reply_from_files(
    invocation: Invocation,
    project: Project,
    settings: Settings,
    question: Question,
    query: Callable[[QueryContext], ReplyT],
    seconds: float,
) -> ReplyT | None:
    """Returns the reply of `query` from the files themselves, read within `seconds`; None if they leave doubt.

    Raises the error that is the answer, and FileSystemUnresponsive, PermissionDenied or InternalError if they cannot be read.
    """
    found = trio.run(_read, _Answering(invocation, project, settings, query), question, seconds)
    if isinstance(found, CodeCompassError):
        raise found
    return cast("ReplyT | None", found)


class _Answering(Generic[ReplyT]):
    """How the command line answers from an index. An `unindexed_answers.Answering`."""

    def __init__(
        self, invocation: Invocation, project: Project, settings: Settings, query: Callable[[QueryContext], ReplyT]
    ) -> None:
        self.own_index = WorkspaceIndex(invocation.home.project(project.project_id), project.project_id)
        self.project = project
        self.settings = settings
        self._invocation = invocation
        self._query = query

    async def options(self, asked: Question) -> QueryOptions:
        """See `Answering`."""
        options = query_settings(self.settings, "json" if self._invocation.options.as_json else "text")
        return await with_differences_here(options, asked.request, self.project.root, self.settings)

    async def answer(self, index: WorkspaceIndex, asked: Question, options: QueryOptions) -> Reply:
        """See `Answering`."""
        known = Standing(is_partial=True, freshness="syncing", indexing="indexing")
        with index.snapshot() as snapshot:
            # Generations are numbered in the project's own index.
            files = StoredIndex(project=self.project, open=lambda: nullcontext(replace(snapshot, generation=0)), known=known)
            return ask(files, asked, options, time_for(asked.request, self.settings), self._query)


async def with_differences_here(
    options: QueryOptions, request: QueryRequest, root: Path, settings: Settings, commit: NamedCommit | None = None
) -> QueryOptions:
    """Returns the options with the differences that a request is about, if it is about any. Blocks on git and the disk."""

    async def here(work: Callable[[IsCancelled], T]) -> T:
        return work(lambda: False)

    n_workers = settings.index.workers or default_pool_size()
    limits = index_limits(settings.index)
    return await with_differences(options, request, root, limits, lambda: open_worker_pool(n_workers), here, commit)


async def _read(answering: _Answering[ReplyT], question: Question, seconds: float) -> Reply | CodeCompassError | None:
    root, limits = answering.project.root, index_limits(answering.settings.index)
    comparison = TreeComparison(root, answering.own_index, limits, BlockingCalls())
    files = UnindexedFiles(answering.project, comparison)
    try:
        files.note_scan(await comparison.run_on_tree(lambda call: _listed(root, call, answering.settings)))
        found = await answer_unindexed(answering.project, files, answering, question, trio.current_time() + seconds)
    finally:
        await files.close()
    return found.reply if found is not None and found.is_sure else None


def _listed(root: Path, call: BlockingCall, settings: Settings) -> ScanResult:
    return scan(str(root), index_limits(settings.index).rules, is_cancelled=call.is_over)

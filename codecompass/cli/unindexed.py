"""Answers a question on the command line from the project's files, while another process makes its first index."""

from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar, cast

import trio
from msgspec.structs import replace

from codecompass.actors.answering import query_settings
from codecompass.actors.blocking_calls import BlockingCall, BlockingCalls
from codecompass.actors.differences import IsCancelled, with_differences
from codecompass.actors.index_limits import index_limits
from codecompass.actors.messages import Query, QueryRequest
from codecompass.actors.tree_comparison import TreeComparison
from codecompass.actors.unindexed_answers import answer_unindexed
from codecompass.actors.unindexed_files import UnindexedFiles
from codecompass.actors.worker_pool import default_pool_size, open_worker_pool
from codecompass.cli.answering import QueryContext, ReplyT, RequestT, deadline
from codecompass.cli.invocation import Invocation
from codecompass.errors import CodeCompassError
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import Reply
from codecompass.query.options import QueryOptions
from codecompass.scan.walk import ScanResult, scan
from codecompass.settings import Settings
from codecompass.store.index import WorkspaceIndex
from codecompass.store.registry import Project

T = TypeVar("T")


def reply_from_files(
    invocation: Invocation,
    project: Project,
    settings: Settings,
    request: RequestT,
    warnings: tuple[str, ...],
    query: Callable[[RequestT, QueryContext], ReplyT],
    seconds: float,
) -> ReplyT | None:
    """Returns the reply of `query` from the files themselves, read within `seconds`; None if they leave doubt.

    Raises the error that is the answer, and FileSystemUnresponsive, PermissionDenied or InternalError if they cannot be read.
    """
    found = trio.run(_read, _Answering(invocation, project, settings, request, query), warnings, seconds)
    if isinstance(found, CodeCompassError):
        raise found
    return cast("ReplyT | None", found)


class _Answering(Generic[RequestT, ReplyT]):
    """How the command line answers from an index. An `unindexed_answers.Answering`."""

    def __init__(
        self,
        invocation: Invocation,
        project: Project,
        settings: Settings,
        request: RequestT,
        query: Callable[[RequestT, QueryContext], ReplyT],
    ) -> None:
        self.own_index = WorkspaceIndex(invocation.home.project(project.project_id), project.project_id)
        self.project = project
        self.settings = settings
        self.request = request
        self._invocation = invocation
        self._query = query

    async def options(self, _asked: Query) -> QueryOptions:
        """See `Answering`."""

        async def here(work: Callable[[IsCancelled], T]) -> T:
            return work(lambda: False)

        options = query_settings(self.settings, "json" if self._invocation.options.as_json else "text")
        n_workers = self.settings.index.workers or default_pool_size()
        limits = index_limits(self.settings.index)
        return await with_differences(options, self.request, self.project.root, limits, lambda: open_worker_pool(n_workers), here)

    async def answer(self, index: WorkspaceIndex, asked: Query, options: QueryOptions) -> Reply:
        """See `Answering`."""
        names_project = self._invocation.options.project_id is not None
        with index.snapshot() as snapshot:
            state = AnswerState(
                workspace=str(self.project.root),
                project_id=self.project.name,
                ref=snapshot.meta.ref,
                is_partial=True,
                freshness_status="syncing",
                indexing_status="indexing",
                schema_name=self.project.schema_name if names_project else "",
                warnings=asked.warnings,
            )
            # Generations are numbered in the project's own index.
            unnumbered = replace(snapshot, generation=0)
            question = QueryContext(unnumbered, state, options, deadline(self.request, self.settings))
            return self._query(self.request, question)


async def _read(
    answering: _Answering[RequestT, ReplyT], warnings: tuple[str, ...], seconds: float
) -> Reply | CodeCompassError | None:
    root, limits = answering.project.root, index_limits(answering.settings.index)
    comparison = TreeComparison(root, answering.own_index, limits, BlockingCalls())
    files = UnindexedFiles(answering.project, comparison)
    try:
        files.note_scan(await comparison.run_on_tree(lambda call: _listed(root, call, answering.settings)))
        asked = Query(request=cast("QueryRequest", answering.request), warnings=warnings)
        found = await answer_unindexed(answering.project, files, answering, asked, trio.current_time() + seconds)
    finally:
        await files.close()
    return found.reply if found is not None and found.is_sure else None


def _listed(root: Path, call: BlockingCall, settings: Settings) -> ScanResult:
    return scan(str(root), index_limits(settings.index).rules, is_cancelled=call.is_over)

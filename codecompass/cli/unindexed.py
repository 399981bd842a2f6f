"""Answers a question on the command line from the project's files, while another process makes its first index, or if none can
be written."""

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TypeVar, cast

import trio
from msgspec.structs import replace

from codecompass.actors.asking import QueryContext, Standing, StoredIndex, ask, query_settings
from codecompass.actors.blocking_calls import BlockingCall, BlockingCalls
from codecompass.actors.differences import IsCancelled, with_differences
from codecompass.actors.index_limits import index_limits
from codecompass.actors.question import QueryRequest, Question
from codecompass.actors.tree_comparison import TreeComparison
from codecompass.actors.unindexed_answers import UnindexedAnswer, answer_unindexed
from codecompass.actors.unindexed_files import UnindexedFiles
from codecompass.actors.worker_pool import default_pool_size, open_worker_pool
from codecompass.cli.answering import ReplyT, time_for
from codecompass.cli.invocation import Invocation
from codecompass.errors import CodeCompassError, StoreRefused
from codecompass.protocol.replies import Reply
from codecompass.query.options import QueryOptions
from codecompass.scan.git_revisions import NamedCommit
from codecompass.scan.walk import ScanResult, scan
from codecompass.settings import Settings
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.registry import Project

T = TypeVar("T")


def reply_from_files(
    invocation: Invocation,
    project: Project,
    settings: Settings,
    question: Question,
    query: Callable[[QueryContext], ReplyT],
    seconds: float,
    refused: StoreRefused | None = None,
) -> ReplyT | None:
    """Returns the reply of `query` from the files themselves, read within `seconds`; None if they leave doubt. If no index can be
    written, `refused` is why: then the reply says so, and leaves doubt where no file answers.

    Raises the error that is the answer, and FileSystemUnresponsive, PermissionDenied or InternalError if they cannot be read.
    """

    own_layout = invocation.home.project(project.project_id)

    async def options_of(asked: Question) -> QueryOptions:
        options = query_settings(settings, "json" if invocation.options.as_json else "text")
        return await with_differences_here(options, asked.request, project.root, settings, own_layout)

    async def ask_files(index: WorkspaceIndex, asked: Question, options: QueryOptions) -> Reply:
        known = Standing(is_partial=True, freshness="syncing", indexing="indexing")
        if refused is not None:
            known = replace(known, indexing="failed", schema_status="not_indexed")
        with index.snapshot() as snapshot:
            # Generations are numbered in the project's own index.
            unnumbered = replace(snapshot, generation=0)
            files = StoredIndex(project=project, open=lambda: nullcontext(unnumbered), known=known)
            return ask(files, asked, options, time_for(asked.request, settings), query)

    async def read() -> UnindexedAnswer | None:
        own_index = WorkspaceIndex(own_layout, project.project_id)
        comparison = TreeComparison(project.root, own_index, index_limits(settings.index), BlockingCalls())
        files = UnindexedFiles(project, comparison)
        try:
            files.note_scan(await comparison.run_on_tree(lambda call: _listed(project.root, call, settings)))
            deadline = trio.current_time() + seconds
            return await answer_unindexed(project, files, question, deadline, options_of, ask_files, refused)
        finally:
            await files.close()

    found = trio.run(read)
    if found is None or not (found.is_sure or refused is not None):
        return None
    if isinstance(found.reply, CodeCompassError):
        raise found.reply
    return cast("ReplyT", found.reply)


async def with_differences_here(
    options: QueryOptions,
    request: QueryRequest,
    root: Path,
    settings: Settings,
    layout: ProjectLayout,
    commit: NamedCommit | None = None,
) -> QueryOptions:
    """Returns the options with the differences that a request is about, and the history that it needs, if any. Blocks on git and
    the disk."""

    async def here(work: Callable[[IsCancelled], T]) -> T:
        return work(lambda: False)

    n_workers = settings.index.workers or default_pool_size()
    limits = index_limits(settings.index)
    return await with_differences(options, request, root, limits, lambda: open_worker_pool(n_workers), here, layout, commit)


def _listed(root: Path, call: BlockingCall, settings: Settings) -> ScanResult:
    return scan(str(root), index_limits(settings.index).rules, is_cancelled=call.is_over)

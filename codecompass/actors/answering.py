"""Pure steps between a question and its answer, shared by the server and the command line. No event loop in here."""

from collections.abc import Callable

from codecompass.actors.jobs import JobState
from codecompass.actors.messages import QueryRequest
from codecompass.errors import IndexNotReady, RefNotIndexed
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import (
    ActiveJob,
    LocateSymbolReply,
    Reply,
    SearchCodeReply,
)
from codecompass.protocol.requests import (
    FindRelatedSymbols,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    IndexStatus,
    LocateSymbol,
    SearchCode,
)
from codecompass.protocol.times import iso_time
from codecompass.settings import AnswerForm, Settings
from codecompass.store import query as core
from codecompass.store.index import Snapshot
from codecompass.store.job_log import JobProgress
from codecompass.store.query.intent import classify
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.status import unindexed_metadata

RETRY_AFTER_MS = 1000
"""What a caller is told to wait for a first index: most repositories take about so long."""


def query(
    snapshot: Snapshot,
    request: QueryRequest,
    state: AnswerState,
    settings: QuerySettings,
    is_expired: Callable[[], bool],
) -> Reply:
    """Answers `request` from a snapshot. Raises what the functions of `store.query` raise."""
    match request:
        case SearchCode():
            return core.search_code(snapshot, request, state, settings, is_expired)
        case LocateSymbol():
            return core.locate_symbol(snapshot, request, state, settings)
        case GetFileOutline():
            return core.get_file_outline(snapshot, request, state, settings)
        case GetSymbolHierarchy():
            return core.get_symbol_hierarchy(snapshot, request, state)
        case FindRelatedSymbols():
            return core.find_related_symbols(snapshot, request, state)
        case GetCodeContext():
            return core.get_code_context(snapshot, request, state, settings)
        case IndexStatus():
            raise AssertionError("index_status needs what the log of jobs says, see index_status")


def bootstrap_reply(request: QueryRequest, state: AnswerState, job: JobState | None) -> Reply:
    """Returns the answer of a workspace that has no index yet: nothing found so far, and `partial`.

    Raises IndexNotReady for questions about one file or symbol, which nothing found would answer wrongly.
    """
    metadata = unindexed_metadata(state)
    match request:
        case SearchCode():
            return SearchCodeReply(results=(), query_intent=classify(request.query), total_candidates=0, metadata=metadata)
        case LocateSymbol():
            return LocateSymbolReply(results=(), total_candidates=0, metadata=metadata)
        case _:
            raise IndexNotReady(
                "this workspace is being indexed for the first time. "
                f"Call again in {RETRY_AFTER_MS} ms, or follow the job with index_status.",
                job_id=None if job is None else job.job_id,
                retry_after_ms=RETRY_AFTER_MS,
            )


def require_ref(wanted: str | None, current: str) -> None:
    """Raises RefNotIndexed where another branch is wanted than the one that the working tree is on."""
    if wanted is not None and wanted != current:
        raise RefNotIndexed(
            f"{wanted} is not indexed: the index is of the working tree, which is on {current}. "
            "Leave ref out, or switch to that branch.",
            ref=wanted,
        )


def query_settings(settings: Settings, answers: AnswerForm) -> QuerySettings:
    """Returns what the configuration says to a query whose reply is made for this form of answer."""
    return QuerySettings(
        default_limit=settings.query.default_limit,
        ranking_explain_level=settings.query.ranking_explain_level,
        max_result_bytes=settings.query.max_response_bytes,
        answers=answers,
        # A model that gets text wants code; the documents that JSON follows want signatures.
        default_strategy="depth" if answers == "text" else "breadth",
    )


def active_job(job: JobState) -> ActiveJob:
    """Returns a job of this process as the protocol shows it."""
    return ActiveJob(
        job_id=job.job_id,
        progress_token=job.progress_token,
        mode=job.mode,
        status=job.status,
        files_scanned=job.progress.files_scanned,
        files_indexed=job.progress.files_indexed,
        symbols_extracted=job.progress.symbols_extracted,
        estimated_completion_pct=job.progress.percentage,
        started_at=iso_time(job.started_at or job.created_at),
    )


def job_progress(job: JobState) -> JobProgress:
    """Returns the counters that the log keeps."""
    report = job.report
    if report is None:
        return JobProgress(
            percentage=job.progress.percentage,
            files_scanned=job.progress.files_scanned,
            files_total=job.progress.files_total,
            files_indexed=job.progress.files_indexed,
            symbols_extracted=job.progress.symbols_extracted,
        )
    return JobProgress(
        percentage=100,
        files_scanned=report.files_scanned,
        files_total=report.files_changed,
        files_indexed=report.files_changed,
        symbols_extracted=report.counts.symbols_written,
        source_bytes=report.source_bytes,
    )

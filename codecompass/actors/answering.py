"""Steps between a question and its answer that the server and the command line share: dispatch to the query core, options,
time limits, errors for an index that is not ready. Pure, without an event loop.
"""

import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Final

import msgspec

from codecompass import hints
from codecompass import query as core
from codecompass.errors import CodeCompassError, IndexNotReady, RefNotIndexed, WorkspaceBusy
from codecompass.jobs import Job
from codecompass.protocol.metadata import AnswerState, SchemaStatus
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import (
    CountUses,
    DiffContext,
    FindReferences,
    FindRelatedSymbols,
    FreshnessPolicy,
    GetCallGraph,
    GetCodeContext,
    GetFileOutline,
    GetSymbolHierarchy,
    IndexStatus,
    ListDirectory,
    LocateSymbol,
    ReadFile,
    Request,
    SearchCode,
)
from codecompass.query.metadata import errors_with_metadata
from codecompass.query.options import QueryOptions
from codecompass.settings import AnswerForm, Settings
from codecompass.store.registry import Project
from codecompass.store.snapshot import Snapshot
from codecompass.units import MILLISECONDS, MINUTES

if TYPE_CHECKING:
    # The command line answers without an event loop.
    from codecompass.actors.messages import Query, QueryRequest

RETRY_AFTER_MS = 1000
"""Recommended wait before the next call while a first index is built; that call waits as long as this one did."""


def query(
    snapshot: Snapshot,
    request: "QueryRequest",
    state: AnswerState,
    options: QueryOptions,
    is_expired: Callable[[], bool],
) -> Reply:
    """Answers `request` from a snapshot. Raises the same errors as the functions of `query`, with the metadata of an answer."""
    with errors_with_metadata(snapshot, state):
        return _answer(snapshot, request, state, options, is_expired)


def _answer(
    snapshot: Snapshot,
    request: "QueryRequest",
    state: AnswerState,
    options: QueryOptions,
    is_expired: Callable[[], bool],
) -> Reply:
    match request:
        case SearchCode():
            return core.search_code(snapshot, request, state, options, is_expired)
        case LocateSymbol():
            return core.locate_symbol(snapshot, request, state, options, is_expired)
        case GetFileOutline():
            return core.get_file_outline(snapshot, request, state, options)
        case GetSymbolHierarchy():
            return core.get_symbol_hierarchy(snapshot, request, state, is_expired)
        case FindReferences():
            if options.imported is not None:
                return core.find_package_references(snapshot, request, state, options.imported, is_expired)
            return core.find_relation(snapshot, request, state, is_expired, options)
        case GetCallGraph():
            return core.get_call_graph(snapshot, request, state, is_expired)
        case FindRelatedSymbols():
            return core.find_related_symbols(snapshot, request, state, is_expired)
        case GetCodeContext():
            return core.get_code_context(snapshot, request, state, options, is_expired)
        case DiffContext():
            assert options.difference is not None, "computed before the query: see differences.py"
            return core.diff_context(snapshot, request, options.difference, state, options, is_expired)
        case ReadFile():
            return core.read_file(snapshot, request, state)
        case ListDirectory():
            return core.list_directory(snapshot, request, state)
        case CountUses():
            return core.count_uses(snapshot, request, state, is_expired)
        case IndexStatus():
            raise AssertionError("index_status needs the log of jobs: see query.status.index_status")


def needs_symbols(request: Request) -> bool:
    """Whether the request can be answered from symbols alone; the others also use the text index."""
    return not isinstance(request, SearchCode | GetCodeContext | ReadFile | ListDirectory | IndexStatus)


def not_ready(job: Job | None, *, has_text: bool, schema_status: SchemaStatus = "not_indexed") -> CodeCompassError:
    """Returns the error for a question whose index was not ready in time: the progress of the job, and what to do next.

    WorkspaceBusy if all files are done and a first index is being written, else IndexNotReady, also for an index that is rebuilt
    because of its `schema_status`: nobody has to do anything about it.
    """
    progress = None if job is None else job.progress
    counted = progress if progress is not None and progress.files_total else None
    so_far = "its files are being counted"
    if counted is not None:
        so_far = f"{counted.files_indexed:,} of {counted.files_total:,} files are done"
    if schema_status in ("reindex_required", "corrupt_manifest"):
        return IndexNotReady(
            f"the index was written by an incompatible version ({schema_status}) and is being rebuilt: {so_far}. Call again in "
            f"{RETRY_AFTER_MS} ms. If it fails: {hints.REBUILD}.",
            job_id=None if job is None else job.job_id,
            retry_after_ms=RETRY_AFTER_MS,
            remediation="codecompass index --force",
            files_indexed=None if counted is None else counted.files_indexed,
            files_total=None if counted is None else counted.files_total,
        )
    if counted is not None and counted.files_indexed >= counted.files_total:
        return WorkspaceBusy(
            f"all files of this workspace have been read; the index is being written. Call again in {RETRY_AFTER_MS} ms.",
            retry_after_ms=RETRY_AFTER_MS,
        )
    commit: str = getattr(job, "commit", "")
    what = "the symbols of this workspace are" if has_text else f"commit {commit[:12]} is" if commit else "this workspace is"
    meanwhile = " Meanwhile search_code finds text in all of its files." if has_text else ""
    return IndexNotReady(
        f"{what} being indexed: {so_far}. Call again in {RETRY_AFTER_MS} ms; the call waits until it can be "
        f"answered, and index_status shows how far the job is.{meanwhile}",
        job_id=None if job is None else job.job_id,
        retry_after_ms=RETRY_AFTER_MS,
        files_indexed=None if counted is None else counted.files_indexed,
        files_total=None if counted is None else counted.files_total,
    )


def asked_ref(request: Request) -> tuple[str, str] | None:
    """Returns the ref that a question is about (of a comparison: its head) and the argument that names it; None for the working
    tree.
    """
    if isinstance(request, DiffContext) and request.head is not None:
        return request.head, "head"
    return None if request.ref is None else (request.ref, "ref")


def require_ref(wanted: str | None, current: str) -> None:
    """Raises RefNotIndexed if a request about the working tree names another branch than the one checked out."""
    if wanted is not None and wanted != current:
        raise RefNotIndexed(
            f"this is about the working tree, which is on {current}, not on {wanted}. Leave ref out. Questions take it: "
            f"search_code with ref {wanted!r} indexes that ref by itself (on the command line: codecompass search --ref).",
            ref=wanted,
        )


def query_settings(settings: Settings, answers: AnswerForm) -> QueryOptions:
    """Returns the query core's options for replies of the form `answers`."""
    return QueryOptions(
        default_limit=settings.query.default_limit,
        ranking_explain_level=settings.query.ranking_explain_level,
        max_result_bytes=settings.query.max_response_bytes,
        answers=answers,
        # A model that gets text wants code; the documents that JSON follows want signatures.
        default_strategy="depth" if answers == "text" else "breadth",
    )


def options_for(query: "Query", options: QueryOptions) -> QueryOptions:
    """Returns `options` adapted to a question: whether its answer will be merged with others, and its own reply form."""
    if query.n_merged:
        options = msgspec.structs.replace(
            options, n_merged=query.n_merged, imported=query.imported, is_name_exact=query.is_name_exact
        )
    return options if query.answers is None else msgspec.structs.replace(options, answers=query.answers)


TOUCH_SECONDS: Final = 1 * MINUTES
"""Within this time after the recorded use of a project no further use is recorded, so that most questions write nothing."""


def is_touch_due(project: Project, now: float) -> bool:
    """Whether the registry should record that `project` was used `now`, in seconds since 1970."""
    return now - project.last_used_at > TOUCH_SECONDS


def freshness_policy(request: Request, default: FreshnessPolicy) -> FreshnessPolicy:
    """Returns the freshness policy of the request, else the default."""
    policy: FreshnessPolicy | None = getattr(request, "freshness_policy", None)
    return policy or default


def time_limit(seconds: float) -> Callable[[], bool]:
    """Returns a function that says whether `seconds` have passed since this call."""
    ends = time.monotonic() + seconds
    return lambda: time.monotonic() > ends


WAIT_SHARE: Final = 0.8
"""How much of a question's own time may go into waiting: the rest is for the search, which takes so much at least."""


def waits_until(request: Request, ends_at: float) -> float:
    """Returns until when a question may wait for an index and for changes, if its own time is up at `ends_at`; inf if it has no
    time of its own."""
    return ends_at if ends_at == inf else ends_at - (1 - WAIT_SHARE) * timeout_seconds(request, 0.0)


def search_seconds(request: Request, ends_at: float, now: float) -> float:
    """Returns how long a search that begins `now` may take, of a question whose own time is up at `ends_at`: what is left of
    it, but never less than what waiting leaves."""
    return max(ends_at - now, (1 - WAIT_SHARE) * timeout_seconds(request, 0.0))


def timeout_seconds(request: Request, default: float) -> float:
    """Returns how long the caller is willing to wait, for changes to be indexed or for the search itself, in seconds."""
    milliseconds: int | None = getattr(request, "timeout_ms", None)
    return default if milliseconds is None else milliseconds * MILLISECONDS

"""Decisions about a question before its index is asked, shared by the server and the command line: what it needs of the index,
how long it waits for that, and the errors of an index that is not ready. Pure, without an event loop.
"""

from math import inf
from typing import Final

from msgspec import Struct

from codecompass import hints
from codecompass.errors import Cancelled, CodeCompassError, IndexNotReady, RefNotIndexed, WorkspaceBusy, error_of
from codecompass.jobs import Job
from codecompass.protocol.metadata import FreshnessStatus, SchemaStatus
from codecompass.protocol.requests import (
    DiffContext,
    FreshnessPolicy,
    GetCodeContext,
    GetFileOutline,
    IndexStatus,
    ListDirectory,
    LocateSymbol,
    ReadFile,
    Request,
    SearchCode,
)
from codecompass.settings import Settings
from codecompass.store.registry import Project
from codecompass.units import MILLISECONDS, MINUTES

RETRY_AFTER_MS = 1000
"""Recommended wait before the next call while a first index is built; that call waits as long as this one did."""


def needs_symbols(request: Request) -> bool:
    """Whether the request can be answered from symbols alone; the others also use the text index."""
    return not isinstance(request, SearchCode | GetCodeContext | ReadFile | ListDirectory | IndexStatus)


def needs_uses(request: Request) -> bool:
    """Whether the request may ask where names are used."""
    others = SearchCode | LocateSymbol | GetFileOutline | ReadFile | ListDirectory | IndexStatus
    return not isinstance(request, others)


def is_about_differences(request: Request) -> bool:
    """Whether git's comparison of two versions is needed before the index is asked (see `differences.py`)."""
    return isinstance(request, DiffContext) or getattr(request, "changed_since", None) is not None


def depends_on_history(request: Request) -> bool:
    """Whether the answer depends on which files changed together."""
    if isinstance(request, SearchCode):
        from codecompass.query.direct_answers import needs_history

        return needs_history(request.query)
    return isinstance(request, DiffContext)


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


def failed_error(job: Job, failure: CodeCompassError, *, is_forgotten: bool = False) -> CodeCompassError:
    """Returns the error for a question whose index is not there because the last job failed: why, and when the next one runs.

    `is_forgotten`: its project is registered no longer, so that only a question starts another one.
    """
    commit: str = getattr(job, "commit", "")
    # A cancelled job does not mean that the question was cancelled.
    code = IndexNotReady.code if isinstance(failure, Cancelled) else failure.code
    cause = failure.message if failure.message.endswith(".") else f"{failure.message}."
    what = f"commit {commit[:12]}" if commit else "this workspace"
    if isinstance(failure, Cancelled):
        again = "The next question starts a new job."
    elif commit:
        again = "It will be retried by a later question."
    else:
        again = f"It will be retried {'by a later question' if is_forgotten else 'automatically'}; call index_repo to retry now."
    return error_of(
        code,
        f"{what} could not be indexed: {cause} {again}",
        **{**failure.data, "job_id": job.job_id, "cause": failure.message},
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


class Patience(Struct, frozen=True, kw_only=True):
    """How current an answer has to be, and how long a question waits for that, in seconds, unless it says otherwise itself."""

    policy: FreshnessPolicy = "balanced"
    freshness_wait: float = 5.0
    """How long a question waits for changes to land."""
    first_answer_wait: float = 25.0
    """How long a question waits for a first index."""
    files_answer_after: float = 2.5
    """How long a question waits for a first index before the files themselves may answer it."""


def patience_of(settings: Settings) -> Patience:
    """Returns the patience that the settings ask for."""
    query = settings.query
    return Patience(
        policy=query.freshness_policy,
        freshness_wait=query.freshness_wait_ms * MILLISECONDS,
        first_answer_wait=query.first_answer_wait_ms * MILLISECONDS,
        files_answer_after=query.files_answer_after_ms * MILLISECONDS,
    )


def told_freshness(policy: FreshnessPolicy, found: FreshnessStatus) -> FreshnessStatus:
    """Returns the freshness that an answer reports: one that has waited for changes is stale, even if a job still runs."""
    return "stale" if policy != "best_effort" and found != "fresh" else found


TOUCH_SECONDS: Final = 1 * MINUTES
"""Within this time after the recorded use of a project no further use is recorded, so that most questions write nothing."""


def is_touch_due(project: Project, now: float) -> bool:
    """Whether the registry should record that `project` was used `now`, in seconds since 1970."""
    return now - project.last_used_at > TOUCH_SECONDS


def freshness_policy(request: Request, default: FreshnessPolicy) -> FreshnessPolicy:
    """Returns the freshness policy of the request, else the default."""
    policy: FreshnessPolicy | None = getattr(request, "freshness_policy", None)
    return policy or default


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

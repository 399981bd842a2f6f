"""`index_repo`, `sync_repo` and `index_repository`: start an index job or join the running one, wait for it as long as the caller
wants, reply with its state.
"""

from collections.abc import Callable
from functools import partial
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.job_state import JobState
from codecompass.actors.messages import Query, StartJob
from codecompass.actors.observation import WorkspaceHandle, WorkspaceObservation
from codecompass.errors import CodeCompassError, IndexInProgress, SyncInProgress, error_of
from codecompass.protocol.metadata import Metadata
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import MAX_WAIT_SECONDS, IndexRepo, IndexRepository, SearchCode, SyncRepo
from codecompass.protocol.state_replies import IndexRepoReply, IndexRepositoryReply, SyncRepoReply
from codecompass.store.registry import Project
from codecompass.transport.calls import CallOutcome
from codecompass.transport.tools.call import ToolCall

SETTLING_QUERY: Final = "main"
"""Any query would do; this one is cheap."""


class StartedJob(Struct, frozen=True):
    """A job that was started or joined, with its current `state`."""

    project: Project
    state: JobState
    metadata: Metadata

    @property
    def status(self) -> str:
        """The job's status in a reply: a queued one is `running` for its caller."""
        return "running" if self.state.status == "queued" else self.state.status

    @property
    def file_count(self) -> int | None:
        """Number of files of the project; None until they are counted. Only a full job counts them before its end."""
        if self.state.report is not None:
            return self.state.report.file_count
        is_counted = self.state.mode == "full" and self.state.progress.stage != "discovery"
        return self.state.progress.files_scanned if is_counted else None

    @property
    def changed_files(self) -> int | None:
        """Number of new, edited and removed files; None until the job has ended."""
        return None if self.state.report is None else self.state.report.files_changed

    @property
    def symbol_count(self) -> int | None:
        """Number of symbols in the index; None until the job has ended."""
        return None if self.state.report is None else self.state.report.symbol_count

    @property
    def source_bytes(self) -> int | None:
        """Total size of the indexed files; None until the job has ended."""
        return None if self.state.report is None else self.state.report.source_bytes

    @property
    def duration_seconds(self) -> float | None:
        """Wall time of the job, rounded to milliseconds; None until it has ended."""
        return None if self.state.report is None else round(self.state.report.duration_seconds, 3)


async def index_repo(call: ToolCall) -> CallOutcome:
    """Starts or joins an index job. Raises the same errors as `_start_job`."""
    assert isinstance(call.request, IndexRepo)
    return await _start_job(
        call, force=call.request.force, wait_seconds=call.request.wait_seconds, render=partial(_job_reply, IndexRepoReply)
    )


async def sync_repo(call: ToolCall) -> CallOutcome:
    """Starts or joins an index job. Raises SyncInProgress instead of IndexInProgress."""
    assert isinstance(call.request, SyncRepo)
    try:
        return await _start_job(
            call, force=call.request.force, wait_seconds=call.request.wait_seconds, render=partial(_job_reply, SyncRepoReply)
        )
    except IndexInProgress as error:
        raise SyncInProgress(error.message, **error.data) from error


def _job_reply(reply_type: type[IndexRepoReply | SyncRepoReply], job: StartedJob) -> Reply:
    return reply_type(
        job_id=job.state.job_id,
        progress_token=job.state.progress_token,
        status=job.status,
        mode=job.state.mode,
        file_count=job.file_count,
        changed_files=job.changed_files,
        symbol_count=job.symbol_count,
        source_bytes=job.source_bytes,
        duration_seconds=job.duration_seconds,
        error_code=job.state.error_code,
        error_message=job.state.error,
        metadata=job.metadata,
    )


_NUMBER_DIGITS: Final = 12
"""Hexadecimal digits of a project's id that make its number: 48 bits, which every JSON reader takes as a whole number."""


async def index_repository(call: ToolCall) -> CallOutcome:
    """Starts or joins an index job and waits for its end, at most MAX_WAIT_SECONDS."""
    assert isinstance(call.request, IndexRepository)
    named = call.request.project_id
    return await _start_job(
        call, force=False, wait_seconds=MAX_WAIT_SECONDS, render=lambda job: _index_repository_reply(job, named)
    )


def _index_repository_reply(job: StartedJob, named: str | None) -> IndexRepositoryReply:
    """Raises the error of a job that has ended without success."""
    state = job.state
    if state.has_ended and state.status != "published":
        reason = f": {state.error}" if state.error else ". Call again."
        raise error_of(state.error_code, f"indexing {job.project.root} ended as {state.status}{reason}", job_id=state.job_id)
    return IndexRepositoryReply(
        status="running" if state.report is None else "success",
        repository_id=int(job.project.project_id[:_NUMBER_DIGITS], 16),
        project_id=named,
        schema_name=job.project.schema_name,
        files_indexed=job.file_count,
        chunks_created=None if state.report is None else state.report.counts.documents_written,
        duration_seconds=job.duration_seconds,
        job_id=state.job_id,
        progress_token=state.progress_token,
        metadata=job.metadata,
    )


async def _start_job(call: ToolCall, *, force: bool, wait_seconds: float, render: Callable[[StartedJob], Reply]) -> CallOutcome:
    """Starts an index job of the workspace, or joins a running one, and returns it as rendered by `render`.

    Raises RefNotIndexed, IndexInProgress if `force` meets a job that is not forced, and the errors of routing and `render`.
    """
    await call.require_ref()
    workspace = await call.workspace()
    job = await workspace.ask(StartJob(cause=call.request.tool, force=force), request_id=call.caller.request_id)
    if wait_seconds > 0:
        await call.caller.follow(job, wait_seconds)
        if job.state.status == "published":
            await _settle(workspace)
    assert call.routed is not None
    project = call.routed.project
    ref = await call.services.router.head_ref(project)

    def as_of(state: JobState) -> Reply:
        metadata = call.metadata(_as_of(state, workspace.observation), ref if state.report is None else state.report.ref)
        assert isinstance(metadata, Metadata)
        if state.report is not None:
            metadata = replace(metadata, warnings=(*metadata.warnings, *state.report.warnings))
        return render(StartedJob(project, state, metadata))

    return CallOutcome(as_of(job.state), job, as_of)


async def _settle(workspace: WorkspaceHandle) -> None:
    """Waits, like any query, until changes made during the job are indexed: a first index is followed by another scan."""
    try:
        request = SearchCode(query=SETTLING_QUERY, limit=1, freshness_policy="balanced")
        await workspace.ask(Query(request=request, is_internal=True))
    except CodeCompassError:
        pass  # the job has succeeded; the next question reports this failure


def _as_of(state: JobState, seen: WorkspaceObservation) -> WorkspaceObservation:
    """Returns the workspace's observation, adjusted to the job: one that was just started may not be in it yet.

    If a later job is already running, what this job has published is `stale`, not `syncing`.
    """
    if not state.has_ended:
        return replace(seen, indexing_status="indexing", freshness_status="syncing")
    if seen.freshness_status == "syncing" and state.status == "published":
        return replace(seen, freshness_status="stale")
    return seen

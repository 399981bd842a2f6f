"""`index_status`: what an index contains, what was left out, and the recent jobs. Works without an index too."""

from typing import Final

from msgspec import Struct

from codecompass.formatting import iso_time
from codecompass.jobs import Interruption
from codecompass.protocol.job_views import JobView, active_job, ended_job
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import IndexStatus
from codecompass.protocol.state_replies import FileState, IndexStatusReply, InterruptedReport
from codecompass.query.metadata import answer_metadata
from codecompass.query.path_globs import plain_path, relative_to_root, without_lines
from codecompass.store.job_log import JobLog
from codecompass.store.snapshot import Snapshot

RECENT_JOBS: Final = 5
"""Ended jobs that `index_status` shows."""


class JobsState(Struct, frozen=True, kw_only=True):
    """A project's jobs in the registry, the newest first; times are ISO 8601 in UTC."""

    active_job: JobView | None = None
    recent_jobs: tuple[JobView, ...] = ()
    interrupted_recovery_report: InterruptedReport | None = None


def index_status(
    snapshot: Snapshot | None,
    request: IndexStatus,
    state: AnswerState,
    jobs: JobsState = JobsState(),  # noqa: B008 (frozen)
    *,
    current_schema_version: int,
    required_schema_version: int,
) -> IndexStatusReply:
    """Returns the state of the index; `snapshot` is None if there is no readable one."""
    return IndexStatusReply(
        project_id=state.project_id,
        repo_root=state.workspace,
        index_status="indexing" if jobs.active_job is not None else state.indexing_status,
        ref=state.ref,
        schema_status=state.schema_status,
        current_schema_version=current_schema_version,
        required_schema_version=required_schema_version,
        last_indexed_at=iso_time(snapshot.meta.published_at) if snapshot else "",
        file_count=snapshot.meta.file_count if snapshot else 0,
        symbol_count=snapshot.meta.symbol_count if snapshot else 0,
        source_bytes=snapshot.meta.source_bytes if snapshot else 0,
        pending_files=snapshot.facts.pending_file_count() if snapshot else 0,
        languages=dict(snapshot.facts.files_by_language()) if snapshot else {},
        skipped=dict(snapshot.facts.skipped_by_reason()) if snapshot else {},
        text_only=dict(snapshot.facts.text_only_by_reason()) if snapshot else {},
        encodings=dict(snapshot.facts.files_by_encoding()) if snapshot else {},
        long_lines=snapshot.facts.long_line_count() if snapshot else 0,
        file=_file(snapshot, request.path, state.workspace) if snapshot and request.path else None,
        active_job=jobs.active_job,
        recent_jobs=jobs.recent_jobs,
        interrupted_recovery_report=jobs.interrupted_recovery_report,
        metadata=answer_metadata(snapshot, state, is_of_content=False),
    )


def _file(snapshot: Snapshot, path: str, root: str) -> FileState:
    plain = plain_path(relative_to_root(path, root)).removeprefix("/")
    row = snapshot.facts.file(plain) or snapshot.facts.file(without_lines(plain))
    if row is None:
        return FileState(path=path, status="unknown", reason="not part of the index: missing, ignored, or new")
    is_indexed = row.status == "indexed"
    return FileState(
        path=row.path,
        status=row.status,
        reason=row.reason,
        language=row.language,
        size=row.size,
        line_count=row.line_count if is_indexed else None,
        symbol_count=row.symbol_count if is_indexed else None,
        encoding=row.encoding,
        long_lines=row.long_lines,
    )


def jobs_state(log: JobLog, project_id: str) -> JobsState:
    """Returns a project's jobs in the job log, as the protocol shows them."""
    active, interruption = log.active(project_id), log.interruption(project_id)
    return JobsState(
        active_job=None if active is None else active_job(active),
        recent_jobs=tuple(
            ended_job(job, job.ref, job.changed_files, job.duration_ms) for job in log.recent(project_id, RECENT_JOBS)
        ),
        interrupted_recovery_report=None if interruption is None else interrupted_report(interruption),
    )


def interrupted_report(interruption: Interruption) -> InterruptedReport:
    """Returns the report of interrupted jobs, which is shown until a job succeeds."""
    return InterruptedReport(
        detected=True,
        interrupted_jobs=interruption.n_jobs,
        last_interrupted_at=iso_time(interruption.last_at),
        recommended_action="run sync_repo or index_repo for the affected workspace",
    )

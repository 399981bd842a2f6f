"""What the log of jobs says, as the protocol says it: for `index_status`, `status` and the health of a workspace."""

from collections.abc import Sequence

from codecompass.protocol.replies import ActiveJob, InterruptedReport, RecentJob
from codecompass.protocol.times import iso_time
from codecompass.store.job_log import Interruption, Job
from codecompass.store.query.status import JobsState


def jobs_state(active: Job | None, recent: Sequence[Job], interruption: Interruption | None) -> JobsState:
    """Returns what the log says of a project's jobs, as the protocol says it."""
    return JobsState(
        active_job=None if active is None else _logged_active(active),
        recent_jobs=tuple(_recent(job) for job in recent),
        interrupted_recovery_report=None if interruption is None else interrupted_report(interruption),
    )


def interrupted_report(interruption: Interruption) -> InterruptedReport:
    """Returns what is said of interrupted jobs until one succeeds."""
    return InterruptedReport(
        detected=True,
        interrupted_jobs=interruption.n_jobs,
        last_interrupted_at=iso_time(interruption.last_at),
        recommended_action="run sync_repo or index_repo for the affected workspace",
    )


def _logged_active(job: Job) -> ActiveJob:
    return ActiveJob(
        job_id=job.job_id,
        progress_token=f"index-job-{job.job_id}",
        mode=job.mode,
        status=job.status,
        files_scanned=job.progress.files_scanned,
        files_indexed=job.progress.files_indexed,
        symbols_extracted=job.progress.symbols_extracted,
        estimated_completion_pct=job.progress.percentage,
        started_at=iso_time(job.started_at or job.created_at),
    )


def _recent(job: Job) -> RecentJob:
    return RecentJob(
        job_id=job.job_id,
        ref=job.ref,
        mode=job.mode,
        status=job.status,
        changed_files=job.changed_files,
        duration_ms=job.duration_ms,
        created_at=iso_time(job.created_at),
        error_message=job.error,
    )

"""What clients and people see of an index job: one document, of which each place shows a part.

active_job, ended_job   index_status
job_of_project          health_check
whole_job               resources, the page
"""

from msgspec import Struct

from codecompass.formatting import iso_time, iso_time_ms
from codecompass.jobs import Job


class JobView(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """An index job. Times are ISO 8601 in UTC; what a rendering does not show is absent."""

    job_id: str
    progress_token: str = ""
    """The token under which its progress is sent to clients that opted in."""
    project_id: str = ""
    workspace: str = ""
    """The root of the project."""
    ref: str | None = None
    mode: str
    status: str
    message: str = ""
    """One line that says how far it is, or how it ended."""
    changed_files: int | None = None
    """Files that are new, edited or gone, once the tree has been compared."""
    duration_ms: int | None = None
    """Wall time."""
    files_total: int | None = None
    files_scanned: int | None = None
    files_indexed: int | None = None
    symbols_extracted: int | None = None
    estimated_completion_pct: int | None = None
    """0..100."""
    created_at: str = ""
    started_at: str = ""
    finished_at: str = ""
    error_message: str = ""
    error_code: str = ""


def active_job(job: Job) -> JobView:
    """Returns a job in progress with its counts."""
    return JobView(
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


def job_of_project(job: Job, project_name: str) -> JobView:
    """Returns a job in progress with its project, for lists of several projects."""
    return JobView(
        job_id=job.job_id,
        project_id=project_name,
        mode=job.mode,
        status=job.status,
        changed_files=job.progress.files_total or None,
        started_at=iso_time(job.started_at or job.created_at),
    )


def ended_job(job: Job, ref: str = "", changed_files: int | None = None, duration_ms: int | None = None) -> JobView:
    """Returns a job that has ended, with what the registry knows of it beside the job."""
    return JobView(
        job_id=job.job_id,
        ref=ref,
        mode=job.mode,
        status=job.status,
        changed_files=changed_files,
        duration_ms=duration_ms,
        created_at=iso_time(job.created_at),
        error_message=job.error,
    )


def whole_job(job: Job, *, workspace: str = "", percentage: int | None = None) -> JobView:
    """Returns all that is known of a job. Times have milliseconds."""
    return JobView(
        job_id=job.job_id,
        progress_token=job.progress_token,
        project_id=job.project_id,
        workspace=workspace,
        mode=job.mode,
        status=job.status,
        message=job.message,
        files_total=job.progress.files_total,
        files_indexed=job.progress.files_indexed,
        symbols_extracted=job.progress.symbols_extracted,
        estimated_completion_pct=percentage,
        created_at=iso_time_ms(job.created_at),
        started_at="" if job.started_at is None else iso_time_ms(job.started_at),
        finished_at="" if job.finished_at is None else iso_time_ms(job.finished_at),
        error_message=job.error,
        error_code=job.error_code,
    )

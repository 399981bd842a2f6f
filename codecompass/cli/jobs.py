"""Runs an index job to its end from the command line: an event loop for it, its entry in the log, its progress bar."""

import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codecompass.cli import amounts
from codecompass.cli.invocation import Invocation
from codecompass.cli.output import FinishedJob
from codecompass.cli.progress_bar import ProgressDisplay, progress_bar
from codecompass.errors import CodeCompassError
from codecompass.settings import IndexSettings
from codecompass.store.job_log import Job, JobLog, JobProgress
from codecompass.store.registry import Project, Registry

if TYPE_CHECKING:
    from codecompass.actors.indexing import IndexLimits, JobReport
    from codecompass.actors.progress import Progress

LOG_SECONDS: Final = 0.5
"""How often the log of jobs learns how far the job is; others poll it about as often."""


def run_job(invocation: Invocation, registry: Registry, project: Project, *, force: bool = False, cause: str) -> FinishedJob:
    """Brings the index of `project` up to its tree, and returns what that took.

    Raises IndexInProgress where another process writes the index, PermissionDenied where the store cannot be written,
    StoreNewer where a newer program wrote it. Interrupted, it drops what was not published and passes the interrupt on.
    """
    import trio

    from codecompass import log
    from codecompass.store.epochs import compatibility

    settings = invocation.settings_for(project.root)
    log.configure(log.level_for(settings.log.level, invocation.options.verbosity), settings.log.format)
    jobs = JobLog(registry)
    is_full = force or compatibility(invocation.home.project(project.project_id)).status != "compatible"
    job = jobs.create(project.project_id, "full" if is_full else "incremental", cause=cause)
    try:
        with progress_bar(invocation.terminal) as display:
            watcher = _Watcher(jobs, job, display)
            report = trio.run(partial(_run, invocation, project, settings.index, job, watcher, force=force))
    except CodeCompassError as error:
        jobs.finish(job.job_id, "failed", error=error.message)
        raise
    except BaseException as error:
        is_interrupt = isinstance(error, KeyboardInterrupt) or (
            isinstance(error, BaseExceptionGroup) and error.subgroup(KeyboardInterrupt) is not None
        )
        jobs.finish(job.job_id, "cancelled" if is_interrupt else "failed", error="" if is_interrupt else repr(error))
        raise
    done = jobs.finish(
        job.job_id,
        "published",
        progress=JobProgress(
            percentage=100,
            files_scanned=report.files_scanned,
            files_total=report.files_changed,
            files_indexed=report.files_changed,
            symbols_extracted=report.counts.symbols_written,
            source_bytes=report.source_bytes,
        ),
        mode=report.mode,
        ref=report.ref,
        changed_files=report.files_changed,
    )
    registry.touch(project.project_id)
    return _finished(project, done, report)


def index_limits(settings: IndexSettings) -> "IndexLimits":
    """Returns what the configuration says to a job."""
    from codecompass.actors.indexing import IndexLimits
    from codecompass.store.scan.workspace import ScanRules
    from codecompass.units import MILLISECONDS

    return IndexLimits(
        rules=ScanRules(max_file_bytes=settings.max_file_size, extra_excludes=settings.exclude, extra_includes=settings.include),
        max_line_characters=settings.max_line_length,
        parse_cpu_seconds=settings.parse_timeout_ms * MILLISECONDS,
    )


def summary(job: FinishedJob) -> str:
    """Returns what a job did, in a sentence."""
    took = amounts.duration((job.duration_ms or 0) / 1000)
    total = f"{amounts.count(job.file_count, 'file')}, {amounts.count(job.symbol_count, 'symbol')}"
    if job.mode == "full":
        return f"indexed {total} in {took}"
    if not job.changed_files:
        return f"nothing has changed ({total}; looked for {took})"
    return f"{amounts.count(job.changed_files, 'changed file')} taken in; {total} in {took}"


class _Watcher:
    """Hands the reports of a running job to the screen, and now and then to the log."""

    def __init__(self, jobs: JobLog, job: Job, display: ProgressDisplay) -> None:
        self._jobs, self._job, self._display = jobs, job, display
        self._logged_at: float | None = None

    def __call__(self, progress: "Progress") -> None:
        self._display.show(progress)
        now = time.monotonic()
        if self._logged_at is None:
            # The first report comes from inside the writer lock: from here on the job is the one that runs.
            self._jobs.start(self._job.job_id)
        elif now - self._logged_at < LOG_SECONDS:
            return
        self._logged_at = now
        counters = JobProgress(
            percentage=progress.percentage,
            files_scanned=progress.files_scanned,
            files_total=progress.files_total,
            files_indexed=progress.files_indexed,
            symbols_extracted=progress.symbols_extracted,
        )
        self._jobs.update(self._job.job_id, counters)


async def _run(
    invocation: Invocation, project: Project, settings: IndexSettings, job: Job, watcher: _Watcher, *, force: bool
) -> "JobReport":
    from codecompass.actors.indexing import IndexJob
    from codecompass.actors.worker_pool import default_pool_size, open_worker_pool

    async with open_worker_pool(settings.workers or default_pool_size()) as pool:
        return await IndexJob(
            root=Path(project.root),
            layout=invocation.home.project(project.project_id),
            pool=pool,
            limits=index_limits(settings),
            job_id=job.job_id,
            force=force,
            on_progress=watcher,
        ).run()


def _finished(project: Project, job: Job, report: "JobReport") -> FinishedJob:
    return FinishedJob(
        job_id=job.job_id,
        project_id=project.project_id,
        repo_root=str(project.root),
        status=job.status,
        mode=job.mode,
        ref=report.ref,
        generation=report.generation,
        file_count=report.file_count,
        symbol_count=report.symbol_count,
        source_bytes=report.source_bytes,
        files_scanned=report.files_scanned,
        changed_files=report.files_changed,
        files_written=report.counts.files_written,
        files_removed=report.counts.files_removed,
        symbols_written=report.counts.symbols_written,
        rows_written=report.counts.rows_written,
        documents_written=report.counts.documents_written,
        quarantined=report.quarantined,
        duration_ms=job.duration_ms or 0,
        created_at=amounts.iso(job.created_at),
        finished_at=amounts.iso(job.finished_at or job.created_at),
    )

"""Runs an index job to its end from the command line, with an event loop, an entry in the log of jobs and a progress bar."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codecompass import amounts
from codecompass.actors.index_limits import index_limits
from codecompass.amounts import iso_time
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import FinishedJob
from codecompass.cli.progress_bar import ProgressDisplay, progress_bar
from codecompass.errors import CodeCompassError, IndexInProgress
from codecompass.jobs import FinalStatus, JobMode, JobOutcome, Progress
from codecompass.settings import IndexSettings
from codecompass.store.job_log import JobLog, JobRecord, new_job_id
from codecompass.store.registry import Project, Registry
from codecompass.units import MINUTES, SECONDS

if TYPE_CHECKING:
    from codecompass.actors.job_report import JobReport

LOG_SECONDS: Final = 0.5
"""How often progress is written to the log of jobs; other processes poll it about as often."""

OTHERS_POLL_SECONDS: Final = 0.05 * SECONDS
"""How often the writer lock of another process is checked."""

OTHERS_DEADLINE_SECONDS: Final = 10 * MINUTES
"""How long `index` and `sync` wait for another process that writes the index."""

STOPPED: Final = "stopped; what is published stays and can be searched, and codecompass index goes on from there"
STOPPED_EARLY: Final = "stopped before anything was published; codecompass index begins again"


class JobStopped(Exception):
    """A job was ended by its JobStop: what was not published is discarded, as after an interrupt."""


class JobStop:
    """Ends a job that runs in another thread, now or as soon as it begins."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_asked = False
        self._end: Callable[[], object] | None = None

    def ask(self) -> None:
        """Ends the job. Returns at once, in any thread and any number of times."""
        with self._lock:
            self._is_asked = True
            if self._end is not None:
                self._end()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Runs a block of an event loop, which `ask` cancels. Raises JobStopped where that has ended it."""
        import trio

        with trio.CancelScope() as scope:
            token = trio.lowlevel.current_trio_token()
            with self._lock:
                self._end = partial(token.run_sync_soon, scope.cancel)
                if self._is_asked:
                    scope.cancel()
            try:
                yield
            finally:
                with self._lock:
                    self._end = None
        if scope.cancelled_caught:
            raise JobStopped


def run_job(
    invocation: Invocation,
    registry: Registry,
    project: Project,
    *,
    force: bool = False,
    cause: str,
    stop: JobStop | None = None,
) -> FinishedJob:
    """Brings the index of `project` up to date, and returns the finished job.

    Raises IndexInProgress where another process writes the index, PermissionDenied where the store cannot be written,
    StoreNewer where a newer program wrote it, JobStopped where `stop` has ended it. An interrupt discards what was not
    published, and is raised again.
    """
    import trio

    from codecompass import log
    from codecompass.store.epochs import compatibility

    settings = invocation.settings_for(project.root)
    log.configure(log.level_for(settings.log.level, invocation.options.verbosity), settings.log.format)
    is_full = force or compatibility(invocation.home.project(project.project_id)).status != "compatible"
    entry = _LogEntry(JobLog(registry), project.project_id, "full" if is_full else "incremental", cause)
    try:
        with progress_bar(invocation.terminal) as display:
            report = trio.run(partial(_run, invocation, project, settings.index, entry, display, stop, force=force))
    except CodeCompassError as error:
        entry.end("failed", error.message, error.code)
        raise
    except BaseException as error:
        is_interrupt = isinstance(error, KeyboardInterrupt | JobStopped) or (
            isinstance(error, BaseExceptionGroup) and error.subgroup(KeyboardInterrupt) is not None
        )
        entry.end("cancelled" if is_interrupt else "failed", "" if is_interrupt else repr(error), "")
        if is_interrupt:
            is_published = compatibility(invocation.home.project(project.project_id)).status == "compatible"
            invocation.terminal.note(STOPPED if is_published else STOPPED_EARLY, "dim")
        raise
    done = entry.publish(report)
    registry.touch(project.project_id)
    return _finished(project, done, report)


def run_job_in_turn(invocation: Invocation, registry: Registry, project: Project, *, force: bool, cause: str) -> FinishedJob:
    """Does what `run_job` does, once no other process writes the index. Raises IndexInProgress after OTHERS_DEADLINE_SECONDS."""
    from codecompass.store.lock import is_locked

    layout = invocation.home.project(project.project_id)
    gives_up_at = time.monotonic() + OTHERS_DEADLINE_SECONDS
    is_said = False
    while True:
        try:
            return run_job(invocation, registry, project, force=force, cause=cause)
        except IndexInProgress as error:
            if time.monotonic() > gives_up_at:
                raise
            owner = error.data.get("owner")
        if not is_said:
            by = f" ({owner})" if owner else ""
            invocation.terminal.note(f"another process is writing this index{by}; waiting for it, Ctrl-C gives up", "dim")
            is_said = True
        while is_locked(layout) and time.monotonic() < gives_up_at:
            time.sleep(OTHERS_POLL_SECONDS)


def summary(job: FinishedJob) -> str:
    """Returns what a job did, in a sentence."""
    took = amounts.duration((job.duration_ms or 0) / 1000)
    total = f"{amounts.count(job.file_count, 'file')}, {amounts.count(job.symbol_count, 'symbol')}"
    if job.mode == "full":
        return f"indexed {total} in {took}"
    if not job.changed_files and job.symbols_written:
        return f"went on where the last run ended; {total} in {took}"
    if not job.changed_files:
        return f"nothing has changed ({total}; looked for {took})"
    return f"{amounts.count(job.changed_files, 'changed file')} taken in; {total} in {took}"


class _LogEntry:
    """The job's entry in the log. It is created by the first report of progress, which is made under the writer lock.

    So a job that is refused because another process writes the index leaves no entry.
    """

    def __init__(self, jobs: JobLog, project_id: str, mode: JobMode, cause: str) -> None:
        self.job_id = new_job_id()
        self._jobs, self._project_id, self._mode, self._cause = jobs, project_id, mode, cause
        self._written_at: float | None = None

    def note(self, progress: Progress) -> None:
        """Writes the state of the job, at most once in LOG_SECONDS."""
        now = time.monotonic()
        if self._written_at is None:
            self._jobs.create(self._project_id, self._mode, cause=self._cause, job_id=self.job_id)
            self._jobs.start(self.job_id)
        elif now - self._written_at < LOG_SECONDS:
            return
        self._written_at = now
        self._jobs.update(self.job_id, progress.recorded())

    def end(self, status: FinalStatus, error: str, error_code: str) -> None:
        """Writes an end without success."""
        if self._written_at is not None:
            self._jobs.finish(self.job_id, status, JobOutcome(error=error, error_code=error_code))

    def publish(self, report: "JobReport") -> JobRecord:
        """Writes success, and returns the entry."""
        return self._jobs.finish(self.job_id, "published", report.outcome)


async def _run(
    invocation: Invocation,
    project: Project,
    settings: IndexSettings,
    entry: _LogEntry,
    display: ProgressDisplay,
    stop: JobStop | None,
    *,
    force: bool,
) -> "JobReport":
    from codecompass.actors.indexing import IndexJob
    from codecompass.actors.worker_pool import default_pool_size, open_worker_pool

    def watch(progress: Progress) -> None:
        display.show(progress)
        entry.note(progress)

    with nullcontext() if stop is None else stop.watched():
        async with open_worker_pool(settings.workers or default_pool_size()) as pool:
            return await IndexJob(
                root=Path(project.root),
                layout=invocation.home.project(project.project_id),
                pool=pool,
                limits=index_limits(settings),
                job_id=entry.job_id,
                force=force,
                on_progress=watch,
            ).run()


def _finished(project: Project, job: JobRecord, report: "JobReport") -> FinishedJob:
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
        warnings=report.warnings,
        duration_ms=job.duration_ms or 0,
        created_at=iso_time(job.created_at),
        finished_at=iso_time(job.finished_at or job.created_at),
    )

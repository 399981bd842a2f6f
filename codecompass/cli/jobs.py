"""Runs index jobs from the command line, each with its own event loop, a record in the job log and a progress bar."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from codecompass import formatting
from codecompass.actors.index_limits import index_limits
from codecompass.cli.invocation import Invocation
from codecompass.cli.json_output import FinishedJob
from codecompass.cli.terminal import Terminal
from codecompass.errors import Cancelled, CodeCompassError, IndexInProgress, is_interrupt
from codecompass.formatting import iso_time
from codecompass.jobs import FinalStatus, JobMode, JobOutcome, Progress
from codecompass.settings import IndexSettings
from codecompass.store.job_log import JobLog, JobRecord, new_job_id
from codecompass.store.registry import Project, Registry
from codecompass.units import MINUTES, SECONDS

if TYPE_CHECKING:
    from codecompass.actors.job_state import JobReport
    from codecompass.store.layout import ProjectLayout

LOG_SECONDS: Final = 0.5
"""Interval at which progress is written to the job log; other processes poll it about as often."""

OTHERS_POLL_SECONDS: Final = 0.05 * SECONDS
"""Interval at which the writer lock of another process is checked."""

OTHERS_DEADLINE_SECONDS: Final = 10 * MINUTES
"""How long `index` and `sync` wait for another process that writes the index."""

STOPPED: Final = "stopped; the published index is still searchable; run codecompass index to continue"
STOPPED_EARLY: Final = "stopped before anything was published; codecompass index begins again"

REFRESH_SECONDS: Final = 0.1
"""Minimum time between two drawings of the progress bar."""

BAR_COLUMNS: Final = 40

_STAGES: Final = {
    "discovery": "Scanning files",
    "parsing": "Reading and parsing",
    "indexing": "Adding symbols",
    "finalizing": "Finalizing",
}

ShowProgress = Callable[[Progress], None]


STOPPED_ELSEWHERE: Final = "the job was ended by codecompass stop. Run again to go on."


class JobStopped(Exception):
    """A job was cancelled by its JobStop: what was not published is discarded, as after an interrupt."""


class JobStop:
    """Cancels a job that runs in another thread, now or as soon as it starts."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._is_cancelled = False
        self._end: Callable[[], object] | None = None

    def cancel(self) -> None:
        """Cancels the job. Returns at once; may be called from any thread, any number of times."""
        with self._lock:
            self._is_cancelled = True
            if self._end is not None:
                self._end()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Runs a block in an event loop until `cancel` is called. Raises JobStopped if it did."""
        import trio

        with trio.CancelScope() as scope:
            token = trio.lowlevel.current_trio_token()
            with self._lock:
                self._end = partial(token.run_sync_soon, scope.cancel)
                if self._is_cancelled:
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
    reads_uses: bool = True,
) -> FinishedJob:
    """Brings the index of `project` up to date, and returns the finished job. Without `reads_uses`, a first index may be left
    without uses of names.

    Raises IndexInProgress if another process is writing the index, PermissionDenied if the store cannot be written, StoreNewer
    if a newer program wrote it, JobStopped if `stop` cancelled it, Cancelled if `codecompass stop` did. An interrupt discards
    what was not published, and is re-raised.
    """
    import trio

    from codecompass import log
    from codecompass.store.epochs import compatibility

    settings = invocation.settings_for(project.root)
    log.configure(log.level_for(settings.log.level, invocation.options.verbosity), settings.log.format)
    is_full = force or compatibility(invocation.home.project(project.project_id)).status != "compatible"
    stop = stop or JobStop()
    entry = _LogEntry(JobLog(registry), project.project_id, "full" if is_full else "incremental", cause, stop)
    try:
        with progress_bar(invocation.terminal) as show:
            report = trio.run(
                partial(_run, invocation, project, settings.index, entry, show, stop, force=force, reads_uses=reads_uses)
            )
    except CodeCompassError as error:
        entry.end("failed", error.message, error.code)
        raise
    except BaseException as error:
        was_stopped = isinstance(error, JobStopped) or is_interrupt(error)
        entry.end("cancelled" if was_stopped else "failed", "" if was_stopped else repr(error), "")
        if was_stopped:
            is_published = compatibility(invocation.home.project(project.project_id)).status == "compatible"
            invocation.terminal.note(STOPPED if is_published else STOPPED_EARLY, "dim")
        if entry.is_stop_requested:
            raise Cancelled(STOPPED_ELSEWHERE, job_id=entry.job_id) from error
        raise
    registry.touch(project.project_id)
    return _finished(project, entry.publish(report), report)


def run_job_in_turn(invocation: Invocation, registry: Registry, project: Project, *, force: bool, cause: str) -> FinishedJob:
    """Calls `run_job` once no other process is writing the index. Raises IndexInProgress after OTHERS_DEADLINE_SECONDS."""
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
        wait_for_other(layout, gives_up_at)


def wait_for_other(layout: "ProjectLayout", gives_up_at: float, *, is_enough: Callable[[], bool] = lambda: False) -> bool:
    """Waits while another process writes an index, at most until `gives_up_at` by `time.monotonic`, and until `is_enough`.

    Returns whether it has ended, or has done enough, in time.
    """
    from codecompass.store.lock import is_locked

    while is_locked(layout) and not is_enough():
        if time.monotonic() > gives_up_at:
            return False
        time.sleep(OTHERS_POLL_SECONDS)
    return True


def summary(job: FinishedJob) -> str:
    """Returns what a job did, in a sentence."""
    took = formatting.duration((job.duration_ms or 0) / 1000)
    total = f"{formatting.count(job.file_count, 'file')}, {formatting.count(job.symbol_count, 'symbol')}"
    if job.mode == "full":
        return f"indexed {total} in {took}"
    if not job.changed_files and job.symbols_written:
        return f"went on where the last run ended; {total} in {took}"
    if not job.changed_files:
        return f"nothing has changed ({total}; looked for {took})"
    return f"{formatting.count(job.changed_files, 'changed file')} indexed; {total} in {took}"


@contextmanager
def progress_bar(terminal: Terminal) -> Iterator[ShowProgress]:
    """Yields what draws the progress of a job on the last line of stderr, which is cleared when the block ends.

    Draws nothing if stderr is not a terminal.
    """
    if not terminal.shows_progress:
        yield lambda _progress: None
        return
    try:
        yield _Bar(terminal).show
    finally:
        terminal.draw("")


def progress_line(progress: Progress, elapsed_seconds: float) -> str:
    """Returns the line for a state of the job: stage, bar, counters, elapsed time."""
    bar = ("━" * (BAR_COLUMNS * progress.percentage // 100)).ljust(BAR_COLUMNS)
    minutes, seconds = divmod(int(elapsed_seconds), 60)
    counts = f"{progress.files_scanned:,} files"
    if progress.stage != "discovery":
        symbols = f", {progress.symbols_extracted:,} symbols" if progress.symbols_extracted else ""
        counts = f"{progress.files_parsed:,}/{progress.files_total:,} files{symbols}"
    return f"{_STAGES[progress.stage]} {bar} {progress.percentage:>3}% {counts} {minutes // 60}:{minutes % 60:02}:{seconds:02}"


class _Bar:
    """Drawn when progress is reported, not by a timer: a bar that moves on its own would hide that nothing happens."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._began_at = time.monotonic()
        self._drawn_at = -math.inf

    def show(self, progress: Progress) -> None:
        now = time.monotonic()
        if now - self._drawn_at < REFRESH_SECONDS:
            return
        self._drawn_at = now
        self._terminal.draw(progress_line(progress, now - self._began_at))


class _LogEntry:
    """The job's record in the job log. It is created by the first report of progress, which is made under the writer lock.

    So a job that is refused because another process is writing the index leaves no record.
    """

    def __init__(self, jobs: JobLog, project_id: str, mode: JobMode, cause: str, stop: JobStop) -> None:
        self.job_id = new_job_id()
        self.is_stop_requested = False
        self._stop = stop
        self._jobs, self._project_id, self._mode, self._cause = jobs, project_id, mode, cause
        self._written_at: float | None = None
        self._published: JobRecord | None = None

    def note(self, progress: Progress) -> None:
        """Writes the job's progress, at most once per LOG_SECONDS, and stops the job if another process asks for that."""
        now = time.monotonic()
        if self._written_at is None:
            self._jobs.create(self._project_id, self._mode, cause=self._cause, job_id=self.job_id)
            self._jobs.start(self.job_id)
        elif now - self._written_at < LOG_SECONDS:
            return
        self._written_at = now
        if self._jobs.update(self.job_id, progress.recorded()):
            self.is_stop_requested = True
            self._stop.cancel()

    def end(self, status: FinalStatus, error: str, error_code: str) -> None:
        """Writes that the job failed or was cancelled."""
        if self._written_at is not None and self._published is None:
            self._jobs.finish(self.job_id, status, JobOutcome(error=error, error_code=error_code))

    def publish(self, report: "JobReport") -> JobRecord:
        """Writes that the job succeeded, once, and returns its record. The job cannot fail any more."""
        if self._published is None:
            self._published = self._jobs.finish(self.job_id, "published", report.outcome)
        return self._published


async def _run(
    invocation: Invocation,
    project: Project,
    settings: IndexSettings,
    entry: _LogEntry,
    show: ShowProgress,
    stop: JobStop,
    *,
    force: bool,
    reads_uses: bool,
) -> "JobReport":
    from codecompass.actors.indexing import IndexJob
    from codecompass.actors.job_context import JobContext, JobOrder
    from codecompass.actors.uses_pass import UsesPass
    from codecompass.actors.worker_pool import default_pool_size, open_worker_pool

    def watch(progress: Progress) -> None:
        show(progress)
        entry.note(progress)

    with stop.watched():
        async with open_worker_pool(settings.workers or default_pool_size()) as pool:
            context = JobContext(
                root=Path(project.root),
                layout=invocation.home.project(project.project_id),
                pool=pool,
                limits=index_limits(settings),
                on_progress=watch,
            )
            # Who waits for the uses anyway waits for less if each file is parsed for both.
            report = await IndexJob(context, JobOrder(job_id=entry.job_id, force=force, defers_uses=not reads_uses)).run()
            # The lock that shows that a job is alive is free from here on.
            entry.publish(report)
            if reads_uses:
                await UsesPass(context).run()
            return report


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

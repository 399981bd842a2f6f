"""A job of this process: its report, its states, the object through which others follow it, and the meter of its progress.

A slow reader skips states and never slows the job.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
import trio
from msgspec import Struct

from codecompass.jobs import Job, JobMode, JobOutcome, Progress, RecordedProgress

if TYPE_CHECKING:
    # Sessions handle jobs before anything of the store is loaded.
    from codecompass.scan.files import Stamp
    from codecompass.scan.walk import ScannedFile
    from codecompass.store.writer import WriteCounts


class WatchList(Struct, frozen=True, kw_only=True):
    """What a watcher has to watch after a scan."""

    directories: frozenset[str] = frozenset()
    """Directories that hold or may come to hold files of the index; '' is the root."""
    repositories: tuple[str, ...] = ()
    """Top directories of git repositories."""
    files: "Mapping[str, tuple[ScannedFile, ...]]" = {}
    """The files directly in each directory that was scanned now. Those of the others are in the lists before this one."""
    has_all_files: bool = False
    """Whether all directories were scanned."""
    linked: "Mapping[str, Stamp]" = {}
    """Stamps of files with several names: a watcher may miss a write through another name."""


Published = Callable[[WatchList | None], None]
"""Called in the event loop after each publication, as soon as readers see it: the job still has to clean up. The last one comes
with what is to be watched, and then the index holds all that the job was to index; earlier ones come with None, as do those of
commits."""


class JobReport(Struct, frozen=True, kw_only=True):
    """What a job that has published did. Metadata and counts are of the generation that it published."""

    mode: JobMode
    generation: int
    ref: str
    commit: str
    file_count: int
    """Files of the index."""
    symbol_count: int
    """Symbols of the index."""
    source_bytes: int
    """Size of the indexed files."""
    files_scanned: int
    """Files that the scan saw: all, or those of the changed directories."""
    files_changed: int
    """Files that are new, removed or have other content; files with new times alone are not counted."""
    counts: "WriteCounts"
    """Rows and documents written."""
    quarantined: tuple[str, ...]
    """Paths of files whose parse killed a worker process."""
    duration_seconds: float
    is_partial_scan: bool = False
    warnings: tuple[str, ...] = ()
    """Warnings of the scan, as sentences for people."""

    @property
    def outcome(self) -> JobOutcome:
        """What the registry records of the job."""
        progress = RecordedProgress(
            percentage=100,
            files_scanned=self.files_scanned,
            files_total=self.files_changed,
            files_indexed=self.files_changed,
            symbols_extracted=self.counts.symbols_written,
            source_bytes=self.source_bytes,
        )
        return JobOutcome(progress=progress, mode=self.mode, ref=self.ref, changed_files=self.files_changed)


class JobState(Job, frozen=True, kw_only=True):
    """The state of a job of this process at one moment."""

    project_name: str
    root: str
    commit: str = ""
    """The full id of the commit that it indexes; empty for the working tree."""
    progress: Progress = Progress(stage="discovery")
    report: JobReport | None = None
    """Set once the job has published."""

    @property
    def message(self) -> str:
        """One line that says how far the job is, or how it ended."""
        match self.status:
            case "published":
                report = self.report
                if report is None:
                    return "Index is up to date"
                return f"Indexed {report.file_count} files, {report.symbol_count} symbols in {report.duration_seconds:.1f}s"
            case "cancelled":
                return "Cancelled. The index is as it was before."
            case "failed" | "interrupted":
                return f"Error: {self.error or 'the job was interrupted'}"
            case _:
                return self.progress.message

    @property
    def outcome(self) -> JobOutcome:
        """What the registry records at the end of the job."""
        done = JobOutcome(progress=self.progress.recorded()) if self.report is None else self.report.outcome
        return msgspec.structs.replace(done, mode=self.mode, error=self.error, error_code=self.error_code)


class JobHandle:
    """A job as others see it: read its state, wait for changes."""

    def __init__(self, state: JobState) -> None:
        self._state = state
        self._changed = trio.Event()
        self._ended = trio.Event()

    @property
    def state(self) -> JobState:
        """The newest state."""
        return self._state

    async def wait_change(self, seen: JobState) -> JobState:
        """Waits until the newest state differs from `seen` and returns it; returns at once if the job has ended."""
        while self._state is seen and not self._state.has_ended:
            await self._changed.wait()
        return self._state

    async def wait_end(self) -> JobState:
        """Waits for the end of the job and returns its last state."""
        await self._ended.wait()
        return self._state


class OwnedJob(JobHandle):
    """A job as its workspace holds it, which alone may change its state."""

    def update(self, state: JobState) -> None:
        """Sets a new state and wakes the tasks that follow the job."""
        assert not self._state.has_ended, "the state of an ended job must not change"
        self._state = state
        self._changed.set()
        self._changed = trio.Event()
        if state.has_ended:
            self._ended.set()


class ProgressMeter:
    """The progress of a running job. Reports each step; drops steps backwards, as a late report of a scan's thread would be."""

    def __init__(self, on_progress: Callable[[Progress], None] | None) -> None:
        self._on_progress = on_progress
        self.progress = Progress(stage="discovery")

    def advance(self, **changes: object) -> None:
        """Changes these fields of `progress` and reports it, unless the percentage would decrease."""
        progress = msgspec.structs.replace(self.progress, **changes)
        if progress.percentage < self.progress.percentage:
            return
        self.progress = progress
        if self._on_progress is not None:
            self._on_progress(progress)

    def begin_pass(self, files_total: int) -> None:
        """Resets the counts for another pass over `files_total` files, without a report."""
        self.progress = msgspec.structs.replace(self.progress, files_total=files_total, files_parsed=0, files_indexed=0)

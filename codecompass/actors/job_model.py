"""A job of this process: its states, what it did, and the object through which others follow it. A slow reader skips states
and never slows the job.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import msgspec
import trio
from msgspec import Struct

from codecompass.jobs import Job, JobMode, JobOutcome, Progress, RecordedProgress

if TYPE_CHECKING:
    # A session knows jobs before anything of the store is loaded.
    from codecompass.scan.files import Stamp
    from codecompass.store.writer import WriteCounts


class JobReport(Struct, frozen=True, kw_only=True):
    """What a job that has published did."""

    mode: JobMode
    generation: int
    ref: str
    commit: str
    file_count: int
    """Files of the index, as `symbol_count` are its symbols and `source_bytes` the size of its files."""
    symbol_count: int
    source_bytes: int
    files_scanned: int
    """Files that the scan saw: all, or those of the changed directories."""
    files_changed: int
    """Files that are new, removed or of another content; a file with new times alone is not counted."""
    counts: "WriteCounts"
    quarantined: tuple[str, ...]
    """Paths of files whose parse ended a worker process."""
    duration_seconds: float
    directories: frozenset[str] = frozenset()
    """What a watcher has to watch: directories that hold or may come to hold files of the index, '' for the root."""
    repositories: tuple[str, ...] = ()
    """Top directories of git repositories, to be watched as well."""
    linked: Mapping[str, "Stamp"] = {}
    """Stamps of files with several names: a watcher may miss a write through another name."""
    is_partial_scan: bool = False
    warnings: tuple[str, ...] = ()
    """Sentences of the scan for people."""

    @property
    def outcome(self) -> JobOutcome:
        """What the registry records of it."""
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
    """A moment of a job of this process."""

    project_name: str
    root: str
    progress: Progress = Progress(stage="discovery")
    report: JobReport | None = None
    """There once the job has published."""

    @property
    def outcome(self) -> JobOutcome:
        """What the registry records at its end."""
        done = JobOutcome(progress=self.progress.recorded()) if self.report is None else self.report.outcome
        return msgspec.structs.replace(done, mode=self.mode, error=self.error, error_code=self.error_code)


class JobView:
    """A job to follow."""

    def __init__(self, state: JobState) -> None:
        self._state = state
        self._changed = trio.Event()
        self._ended = trio.Event()

    @property
    def state(self) -> JobState:
        """The newest state."""
        return self._state

    async def wait_change(self, seen: JobState) -> JobState:
        """Returns the newest state as soon as it is not `seen`; at once if the job has ended, as it changes no more then."""
        while self._state is seen and not self._state.has_ended:
            await self._changed.wait()
        return self._state

    async def wait_end(self) -> JobState:
        """Returns the last state, once it is there."""
        await self._ended.wait()
        return self._state


class OwnedJob(JobView):
    """A job as its workspace holds it: the only one that may change its state."""

    def update(self, state: JobState) -> None:
        """Shows a new state, and wakes those who follow the job."""
        assert not self._state.has_ended, "a job that has ended changes no more"
        self._state = state
        self._changed.set()
        self._changed = trio.Event()
        if state.has_ended:
            self._ended.set()


class ProgressMeter:
    """How far a running job is. Tells each step; drops one that would go back, as a late report of a scan's thread does."""

    def __init__(self, on_progress: Callable[[Progress], None] | None) -> None:
        self._on_progress = on_progress
        self.progress = Progress(stage="discovery")

    def advance(self, **changes: object) -> None:
        """Changes these fields of `progress`."""
        progress = msgspec.structs.replace(self.progress, **changes)
        if progress.percentage < self.progress.percentage:
            return
        self.progress = progress
        if self._on_progress is not None:
            self._on_progress(progress)

    def begin_pass(self, files_total: int) -> None:
        """Counts from zero for another pass over files. Tells nothing."""
        self.progress = msgspec.structs.replace(self.progress, files_total=files_total, files_parsed=0, files_indexed=0)

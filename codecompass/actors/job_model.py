"""A job of this process: its states, the object through which others follow it, and the meter of its progress. A slow reader
skips states and never slows the job.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import trio

from codecompass.jobs import Job, JobOutcome, Progress

if TYPE_CHECKING:
    # Sessions handle jobs before anything of the store is loaded.
    from codecompass.actors.job_report import JobReport


class JobState(Job, frozen=True, kw_only=True):
    """The state of a job of this process at one moment."""

    project_name: str
    root: str
    commit: str = ""
    """The full id of the commit that it indexes; empty for the working tree."""
    progress: Progress = Progress(stage="discovery")
    report: "JobReport | None" = None
    """Set once the job has published."""

    @property
    def outcome(self) -> JobOutcome:
        """What the registry records at the end of the job."""
        done = JobOutcome(progress=self.progress.recorded()) if self.report is None else self.report.outcome
        return msgspec.structs.replace(done, mode=self.mode, error=self.error, error_code=self.error_code)


class JobView:
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


class OwnedJob(JobView):
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

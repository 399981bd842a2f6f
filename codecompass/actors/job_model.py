"""A job of this process: its states, and the object through which others follow it. A slow reader skips states
and never slows the job.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec
import trio

from codecompass.jobs import Job, JobOutcome, Progress

if TYPE_CHECKING:
    # A session knows jobs before anything of the store is loaded.
    from codecompass.actors.job_report import JobReport


class JobState(Job, frozen=True, kw_only=True):
    """A moment of a job of this process."""

    project_name: str
    root: str
    commit: str = ""
    """The full id of the commit that it indexes, empty where it indexes the working tree."""
    progress: Progress = Progress(stage="discovery")
    report: "JobReport | None" = None
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

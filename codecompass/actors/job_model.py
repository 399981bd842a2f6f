"""An index job as others see it: its four stages with their shares of 100 per cent, and one slot with its newest state. A slow
reader skips states and never slows the job.
"""

from typing import TYPE_CHECKING, Final, Literal

import trio
from msgspec import Struct

if TYPE_CHECKING:
    # A session knows jobs before anything of the store is loaded.
    from codecompass.actors.indexing import JobReport
    from codecompass.store.job_log import JobMode, JobStatus


Stage = Literal["discovery", "parsing", "indexing", "finalizing"]


class Progress(Struct, frozen=True, kw_only=True):
    """A moment of a job. Counts are of files unless named otherwise; `percentage` never falls within a job."""

    stage: Stage
    files_scanned: int = 0
    files_total: int = 0
    files_parsed: int = 0
    files_indexed: int = 0
    symbols_extracted: int = 0

    @property
    def percentage(self) -> int:
        """0..100: discovery to 10, parsing to 70, indexing to 95, finalizing to 99."""
        match self.stage:
            case "discovery":
                return min(10, self.files_scanned // 1000)
            case "parsing":
                return 10 + _share(self.files_parsed, self.files_total, 60)
            case "indexing":
                return 70 + _share(self.files_indexed, self.files_total, 25)
            case "finalizing":
                return 95

    @property
    def message(self) -> str:
        """The message for people, in the words of the protocol."""
        match self.stage:
            case "discovery":
                return f"Scanning files: {self.files_scanned} discovered"
            case "parsing":
                return (
                    f"Parsing files: {self.files_parsed}/{self.files_total} ({_share(self.files_parsed, self.files_total, 100)}%)"
                )
            case "indexing":
                return f"Indexing: {self.files_indexed}/{self.files_total} files, {self.symbols_extracted} symbols"
            case "finalizing":
                return "Finalizing index..."


def _share(part: int, total: int, of: int) -> int:
    return of if total <= 0 else min(of, part * of // total)


_ENDED: Final = frozenset({"published", "failed", "interrupted", "cancelled"})


class JobState(Struct, frozen=True, kw_only=True):
    """A moment of a job. Times are seconds since 1970; `report` is there once it is published, `error` where it failed.

    `error_code` is the protocol's code of that error; a defect is an `internal_error`.
    """

    job_id: str
    project_id: str
    project_name: str
    root: str
    mode: "JobMode"
    status: "JobStatus"
    cause: str
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    progress: Progress = Progress(stage="discovery")
    error: str = ""
    error_code: str = ""
    report: "JobReport | None" = None

    @property
    def progress_token(self) -> str:
        """The token by which clients that opted in follow the job."""
        return f"index-job-{self.job_id}"

    @property
    def has_ended(self) -> bool:
        """Whether this is the job's last state."""
        return self.status in _ENDED


class JobView:
    """A job to look at."""

    def __init__(self, state: JobState) -> None:
        self._state = state
        self._changed = trio.Event()
        self._ended = trio.Event()

    @property
    def state(self) -> JobState:
        """The newest state."""
        return self._state

    async def wait_change(self, seen: JobState) -> JobState:
        """Returns the newest state as soon as it is not `seen`. A job that has ended changes no more: returns at once."""
        while self._state is seen and not self._state.has_ended:
            await self._changed.wait()
        return self._state

    async def wait_end(self) -> JobState:
        """Returns the last state, once it is there."""
        await self._ended.wait()
        return self._state


class OwnedJob(JobView):
    """A job as its workspace holds it."""

    def update(self, state: JobState) -> None:
        """Shows a new state, and wakes those who watch."""
        assert not self._state.has_ended, "a job that has ended changes no more"
        self._state = state
        self._changed.set()
        self._changed = trio.Event()
        if state.has_ended:
            self._ended.set()

"""What an index job is: its states, its stages and its counters, for everything that runs, stores or shows one.

    queued -> running -> published | failed | cancelled
         \\__________\\-> interrupted            noted by whoever finds that its process is gone

`Job` has two forms: `JobState` (actors/job_model.py) is a job of this process, `JobRecord` (store/job_log.py) its entry in the
registry, which every process reads. Protocol, health and resources are made from a `Job`, by one function each.
"""

from typing import Final, Literal

from msgspec import Struct

JobMode = Literal["full", "incremental"]
JobStatus = Literal["queued", "running", "published", "failed", "interrupted", "cancelled"]
FinalStatus = Literal["published", "failed", "cancelled"]
"""How a process can end its own jobs; that one was interrupted is noted by another process."""

Stage = Literal["discovery", "parsing", "indexing", "finalizing"]

_ENDED: Final = frozenset({"published", "failed", "interrupted", "cancelled"})


class JobCounters(Struct, frozen=True, kw_only=True):
    """How many files and symbols a job has dealt with."""

    files_scanned: int = 0
    files_total: int = 0
    """Files to be read; 0 until the tree has been compared with the index."""
    files_indexed: int = 0
    symbols_extracted: int = 0


class Progress(JobCounters, frozen=True, kw_only=True):
    """How far a running job is. `percentage` never falls within a job."""

    stage: Stage
    files_parsed: int = 0

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

    def recorded(self) -> "RecordedProgress":
        """Returns what the registry keeps of it."""
        return RecordedProgress(
            percentage=self.percentage,
            files_scanned=self.files_scanned,
            files_total=self.files_total,
            files_indexed=self.files_indexed,
            symbols_extracted=self.symbols_extracted,
        )


class RecordedProgress(JobCounters, frozen=True, kw_only=True):
    """How far a job is or was, as the registry keeps it."""

    percentage: int = 0
    """0..100."""
    source_bytes: int = 0
    """Size of the files in the index; 0 before the job has published."""


class JobOutcome(Struct, frozen=True, kw_only=True):
    """What the registry records when a job ends, besides its status."""

    progress: RecordedProgress | None = None
    """None keeps what was recorded last."""
    mode: JobMode | None = None
    """The mode that the job turned out to have; None keeps the one that it was entered with."""
    ref: str = ""
    changed_files: int = 0
    error: str = ""
    error_code: str = ""


class Job(Struct, frozen=True, kw_only=True):
    """What is known of a job wherever it runs. Times are seconds since 1970."""

    job_id: str
    project_id: str
    mode: JobMode
    status: JobStatus
    cause: str
    """What asked for the job: a tool, a command or a change of files."""
    error: str = ""
    """Why it failed, a sentence."""
    error_code: str = ""
    """The protocol's code of that error, empty where it has none; a defect is an `internal_error`."""
    progress: Progress | RecordedProgress
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None

    @property
    def progress_token(self) -> str:
        """The token by which clients that opted in follow the job."""
        return f"index-job-{self.job_id}"

    @property
    def has_ended(self) -> bool:
        """Whether the job is over."""
        return self.status in _ENDED


class Interruption(Struct, frozen=True):
    """Jobs of a project that ended with their process, since its last successful one."""

    n_jobs: int
    last_at: float
    """When the last of them was found, in seconds since 1970."""


def _share(part: int, total: int, of: int) -> int:
    return of if total <= 0 else min(of, part * of // total)

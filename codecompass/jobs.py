"""The model of an index job: its states, stages and counters, for all code that runs, stores or shows jobs.

    queued -> running -> published | failed | cancelled
         \\__________\\-> interrupted            recorded by a process that finds the job's process dead

`Job` has two subclasses: `JobState` (actors/job_state.py) is a job of this process, `JobRecord` (store/job_log.py) its entry in
the registry, which every process can read. What clients and people see of a job is a `JobView` (protocol/job_views.py).
"""

from typing import Final, Literal

from msgspec import Struct

JobMode = Literal["full", "incremental"]
JobStatus = Literal["queued", "running", "published", "failed", "interrupted", "cancelled"]
FinalStatus = Literal["published", "failed", "cancelled"]
"""The states in which a process can end its own jobs; `interrupted` is recorded by another process."""

Stage = Literal["discovery", "parsing", "indexing", "finalizing"]

_ENDED: Final = frozenset({"published", "failed", "interrupted", "cancelled"})


class JobCounters(Struct, frozen=True, kw_only=True):
    """Numbers of files and symbols that a job has processed."""

    files_scanned: int = 0
    files_total: int = 0
    """Files to read; 0 until the tree has been compared with the index."""
    files_indexed: int = 0
    symbols_extracted: int = 0


class Progress(JobCounters, frozen=True, kw_only=True):
    """The progress of a running job. `percentage` never decreases within a job."""

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
        """Returns the progress as the registry stores it."""
        return RecordedProgress(
            percentage=self.percentage,
            files_scanned=self.files_scanned,
            files_total=self.files_total,
            files_indexed=self.files_indexed,
            symbols_extracted=self.symbols_extracted,
        )


class RecordedProgress(JobCounters, frozen=True, kw_only=True):
    """The progress of a running or ended job, as the registry stores it."""

    percentage: int = 0
    """0..100."""
    source_bytes: int = 0
    """Size of the files in the index; 0 before the job has published."""


class JobOutcome(Struct, frozen=True, kw_only=True):
    """What the registry records when a job ends, besides its status."""

    progress: RecordedProgress | None = None
    """None keeps the progress recorded last."""
    mode: JobMode | None = None
    """The actual mode of the job; None keeps the mode with which it was recorded at its start."""
    ref: str = ""
    changed_files: int = 0
    error: str = ""
    error_code: str = ""


class Job(Struct, frozen=True, kw_only=True):
    """An index job of any process. Times are seconds since 1970."""

    job_id: str
    project_id: str
    mode: JobMode
    status: JobStatus
    cause: str
    """What started the job: a tool, a command or a change of files."""
    error: str = ""
    """Why it failed, as a sentence."""
    error_code: str = ""
    """The protocol's code of that error, empty if it has none; a defect is an `internal_error`."""
    progress: Progress | RecordedProgress
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None

    @property
    def progress_token(self) -> str:
        """The progress token with which clients that opted in follow the job."""
        return f"index-job-{self.job_id}"

    @property
    def has_ended(self) -> bool:
        """Whether the job is over."""
        return self.status in _ENDED

    @property
    def message(self) -> str:
        """One line that says how far the job is, or how it ended."""
        return f"Error: {self.error}" if self.error else f"The job is {self.status}."


class Interruption(Struct, frozen=True):
    """The interrupted jobs of a project since its last successful one."""

    n_jobs: int
    last_at: float
    """When the last interruption was found, in seconds since 1970."""


def _share(part: int, total: int, of: int) -> int:
    return of if total <= 0 else min(of, part * of // total)

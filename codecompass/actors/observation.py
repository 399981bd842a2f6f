"""What others see of a workspace: a frozen snapshot, published after each transition. Reading it never waits."""

from typing import Literal

from msgspec import Struct

from codecompass.actors.jobs import JobState
from codecompass.actors.lifecycle import Lifecycle
from codecompass.protocol.metadata import FreshnessStatus, IndexingStatus, SchemaStatus
from codecompass.store.job_log import Interruption

WarmStatus = Literal["cold", "warming", "warm"]


class WorkspaceObservation(Struct, frozen=True, kw_only=True):
    """A moment of a workspace. Times are seconds since 1970, None where nothing of the kind has happened.

    `restarts` counts crashes of its actor since the process started, `last_error` says what the last one was; counts of
    the index are those of the newest snapshot this process has seen.
    """

    project_id: str
    project_name: str
    root: str
    lifecycle: Lifecycle
    indexing_status: IndexingStatus
    freshness_status: FreshnessStatus
    schema_status: SchemaStatus
    warm_status: WarmStatus = "cold"
    ref: str = ""
    generation: int = 0
    file_count: int = 0
    symbol_count: int = 0
    last_indexed_at: float | None = None
    active_job: JobState | None = None
    last_job: JobState | None = None
    interruption: Interruption | None = None
    restarts: int = 0
    last_error: str = ""
    queued: int = 0
    in_flight: int = 0
    last_used_at: float = 0.0
    is_watched: bool = False
    is_working: bool = False
    """A job runs, possibly one that only looks whether anything has changed, which `active_job` does not show."""

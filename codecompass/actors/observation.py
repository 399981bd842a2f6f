"""A workspace as others see it: a frozen observation published after each transition, and a handle to ask it. Reading an
observation never waits.
"""

from typing import Literal, Protocol, overload

from msgspec import Struct

from codecompass.actors.job_state import JobHandle, JobState
from codecompass.actors.messages import CancelJob, Query, Settle, Settled, StartJob
from codecompass.jobs import Interruption
from codecompass.protocol.metadata import FreshnessStatus, IndexingStatus, SchemaStatus
from codecompass.protocol.replies import Reply
from codecompass.store.registry import Project

Lifecycle = Literal["starting", "running", "restarting", "failed", "draining", "stopped"]
"""`starting` until its actor runs, `restarting` in the pause after a crash, `failed` after too many crashes, `draining` once
retired (requests in flight are answered, new ones refused), `stopped` at the end."""

WarmStatus = Literal["cold", "warming", "warm"]


class WorkspaceObservation(Struct, frozen=True, kw_only=True):
    """The state of a workspace at one moment. Times are in seconds since 1970, None for what has not happened."""

    project_id: str
    project_name: str
    """The name in answers: the alias, or the id."""
    root: str
    """Absolute path of the workspace."""
    lifecycle: Lifecycle
    """State of its actor between start and end."""
    indexing_status: IndexingStatus
    """Whether there is an index, or a job that builds one."""
    freshness_status: FreshnessStatus
    """Whether the index holds all changes seen."""
    schema_status: SchemaStatus
    """Whether the index on disk fits this program."""
    warm_status: WarmStatus = "cold"
    """`warm` once the index was opened, or could not be opened."""
    ref: str = ""
    """Branch or commit of the newest generation, empty without an index."""
    generation: int = 0
    """The newest generation that this process has seen, 0 without an index."""
    file_count: int = 0
    """Files of that generation."""
    symbol_count: int = 0
    """Symbols of that generation."""
    last_indexed_at: float | None = None
    """When that generation was published."""
    active_job: JobState | None = None
    """The job that runs or waits, unless it merely checks for changes."""
    last_job: JobState | None = None
    """The last job that was visible, or that failed."""
    interruption: Interruption | None = None
    """Jobs that were lost with their process since the last success."""
    restarts: int = 0
    """How often its actor was restarted after a crash, in this process."""
    last_error: str = ""
    """The last crash: type and message."""
    scan_warnings: tuple[str, ...] = ()
    """What the last scan of the whole tree could not find out, such as what git tracks."""
    refusal: str = ""
    """Why the project cannot be registered and so not be indexed; empty if it is."""
    queued: int = 0
    """Requests in its mailbox."""
    in_flight: int = 0
    """Requests taken from the mailbox and not yet answered."""
    last_used_at: float = 0.0
    """When it was last asked."""
    is_watched: bool = False
    """Whether a watcher proves what has changed."""
    semantic: str = ""
    """Search by meaning: waiting (for an index), working, ready, or why vectors could not be made; empty if it is off."""
    is_working: bool = False
    """Whether a job runs, even one that `active_job` does not show."""


class WorkspaceHandle(Protocol):
    """One workspace, for the duration of one request: route again for the next.

    `ask` raises the CodeCompassError that the workspace answers, WorkspaceBusy at once if its mailbox is full, and
    WorkspaceFailed if it is disabled after repeated crashes. Cancelling it cancels the work.
    """

    @property
    def project(self) -> Project:
        """The project as it was when the workspace was started."""

    @property
    def observation(self) -> WorkspaceObservation:
        """The newest observation."""

    async def wait_open(self) -> None:
        """Waits until the workspace has opened its index, or failed to."""

    @overload
    async def ask(self, message: Query, *, request_id: str = "") -> Reply: ...
    @overload
    async def ask(self, message: Settle, *, request_id: str = "") -> Settled: ...
    @overload
    async def ask(self, message: StartJob, *, request_id: str = "") -> JobHandle: ...
    @overload
    async def ask(self, message: CancelJob, *, request_id: str = "") -> bool: ...

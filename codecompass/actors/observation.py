"""What others see of a workspace: its states and the legal steps between them, a frozen observation published after each
transition, and a handle to ask it. Reading an observation never waits.
"""

from collections.abc import Mapping
from typing import Final, Literal, Protocol, overload

from msgspec import Struct

from codecompass.actors.job_model import JobState
from codecompass.actors.messages import CancelJob, JobTicket, Query, StartJob
from codecompass.jobs import Interruption
from codecompass.protocol.metadata import FreshnessStatus, IndexingStatus, SchemaStatus
from codecompass.protocol.replies import Reply
from codecompass.store.registry import Project

Lifecycle = Literal["starting", "running", "restarting", "failed", "draining", "stopped"]
"""`starting` until the first snapshot is looked at, `restarting` in the pause after a crash, `failed` after too many,
`draining` once retired: what is in flight ends, nothing new comes in."""

LEGAL_STEPS: Final[Mapping[Lifecycle, frozenset[Lifecycle]]] = {
    "starting": frozenset({"running", "restarting", "failed", "draining"}),
    "running": frozenset({"restarting", "failed", "draining"}),
    "restarting": frozenset({"starting", "failed", "draining"}),
    "failed": frozenset({"starting", "draining"}),
    "draining": frozenset({"stopped"}),
    "stopped": frozenset(),
}


def step(current: Lifecycle, following: Lifecycle) -> Lifecycle:
    """Returns `following`. Raises AssertionError for a step that is not in the table: a defect, never a user's error."""
    assert following in LEGAL_STEPS[current], f"a workspace cannot go from {current} to {following}"
    return following


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


class WorkspaceHandle(Protocol):
    """One workspace, for as long as the caller's request lasts: route again for the next one.

    `ask` raises the CodeCompassError that the workspace answers, WorkspaceBusy at once where its mailbox is full, and
    WorkspaceFailed where its actor has given up. Cancelling it cancels the work.
    """

    @property
    def project(self) -> Project:
        """The project as it was when the workspace was started."""

    @property
    def observation(self) -> WorkspaceObservation:
        """The newest one."""

    async def wait_open(self) -> None:
        """Returns once the workspace has opened its index, or found that it cannot."""

    @overload
    async def ask(self, message: Query, *, request_id: str = "") -> Reply: ...
    @overload
    async def ask(self, message: StartJob, *, request_id: str = "") -> JobTicket: ...
    @overload
    async def ask(self, message: CancelJob, *, request_id: str = "") -> bool: ...

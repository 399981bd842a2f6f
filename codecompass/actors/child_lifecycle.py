"""A workspace as its supervisor sees it (mailbox, lifecycle, crashes, newest observation), and the supervisor's pure decisions.

When to restart a crashed workspace: more than five crashes within a minute are too many, and the pause grows with each, so that
crashes at start do not spin. Unlike in the supervision trees this is modelled on, giving up does not escalate: one broken
workspace must not take the others down. Which workspaces to retire: only idle ones, the least recently used first.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.messages import Mailbox
from codecompass.actors.observation import Lifecycle, WorkspaceObservation
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.registry import Project
from codecompass.units import SECONDS

LEGAL_STEPS: Final[Mapping[Lifecycle, frozenset[Lifecycle]]] = {
    "starting": frozenset({"running", "restarting", "failed", "draining"}),
    "running": frozenset({"restarting", "failed", "draining"}),
    "restarting": frozenset({"starting", "failed", "draining"}),
    "failed": frozenset({"starting", "draining"}),
    "draining": frozenset({"stopped"}),
    "stopped": frozenset(),
}

MAX_RESTARTS: Final = 5
WITHIN_SECONDS: Final = 60 * SECONDS
"""A workspace that crashes more often than this in this time is given up."""

FIRST_PAUSE_SECONDS: Final = 0.05 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 5 * SECONDS
"""The pause before a restart: it doubles with each crash within that time."""

PROBE_SECONDS: Final = 60 * SECONDS
"""A workspace that is disabled after repeated crashes is restarted by the first request after this time."""

WORKSPACE_HANDLES: Final = 16
"""Open files of one workspace in use: up to four readers of its tables with three files each, its text, watcher and lock.
Measured without questions: 7, 2026-11."""

RESERVED_HANDLES: Final = 96
"""Open files of a server besides its workspaces: connections of clients, workers, registry, logs."""

WATCHERS_SHARE: Final = 3
"""A server uses at most 1/3 of the user's inotify instances: editors and other servers need theirs."""


def child_key(project_id: str, commit: NamedCommit | None) -> str:
    """Returns the supervisor's key of a project's workspace, or of one of its commits."""
    return project_id if commit is None else f"{project_id}@{commit.commit}"


class Child:
    """One workspace from its first request to the end of its last task. Only the supervisor changes it.

    `commit` is None for the working tree. `predecessor` is an earlier child with the same key that has not closed the index yet.
    `crashes` and `used_at` are times of the event loop's clock; `used_at_wall` is in seconds since 1970.
    """

    def __init__(self, project: Project, predecessor: "Child | None", commit: NamedCommit | None = None) -> None:
        self.project = project
        self.commit = commit
        self.predecessor = predecessor
        self.mailbox = Mailbox()
        self.lifecycle: Lifecycle = "starting"
        self.opened = trio.Event()
        self.terminated = trio.Event()
        self.crashes: list[float] = []
        self.n_restarts = 0
        self.last_error = ""
        self.used_at = trio.current_time()
        self.used_at_wall = time.time()
        self.observation = WorkspaceObservation(
            project_id=project.project_id,
            project_name=project.name,
            root=str(project.root),
            lifecycle="starting",
            indexing_status="not_indexed",
            freshness_status="stale",
            schema_status="not_indexed",
        )

    @property
    def key(self) -> str:
        """Its key in the supervisor's tables."""
        return child_key(self.project.project_id, self.commit)

    @property
    def is_idle(self) -> bool:
        """Whether no request is queued or in work, and no job runs."""
        return not self.mailbox.n_open and self.observation.active_job is None and not self.observation.is_working

    def move(self, following: Lifecycle) -> None:
        """Changes the lifecycle. Raises AssertionError for a step that is not in LEGAL_STEPS."""
        self.lifecycle = step(self.lifecycle, following)

    def observe(self) -> WorkspaceObservation:
        """Returns the actor's newest observation, completed with the fields that only the supervisor knows."""
        return replace(
            self.observation,
            lifecycle=self.lifecycle,
            restarts=self.n_restarts,
            last_error=self.last_error,
            queued=self.mailbox.n_queued,
            in_flight=self.mailbox.n_open - self.mailbox.n_queued,
            last_used_at=self.used_at_wall,
        )


def step(current: Lifecycle, following: Lifecycle) -> Lifecycle:
    """Returns `following`. Raises AssertionError for a step that is not in LEGAL_STEPS: a defect, never a user's error."""
    assert following in LEGAL_STEPS[current], f"a workspace cannot go from {current} to {following}"
    return following


def restart_pause(crashes: Sequence[float], now: float) -> float | None:
    """Returns the seconds to wait before the restart after a crash; None if the workspace is to be given up.

    `crashes` are seconds on any monotonic clock, oldest first; the last is at `now`.
    """
    n_recent = sum(now - at <= WITHIN_SECONDS for at in crashes)
    if n_recent > MAX_RESTARTS:
        return None
    pause: float = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (n_recent - 1))
    return pause


class Resident(Struct, frozen=True):
    """A live workspace, as `to_retire` sees it. `used_at` is on any monotonic clock, `memory` in bytes."""

    project_id: str
    used_at: float
    is_idle: bool
    memory: int = 0


def affordable(max_count: int, *, n_handles: int | None, n_watchers: int | None) -> int:
    """Returns how many workspaces may be live under the system's limits of open files and inotify instances (None: no limit).

    At most `max_count`, at least one.
    """
    counts = [max_count]
    if n_handles is not None:
        counts.append((n_handles - RESERVED_HANDLES) // WORKSPACE_HANDLES)
    if n_watchers is not None:
        counts.append(n_watchers // WATCHERS_SHARE)
    return max(1, min(counts))


def to_retire(residents: Sequence[Resident], *, max_count: int, max_memory: int) -> tuple[str, ...]:
    """Returns which workspaces to retire to stay within the caps, the least recently used first.

    The most recently used workspace is never retired for memory alone: the next question would reopen it. The caps are soft:
    if too few workspaces are idle, fewer are retired, and the caller calls again when one becomes idle.
    """
    count = len(residents)
    memory = sum(resident.memory for resident in residents)
    chosen: list[str] = []
    by_age = sorted(residents, key=lambda each: (each.used_at, each.project_id))
    for resident in by_age:
        is_too_much = memory > max_memory and resident is not by_age[-1]
        if count <= max_count and not is_too_much:
            break
        if resident.is_idle:
            chosen.append(resident.project_id)
            count -= 1
            memory -= resident.memory
    return tuple(chosen)

"""How many workspaces stay live, and which are retired: only idle ones, the least recently used first. Pure."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

WORKSPACE_HANDLES: Final = 16
"""Open files of one workspace in use: up to four readers of its tables with three files each, its text, watcher and lock.
Measured without questions: 7, 2026-11."""

RESERVED_HANDLES: Final = 96
"""Open files of a server besides its workspaces: connections of clients, workers, registry, logs."""

WATCHERS_SHARE: Final = 3
"""A server uses at most 1/3 of the user's inotify instances: editors and other servers need theirs."""


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

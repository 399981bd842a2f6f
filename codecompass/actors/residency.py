"""How many workspaces stay live, and which are retired: pure. Only idle ones are chosen, the longest unused first."""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

WORKSPACE_HANDLES: Final = 16
"""Open files of one workspace in use: up to four readers of its tables with three files each, its text, watcher and lock.
Measured: 7 while nobody asks, 2026-11."""

RESERVED_HANDLES: Final = 96
"""Open files of a server apart from its workspaces: connections of clients, workers, registry, logs."""

WATCHERS_SHARE: Final = 3
"""A server uses at most 1/3 of the user's inotify instances: editors and other servers need theirs."""


class Resident(Struct, frozen=True):
    """A live workspace, to choose from. `used_at` is on any monotonic clock, `memory` in bytes."""

    project_id: str
    used_at: float
    is_idle: bool
    memory: int = 0


def affordable(max_count: int, *, n_handles: int | None, n_watchers: int | None) -> int:
    """Returns how many workspaces may be live under the limits of the system, at most `max_count` and at least one.

    None is no limit.
    """
    counts = [max_count]
    if n_handles is not None:
        counts.append((n_handles - RESERVED_HANDLES) // WORKSPACE_HANDLES)
    if n_watchers is not None:
        counts.append(n_watchers // WATCHERS_SHARE)
    return max(1, min(counts))


def to_retire(residents: Sequence[Resident], *, max_count: int, max_memory: int) -> tuple[str, ...]:
    """Returns which workspaces to retire so that at most so many are left, the longest unused first.

    The workspace used last is never retired for memory alone: it would be opened again for the next question. The caps are
    soft for busy workspaces: where too few are idle, fewer are retired, and the caller asks again when one becomes idle.
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

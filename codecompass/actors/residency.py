"""Which workspaces stay live: pure. Only idle ones are ever chosen, the longest unused first."""

from collections.abc import Sequence

from msgspec import Struct


class Resident(Struct, frozen=True):
    """A live workspace as the choice sees it. `used_at` is on any monotonic clock, `memory` in bytes."""

    project_id: str
    used_at: float
    is_idle: bool
    memory: int = 0


def to_retire(residents: Sequence[Resident], *, max_count: int, max_memory: int) -> tuple[str, ...]:
    """Returns which workspaces to retire so that at most so many are left, the longest unused first.

    Where too few are idle the result is what can be done: the caps are soft for busy workspaces, which are looked at again
    when they become idle.
    """
    count = len(residents)
    memory = sum(resident.memory for resident in residents)
    chosen: list[str] = []
    for resident in sorted(residents, key=lambda each: (each.used_at, each.project_id)):
        if count <= max_count and memory <= max_memory:
            break
        if resident.is_idle:
            chosen.append(resident.project_id)
            count -= 1
            memory -= resident.memory
    return tuple(chosen)

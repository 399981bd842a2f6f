"""The states of a workspace and the legal steps between them, as one table."""

from collections.abc import Mapping
from typing import Final, Literal

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

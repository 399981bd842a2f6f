"""When a crashed workspace is started again, and when it is given up: pure, from the times of its crashes.

Five crashes within a minute are too many. The pause grows with each, so that a crash at start does not spin. Unlike the
supervisors this is modelled on, giving up does not escalate: one broken workspace must not take the others along.
"""

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codecompass.units import SECONDS

MAX_RESTARTS: Final = 5
WITHIN_SECONDS: Final = 60 * SECONDS
FIRST_PAUSE_SECONDS: Final = 0.05 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 5 * SECONDS

PROBE_SECONDS: Final = 60 * SECONDS
"""A workspace that was given up is tried once more by the first request after this."""


class Restart(Struct, frozen=True):
    """Start again after a pause, in seconds."""

    pause: float


class GiveUp(Struct, frozen=True):
    """Too many crashes: answer with an error until somebody helps."""


def after_crash(crashes: Sequence[float], now: float) -> Restart | GiveUp:
    """Returns what to do about the last of `crashes` (seconds on any monotonic clock, oldest first, the newest is now)."""
    recent = [time for time in crashes if now - time <= WITHIN_SECONDS]
    if len(recent) > MAX_RESTARTS:
        return GiveUp()
    return Restart(min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (len(recent) - 1)))

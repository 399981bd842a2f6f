"""When a crashed workspace is restarted, and when it is given up. Pure: decides from the times of its crashes.

More than five crashes within a minute are too many. The pause grows with each, so that crashes at start do not spin. Unlike in
the supervision trees this is modelled on, giving up does not escalate: one broken workspace must not take the others down.
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
"""A workspace that was given up is restarted by the first request after this time."""


class Restart(Struct, frozen=True):
    """Restart after a pause, in seconds."""

    pause: float


class GiveUp(Struct, frozen=True):
    """Too many crashes: answer with an error until a rebuild is forced or PROBE_SECONDS have passed."""


def after_crash(crashes: Sequence[float], now: float) -> Restart | GiveUp:
    """Returns what to do after a crash. `crashes` are seconds on any monotonic clock, oldest first; the last is at `now`."""
    recent = [time for time in crashes if now - time <= WITHIN_SECONDS]
    if len(recent) > MAX_RESTARTS:
        return GiveUp()
    return Restart(min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2 ** (len(recent) - 1)))

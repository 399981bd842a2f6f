"""Numbers as text: counts, sizes, durations and times for people, ISO 8601 times in UTC for the protocol."""

import time
from datetime import UTC, datetime
from typing import Final

from codecompass.units import KIB, MINUTES

_STEPS: Final = ((60.0, "second"), (60.0, "minute"), (24.0, "hour"), (30.0, "day"), (12.0, "month"))


def count(number: int, noun: str, plural: str = "") -> str:
    """Returns `1 file`, `3,891 files`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size(n_bytes: int) -> str:
    """Returns a size in the largest unit that leaves at least 1 of it: `512 B`, `58.1 MB`. Units are powers of 1024."""
    amount = float(n_bytes)
    for unit in ("B", "KB", "MB", "GB"):
        if amount < KIB:
            return f"{n_bytes} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= KIB
    return f"{amount:.1f} TB"


def duration(seconds: float) -> str:
    """Returns `0.4 s`, `14.2 s`, `3 min 07 s`."""
    if seconds < MINUTES:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s"


def ago(moment: float, now: float | None = None) -> str:
    """Returns `just now`, `5 minutes ago`. Both times are in seconds since 1970."""
    elapsed = (time.time() if now is None else now) - moment
    if elapsed < 5:
        return "just now"
    for step, unit in _STEPS:
        if elapsed < step:
            return f"{count(int(elapsed), unit)} ago"
        elapsed /= step
    return f"{count(int(elapsed), 'year')} ago"


def iso_time(seconds: float) -> str:
    """Returns seconds since 1970 without fractions, as in the answers of tools: `2026-01-31T09:00:00Z`."""
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_time_ms(seconds: float) -> str:
    """Returns seconds since 1970 with milliseconds, as in MCP's tasks and resources: `2026-01-31T09:00:00.125Z`."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

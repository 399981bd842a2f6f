"""Units of bytes and seconds, so that constants say what they are."""

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

MILLISECONDS: Final = 0.001
SECONDS: Final = 1.0
MINUTES: Final = 60.0
HOURS: Final = 3600.0
DAYS: Final = 24 * HOURS

NANOSECONDS_PER_SECOND: Final = 1_000_000_000
NANOSECONDS_PER_MILLISECOND: Final = 1_000_000

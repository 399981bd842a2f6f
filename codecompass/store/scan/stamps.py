"""How a file looked when a rule was read from it, so that a later scan can tell whether the rule still holds."""

import os
import time
from typing import Final

from msgspec import Struct

from codecompass.units import NANOSECONDS_PER_MILLISECOND

RACY_NS: Final = 20 * NANOSECONDS_PER_MILLISECOND
"""A file written this shortly before it was looked at may be written again with the same time stamp (kernels count in
steps of up to 10 ms): its time is not to be relied on."""


class Stamp(Struct, frozen=True):
    """`mtime_ns` is 0 where the time proves nothing."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int


def stamp_of(path: str) -> Stamp | None:
    """Returns how the file at `path` looks now, a symbolic link followed; None where there is none."""
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    is_racy = time.time_ns() - max(status.st_mtime_ns, status.st_ctime_ns) < RACY_NS
    return Stamp(0 if is_racy else status.st_mtime_ns, status.st_ctime_ns, status.st_size, status.st_ino)


def is_unchanged(path: str, stamp: Stamp | None) -> bool:
    """Whether the file at `path` looks as it did, in a way that can be relied on."""
    return (stamp is None or stamp.mtime_ns != 0) and stamp_of(path) == stamp

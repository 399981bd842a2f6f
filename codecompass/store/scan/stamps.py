"""How a file looked when a rule was read from it, so that a later scan can tell whether the rule still holds."""

import os
import time
from typing import Final

from msgspec import Struct

from codecompass.units import NANOSECONDS_PER_MILLISECOND, NANOSECONDS_PER_SECOND

RACY_NS: Final = 20 * NANOSECONDS_PER_MILLISECOND
"""A file written this shortly before it was looked at may be written again with the same time stamp (kernels count in
steps of up to 10 ms): its time is not to be relied on."""

COARSE_RACY_NS: Final = 2 * NANOSECONDS_PER_SECOND + RACY_NS
"""The same on a file system that counts in seconds (ext3, HFS+) or in two of them (FAT)."""


class Stamp(Struct, frozen=True):
    """`mtime_ns` is 0 where the time proves nothing."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int


def stamp_of(path: str) -> Stamp | None:
    """Returns how the file at `path` looks now, a symbolic link followed; None where there is none."""
    now = time.time_ns()
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return Stamp(trusted_mtime(status, now), status.st_ctime_ns, status.st_size, status.st_ino)


def trusted_mtime(status: os.stat_result, read_at: int) -> int:
    """Returns the modification time of a file whose content was read after `read_at` (nanoseconds since the epoch), or 0
    where a write after that could have left it with the same one.

    `read_at` must be from before the file was opened: a process that is kept waiting between reading and asking for the
    time would take a fresh stamp for an old one.
    """
    # The change time is the kernel's own, whatever a program sets the modification time to: whole seconds say that the file
    # system knows no finer ones. Where they are chance, the file is hashed once more.
    is_coarse = status.st_ctime_ns % NANOSECONDS_PER_SECOND == 0
    is_racy = read_at - max(status.st_mtime_ns, status.st_ctime_ns) < (COARSE_RACY_NS if is_coarse else RACY_NS)
    return 0 if is_racy else status.st_mtime_ns


def is_unchanged(path: str, stamp: Stamp | None) -> bool:
    """Whether the file at `path` looks as it did, in a way that can be relied on."""
    return (stamp is None or stamp.mtime_ns != 0) and stamp_of(path) == stamp

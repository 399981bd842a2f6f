"""Opens regular files of an untrusted repository without following links or blocking, and takes the stamps by which a later scan
detects a changed file.
"""

import errno
import os
import time
from stat import S_ISLNK, S_ISREG
from typing import Final

from msgspec import Struct

from codecompass.units import KIB, NANOSECONDS_PER_MILLISECOND, NANOSECONDS_PER_SECOND

_DIRECTORY_FLAGS: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

BINARY_PROBE_BYTES: Final = 8 * KIB
"""A NUL within this many bytes from the start makes a file binary, as for git."""


def open_below(root: str | bytes, path: str) -> int:
    """Returns a descriptor of the file at the relative `path`, opened component by component; follows no links below `root`.

    A path listed as a file may lead out of the root by now, through a directory that has become a link. Takes 2 us longer than
    opening the whole path. The caller must check that the file is a regular one.

    Raises:
        OSError: it cannot be opened or is a symbolic link (ELOOP); NotADirectoryError if a directory above it is a link.
    """
    *directories, name = os.fsencode(path).split(b"/")
    at = os.open(root, _DIRECTORY_FLAGS)
    try:
        for directory in directories:
            below = os.open(directory, _DIRECTORY_FLAGS | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, _FILE_FLAGS, dir_fd=at)
    finally:
        os.close(at)


def open_regular_file(path: str, *, follows_link: bool = False) -> int:
    """Returns a descriptor of the regular file at `path`. `follows_link` applies to the last component only.

    Raises:
        OSError: it cannot be opened, is a symbolic link (ELOOP) or not a regular file (EINVAL).
    """
    mode = os.stat(path, follow_symlinks=follows_link).st_mode
    if not S_ISREG(mode) and not S_ISLNK(mode):
        # Opening a device can have side effects, whatever the flags.
        raise OSError(errno.EINVAL, "not a regular file", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows_link else os.O_NOFOLLOW))
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


GROWTH_BYTES: Final = 64 * KIB
"""Least size of a read. At the expected end of a file it nearly always returns nothing."""


def read_regular_file(path: str, limit: int, *, follows_link: bool = False) -> bytes:
    """Returns at most the first `limit` bytes of the regular file at `path`. `follows_link` applies to the last component only.

    Raises:
        OSError: it cannot be opened or read, is a symbolic link (ELOOP) or not a regular file (EINVAL).
    """
    descriptor = open_regular_file(path, follows_link=follows_link)
    try:
        return read_descriptor(descriptor, limit)
    finally:
        os.close(descriptor)


def read_descriptor(descriptor: int, limit: int) -> bytes:
    """Returns at most the next `limit` bytes of an open file. Raises OSError.

    Memory is reserved for what the file holds, not for `limit`: a bound of 1 GiB must not need an address space of 1 GiB.
    """
    size = os.fstat(descriptor).st_size
    pieces = []
    n_bytes = 0
    # One byte more than the size finds the end without another call, and a file that grows.
    while n_bytes < limit and (piece := os.read(descriptor, min(limit - n_bytes, max(size + 1 - n_bytes, GROWTH_BYTES)))):
        pieces.append(piece)
        n_bytes += len(piece)
    return b"".join(pieces)


def is_utf8(path: str) -> bool:
    """Whether a path as returned by `os` is valid UTF-8 on disk."""
    if path.isascii():
        return True
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def printable(path: str) -> str:
    """Returns a path that can be printed: undecodable bytes become `\\xNN`, everything else is unchanged."""
    return path.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


# Stamps.

RACY_NS: Final = 20 * NANOSECONDS_PER_MILLISECOND
"""A file written less than this before its `stat` may be written again with the same timestamp (kernels count in steps of up to
10 ms), so its time is not reliable."""

COARSE_RACY_NS: Final = 2 * NANOSECONDS_PER_SECOND + RACY_NS
"""The same on a file system that counts in seconds (ext3, HFS+) or in two of them (FAT)."""


class Stamp(Struct, frozen=True):
    """Identifies a version of a file. Times in nanoseconds, `size` in bytes; `mtime_ns` is 0 if the time is unreliable."""

    mtime_ns: int
    ctime_ns: int
    size: int
    inode: int


def stamp_of(path: str) -> Stamp | None:
    """Returns the stamp of the file at `path`, following symbolic links; None if `stat` fails."""
    now = time.time_ns()
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return None
    return Stamp(trusted_mtime(status, now), status.st_ctime_ns, status.st_size, status.st_ino)


def trusted_mtime(status: os.stat_result, read_at: int) -> int:
    """Returns the modification time of a file whose content was read after `read_at` (nanoseconds since 1970), or 0 if a later
    write could have left the same time.

    `read_at` must be taken before the file is opened: a process suspended between reading the file and the clock would trust a
    stamp that is too fresh.
    """
    # Programs can set the modification time but not the change time: if that is in whole seconds, the file system has no finer
    # times. If it is so by chance, the file is hashed once more than needed.
    is_coarse = status.st_ctime_ns % NANOSECONDS_PER_SECOND == 0
    is_racy = read_at - max(status.st_mtime_ns, status.st_ctime_ns) < (COARSE_RACY_NS if is_coarse else RACY_NS)
    return 0 if is_racy else status.st_mtime_ns


def is_unchanged(path: str, stamp: Stamp | None) -> bool:
    """Whether the file at `path` still has this stamp and the stamp is reliable. None is the stamp of a missing file."""
    return (stamp is None or stamp.mtime_ns != 0) and stamp_of(path) == stamp

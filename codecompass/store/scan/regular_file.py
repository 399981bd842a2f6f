"""Opening what a stranger's tree holds: regular files and nothing else.

Between being listed and being opened a name may become a pipe, which would block us, or a link that leads elsewhere.
"""

import errno
import os
from stat import S_ISLNK, S_ISREG
from typing import Final

_STEP_FLAGS: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC
_FILE_FLAGS: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def open_below(root: str | bytes, path: str) -> int:
    """Returns a descriptor of the file at the relative `path`, opened step by step without following any link below `root`.

    A path that was listed as a file may lead out of the root by now, through a directory that has become a link. Costs 2 us
    more than opening it at once. It may not be a regular file; the caller looks.

    Raises:
        OSError: it cannot be opened or is a symbolic link (ELOOP); NotADirectoryError where a directory above it is one.
    """
    *directories, name = os.fsencode(path).split(b"/")
    at = os.open(root, _STEP_FLAGS)
    try:
        for directory in directories:
            below = os.open(directory, _STEP_FLAGS | os.O_NOFOLLOW, dir_fd=at)
            os.close(at)
            at = below
        return os.open(name, _FILE_FLAGS, dir_fd=at)
    finally:
        os.close(at)


def open_regular_file(path: str, *, follows_link: bool = False) -> int:
    """Returns a descriptor of the regular file at `path`; `follows_link` is about the last component alone.

    Raises:
        OSError: it cannot be opened, is a symbolic link (ELOOP) or no regular file (EINVAL).
    """
    mode = os.stat(path, follow_symlinks=follows_link).st_mode
    if not S_ISREG(mode) and not S_ISLNK(mode):
        # Opening a device can do something to it, whatever the flags.
        raise OSError(errno.EINVAL, "not a regular file", path)
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows_link else os.O_NOFOLLOW))
    if not S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


def read_regular_file(path: str, limit: int, *, follows_link: bool = False) -> bytes:
    """Returns the first `limit` bytes of the regular file at `path`, fewer if it is shorter.

    `follows_link` is about the last component alone.

    Raises:
        OSError: it cannot be opened or read, is a symbolic link (ELOOP) or no regular file (EINVAL).
    """
    descriptor = open_regular_file(path, follows_link=follows_link)
    try:
        pieces = []
        while limit > 0 and (piece := os.read(descriptor, limit)):
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)

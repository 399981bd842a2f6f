"""Opening what a stranger's tree holds: regular files and nothing else.

Between being listed and being opened a name may become a pipe, which would block us, or a link that leads elsewhere.
"""

import errno
import os
from stat import S_ISREG


def read_regular_file(path: str, limit: int, *, follows_link: bool = False) -> bytes:
    """Returns the first `limit` bytes of the regular file at `path`, fewer if it is shorter.

    `follows_link` is about the last component alone.

    Raises:
        OSError: it cannot be opened or read, is a symbolic link (ELOOP) or no regular file (EINVAL).
    """
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follows_link else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        if not S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file", path)
        pieces = []
        while limit > 0 and (piece := os.read(descriptor, limit)):
            pieces.append(piece)
            limit -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(descriptor)

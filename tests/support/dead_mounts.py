"""A file system that never answers: FUSE whose server reads nothing. As dead as a network mount that lost its server.

Needs Linux, /dev/fuse and the right to mount.
"""

import ctypes
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

_DETACH = 2
_FORCE = 1


@contextmanager
def dead_mount(place: Path) -> Iterator[None]:
    """Hides the directory `place` behind a file system that never answers, as long as the block lasts."""
    if sys.platform != "linux" or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        pytest.skip("needs /dev/fuse")
    libc = ctypes.CDLL(None, use_errno=True)
    device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    target = os.fsencode(place)
    try:
        options = f"fd={device},rootmode=40000,user_id={os.getuid()},group_id={os.getgid()}".encode()
        if libc.mount(b"dead", target, b"fuse", 0, options):
            pytest.skip(f"may not mount: {os.strerror(ctypes.get_errno())}")
        try:
            yield
        finally:
            # Without its server every call that waits gets an error.
            with suppress(OSError):
                os.close(device)
            device = -1
            libc.umount2(target, _FORCE)
            libc.umount2(target, _DETACH)
    finally:
        if device >= 0:
            os.close(device)

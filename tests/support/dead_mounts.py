"""A file system that never answers: a FUSE mount without a process that reads requests. It behaves like a network mount that has
lost its server.

Needs Linux, /dev/fuse and permission to mount.
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
    """Mounts a file system that never answers over the directory `place` for the duration of the block."""
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
            # Closing the device makes every blocked call fail.
            with suppress(OSError):
                os.close(device)
            device = -1
            libc.umount2(target, _FORCE)
            libc.umount2(target, _DETACH)
    finally:
        if device >= 0:
            os.close(device)

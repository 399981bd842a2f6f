"""The writer lock of a project: one process writes an index at a time.

A held flock says that the owner is alive; the kernel drops it with the process, however that ends. The file's content
(job and process id) is for people and messages, never for decisions.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager

from codecompass.store.layout import FILE_MODE, ProjectLayout, make_private_directory, not_writable


class LockHeld(Exception):
    """Another process, or another job of this one, holds the lock. `owner` is what it wrote, possibly empty."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.owner = owner


@contextmanager
def writer_lock(layout: ProjectLayout, owner: str) -> Iterator[None]:
    """Holds the writer lock for the duration. Never waits: raises LockHeld at once where it is taken.

    Raises PermissionDenied where the project's directory cannot be written.
    """
    make_private_directory(layout.root)
    try:
        descriptor = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise not_writable(layout.root, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LockHeld(os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()) from error
        try:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, owner.encode(), 0)
        except OSError as error:
            raise not_writable(layout.lock, error) from error
        yield
    finally:
        os.close(descriptor)


def is_locked(layout: ProjectLayout) -> bool:
    """Returns whether somebody writes this project's index right now."""
    try:
        descriptor = os.open(layout.lock, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)

"""The locks of a project: one process writes an index at a time, and no index is deleted while it is read. Also process
identities.

    writer.lock    exclusive, held by a job                      one writer across all processes
    readers.lock   shared, held as long as an index is open      a deletion takes it exclusively, without waiting

A held flock proves that its owner is alive: the kernel releases it however the process ends. The content of writer.lock (job and
process id) is for messages to people, not for decisions. A directory can be deleted and created again between opening a lock file
and locking it, so a lock counts only while its file is still the one at the path. A process is identified by its id and its start
time, because ids are reused.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.store.layout import FILE_MODE, ProjectLayout, make_private_directory, not_writable
from codecompass.units import MILLISECONDS, SECONDS

REMOVAL_PAUSE_SECONDS: Final = 2 * MILLISECONDS
REMOVAL_DEADLINE_SECONDS: Final = 1 * SECONDS
"""A deletion holds the readers' lock while it renames one directory; readers wait for it up to this long."""

FORK: Final = "fork"
"""Prefix of the owner's text while another index is being made a fork of this one, which takes milliseconds."""

FORK_DEADLINE_SECONDS: Final = 0.5 * SECONDS


class LockHeld(Exception):
    """Another process, or another job of this process, holds the lock. `owner` is the text that it wrote, possibly empty."""

    def __init__(self, owner: str) -> None:
        super().__init__(owner)
        self.owner = owner


@contextmanager
def writer_lock(layout: ProjectLayout, owner: str) -> Iterator[None]:
    """Holds the writer lock for the duration. Raises LockHeld at once if it is taken; only a fork is waited for.

    Raises PermissionDenied if the project's directory cannot be written.
    """
    ends = time.monotonic() + FORK_DEADLINE_SECONDS
    while True:
        try:
            descriptor = _lock_for_writing(layout)
            break
        except LockHeld as error:
            if not error.owner.startswith(FORK) or time.monotonic() > ends:
                raise
            time.sleep(REMOVAL_PAUSE_SECONDS)
    try:
        # A full disk has no room for the owner's text, but the holder of the lock may be about to free some.
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, owner.encode(), 0)
        yield
    finally:
        os.close(descriptor)


def is_locked(layout: ProjectLayout) -> bool:
    """Returns whether a process, possibly this one, is writing this project's index."""
    return _is_taken(layout.lock, fcntl.LOCK_SH)


def is_read(layout: ProjectLayout) -> bool:
    """Returns whether a process, possibly this one, has this project's index open."""
    return _is_taken(layout.readers, fcntl.LOCK_EX)


def lock_for_reading(layout: ProjectLayout) -> int | None:
    """Returns a descriptor that keeps the index in `layout` from being deleted until it is closed.

    None if the directory is missing or not writable for this user, who then cannot delete it either. An existing lock file is
    locked even if it is read-only. Raises LockHeld if a removal takes longer than REMOVAL_DEADLINE_SECONDS.
    """
    ends = time.monotonic() + REMOVAL_DEADLINE_SECONDS
    while True:
        try:
            descriptor = _open_readers(layout)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError as error:
            os.close(descriptor)
            if time.monotonic() > ends:
                raise LockHeld("a removal") from error
            time.sleep(REMOVAL_PAUSE_SECONDS)
        except OSError:
            # The file system has no locks, which `doctor` reports.
            os.close(descriptor)
            return None
        else:
            if holds_reading(layout, descriptor):
                return descriptor
            os.close(descriptor)


def holds_reading(layout: ProjectLayout, descriptor: int) -> bool:
    """Returns whether `descriptor` still locks the index at `layout`: False after that was deleted and created again."""
    return _is_at(descriptor, layout.readers)


@contextmanager
def removal_lock(layout: ProjectLayout) -> Iterator[None]:
    """Keeps every process from opening the index for the duration. Raises LockHeld at once if one has it open.

    Raises PermissionDenied if the project's directory cannot be written.
    """
    try:
        descriptor = os.open(layout.readers, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError as error:
        raise not_writable(layout.root, error) from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise LockHeld("a reader") from error
        yield
    finally:
        os.close(descriptor)


def _open_readers(layout: ProjectLayout) -> int:
    try:
        return os.open(layout.readers, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except OSError:
        return os.open(layout.readers, os.O_RDONLY | os.O_CLOEXEC)


def _lock_for_writing(layout: ProjectLayout) -> int:
    while True:
        make_private_directory(layout.root)
        try:
            descriptor = os.open(layout.lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
        except FileNotFoundError:
            continue  # the directory was deleted since it was made
        except OSError as error:
            raise not_writable(layout.root, error) from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.pread(descriptor, 200, 0).decode("utf-8", "replace").strip()
            os.close(descriptor)
            raise LockHeld(owner) from error
        except BaseException:
            os.close(descriptor)
            raise
        if _is_at(descriptor, layout.lock):
            return descriptor
        os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except OSError:
        return False


def _is_taken(path: Path, operation: int) -> bool:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, operation | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


PS_DEADLINE_SECONDS: Final = 5.0


class ProcessMark(Struct, frozen=True):
    """A process of this machine. `started` is its start time in the system's format, only compared; empty if unknown."""

    pid: int
    started: str


def this_process() -> ProcessMark:
    """Returns the mark of the calling process."""
    return ProcessMark(os.getpid(), _started(os.getpid()))


def is_alive(mark: ProcessMark) -> bool:
    """Returns whether the process of `mark` is still running."""
    try:
        os.kill(mark.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        pass  # it exists and belongs to another user; the start time decides
    started = _started(mark.pid)
    return not started or not mark.started or started == mark.started


def _started(pid: int) -> str:
    try:
        # The name in parentheses may contain anything; the start time is the 22nd field, the 20th after it.
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        pass
    import subprocess

    try:
        command = ["ps", "-o", "lstart=", "-p", str(pid)]
        answer = subprocess.run(command, capture_output=True, text=True, timeout=PS_DEADLINE_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()

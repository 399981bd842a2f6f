"""Whether git is switching the working tree: what an index of files must know before it names a commit.

git takes `index.lock`, writes the files, renames the lock to `index`, then moves HEAD. So files that were read between two looks
are of one checkout if HEAD and the index are the same in both and no lock was there, and the second look comes late enough
after the index was written for HEAD to have moved.
"""

import os
import time
from typing import Final

from msgspec import Struct

from codecompass.scan.git_repository import Head, find_repository, read_head
from codecompass.units import MILLISECONDS, NANOSECONDS_PER_SECOND, SECONDS

HEAD_FOLLOWS_SECONDS: Final = 50 * MILLISECONDS
"""How long after it has written the index git moves HEAD, at most: measured below 3 ms."""

LOCK_PATIENCE_SECONDS: Final = 5 * SECONDS
"""How old a lock is waited for. An older one is that of a very long checkout, of an editor that has a commit message open, or was
left behind: then the files themselves must show that nobody writes them."""


class Checkout(Struct, frozen=True, kw_only=True):
    """One look. `index` are modification and change time, size and inode of git's index, None without one; ages in seconds."""

    head: Head
    index: tuple[int, int, int, int] | None = None
    index_age: float = float("inf")
    lock_age: float | None = None
    """None where nobody holds the lock."""

    @property
    def may_be_under_way(self) -> bool:
        """Whether a checkout may be writing files right now, so that they are worth waiting for."""
        return self.lock_age is not None and self.lock_age < LOCK_PATIENCE_SECONDS

    @property
    def head_may_follow(self) -> float:
        """For how many seconds more HEAD may still be the one before the newest checkout; 0 where it cannot."""
        # The clock may have been set: an age below zero is no age.
        return max(0.0, HEAD_FOLLOWS_SECONDS - self.index_age) if self.index_age >= 0 else HEAD_FOLLOWS_SECONDS

    def is_same(self, other: "Checkout") -> bool:
        """Whether HEAD and index are the same, and nobody held the lock at either look."""
        return self.head == other.head and self.index == other.index and self.lock_age is None and other.lock_age is None


def look(root: str) -> Checkout:
    """Returns what is checked out in the repository around `root`. A few system calls; never raises."""
    head = read_head(root)
    try:
        repository = find_repository(os.path.realpath(root))
    except OSError:
        repository = None
    if repository is None:
        return Checkout(head=head)
    index = os.path.join(repository.git_directory, "index")
    written = _stat(index)
    locked = _stat(index + ".lock")
    now = time.time_ns()
    return Checkout(
        # Read before the index: one that moves in between shows as another HEAD at the next look.
        head=head,
        index=None if written is None else (written.st_mtime_ns, written.st_ctime_ns, written.st_size, written.st_ino),
        index_age=float("inf") if written is None else (now - written.st_mtime_ns) / NANOSECONDS_PER_SECOND,
        lock_age=None if locked is None else max(0.0, (now - locked.st_mtime_ns) / NANOSECONDS_PER_SECOND),
    )


def _stat(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except (OSError, ValueError):
        return None

"""Detects whether git is switching the working tree, which an index must know before it names a commit.

git takes `index.lock`, writes the files, renames the lock to `index`, then moves HEAD. So files read between two observations
belong to one checkout if both saw the same HEAD and index and no lock, and the second came long enough after the index was
written for HEAD to have moved.
"""

import os
import time
from typing import Final

from msgspec import Struct

from codecompass.scan.git_repository import NO_REF, Head, find_repository, head_of
from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.units import MILLISECONDS, NANOSECONDS_PER_SECOND, SECONDS

HEAD_FOLLOWS_SECONDS: Final = 50 * MILLISECONDS
"""Longest time between git's writing the index and its moving HEAD; measured below 3 ms."""

LOCK_PATIENCE_SECONDS: Final = 5 * SECONDS
"""Age up to which a lock is waited for. An older one belongs to a very long checkout or an editor with an open commit message, or
is stale: then the files themselves must show that nothing writes them."""


class Checkout(Struct, frozen=True, kw_only=True):
    """One observation of a repository's HEAD, index and lock. Ages in seconds."""

    head: Head
    index: tuple[int, int, int, int] | None = None
    """Modification time, change time, size and inode of git's index; None without an index."""
    index_age: float = float("inf")
    lock_age: float | None = None
    """None if nobody holds the lock."""

    @property
    def may_be_under_way(self) -> bool:
        """Whether a checkout may be writing files right now, so that waiting for it is worthwhile."""
        return self.lock_age is not None and self.lock_age < LOCK_PATIENCE_SECONDS

    @property
    def head_may_follow(self) -> float:
        """Seconds for which HEAD may still be that of before the newest checkout; 0 if it cannot."""
        # A negative age means that the clock was set.
        return max(0.0, HEAD_FOLLOWS_SECONDS - self.index_age) if self.index_age >= 0 else HEAD_FOLLOWS_SECONDS

    def is_same(self, other: "Checkout") -> bool:
        """Whether HEAD and index are the same in both, and neither saw the lock held."""
        return self.head == other.head and self.index == other.index and self.lock_age is None and other.lock_age is None


def read_checkout(root: str, roots: GitRoots = ANYWHERE) -> Checkout:
    """Returns what is checked out in the repository that holds `root`, which must lie within `roots` to count.

    Takes a few system calls; never raises.
    """
    try:
        repository = find_repository(os.path.realpath(root), roots)
    except OSError:
        repository = None
    if repository is None:
        return Checkout(head=Head(NO_REF))
    head = head_of(repository)
    index = os.path.join(repository.git_directory, "index")
    written = _stat(index)
    locked = _stat(index + ".lock")
    now = time.time_ns()
    return Checkout(
        # Read before the index: if HEAD moves in between, the next observation sees another HEAD.
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

"""Measures the disk space of files that can have several hard links.

Indexes of one repository share files (`forks.py`), so the sum of their sizes is more than they take together.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from stat import S_ISDIR

from msgspec import Struct


class DiskSpace(Struct, frozen=True):
    """Bytes below a directory; a file with several links in it counts once.

    Deleting the directory would free `own`; the files of `shared` also have links elsewhere.
    """

    own: int
    shared: int

    @property
    def total(self) -> int:
        """Bytes of all files in the directory."""
        return self.own + self.shared


def disk_usage(*paths: Path) -> int:
    """Returns the bytes of the files at and below `paths`; a file with several links there counts once. Missing paths count 0."""
    seen: set[tuple[int, int]] = set()
    total = 0
    for path in paths:
        for status in _statuses(path):
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                total += status.st_size
    return total


def disk_space(path: Path) -> DiskSpace:
    """Returns how many bytes deleting `path` would free, and how many it shares. Both are 0 if `path` is missing."""
    links: dict[tuple[int, int], int] = {}
    own = shared = 0
    statuses = list(_statuses(path))
    for status in statuses:
        key = status.st_dev, status.st_ino
        links[key] = links.get(key, 0) + 1
    for status in statuses:
        found = links.pop((status.st_dev, status.st_ino), 0)
        if found >= status.st_nlink:
            own += status.st_size
        elif found:
            shared += status.st_size
    return DiskSpace(own, shared)


def _statuses(path: Path) -> Iterator[os.stat_result]:
    pending = [str(path)]
    with contextlib.suppress(OSError):
        if not S_ISDIR((status := os.lstat(path)).st_mode):
            yield status
            return
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)
                else:
                    with contextlib.suppress(OSError):
                        yield entry.stat(follow_symlinks=False)

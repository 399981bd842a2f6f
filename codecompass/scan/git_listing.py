"""Lists files below a directory with git: those of a tree, and those of the index with their stamps."""

import os
import re
from collections.abc import Callable
from contextlib import suppress
from stat import S_ISLNK
from typing import Final

from msgspec import Struct

from codecompass.scan.git_repository import Repository, run_git
from codecompass.units import NANOSECONDS_PER_SECOND

LINK: Final = "120000"
SUBMODULE: Final = "160000"
"""File modes as git writes them."""

_SKIP_WORKTREE: Final = 0x40000000
_ASSUME_UNCHANGED: Final = 0x8000
_INDEX_ENTRY: Final = re.compile(
    rb"(\d{6}) ([0-9a-f]{40,64}) ([0-3])\t([^\0]*)\0"
    rb"  ctime: \d+:\d+\n  mtime: (\d+):(\d+)\n  dev: \d+\tino: (\d+)\n  uid: \d+\tgid: \d+\n  size: (\d+)\tflags: ([0-9a-f]+)\n"
)


class ListedFile(Struct, frozen=True):
    """A tree's entry. `object_id` is that of a blob, or of a submodule's commit."""

    mode: str
    object_id: str


class IndexedFile(Struct, frozen=True):
    """An entry of git's index, with the stamp of the file when git last read it. `stage` is 0 except in a conflict."""

    mode: str
    object_id: str
    stage: int
    mtime_ns: int
    inode: int
    size: int
    flags: int

    @property
    def listed(self) -> ListedFile:
        """The same file as an entry of a tree."""
        return ListedFile(self.mode, self.object_id)

    @property
    def is_taken_on_trust(self) -> bool:
        """Whether git was told not to check the file (skip-worktree or assume-unchanged), so that the index counts."""
        return bool(self.flags & (_SKIP_WORKTREE | _ASSUME_UNCHANGED)) and not self.stage


class GitIndex(Struct, frozen=True):
    """Git's index below a directory. `mtime_ns` is when it was written, 0 if unknown: then no stamp is proof of anything."""

    files: dict[str, IndexedFile]
    mtime_ns: int

    def has_stamp(self, entry: IndexedFile, status: os.stat_result) -> bool:
        """Whether a file with this status certainly has the entry's content. A file as recent as the index itself may have been
        written again since."""
        return (
            not entry.stage
            and entry.mtime_ns == status.st_mtime_ns
            and entry.size == status.st_size & 0xFFFFFFFF
            and entry.inode == status.st_ino & 0xFFFFFFFF
            and entry.mtime_ns < self.mtime_ns
            and (entry.mode == LINK) == S_ISLNK(status.st_mode)
        )


def read_tree(
    repository: Repository, directory: str, tree: str, *, is_cancelled: Callable[[], bool] | None = None
) -> dict[str, ListedFile]:
    """Returns the files of a tree below `directory` (absolute), by path relative to the top. Raises GitError, GitCancelled."""
    listing = ("ls-tree", "-r", "-z", "--full-name", tree)
    output = run_git(repository, directory, *listing, is_cancelled=is_cancelled)
    found = {}
    for line in output.split(b"\0")[:-1]:
        head, _, path = line.partition(b"\t")
        mode, _, object_id = head.decode("ascii").split(" ")
        found[path.decode("utf-8", "surrogateescape")] = ListedFile(mode, object_id)
    return found


def read_index(repository: Repository, directory: str, *, is_cancelled: Callable[[], bool] | None = None) -> GitIndex:
    """Returns the entries of the index below `directory` (absolute), by path relative to the top.

    Raises GitError, GitCancelled.
    """
    mtime_ns = 0
    with suppress(OSError):
        mtime_ns = os.stat(os.path.join(repository.git_directory, "index")).st_mtime_ns
    output = run_git(repository, directory, "ls-files", "-s", "-z", "--debug", "--full-name", is_cancelled=is_cancelled)
    found: dict[str, IndexedFile] = {}
    for mode, object_id, stage, path, seconds, nanoseconds, inode, size, flags in _INDEX_ENTRY.findall(output):
        found[path.decode("utf-8", "surrogateescape")] = IndexedFile(
            mode.decode(),
            object_id.decode(),
            int(stage),
            int(seconds) * NANOSECONDS_PER_SECOND + int(nanoseconds),
            int(inode),
            int(size),
            int(flags, 16),
        )
    return GitIndex(found, mtime_ns)

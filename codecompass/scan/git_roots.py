"""The directories within which a repository's own files must lie, and reading one of these files without leaving them."""

import errno
import os
import stat
from typing import Final

from msgspec import Struct

from codecompass.scan.files import open_below, open_regular_file, read_descriptor


class GitRoots(Struct, frozen=True):
    """The canonical directories within which a repository's files must lie; empty for anywhere."""

    directories: tuple[str, ...] = ()

    def and_root(self, root: str) -> "GitRoots":
        """Returns these and the root of a project, which a server answers about."""
        return GitRoots((*self.directories, root)) if self.directories and root not in self.directories else self

    def holds(self, path: str) -> bool:
        """Whether a path without links is one of the directories or below one."""
        return not self.directories or self.root_of(path) is not None

    def root_of(self, path: str) -> str | None:
        """Returns the directory that holds a path without links; None if none does."""
        return next((each for each in self.directories if path == each or path.startswith(each.rstrip("/") + "/")), None)


ANYWHERE: Final = GitRoots()


def open_inside(path: str, roots: GitRoots) -> int:
    """Returns a descriptor of the regular file at `path`, following links as long as they stay within `roots`.

    The file that the descriptor reads lies there whatever is renamed or linked meanwhile. Raises OSError, also if it does not.
    """
    if not roots.directories:
        return open_regular_file(path, follows_link=True)
    return open_real(os.path.realpath(path), roots)


def open_real(path: str, roots: GitRoots) -> int:
    """Returns a descriptor of the regular file at `path`, which must be within `roots`, and in which no step may be a link now.

    Raises OSError.
    """
    root = roots.root_of(path)
    if root is None or root == path:
        raise FileNotFoundError(errno.ENOENT, "outside of the allowed directories", path)
    if not stat.S_ISREG(os.lstat(path).st_mode):
        # Opening a device can have side effects, whatever the flags.
        raise OSError(errno.EINVAL, "not a regular file", path)
    descriptor = open_below(root, path[len(root.rstrip("/")) + 1 :])
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return descriptor


def read_inside(path: str, limit: int, roots: GitRoots) -> bytes:
    """Returns at most the first `limit` bytes of the regular file at `path`. Raises the same errors as `open_inside`."""
    descriptor = open_inside(path, roots)
    try:
        return read_descriptor(descriptor, limit)
    finally:
        os.close(descriptor)

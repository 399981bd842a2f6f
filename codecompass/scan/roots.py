"""Finds the root of a project for a path by marker files, and checks that a root is still the same directory."""

import os
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.errors import ProjectNotFound
from codecompass.identity import canonical_root
from codecompass.scan.git_repository import bare_repository_at, repository_at

REPOSITORY_MARKERS: Final = (".codecompass", ".hg", ".jj", ".svn")
"""Besides `.git`. The nearest of these precedes any build file: a package of a monorepo is part of its repository."""

BUILD_MARKERS: Final = (
    "pyproject.toml",
    "setup.py",
    "Cargo.toml",
    "go.mod",
    "go.work",
    "package.json",
    "deno.json",
    "pom.xml",
    "build.gradle",
    "build.gradle.kts",
    "build.sbt",
    "Package.swift",
    "mix.exs",
    "Gemfile",
    "composer.json",
    "CMakeLists.txt",
    "Makefile",
    "build.zig",
    "stack.yaml",
    "cabal.project",
    ".codecompassignore",
)


def git_root_between(path: Path, ancestor: Path) -> Path | None:
    """Returns the innermost git work tree or bare repository at or above `path` and strictly below `ancestor`, or None."""
    for directory in (path, *path.parents):
        if directory == ancestor:
            return None
        if _is_repository(directory):
            return directory
    return None


def marked_root(path: Path, never: frozenset[Path]) -> Path | None:
    """Returns the root of the project that holds `path`: the nearest repository, otherwise the nearest directory with a build
    file, otherwise None. Directories in `never` (the file system's root, the user's home) are never projects.
    """
    candidates = [directory for directory in (path, *path.parents) if directory not in never]
    for directory in candidates:
        if _is_repository(directory) or _has_any(directory, REPOSITORY_MARKERS):
            return directory
    return next((directory for directory in candidates if _has_any(directory, BUILD_MARKERS)), None)


def is_marked(directory: Path) -> bool:
    """Returns whether a repository or a build file says that `directory` itself is a project."""
    return _is_repository(directory) or _has_any(directory, (*REPOSITORY_MARKERS, *BUILD_MARKERS))


def _is_repository(directory: Path) -> bool:
    return repository_at(str(directory)) is not None or bare_repository_at(str(directory)) is not None


def _has_any(directory: Path, names: tuple[str, ...]) -> bool:
    return any((directory / name).exists() for name in names)


_REMEDY = "Restore it, or forget the projects whose directories are gone with: codecompass projects gc"


class RootIdentity(Struct, frozen=True):
    """Identifies a directory independently of its path, by its file system and inode."""

    device: int
    inode: int


def identify_root(root: Path, previous: RootIdentity | None = None) -> RootIdentity:
    """Returns the identity of the directory at the canonical `root`. `previous` is its earlier identity, if known.

    Raises:
        ProjectNotFound: the directory is gone, has become a link, cannot be listed, or is empty and on another file system than
            before, because its own was unmounted. Scanning the empty directory would empty the index.
    """
    try:
        if canonical_root(root) != root:
            # Does not name the target, which the caller may not be allowed to know.
            raise _project_not_found(root, f"the directory {root} is a link to elsewhere now")
        status = os.stat(root, follow_symlinks=False)
        with os.scandir(root) as entries:
            is_empty = next(entries, None) is None
    except OSError as error:
        cause = "is gone" if isinstance(error, FileNotFoundError) else f"cannot be listed ({error.strerror})"
        if isinstance(error, NotADirectoryError):
            cause = "is no longer a directory"
        raise _project_not_found(root, f"the directory {root} {cause}") from error
    found = RootIdentity(status.st_dev, status.st_ino)
    if is_empty and previous is not None and previous.device != found.device:
        raise _project_not_found(root, f"the directory {root} is empty, and the file system that was mounted there is gone")
    return found


def require_same_root(root: Path, identity: RootIdentity) -> None:
    """Raises ProjectNotFound if `root` is gone or has been replaced by another directory."""
    if identify_root(root, identity) != identity:
        raise _project_not_found(root, f"the directory {root} was moved or replaced while it was being indexed")


def _project_not_found(root: Path, what: str) -> ProjectNotFound:
    return ProjectNotFound(f"{what}. {_REMEDY}. The index is unchanged.", workspace=str(root))

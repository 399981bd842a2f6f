"""Which directory is the project that a path belongs to, as far as the file system tells. Looks only at names.

What is registered comes in as an argument: see `registry.Registry.containing`.
"""

from pathlib import Path
from typing import Final

from codecompass.store.scan.vcs import repository_at

REPOSITORY_MARKERS: Final = (".codecompass", ".hg", ".jj", ".svn")
"""Besides `.git`. The nearest of these wins over any build file: a package of a monorepo is part of its repository."""

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
    """Returns the innermost directory at or above `path`, and strictly below `ancestor`, that is a git work tree."""
    for directory in (path, *path.parents):
        if directory == ancestor:
            return None
        if repository_at(str(directory)) is not None:
            return directory
    return None


def route(path: Path, registered: Path | None) -> Path | None:
    """Returns the root that the directory `path` belongs to, given the nearest registered root at or above it.

    A git work tree inside a registered project is a project of its own. None where nothing is registered.
    """
    if registered is None:
        return None
    return git_root_between(path, registered) or registered


def marked_root(path: Path, never: frozenset[Path]) -> Path | None:
    """Returns the project that the directory `path` stands in by its markers: the repository, else the build file's place.

    Directories of `never` (the file system's root, the user's home) are no projects, whatever lies in them.
    """
    candidates = [directory for directory in (path, *path.parents) if directory not in never]
    for directory in candidates:
        if repository_at(str(directory)) is not None or _has_any(directory, REPOSITORY_MARKERS):
            return directory
    return next((directory for directory in candidates if _has_any(directory, BUILD_MARKERS)), None)


def _has_any(directory: Path, names: tuple[str, ...]) -> bool:
    return any((directory / name).exists() for name in names)

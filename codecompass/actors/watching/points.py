"""Watch points: places outside of the scanned directories that decide which files are indexed, and what HEAD names.

Corresponds to what a scan (`scan/rules.py`) and `read_head` read. Reads a handful of small files.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from msgspec import Struct

from codecompass.scan import git_repository
from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.scan.rules import GIT_IGNORE_FILE, OWN_IGNORE_FILE
from codecompass.settings import project_file

RULE_NAMES: Final = frozenset({GIT_IGNORE_FILE, OWN_IGNORE_FILE, ".git", "pyvenv.cfg", "CACHEDIR.TAG", "HEAD", "objects", "refs"})
"""Names in any scanned directory that affect other files: rules, the start of a repository, and markers of virtual environments,
caches and bare repositories."""


class WatchPoint(Struct, frozen=True):
    """A directory (absolute) to watch for the names in it that affect the rules, or HEAD. Other names are ignored."""

    directory: str
    rules: frozenset[str] = frozenset()
    head: frozenset[str] = frozenset()


def watch_points(root: str, repositories: Iterable[str], roots: GitRoots = ANYWHERE) -> tuple[WatchPoint, ...]:
    """Returns the watch points of the workspace at `root` (absolute). Some may not exist (yet).

    `repositories` are the tops of the work trees in the workspace, relative to the root, as a scan returns them. A repository
    that leads out of `roots` has none.
    """
    points = [_settings_point(root), *_root_points(root, roots)]
    for path in sorted(set(repositories) - {""}):
        points.extend(_index_points(os.path.join(root, path), roots))
    return tuple(points)


def _settings_point(root: str) -> WatchPoint:
    file = project_file(Path(root))
    return WatchPoint(str(file.parent), rules=frozenset({file.name}))


def _root_points(root: str, roots: GitRoots) -> Iterator[WatchPoint]:
    yield from _index_points(root, roots)
    repository = git_repository.find_repository(root, roots)
    if repository is None:
        return
    if repository.top != root:
        yield from _index_points(repository.top, roots)
        # Ignore files between the top and the root apply to it; a repository that begins in between would hide them.
        directory = os.path.dirname(root)
        while directory.startswith(repository.top):
            yield WatchPoint(directory, rules=frozenset({GIT_IGNORE_FILE, ".git"}), head=frozenset({".git"}))
            if directory == repository.top:
                break
            directory = os.path.dirname(directory)
    references = frozenset({"packed-refs", "refs", "reftable"})
    yield WatchPoint(repository.git_directory, head=frozenset({"HEAD"}) | references)
    if repository.common_directory != repository.git_directory:
        yield WatchPoint(repository.common_directory, head=references)
    yield WatchPoint(os.path.join(repository.common_directory, "reftable"), head=frozenset({"tables.list"}))
    yield from _branch_points(repository)


def _index_points(top: str, roots: GitRoots) -> Iterator[WatchPoint]:
    """Yields the places that decide which files the repository at `top` tracks and excludes."""
    repository = git_repository.repository_at(top, roots)
    if repository is None:
        # A repository that is being created: its HEAD is written some time after the directory.
        dot_git = os.path.join(top, ".git")
        if os.path.isdir(dot_git):
            yield WatchPoint(dot_git, rules=frozenset({"HEAD"}), head=frozenset({"HEAD"}))
        return
    yield WatchPoint(repository.git_directory, rules=frozenset({"index", "info", "commondir"}))
    if repository.common_directory != repository.git_directory:
        yield WatchPoint(repository.common_directory, rules=frozenset({"info"}))
    yield WatchPoint(os.path.join(repository.common_directory, "info"), rules=frozenset({"exclude"}))


def _branch_points(repository: git_repository.GitRepository) -> Iterator[WatchPoint]:
    """Yields each directory on the path to the file of the current branch, watched for the next name on that path: git removes
    empty directories when it packs references, and creates them again."""
    reference = git_repository.head_reference(repository)
    directory = repository.common_directory
    for name in reference.split("/") if reference else ():
        yield WatchPoint(directory, head=frozenset({name}))
        directory = os.path.join(directory, name)

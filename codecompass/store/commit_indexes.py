"""The indexes of commits that a project keeps beside that of its working tree: lists them, notes their use, removes them.

A commit never changes, so its index is built once and then only read. A bounded number is kept: the least recently used is
removed first, but never one that a process has open or writes.
"""

import contextlib
import os
import time
from typing import Final

from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.store.filesystem import disk_usage
from codecompass.store.housekeeping import REMOVED_PREFIX, remove_project
from codecompass.store.index import inspect_index
from codecompass.store.layout import ProjectLayout, commit_layouts
from codecompass.units import MINUTES

USE_NOTED_SECONDS: Final = 1 * MINUTES
"""Uses within this time are noted once, because a question should not write."""


class CommitIndex(Struct, frozen=True, kw_only=True):
    """A readable index of a commit."""

    commit: str
    file_count: int
    symbol_count: int
    disk_bytes: int


def commit_indexes(layout: ProjectLayout) -> tuple[CommitIndex, ...]:
    """Returns the indexes of commits that this program can read, sorted by commit."""
    found = []
    for each in commit_layouts(layout):
        meta = inspect_index(each).meta
        if meta is not None:
            found.append(
                CommitIndex(
                    commit=each.root.name,
                    file_count=meta.file_count,
                    symbol_count=meta.symbol_count,
                    disk_bytes=disk_usage(each.root),
                )
            )
    return tuple(sorted(found, key=lambda index: index.commit))


def least_recently_used(layout: ProjectLayout) -> tuple[ProjectLayout, ...]:
    """Returns the layouts of all commits of a project, the least recently used first."""
    return tuple(sorted(commit_layouts(layout), key=lambda each: (used_at(each), each.root.name)))


def surplus_commits(layout: ProjectLayout, commit: str, max_refs: int) -> tuple[tuple[ProjectLayout, ...], int]:
    """Returns the other commits of a project, least recently used first, and how many of them must be removed to keep at most
    `max_refs` indexes including that of `commit`."""
    others = tuple(each for each in least_recently_used(layout) if each.root.name != commit)
    return others, max(0, len(others) + 1 - max_refs)


def note_use(layout: ProjectLayout) -> None:
    """Notes that the index of a commit was used just now. Does nothing if the store cannot be written."""
    with contextlib.suppress(OSError):
        if time.time() - layout.readers.stat().st_mtime > USE_NOTED_SECONDS:
            os.utime(layout.readers)


def used_at(layout: ProjectLayout) -> float:
    """Returns when the index of a commit was last used, in seconds since 1970; 0.0 if unknown."""
    for path in (layout.readers, layout.root):
        with contextlib.suppress(OSError):
            return path.stat().st_mtime
    return 0.0


def remove_commit(layout: ProjectLayout) -> int:
    """Removes the index of a commit and returns the bytes freed; 0 if it stays because a process has it open or writes it."""
    try:
        return remove_project(layout, spare_readers=True)
    except CodeCompassError:
        return 0


def remove_leftovers(layout: ProjectLayout) -> None:
    """Deletes the directories that interrupted removals of commits left."""
    import shutil

    with contextlib.suppress(OSError):
        for name in os.listdir(layout.refs):
            if name.startswith(REMOVED_PREFIX):
                shutil.rmtree(layout.refs / name, ignore_errors=True)

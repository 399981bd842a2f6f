"""Removes projects, leftovers, unpublished files, or everything from the store; finds leftovers and checks the quota."""

import contextlib
import errno
import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal

from msgspec import Struct

from codecompass.errors import CodeCompassError, IndexInProgress
from codecompass.store.epochs import kept_epochs
from codecompass.store.filesystem import disk_space
from codecompass.store.layout import HomeLayout, ProjectLayout, commit_layouts, discard, empty_trash, not_writable, sync_directory
from codecompass.store.lock import LockHeld, is_locked, is_read, removal_lock, writer_lock
from codecompass.units import MIB

OrphanKind = Literal["removed", "half-made", "unknown"]
"""What an interrupted removal left; a directory without a published index; an index without a project."""

NAMED_PROJECTS: Final = 3
"""How many of the largest projects the warning for a full store names."""

REMOVED_PREFIX: Final = ".removed-"
"""Prefix of directories that were renamed to be deleted."""

_REGISTRY_FILES: Final = ("registry.db", "registry.db-wal", "registry.db-shm", "registry.reserve")


class Orphan(Struct, frozen=True):
    """A directory in the store that belongs to no registered project. Deleting it would free `n_bytes`; `used_at` is in seconds
    since 1970."""

    path: Path
    n_bytes: int
    kind: OrphanKind = "unknown"
    used_at: float = 0.0


def remove_project(layout: ProjectLayout, *, spare_readers: bool = False, confirm: Callable[[], bool] = lambda: True) -> int:
    """Removes the index of a project with those of its commits, and returns the bytes freed, without files that other indexes
    share. The source files are not touched.

    Processes that have the index open can continue to read it; with `spare_readers` nothing is removed if there are any.
    `confirm` is called last, while no process can write the index (nor open it, with `spare_readers`): nothing is removed unless
    it returns True.

    Raises IndexInProgress if a job is writing the index, or if it has readers and `spare_readers` is set; PermissionDenied if the
    store cannot be changed.
    """
    import shutil

    if not layout.root.exists():
        return 0
    held = _all_of(layout)
    try:
        with contextlib.ExitStack() as locks:
            for each in held:
                locks.enter_context(writer_lock(each, f"removal pid {os.getpid()}"))
            n_bytes = disk_space(layout.root).own
            with contextlib.ExitStack() as readers:
                for each in held if spare_readers else ():
                    readers.enter_context(removal_lock(each))
                if not confirm():
                    return 0
                target = _set_aside(layout)
            shutil.rmtree(target, ignore_errors=True)
            return n_bytes
    except LockHeld as error:
        doing = "being written" if any(map(is_locked, held)) else "in use"
        raise IndexInProgress(
            f"the index at {layout.root} is {doing} ({error.owner or 'unknown owner'}). "
            "Wait for that to end, or stop it, and run again.",
            owner=error.owner,
        ) from error


def is_published(layout: ProjectLayout) -> bool:
    """Whether an index of a project, or of one of its commits, was ever published."""
    return any(each.current.exists() for each in _all_of(layout))


def orphans(home: HomeLayout, known: frozenset[str]) -> tuple[Orphan, ...]:
    """Returns the directories in the store that belong to no project of `known` and are not in use, sorted by name."""
    with contextlib.suppress(OSError):
        return tuple(
            Orphan(path, disk_space(path).own, _kind(path), _used_at(path))
            for path in sorted((home.root / "projects").iterdir())
            if path.is_dir() and path.name not in known and not _is_in_use(ProjectLayout(path))
        )
    return ()


def over_quota(used_bytes: int, max_bytes: int, sizes: Iterable[tuple[str, int]]) -> str:
    """Returns the warning for a store over its quota; '' if it is not, or if there is no quota (`max_bytes` 0).

    `sizes` are the names of all projects and their bytes; the warning names the largest.
    """
    if not max_bytes or used_bytes <= max_bytes:
        return ""
    largest = sorted(sizes, key=lambda each: (-each[1], each[0]))[:NAMED_PROJECTS]
    named = ", ".join(f"{name} {_mib(n_bytes)}" for name, n_bytes in largest if n_bytes)
    return (
        f"the indexes take {_mib(used_bytes)}, more than storage.max_size allows ({_mib(max_bytes)}). "
        + (f"The largest: {named}. " if named else "")
        + "Remove one with: codecompass projects remove NAME, clean up with: codecompass projects gc, or raise storage.max_size"
    )


def remove_orphan(orphan: Orphan) -> int:
    """Removes a leftover and returns the bytes freed; 0 if it cannot be removed or is in use by now."""
    import shutil

    if orphan.kind == "removed":
        shutil.rmtree(orphan.path, ignore_errors=True)
        return 0 if orphan.path.exists() else orphan.n_bytes
    try:
        return remove_project(ProjectLayout(orphan.path), spare_readers=True)
    except CodeCompassError:
        return 0


def busy_projects(home: HomeLayout) -> tuple[str, ...]:
    """Returns the ids of the projects whose index, or that of a commit, is being written, sorted."""
    with contextlib.suppress(OSError):
        return tuple(p.name for p in sorted((home.root / "projects").iterdir()) if any(map(is_locked, _all_of(ProjectLayout(p)))))
    return ()


def remove_everything(home: HomeLayout) -> None:
    """Removes everything that the program wrote to the data directory, and the directory itself if it is then empty.

    Raises IndexInProgress if a job is writing, PermissionDenied if something cannot be removed.
    """
    import shutil

    homes = (home, *home.clusters())
    busy = tuple(name for each in homes for name in busy_projects(each))
    if busy:
        raise IndexInProgress(
            f"an index is being written ({', '.join(busy)}). Stop the servers and jobs that use {home.root}, and run again."
        )
    try:
        for directory in (home.root / "projects", home.hosts, home.cluster_root):
            if directory.exists():
                shutil.rmtree(directory)
        for path in [home.root / name for name in _REGISTRY_FILES] + sorted(home.root.glob("registry-*.new*")):
            path.unlink(missing_ok=True)
    except OSError as error:
        raise not_writable(home.root, error) from error
    with contextlib.suppress(OSError):
        home.root.rmdir()


def _all_of(layout: ProjectLayout) -> tuple[ProjectLayout, ...]:
    """Returns the layout of a project and those of its commits."""
    return (layout, *commit_layouts(layout))


def _is_in_use(layout: ProjectLayout) -> bool:
    return any(is_locked(each) or is_read(each) for each in _all_of(layout))


def _mib(n_bytes: int) -> str:
    return f"{n_bytes / MIB:,.1f} MiB"


def _set_aside(layout: ProjectLayout) -> Path:
    """Renames the directory, so that no process opens it half deleted, and an interrupted removal is recognised as a leftover."""
    target = layout.root.with_name(f"{REMOVED_PREFIX}{layout.root.name}-{os.urandom(4).hex()}")
    try:
        layout.root.rename(target)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            # There is no space even for renaming. Without CURRENT no process opens the index any more.
            layout.current.unlink(missing_ok=True)
            return layout.root
        raise not_writable(layout.root, error) from error
    return target


def _kind(path: Path) -> OrphanKind:
    if path.name.startswith(REMOVED_PREFIX):
        return "removed"
    return "unknown" if ProjectLayout(path).current.exists() else "half-made"


def _used_at(path: Path) -> float:
    layout = ProjectLayout(path)
    times = [0.0]
    for each in (path, layout.current, layout.lock, layout.readers, layout.epochs):
        with contextlib.suppress(OSError):
            times.append(each.stat().st_mtime)
    return max(times)


def sweep(layout: ProjectLayout, epoch: str, generation: int) -> None:
    """Removes all epochs but `epoch` and those that `kept_epochs` returns, all generations of `epoch` but `generation`, and the
    trash.

    The caller holds the writer lock. Raises OSError if something cannot be removed, or CURRENT cannot be made durable.
    """
    kept = {epoch, *kept_epochs(layout, epoch)}
    replaced = [directory for directory in layout.epochs.iterdir() if directory.name not in kept]
    if replaced:
        # If the job that replaced CURRENT could not make that durable, a crash may bring back one that names an older epoch.
        sync_directory(layout.root)
    for directory in replaced:
        discard(layout, directory)
    keep = layout.text(epoch, generation)
    for directory in keep.parent.iterdir() if keep.parent.is_dir() else ():
        if directory != keep:
            discard(layout, directory)
    empty_trash(layout)

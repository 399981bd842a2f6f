"""Watchers report what has changed in a workspace, without a scan of all of it.

A watcher starts with "everything", as it does not know what happened before it watched. From then on

    changes = watcher.drain()              # first: later changes are in the next drain
    result = scan(..)                      # or only of changes.directories
    await watcher.update(result.directories, result.repositories)
    watcher.drain().is_empty and watcher.is_exact    # then the scan is still valid at this moment

`update` after each scan sets the watches to the directories of that scan, and reports those that were not watched before.
If a watcher is not exact, an empty drain proves nothing: only a comparison does, and the watcher says when it is worthwhile.
"""

import errno
import os
import sys
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final, Protocol, TypeVar

import structlog
import trio

from codecompass.actors.blocking_calls import load_module
from codecompass.actors.watching.changes import FilesByDirectory, WatchedChanges
from codecompass.scan.git_roots import ANYWHERE, GitRoots

MAX_WATCHES: Final = 65_536
"""Watched directories of one workspace. Each takes 0.1 KiB in the kernel and pins 1.3 KiB of its cache (ext4), so this is 6 MiB
and up to 90 MiB; setting the watches takes 0.3 s."""

MAX_WATCHED_FILES: Final = 32_768
"""Files of one workspace that are watched by themselves, all or none: 3 to 45 MiB in the kernel."""

USER_LIMIT: Final = Path("/proc/sys/fs/inotify/max_user_watches")
SHARE_OF_USER_LIMIT: Final = 0.5
"""Editors and other tools of the same user need watches too."""

FILES_SHARE_OF_USER_LIMIT: Final = 0.125
"""The same for watched files, of which several workspaces have many."""

T = TypeVar("T")


class RunInThread(Protocol):
    """Runs blocking work in a thread."""

    async def __call__(self, work: Callable[[], T], /) -> T: ...


_log = structlog.get_logger()


class TreeWatcher(Protocol):
    """The watcher of one workspace, used by one task at a time."""

    @property
    def is_exact(self) -> bool:
        """Whether the last `drain` was a barrier: what it did not name has not changed. False until the first `update`."""

    @property
    def limitation(self) -> str:
        """Why it cannot be exact here, with the remedy if there is one; empty if it can."""

    @property
    def touches_tree(self) -> bool:
        """Whether `drain` makes system calls on the watched file system, which may never answer."""

    def drain(self) -> WatchedChanges:
        """Returns the changes up to now, without waiting, and starts over. Once the watcher has lost track, every drain is
        `is_everything` until `update`."""

    async def wait_change(self) -> None:
        """Waits until there is something to drain; forever if the watcher cannot tell. Safe to cancel."""

    def watches(self, directories: frozenset[str], repositories: Iterable[str], files: FilesByDirectory) -> bool:
        """Whether `update` with these, and `files` of some directories, would change nothing."""

    async def update(
        self,
        directories: Iterable[str],
        repositories: Iterable[str] = (),
        files: FilesByDirectory | None = None,
        *,
        has_all_files: bool = False,
    ) -> None:
        """Watches these directories (relative to the root, as a scan returns them) and no others; of the files in them, `files`
        are also noticed if they are written through a name elsewhere. Those of other directories are as in the last call: a
        watcher that does not know them is not exact before a call with those of all (`has_all_files`). None changes nothing of
        that."""


class UnwatchedTree:
    """A `TreeWatcher` for when watching is impossible: everything may have changed, always."""

    touches_tree = False

    def __init__(self, reason: str) -> None:
        self.limitation = reason
        self.is_exact = False

    def drain(self) -> WatchedChanges:
        """Returns "everything"."""
        return WatchedChanges(is_everything=True, affects_rules=True, affects_head=True, reason=self.limitation)

    async def wait_change(self) -> None:
        """Never returns."""
        await trio.sleep_forever()

    def watches(self, directories: frozenset[str], repositories: Iterable[str], files: FilesByDirectory) -> bool:
        """Returns True."""
        return True

    async def update(
        self,
        directories: Iterable[str],
        repositories: Iterable[str] = (),
        files: FilesByDirectory | None = None,
        *,
        has_all_files: bool = False,
    ) -> None:
        """Does nothing."""
        await trio.lowlevel.checkpoint()


@asynccontextmanager
async def open_tree_watcher(
    root: Path,
    directories: Iterable[str] = (),
    repositories: Iterable[str] = (),
    *,
    max_watches: int = MAX_WATCHES,
    max_files: int = MAX_WATCHED_FILES,
    run: RunInThread = trio.to_thread.run_sync,
    git_roots: GitRoots = ANYWHERE,
) -> AsyncIterator[TreeWatcher]:
    """Yields the best watcher that this system has for `root`, and closes it afterwards.

    With the directories of an earlier scan, or of the manifest, the watches are set before it is yielded, and one scan after the
    first drain suffices; otherwise a second scan is needed. Never fails for lack of watches: the watcher then has a limitation,
    which is logged once for as long as it lasts. A root that does not exist yields "everything". `run` runs what touches the
    tree in a thread, and raises if the file system does not answer. A repository that leads out of `git_roots` counts as none.
    """
    real_root = await run(lambda: os.path.realpath(str(root)))
    if sys.platform != "linux":
        await load_module("codecompass.actors.watching.fsevents")
        from codecompass.actors.watching.fsevents import open_hint_watcher

        async with open_hint_watcher(real_root) as hints:
            _log_limitation(real_root, hints)
            yield hints
        return
    await load_module("codecompass.actors.watching.inotify")
    from codecompass.actors.watching.inotify import InotifyWatcher

    try:
        # In a thread, because the first instance in a process searches for the C library, which runs a program.
        watcher = await trio.to_thread.run_sync(
            lambda: InotifyWatcher(
                real_root,
                max_watches=_allowed(max_watches, SHARE_OF_USER_LIMIT),
                max_files=_allowed(max_files, FILES_SHARE_OF_USER_LIMIT),
                run=run,
                git_roots=git_roots,
            )
        )
    except OSError as error:
        unwatched = UnwatchedTree(_refusal(error))
        _log_limitation(real_root, unwatched)
        yield unwatched
        return
    try:
        known = frozenset(directories)
        if known:
            await watcher.update(known, repositories)
        yield watcher
    finally:
        # In a thread: the kernel takes up to 5 us for each watch.
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(watcher.close)


def _allowed(wanted: int, share: float) -> int:
    try:
        limit = int(USER_LIMIT.read_text("ascii"))
    except (OSError, ValueError):
        return wanted
    return min(wanted, int(limit * share))


def _refusal(error: OSError) -> str:
    if error.errno == errno.EMFILE:
        return (
            "there are no more inotify instances for this user, or descriptors for this process: "
            "raise fs.inotify.max_user_instances (sysctl)"
        )
    return f"the system refuses to watch files: {os.strerror(error.errno or 0)}"


def _log_limitation(root: str, watcher: TreeWatcher) -> None:
    if watcher.limitation:
        _log.warning("watching_limited", root=root, reason=watcher.limitation)

"""The watcher of macOS, through watchfiles (FSEvents), which learns of changes late.

Its thread collects events for a while before it delivers them, and FSEvents itself guarantees neither an order nor a time. So it
hints when a comparison is worthwhile, and never proves that nothing has changed. Works wherever watchfiles does, for tests.
"""

import os
import threading
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import structlog
import trio

from codecompass.actors.watching.changes import ChangeCollector, FilesByDirectory, WatchedChanges
from codecompass.actors.watching.points import RULE_NAMES
from codecompass.scan import builtin
from codecompass.settings import project_file

GATHERING_MS: Final = 200
STEP_MS: Final = 50
"""Events are delivered after STEP without another event, at the latest after GATHERING; the thread ends within STEP."""

_GIT_RULES: Final = frozenset({".git", ".git/index", ".git/info/exclude"})
_LIMITATION: Final = "this system reports changes with a delay, so each answer compares the tree"

_log = structlog.get_logger()


class HintWatcher:
    """A `TreeWatcher` that is never exact. Made by `open_hint_watcher`."""

    is_exact = False
    touches_tree = False

    def __init__(self, root: str) -> None:
        self.limitation = _LIMITATION
        self._root = root
        self._failure = ""
        self._changes = ChangeCollector()
        self._changes.add_everything("watching has just begun")
        self._arrived = trio.Event()
        self._settings = os.path.relpath(project_file(Path(root)), root)

    def drain(self) -> WatchedChanges:
        """Returns the delivered changes; "everything" once watching has failed."""
        self._arrived = trio.Event()
        if self._failure:
            self._changes.add_everything(self._failure)
        return self._changes.take()

    async def wait_change(self) -> None:
        """Waits until changes have been delivered. Safe to cancel."""
        await trio.lowlevel.checkpoint()
        while self._changes.is_empty:
            await self._arrived.wait()

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
        """Does nothing: the whole tree is watched, and events in directories that are never indexed are dropped."""
        await trio.lowlevel.checkpoint()

    def deliver(self, paths: Iterable[str]) -> None:
        """Adds changes of, or in, these absolute paths."""
        for path in paths:
            self._take(os.path.relpath(path, self._root))
        if not self._changes.is_empty:
            self._arrived.set()

    def fail(self, reason: str) -> None:
        """Records that watching has failed: nothing more will be delivered."""
        self.limitation = self._failure = reason
        _log.warning("watching_ended", root=self._root, reason=reason)
        self._changes.add_everything(reason)
        self._arrived.set()

    def _take(self, path: str) -> None:
        components = path.split("/")
        if path == "." or components[0] == "..":
            self._changes.add_everything("the root was moved, deleted or replaced")
        elif components[0] == ".git":
            in_refs = components[1:2] in (["HEAD"], ["refs"], ["packed-refs"], ["reftable"])
            self._changes.add_effects(rules=path in _GIT_RULES, head=path == ".git" or in_refs)
        elif ".git" not in components[:-1] and builtin.ALWAYS.isdisjoint(components):
            if components[-1] in RULE_NAMES or path in (self._settings, os.path.dirname(self._settings)):
                self._changes.add_effects(rules=True)
            self._changes.add("/".join(components[:-1]))
            # FSEvents does not say whether the path is or was a directory.
            self._changes.add(path)


@asynccontextmanager
async def open_hint_watcher(root: str) -> AsyncIterator[HintWatcher]:
    """Yields a watcher of the directory `root` (absolute, without symbolic links), and stops its thread afterwards."""
    watcher = HintWatcher(root)
    stop = threading.Event()
    token = trio.lowlevel.current_trio_token()
    thread = threading.Thread(target=_listen, args=(root, watcher, token, stop), name="watch-hints", daemon=True)
    thread.start()
    try:
        yield watcher
    finally:
        stop.set()
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(thread.join)


def _listen(root: str, watcher: HintWatcher, token: trio.lowlevel.TrioToken, stop: threading.Event) -> None:
    import watchfiles

    try:
        for changes in watchfiles.watch(
            root,
            watch_filter=None,
            debounce=GATHERING_MS,
            step=STEP_MS,
            stop_event=stop,
            raise_interrupt=False,
            ignore_permission_denied=False,
        ):
            token.run_sync_soon(watcher.deliver, tuple(path for _, path in changes))
    except trio.RunFinishedError:
        return
    except Exception as error:  # noqa: BLE001  nothing above this thread would see it; the watcher reports it
        try:
            token.run_sync_soon(watcher.fail, f"watching has ended: {error}")
        except trio.RunFinishedError:
            return

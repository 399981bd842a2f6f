"""Tracks what has changed in a workspace's tree: owns the watcher, and is the only writer of the change log.

    watcher --drain--> ChangeLog <--take, landed, put_back-- jobs
                          ^--check_tree-- questions

With an exact watcher, draining it proves that nothing else has changed. Without one, or with one that may be late, only a
comparison of every file does.
"""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, Literal

import structlog
import trio
from msgspec.structs import replace

from codecompass.actors.job_state import WatchList
from codecompass.actors.watching.changes import ChangeLog
from codecompass.actors.workbench import TreeWork
from codecompass.errors import FileSystemUnresponsive
from codecompass.nurseries import open_nursery
from codecompass.units import MILLISECONDS, MINUTES, SECONDS

if TYPE_CHECKING:
    from codecompass.actors.watching.watcher import TreeWatcher

DEBOUNCE_SECONDS: Final = 50 * MILLISECONDS
"""How long changes are gathered for one job: an editor writes a file in several steps, a checkout many files. Questions do not
wait for this."""

AUDIT_SECONDS: Final = 10 * MINUTES
"""Interval between comparisons of every file. One of 20,000 files costs 0.2 s of CPU."""

REPLACE_WATCHER_SECONDS: Final = 1 * SECONDS
LONGEST_REPLACE_SECONDS: Final = 30 * SECONDS
"""Pause between the end of a watcher and the next: it doubles up to the longest, and starts over after a watcher that lasted that
long. It does not grow while the file system is unresponsive: an attempt costs nothing while a thread waits there anyway, and once
the file system answers again, its files have to be checked even if no question comes."""

CheckResult = Literal["watched", "unchanged", "unknown"]
"""How the change log was brought up to date: `watched`: by the watcher, so it is complete; `unchanged`: by comparing every file,
and the index holds the tree; `unknown`: by neither, so files that are not in the log may have changed."""


class _Comparison:
    """A comparison of every file, shared by all questions that arrived before it began."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.found_unchanged = False


class ChangeTracker(ChangeLog):
    """The change log of one workspace, which its watcher or comparisons keep up to date.

    `tree` is None for a commit, which never changes. `nursery` is the incarnation's; `announce` is called when watching begins or
    ends.
    """

    def __init__(self, tree: TreeWork | None, nursery: trio.Nursery, announce: Callable[[], None]) -> None:
        super().__init__()
        self._tree = tree
        self._nursery = nursery
        self._announce = announce
        self._log = structlog.get_logger(__name__)
        self._watcher: TreeWatcher | None = None
        self._is_updating = False
        self._watch_list: WatchList | None = None
        self._is_due = False
        self._waiting = trio.CancelScope()
        self._noted = trio.Event()
        self._comparing: _Comparison | None = None
        self._using = trio.Lock()
        self._next_drain: trio.Event | None = None
        self._pause = REPLACE_WATCHER_SECONDS
        self._is_silent = False

    @property
    def _work(self) -> TreeWork:
        assert self._tree is not None, "the tree of a commit is neither watched nor compared"
        return self._tree

    @property
    def is_exact(self) -> bool:
        """Whether draining the watcher proves that nothing else has changed.

        False until it watches all that the last scan found, for example a directory that has only now become readable.
        """
        is_watching_all = not (self._is_due or self._is_updating)
        return self._watcher is not None and is_watching_all and self._watcher.is_exact

    def note(self, directories: frozenset[str] | None, files: frozenset[str] = frozenset()) -> None:
        """Records changes, as `ChangeLog.note` does, and wakes `wait_noted`."""
        super().note(directories, files)
        self.note_again()

    async def wait_noted(self) -> None:
        """Waits until a change is recorded that no job covers."""
        await self._noted.wait()
        self._noted = trio.Event()

    def note_again(self) -> None:
        """Makes the next `wait_noted` return at once if a change is still not covered."""
        if not self.is_current:
            self._noted.set()

    def watch_scanned(self, watch_list: WatchList) -> None:
        """Has the watcher watch what the scan of a job found that has published."""
        waiting, self._watch_list = self._watch_list, watch_list
        if self._is_due and waiting is not None and not watch_list.has_all_files:
            # The watcher has not been told of the files of the job before.
            files = {**waiting.files, **watch_list.files}
            self._watch_list = replace(watch_list, files=files, has_all_files=waiting.has_all_files)
        elif self._has_to_watch(watch_list):
            self._is_due = True
            self._waiting.cancel()

    def _has_to_watch(self, watch_list: WatchList) -> bool:
        """Whether the watcher has to be told. Most edits change nothing of what is watched, and the next question would compare
        every file until it is told."""
        # A watcher that is being drained, in a thread, cannot be asked.
        if self._watcher is None or self._using.locked() or watch_list.has_all_files:
            return True
        return not self._watcher.watches(watch_list.directories, watch_list.repositories, watch_list.files)

    # for questions

    async def drain(self) -> None:
        """Adds to the change log what the watcher knows now; waits while its watches are being set."""
        if self._watcher is None:
            return
        drained = self._next_drain
        if drained is None:
            # One drain serves all callers that arrive before it begins.
            drained = self._next_drain = trio.Event()
            # Not in the task of a question, which may be cancelled: the drained changes would be lost with it.
            self._nursery.start_soon(self._drain)
        await drained.wait()

    async def _drain(self) -> None:
        async with self._using:
            drained, self._next_drain = self._next_drain, None
            watcher = self._watcher
            try:
                if watcher is not None:
                    try:
                        changes = await self._work.drain(watcher) if watcher.touches_tree else watcher.drain()
                    except Exception as error:  # noqa: BLE001 (without a watcher each question compares every file)
                        self._lose_watcher(error)
                    else:
                        # Rules concern files anywhere, and switching a branch writes many: both need a whole scan.
                        is_anywhere = changes.is_everything or changes.affects_rules or changes.affects_head
                        self.note(None if is_anywhere else changes.directories, changes.files)
            finally:
                if drained is not None:
                    drained.set()

    async def check_tree(self) -> CheckResult:
        """Brings the change log up to date: from the watcher if that is exact, else by comparing every file.

        If the watcher is not exact and changes are pending, nothing is compared: a job is due anyway.
        """
        if self.is_exact:
            await self.drain()
            if self._watch_list is not None and self._watch_list.linked:
                # These files can be written through a name that is not watched.
                written = await self._work.written_links(self._watch_list.linked)
                self.note(frozenset(path.rpartition("/")[0] for path in written), written)
            return "watched"
        if self.is_current:
            # A comparison that began before this question may have compared a file that has changed since.
            running = self._comparing
            if running is not None:
                await running.done.wait()
            if self._comparing is None or self._comparing is running:
                self._comparing = _Comparison()
                self._nursery.start_soon(self._compare, self._comparing)
            comparison = self._comparing
            await comparison.done.wait()
            return "unchanged" if comparison.found_unchanged else "unknown"
        return "unknown"

    async def _compare(self, comparison: _Comparison) -> None:
        try:
            if await self._work.differs():
                self.note(None)
            else:
                comparison.found_unchanged = True
        finally:
            if self._comparing is comparison:
                self._comparing = None
            comparison.done.set()

    # watching

    async def keep_watch(self, follow: Callable[[], Awaitable[None]]) -> None:
        """Keeps a watcher: waits for its changes, sets what it watches, and runs `follow` while there is one.

        Runs until cancelled. A watcher that fails is replaced after a pause; until then each question compares every file.
        """
        while True:
            began = trio.current_time()
            try:
                async with self._work.watch() as watcher, open_nursery() as nursery:
                    self._watcher = watcher
                    self._is_due = self._watch_list is not None
                    nursery.start_soon(follow)
                    nursery.start_soon(self._audit)
                    await self._watch(watcher)
                    nursery.cancel_scope.cancel()
            except Exception as error:  # noqa: BLE001 (without a watcher each question compares every file)
                self._lose_watcher(error)
            finally:
                self._watcher = None
                self._is_updating = False
            self._announce()
            if self._is_silent or trio.current_time() - began > LONGEST_REPLACE_SECONDS:
                self._pause = REPLACE_WATCHER_SECONDS
            await trio.sleep(self._pause)
            self._pause = min(2 * self._pause, LONGEST_REPLACE_SECONDS)

    async def _watch(self, watcher: "TreeWatcher") -> None:
        """Serves the watcher until it is lost."""
        while self._watcher is watcher:
            if self._is_due and self._watch_list is not None:
                self._is_updating = True
                async with self._using:
                    # Only now: lists that come while a drain is waited for are joined with the one that is due.
                    self._is_due = False
                    told = self._watch_list
                    # A watcher has all files from then on: they are not kept twice.
                    self._watch_list = replace(told, files={}, has_all_files=False)
                    await watcher.update(told.directories, told.repositories, told.files, has_all_files=told.has_all_files)
                    del told
                self._is_updating = False
                await self.drain()
                self._announce()
            self._waiting = trio.CancelScope()
            with self._waiting:
                await watcher.wait_change()
                await trio.sleep(DEBOUNCE_SECONDS)
            await self.drain()

    def _lose_watcher(self, error: Exception) -> None:
        """Drops the watcher: until the next one, only comparisons of every file show what has changed."""
        self._is_silent = isinstance(error, FileSystemUnresponsive)
        if not self._is_silent:
            self._log.warning("watcher_lost", error=str(error), consequence="each question compares every file")
        self._watcher = None
        self._waiting.cancel()
        self.note(None)

    async def _audit(self) -> None:
        """Has every file compared regularly: no watcher reports a write through a second name of a file."""
        while True:
            await trio.sleep(AUDIT_SECONDS)
            self.note(None)

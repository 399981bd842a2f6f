"""What has changed in a workspace's tree, as far as anybody has seen: owner of the change log and of the watcher.

    watcher --drain--> ChangeLog <--take, landed, put back-- jobs
                          ^--look-- questions

Where the watcher is exact, draining it is proof. Without one, or with one that may be late, a look at every file is.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Final, Literal

import structlog
import trio

from codecompass.actors.job_model import JobReport
from codecompass.actors.watching.changes import ChangeLog
from codecompass.actors.workbench import Workbench
from codecompass.errors import FileSystemUnresponsive
from codecompass.scan.files import Stamp
from codecompass.units import MILLISECONDS, MINUTES, SECONDS

if TYPE_CHECKING:
    from codecompass.actors.watching.watcher import TreeWatcher

DEBOUNCE_SECONDS: Final = 50 * MILLISECONDS
"""An editor writes a file in several steps, a checkout many files: one job for them. A question does not wait for this."""

AUDIT_SECONDS: Final = 10 * MINUTES
"""A look at 20,000 files costs 0.2 s of CPU."""


REPLACE_WATCHER_SECONDS: Final = 30 * SECONDS

SILENT_SECONDS: Final = 1 * SECONDS
"""Between two questions whether a file system answers again: they cost nothing while a thread waits for it anyway."""


Look = Literal["exact", "same", "inexact"]
"""How the change log was brought up to now: by the watcher, which proves it; by comparing every file, which found the index to
hold the tree; or by neither, so that what is not in the log may have changed all the same."""


class _Check:
    """A look at every file that is going on, shared by all who came before it began."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.found_same = False


class _Drain:
    """A drain of the watcher that is wanted, shared by all who came before it began."""

    def __init__(self) -> None:
        self.done = trio.Event()


class Tracking:
    """`changes` is written here and by the jobs of the same workspace; `nursery` is that of the workspace's incarnation."""

    def __init__(self, bench: Workbench, nursery: trio.Nursery, announce: Callable[[], None]) -> None:
        self.changes: Final = ChangeLog()
        self._bench = bench
        self._nursery = nursery
        self._announce = announce
        self._log = structlog.get_logger(__name__)
        self._watcher: TreeWatcher | None = None
        self._is_updating = False
        self._scanned: tuple[frozenset[str], tuple[str, ...]] | None = None
        self._linked: Mapping[str, Stamp] = {}
        self._is_due = False
        self._waiting = trio.CancelScope()
        self._noted = trio.Event()
        self._checking: _Check | None = None
        self._using = trio.Lock()
        self._wanted_drain: _Drain | None = None
        self._pause = REPLACE_WATCHER_SECONDS

    @property
    def is_exact(self) -> bool:
        """Whether draining the watcher proves that nothing else has changed."""
        return self._watcher is not None and not self._is_updating and self._watcher.is_exact

    def note(self, directories: frozenset[str] | None, files: frozenset[str] = frozenset()) -> None:
        """Takes down that something changed in these directories, or anywhere (None); `files` are those known by name."""
        self.changes.note(directories, files)
        if not self.changes.is_current:
            self._noted.set()

    async def wait_noted(self) -> None:
        """Returns once something was taken down that no job covers."""
        await self._noted.wait()
        self._noted = trio.Event()

    def note_again(self) -> None:
        """Lets the next `wait_noted` return at once if something is still not covered."""
        if not self.changes.is_current:
            self._noted.set()

    async def drain(self) -> None:
        """Brings the change log up to what the watcher knows now; waits while its watches are being set."""
        if self._watcher is None:
            return
        wanted = self._wanted_drain
        if wanted is None:
            wanted = self._wanted_drain = _Drain()
            # Not in the task of a question, which may be cancelled: what was drained must not be lost with it.
            self._nursery.start_soon(self._drain)
        await wanted.done.wait()

    async def _drain(self) -> None:
        async with self._using:
            wanted, self._wanted_drain = self._wanted_drain, None
            watcher = self._watcher
            try:
                if watcher is not None:
                    try:
                        changes = await self._bench.drain(watcher) if watcher.looks_at_tree else watcher.drain()
                    except Exception as error:  # noqa: BLE001 (without a watcher each question looks by itself)
                        self._lose_watcher(error)
                    else:
                        # Rules decide about files anywhere, and a branch is switched by writing many: a whole scan sees both.
                        is_anywhere = changes.is_everything or changes.affects_rules or changes.affects_head
                        self.note(None if is_anywhere else changes.directories, changes.files)
            finally:
                if wanted is not None:
                    wanted.done.set()

    async def look(self) -> Look:
        """Brings the change log up to now: from the watcher where that is exact, else by looking at every file.

        Where the watcher is not, and a job is due anyway, nothing is looked at.
        """
        if self.is_exact:
            await self.drain()
            if self._linked:
                # These can be written through a name that nobody watches.
                written = await self._bench.written_links(self._linked)
                self.note(frozenset(path.rpartition("/")[0] for path in written), written)
            return "exact"
        if self.changes.is_current:
            # A check that began before this question may have passed what has changed since.
            running = self._checking
            if running is not None:
                await running.done.wait()
            if self._checking is None or self._checking is running:
                self._checking = _Check()
                self._nursery.start_soon(self._check, self._checking)
            check = self._checking
            await check.done.wait()
            return "same" if check.found_same else "inexact"
        return "inexact"

    async def _check(self, check: _Check) -> None:
        try:
            if await self._bench.differs():
                self.note(None)
            else:
                check.found_same = True
        finally:
            if self._checking is check:
                self._checking = None
            check.done.set()

    # watching

    def watch(self, report: JobReport) -> None:
        """Has the watcher watch what the newest scan went through, and nothing else any more."""
        self._scanned = (report.directories, report.repositories)
        self._linked = report.linked
        self._is_due = True
        self._waiting.cancel()

    async def keep_watch(self, follow: Callable[[], Awaitable[None]]) -> None:
        """The only task that waits for the watcher and changes what it watches; runs `follow` for as long as there is one.

        While there is none each question looks by itself. One that has failed is replaced after a while.
        """
        while True:
            try:
                async with self._bench.watch() as watcher, trio.open_nursery() as nursery:
                    self._watcher = watcher
                    self._is_due = self._scanned is not None
                    nursery.start_soon(follow)
                    nursery.start_soon(self._audit)
                    await self._watch(watcher)
                    nursery.cancel_scope.cancel()
            except Exception as error:  # noqa: BLE001 (without a watcher each question looks by itself)
                self._lose_watcher(error)
            finally:
                self._watcher = None
                self._is_updating = False
            self._announce()
            await trio.sleep(self._pause)

    async def _watch(self, watcher: "TreeWatcher") -> None:
        """Returns once the watcher is lost."""
        while self._watcher is watcher:
            if self._is_due and self._scanned is not None:
                self._is_due = False
                self._is_updating = True
                async with self._using:
                    await watcher.update(*self._scanned)
                self._is_updating = False
                await self.drain()
                self._announce()
            self._waiting = trio.CancelScope()
            with self._waiting:
                await watcher.wait_change()
                await trio.sleep(DEBOUNCE_SECONDS)
            await self.drain()

    def _lose_watcher(self, error: Exception) -> None:
        """From now on nothing is known that nobody has looked at."""
        is_silent = isinstance(error, FileSystemUnresponsive)
        if not is_silent:
            self._log.warning("not_watching", error=str(error), remedy="each question looks at the files itself")
        self._pause = SILENT_SECONDS if is_silent else REPLACE_WATCHER_SECONDS
        self._watcher = None
        self._waiting.cancel()
        self.note(None)

    async def _audit(self) -> None:
        """Looks at everything now and then: a write through a second name of a file is an event for no watcher."""
        while True:
            await trio.sleep(AUDIT_SECONDS)
            self.note(None)

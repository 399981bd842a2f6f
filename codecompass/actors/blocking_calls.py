"""How much blocking work a process does at a time: limits for each kind, and calls into file systems that may never answer
(a dead network mount, a FUSE server that was stopped).

Such a call cannot be interrupted, not even by cancelling its task: its thread is abandoned, and counted until it returns.

    a call runs -> no sign of progress for SUSPECT_SECONDS -> it is *suspect*: one more call may run, so that others proceed
                -> no sign for its patience                -> its caller gets FileSystemUnresponsive; its place is *silent*
    a silent place refuses every further call at once, until the abandoned threads there return

A place is the path at which a call currently works. Long calls give signs of progress
(`BlockingCall.is_over`): a scan, one a directory.
"""

import importlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

import outcome
import structlog
import trio

from codecompass.errors import FileSystemUnresponsive
from codecompass.store.filesystem import innermost, mounts
from codecompass.units import MILLISECONDS, SECONDS

T = TypeVar("T")

QUERY_THREADS: Final = 4
"""Most of a query is Python and holds the interpreter lock: more threads would only take turns."""

WRITERS: Final = 2
"""Index jobs that run at a time. They share the worker processes; more would only lengthen each."""

CHECK_THREADS: Final = 2

MAX_CALLS: Final = 8
"""Calls that run at a time. On a local disk each takes well under a millisecond, except those that walk a tree."""

SUSPECT_SECONDS: Final = 250 * MILLISECONDS

PATIENCE_SECONDS: Final = 5 * SECONDS
"""How long a short call may give no sign. A disk that has to spin up takes this long; a loaded machine less."""

MAX_SUSPECTS: Final = 4
"""Calls that may give no sign at one place at a time; further ones wait until these have returned or given up."""

MAX_LENT: Final = 256
"""Suspect calls that are compensated for by further threads, over all places. Each thread holds a stack: 50 kB of memory."""

RETRY_MS: Final = 5000


async def load_module(name: str) -> None:
    """Imports a module in a thread, unless that was done before: reading it from a disk that sleeps takes seconds."""
    if name not in sys.modules:
        await trio.to_thread.run_sync(importlib.import_module, name)


class BlockingCall:
    """A running call, as its own thread sees it."""

    def __init__(self, place: str, calls: "BlockingCalls") -> None:
        self.place = place
        self.n_signs = 0
        self.is_abandoned = False
        self._calls = calls

    def is_over(self) -> bool:
        """Gives a sign of progress. Returns whether the caller has given up, so that the call may end early."""
        self.n_signs += 1
        return self.is_abandoned

    def enter(self, path: str) -> None:
        """Gives a sign of progress and moves the call to `path`. Raises FileSystemUnresponsive if too many calls hang there."""
        self._calls.require_answering(path)
        self.place = path
        self.n_signs += 1


class _Running:
    """A call as the event loop sees it. `sign_at` is when it began or its last sign was seen, in seconds of `time.monotonic`;
    `suspected_at` the mount point or path at which it hangs, None while it gives signs."""

    def __init__(self, call: BlockingCall, patience: float) -> None:
        self.call = call
        self.patience = patience
        self.done = trio.Event()
        self.result: outcome.Outcome[Any] | None = None
        self.sign_at = time.monotonic()
        self.suspected_at: str | None = None

    def is_waiting_at(self, path: str, seconds: float) -> bool:
        """Whether the call has given no sign for `seconds`, at a place at or above `path`."""
        place = self.suspected_at
        return place is not None and is_at(path, place) and time.monotonic() - self.sign_at >= seconds

    @property
    def is_silent(self) -> bool:
        """Whether the call has given no sign for its whole patience."""
        return self.suspected_at is not None and time.monotonic() - self.sign_at >= self.patience


class BlockingCalls:
    """The blocking calls of a process. One instance: a place that is silent for one workspace is silent for all."""

    def __init__(self) -> None:
        self._at_work = trio.CapacityLimiter(MAX_CALLS)
        self._suspects: set[_Running] = set()
        self._changed = trio.Event()
        self._log = structlog.get_logger(__name__)

    def silent_places(self) -> frozenset[str]:
        """Returns the places at which calls hang beyond their patience."""
        return frozenset(each.suspected_at for each in self._suspects if each.suspected_at is not None and each.is_silent)

    @property
    def n_waiting(self) -> int:
        """How many calls give no sign now."""
        return len(self._suspects)

    def require_answering(self, path: str) -> None:
        """Raises FileSystemUnresponsive if `path` is at or below a place at which calls hang. Callable from any thread."""
        there = self._waiting_at(path)
        if len(there) >= MAX_SUSPECTS or any(each.is_silent for each in there):
            raise unresponsive(there[0].suspected_at or path)

    def _waiting_at(self, path: str) -> list[_Running]:
        return [each for each in tuple(self._suspects) if each.is_waiting_at(path, SUSPECT_SECONDS)]

    async def run(
        self,
        work: Callable[[BlockingCall], T],
        place: str | os.PathLike[str],
        *,
        patience: float = PATIENCE_SECONDS,
        lend: Sequence[trio.CapacityLimiter] = (),
    ) -> T:
        """Runs `work` in a thread and returns its result; the call begins at `place`.

        `patience` is how long it may give no sign, in seconds. While it is suspect, each limiter in `lend` (of which the caller
        holds a token) has one token more. A cancelled caller abandons the thread.

        Raises the errors of `work`, and FileSystemUnresponsive.
        """
        path = os.fspath(place)
        running = _Running(BlockingCall(path, self), patience)
        with trio.move_on_after(patience) as waiting:
            await self._take_turn(running)
        if waiting.cancelled_caught:
            raise unresponsive(path)
        try:
            self._start(running, work)
        except BaseException:
            # The system has no more threads: give the turn to the next call.
            self._at_work.release_on_behalf_of(running)
            raise
        try:
            await self._wait(running, lend)
        finally:
            running.call.is_abandoned = not running.done.is_set()
            if running.call.is_abandoned:
                self._suspect(running)
        assert running.result is not None
        result: T = running.result.unwrap()
        return result

    async def wait_returned(self, seconds: float) -> None:
        """Waits up to `seconds` for suspect calls whose patience is not over; silent ones may never end."""
        with trio.move_on_after(seconds):
            while any(not each.is_silent for each in self._suspects):
                await self._changed.wait()

    async def _take_turn(self, running: _Running) -> None:
        """Waits until the call may begin. Raises FileSystemUnresponsive."""
        path = running.call.place
        while True:
            while self._is_doubtful(path):
                with trio.move_on_after(SUSPECT_SECONDS):
                    await self._changed.wait()
            self.require_answering(path)
            await self._at_work.acquire_on_behalf_of(running)
            if not self._is_silent(path) and not self._is_doubtful(path):
                return
            # Meanwhile earlier calls have shown that this place does not answer.
            self._at_work.release_on_behalf_of(running)

    def _is_silent(self, path: str) -> bool:
        return any(each.is_silent for each in self._waiting_at(path))

    def _is_doubtful(self, path: str) -> bool:
        """Whether MAX_SUSPECTS calls give no sign at `path`, and none has exceeded its patience."""
        return len(self._waiting_at(path)) >= MAX_SUSPECTS and not self._is_silent(path)

    def _start(self, running: _Running, work: Callable[[BlockingCall], object]) -> None:
        token = trio.lowlevel.current_trio_token()
        running.sign_at = time.monotonic()

        def deliver(result: outcome.Outcome[object]) -> None:
            running.result = result
            try:
                token.run_sync_soon(self._returned, running)
            except trio.RunFinishedError:
                pass  # the server stopped before the call returned

        trio.lowlevel.start_thread_soon(lambda: work(running.call), deliver, name="file system")

    async def _wait(self, running: _Running, lend: Sequence[trio.CapacityLimiter]) -> None:
        """Waits until the call has returned. Counts steps instead of reading the clock: time while this process is stopped does
        not count. Raises FileSystemUnresponsive.
        """
        n_signs, n_steps, n_lent = running.call.n_signs, 0, 0
        try:
            while True:
                with trio.move_on_after(SUSPECT_SECONDS):
                    await running.done.wait()
                if running.done.is_set():
                    return
                n_steps += 1
                if running.call.n_signs != n_signs:
                    n_signs, n_steps = running.call.n_signs, 0
                    self._clear(running)
                elif n_steps * SUSPECT_SECONDS >= running.patience:
                    if not any(each.call.is_abandoned for each in self._waiting_at(running.suspected_at or "")):
                        self._log.warning("file_system_unresponsive", path=running.call.place)
                    raise unresponsive(running.call.place)
                else:
                    self._suspect(running)
                wanted = int(running.suspected_at is not None)
                for limiter in lend:
                    limiter.total_tokens += wanted - n_lent
                n_lent = wanted
        finally:
            for limiter in lend:
                limiter.total_tokens -= n_lent

    def _suspect(self, running: _Running) -> None:
        if running.suspected_at is None:
            running.suspected_at = file_system_of(running.call.place)
            self._suspects.add(running)
            self._adapt()

    def _clear(self, running: _Running) -> None:
        running.sign_at = time.monotonic()
        if running.suspected_at is not None:
            running.suspected_at = None
            self._suspects.discard(running)
            self._adapt()

    def _adapt(self) -> None:
        self._at_work.total_tokens = MAX_CALLS + min(len(self._suspects), MAX_LENT)
        self._changed.set()
        self._changed = trio.Event()

    def _returned(self, running: _Running) -> None:
        if running.call.is_abandoned and running.is_silent:
            self._log.info("file_system_answers_again", path=running.suspected_at)
        self._at_work.release_on_behalf_of(running)
        self._clear(running)
        running.done.set()


class Limits:
    """The limiters of one server, for all its workspaces. Each kind of work has its own threads: in a shared pool, indexing would
    starve the queries. Not a Struct: limiters are live objects of one event loop."""

    def __init__(self) -> None:
        self.queries = trio.CapacityLimiter(QUERY_THREADS)
        self.writers = trio.CapacityLimiter(WRITERS)
        self.checks = trio.CapacityLimiter(CHECK_THREADS)
        self.vectors = trio.CapacityLimiter(1)
        """Reading texts and writing vectors, in the background."""
        self.registry = trio.CapacityLimiter(1)
        """One connection, one thread at a time."""
        self.blocking = BlockingCalls()
        """Calls into the file systems of workspaces, which may never answer."""


def file_system_of(path: str) -> str:
    """Returns the mount point of the file system of `path` (absolute, without links); `path` itself on the root file system.

    The kernel's mount table is read without waiting for any of the mounts.
    """
    point = innermost(mounts(), path).mount_point if sys.platform == "linux" else ""
    return path if point in ("", "/") else point


def is_at(path: str, place: str) -> bool:
    """Whether `path` is `place` or below it, by path components alone."""
    return path == place or path.startswith(place.rstrip("/") + "/")


def unresponsive(place: str | Path) -> FileSystemUnresponsive:
    """Returns the error for a path whose file system does not answer."""
    return FileSystemUnresponsive(
        f"the file system of {place} does not answer (a network or FUSE mount that has lost its server?). Other workspaces are "
        "unaffected. Call again once it is back; health_check names it until then.",
        retry_after_ms=RETRY_MS,
        path=str(place),
    )

"""Processes that read indexes beside the server: started when somebody wants them, ended when nobody has used them for a while.

    starting -> free <-> reading -> late -> free, or killed and started again

What they are used for is decided elsewhere: `cold_readers.py` for the indexes of many projects, `answer_readers.py` for the
questions of a busy server. On a busy machine a process takes longer to start than a question may take, so no question waits for
a start, and no start ends with a question. The processes have the server's priority: with a lower one their answers came too late
on a busy machine.
"""

import os
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from math import inf
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import structlog
import trio
from msgspec import Struct

from codecompass.actors.blocking_calls import load_module
from codecompass.actors.failures import run_again_after_failure
from codecompass.errors import InternalError
from codecompass.nurseries import open_nursery
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from trio_parallel import WorkerContext

T = TypeVar("T")

IDLE_SECONDS: Final = 60 * SECONDS
"""Reader processes that were idle for this long end: each holds 50 MB and more, of which a quarter is shared."""

STUCK_SECONDS: Final = 60 * SECONDS
"""A reader process that exceeds its time by this much is killed: the store's disk does not answer."""

DROP_SIGNAL: Final = signal.SIGUSR1
"""Tells a reader process that nobody waits for its answer any more; see `ReaderProcesses.run`."""


class ReaderEnded(InternalError):
    """The process that ran a read has ended: the read crashed it, or the system killed it."""


class ReaderProcess(Struct, frozen=True, eq=False):
    """A process that has started. Its context has no other one: then it is known which of them has ended."""

    context: "WorkerContext"
    pid: int


class _Reading(Generic[T]):
    """One read, which goes on if its question is cancelled."""

    def __init__(self, late_after: float, ends_after: float, work: Callable[..., T], arguments: tuple[object, ...]) -> None:
        self.late_after = late_after
        self.ends_after = ends_after
        self.work = work
        self.arguments = arguments
        self.result: T | None = None
        self.error: Exception | None = None
        self.done = trio.Event()


class ReaderProcesses:
    """Up to `size` processes. `serve` must run beside it."""

    def __init__(self, size: int, prepare: Callable[[], object]) -> None:
        """`prepare` is called once in each process, which is not used before: it loads what a read needs."""
        self.size: Final = size
        self.n_in_time = 0
        """Processes that have started and are not late."""
        self._prepare = prepare
        self._limiter = trio.CapacityLimiter(size)
        self._wanted = trio.Event()
        self._changed = trio.Event()
        self._used_at = 0.0
        self._free: list[ReaderProcess] = []
        self._nursery: trio.Nursery | None = None

    @property
    def is_wanted(self) -> bool:
        """Whether the processes have started or are to start."""
        return self._wanted.is_set()

    def want(self) -> None:
        """Has the processes started, unless they are, and notes that they are in use."""
        self._used_at = trio.current_time()
        self._wanted.set()

    def take(self) -> ReaderProcess | None:
        """Returns a process that waits, for one `run`, which must begin before the next checkpoint; None if none waits."""
        return self._free.pop() if self._free else None

    async def wait_changed(self) -> None:
        """Waits until a process is free, late, in time again, or gone, or until `wake`."""
        await self._changed.wait()

    def wake(self) -> None:
        """Ends every `wait_changed`."""
        self._changed.set()
        self._changed = trio.Event()

    async def run(
        self,
        process: ReaderProcess,
        late_after: float,
        work: Callable[..., T],
        *arguments: object,
        ends_after: float | None = None,
        drops: bool = False,
    ) -> T:
        """Returns `work(*arguments)`, run in a process from `take`. After `late_after` seconds the process counts as late. It is
        killed STUCK_SECONDS after `ends_after`, by which the read should have ended (`late_after` unless given).

        Cancelling does not wait for the read. With `drops`, its process then gets DROP_SIGNAL, which `prepare` must handle.

        Raises ReaderEnded if the process has ended, and the errors of `work`.
        """
        reading = _Reading(late_after, late_after if ends_after is None else ends_after, work, arguments)
        assert self._nursery is not None, "a process is free"
        self._nursery.start_soon(self._read, reading, process)
        try:
            await reading.done.wait()
        finally:
            if drops and not reading.done.is_set():
                # It has this read and gets no other one before this one is done.
                with suppress(ProcessLookupError):
                    os.kill(process.pid, DROP_SIGNAL)
        if reading.error is not None:
            raise reading.error
        return reading.result  # type: ignore[return-value]

    async def serve(self) -> None:
        """Keeps the processes available, from the first `want` until they were idle for IDLE_SECONDS. Runs until cancelled."""
        while True:
            await self._wanted.wait()
            # Only where they are wanted. Starting a process loads the second one.
            for name in ("trio_parallel", "multiprocessing.connection"):
                await load_module(name)
            import trio_parallel

            # One that was killed while it was idle is reported when its context closes.
            with suppress(trio_parallel.BrokenWorkerError):
                await self._serve_until_idle()

    async def _serve_until_idle(self) -> None:
        import trio_parallel

        async with AsyncExitStack() as stack:
            contexts = [
                await stack.enter_async_context(trio_parallel.open_worker_context(idle_timeout=inf)) for _ in range(self.size)
            ]
            self._nursery = nursery = await stack.enter_async_context(open_nursery())
            for context in contexts:
                nursery.start_soon(self._start, context)
            await self._idle()
            self._wanted = trio.Event()
            self._free, self.n_in_time = [], 0
            self.wake()
            nursery.cancel_scope.cancel()

    async def _idle(self) -> None:
        """Waits until no process has been used for IDLE_SECONDS."""
        used_at = inf
        while used_at != self._used_at or len(self._free) < self.size:
            used_at = self._used_at
            await trio.sleep(IDLE_SECONDS)

    async def _start(self, context: "WorkerContext") -> None:
        """Starts the process of `context`, however long that takes."""
        pid = 0

        async def start() -> None:
            nonlocal pid
            pid = await context.run_sync(_prepared, self._prepare, kill_on_cancel=True, limiter=self._limiter)

        await run_again_after_failure("starting_reader", start)
        self._free.append(ReaderProcess(context, pid))
        self.n_in_time += 1
        self.wake()

    async def _read(self, reading: _Reading[T], process: ReaderProcess) -> None:
        is_late = is_whole = False

        async def watch() -> None:
            nonlocal is_late
            await trio.sleep(reading.late_after)
            is_late = True
            self.n_in_time -= 1
            self.wake()
            await trio.sleep(reading.ends_after - reading.late_after + STUCK_SECONDS)
            structlog.get_logger(__name__).error("reader_stuck", seconds=reading.ends_after + STUCK_SECONDS)
            nursery.cancel_scope.cancel()

        try:
            async with open_nursery() as nursery:
                nursery.start_soon(watch)
                is_whole = await self._in_process(reading, process)
                nursery.cancel_scope.cancel()
            self._used_at = trio.current_time()
            if is_whole:
                self._free.append(process)
                self.n_in_time += is_late
                self.wake()
        finally:
            if not reading.done.is_set():
                reading.error = ReaderEnded("the process that read this index has ended. Call again.")
                reading.done.set()
        if not is_whole:
            self.n_in_time -= not is_late
            self.wake()
            await self._start(process.context)

    async def _in_process(self, reading: _Reading[T], process: ReaderProcess) -> bool:
        """Runs a read in a process. Returns whether that still exists."""
        import trio_parallel

        if not process.context.statistics().idle_workers:
            return False  # it has ended while it was idle; the context would start another one, and the read wait for that
        try:
            reading.result = await process.context.run_sync(
                _in_process, process.pid, reading.work, reading.arguments, kill_on_cancel=True, limiter=self._limiter
            )
        except (trio_parallel.BrokenWorkerError, ReaderEnded):
            return False
        except Exception as error:  # noqa: BLE001 (raised again in the task of the question)
            reading.error = error
        reading.done.set()
        return True


def _in_process(pid: int, work: Callable[..., T], arguments: tuple[object, ...]) -> T:
    """Returns `work(*arguments)`. Raises ReaderEnded in another process than `pid`, which is not prepared."""
    if os.getpid() != pid:
        raise ReaderEnded("another process has taken its place")
    return work(*arguments)


def _prepared(prepare: Callable[[], object]) -> int:
    """Returns the id of the process, in it, once `prepare` has been called."""
    prepare()
    return os.getpid()

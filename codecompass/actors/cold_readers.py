"""Where indexes are read that no actor has open: in reader processes, and in threads while none of those can be used.

    starting -> free <-> reading -> late -> free, or killed and started again

In threads, reading a hundred indexes would hold the interpreter lock against questions about one project. But on a busy machine a
process takes longer to start than a question may take, so no question waits for a start, and no start ends with a question. The
processes have the server's priority: with a lower one their answers came too late on a busy machine.
"""

from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from math import inf
from typing import TYPE_CHECKING, Final, Generic, TypeVar

import structlog
import trio

from codecompass.actors.blocking_calls import load_module
from codecompass.actors.failures import run_again_after_failure
from codecompass.errors import DeadlineExceeded, InternalError
from codecompass.nurseries import open_nursery
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from trio_parallel import WorkerContext

T = TypeVar("T")

COLD_READERS: Final = 2
"""Processes or threads that read at a time; each has one index open, with about ten files."""

MAX_THREADS: Final = 4 * COLD_READERS
"""Threads that read, with those that exceed their time, which cannot be stopped."""

IDLE_SECONDS: Final = 60 * SECONDS
"""Reader processes that were idle for this long end: each holds 50 MB, of which a quarter is shared."""

LATE_SECONDS: Final = 2 * SECONDS
"""How long a question waits for a read that has exceeded its time; what the reader finds until then is not lost."""

STUCK_SECONDS: Final = 60 * SECONDS
"""A reader process that exceeds its time by this much is killed: the store's disk does not answer."""


class ReaderEnded(InternalError):
    """The process that ran a read has ended: the read crashed it, or the system killed it."""


class _Reading(Generic[T]):
    """One read in a reader process, which goes on if its question is cancelled."""

    def __init__(self, seconds: float, work: Callable[..., T], arguments: tuple[object, ...]) -> None:
        self.seconds = seconds
        self.work = work
        self.arguments = arguments
        self.result: T | None = None
        self.error: Exception | None = None
        self.done = trio.Event()


class ColdReaders:
    """Runs blocking reads. `serve` must run beside it; without `in_processes` all reads are in threads."""

    def __init__(self, prepare: Callable[[], object], *, in_processes: bool) -> None:
        """`prepare` is called once in each reader process, which is not used before: it loads what a read needs."""
        self._prepare = prepare
        self._in_processes = in_processes
        self._threads = trio.CapacityLimiter(MAX_THREADS)
        self._n_in_threads = 0
        """Reads in threads that are waited for."""
        self._processes = trio.CapacityLimiter(COLD_READERS)
        self._wanted = trio.Event()
        self._changed = trio.Event()
        self._used_at = 0.0
        self._free: list[WorkerContext] = []
        """Each has one reader process, which has started and waits."""
        self._n_in_time = 0
        """Reader processes that have started and are not late."""
        self._nursery: trio.Nursery | None = None

    async def run(
        self,
        seconds: float,
        work: Callable[..., T],
        *arguments: object,
        late_seconds: float = LATE_SECONDS,
        has_ended_process: bool = False,
    ) -> T:
        """Returns `work(*arguments)`, which should take at most `seconds`. It is waited for `late_seconds` longer, from when it
        begins: who cancels also bounds the time until then. Cancelling does not wait for it.

        With `has_ended_process` it is not run in a thread, because it may have ended a process before, and once more if its
        process has ended again: the system may have killed all of them, those that were idle too.

        Raises DeadlineExceeded if it takes longer, ReaderEnded if its process has ended, and the errors of `work`.
        """
        for _ in range(COLD_READERS - 1 if has_ended_process else 0):
            with suppress(ReaderEnded):
                return await self._run_once(seconds, late_seconds, work, arguments, has_ended_process)
        return await self._run_once(seconds, late_seconds, work, arguments, has_ended_process)

    async def _run_once(
        self, seconds: float, late_seconds: float, work: Callable[..., T], arguments: tuple[object, ...], has_ended_process: bool
    ) -> T:
        context = await self._turn(may_be_in_thread=not has_ended_process)
        with trio.move_on_after(seconds + late_seconds):
            if context is None:
                return await self._in_thread(work, arguments)
            reading = _Reading(seconds, work, arguments)
            assert self._nursery is not None, "a process is free"
            self._nursery.start_soon(self._read, reading, context)
            await reading.done.wait()
            if reading.error is not None:
                raise reading.error
            return reading.result  # type: ignore[return-value]
        raise DeadlineExceeded("its index could not be read in time. Call again, or name fewer projects.")

    async def _turn(self, *, may_be_in_thread: bool) -> "WorkerContext | None":
        """Waits until a reader process is free, and returns its context, or until a thread may read: then it returns None.

        Threads read where no process has started or all of them are late.
        """
        if self._in_processes:
            self._used_at = trio.current_time()
            self._wanted.set()
        while True:
            if self._free:
                return self._free.pop()
            is_thread_free = self._n_in_threads < COLD_READERS and self._threads.available_tokens > 0
            if may_be_in_thread and not self._n_in_time and is_thread_free:
                return None
            await self._changed.wait()

    async def _in_thread(self, work: Callable[..., T], arguments: tuple[object, ...]) -> T:
        self._n_in_threads += 1
        try:
            return await trio.to_thread.run_sync(work, *arguments, limiter=self._threads, abandon_on_cancel=True)
        finally:
            self._n_in_threads -= 1
            self._change()

    async def serve(self) -> None:
        """Keeps reader processes available, from the first read until they were idle for IDLE_SECONDS. Runs until cancelled."""
        while True:
            await self._wanted.wait()
            # Only where a question is about several projects. Starting a process loads the second one.
            for name in ("trio_parallel", "multiprocessing.connection"):
                await load_module(name)
            import trio_parallel

            # One that was killed while it was idle is reported when its context closes.
            with suppress(trio_parallel.BrokenWorkerError):
                await self._serve_until_idle()

    async def _serve_until_idle(self) -> None:
        import trio_parallel

        async with AsyncExitStack() as stack:
            # One context for each process: then it is known which of them has ended.
            contexts = [
                await stack.enter_async_context(trio_parallel.open_worker_context(idle_timeout=inf)) for _ in range(COLD_READERS)
            ]
            self._nursery = nursery = await stack.enter_async_context(open_nursery())
            for context in contexts:
                nursery.start_soon(self._start, context)
            await self._idle()
            self._wanted = trio.Event()
            self._free, self._n_in_time = [], 0
            nursery.cancel_scope.cancel()

    async def _idle(self) -> None:
        """Waits until no reader process has been used for IDLE_SECONDS."""
        used_at = inf
        while used_at != self._used_at or len(self._free) < COLD_READERS:
            used_at = self._used_at
            await trio.sleep(IDLE_SECONDS)

    async def _start(self, context: "WorkerContext") -> None:
        """Starts the process of `context`, however long that takes."""

        async def start() -> None:
            await context.run_sync(self._prepare, kill_on_cancel=True, limiter=self._processes)

        await run_again_after_failure("starting_cold_reader", start)
        self._free.append(context)
        self._n_in_time += 1
        self._change()

    async def _read(self, reading: _Reading[T], context: "WorkerContext") -> None:
        is_late = is_whole = False

        async def watch() -> None:
            nonlocal is_late
            await trio.sleep(reading.seconds)
            is_late = True
            self._n_in_time -= 1
            self._change()
            await trio.sleep(STUCK_SECONDS)
            structlog.get_logger(__name__).error("cold_reader_stuck", seconds=reading.seconds + STUCK_SECONDS)
            nursery.cancel_scope.cancel()

        try:
            async with open_nursery() as nursery:
                nursery.start_soon(watch)
                is_whole = await self._in_process(reading, context)
                nursery.cancel_scope.cancel()
            self._used_at = trio.current_time()
            if is_whole:
                self._free.append(context)
                self._n_in_time += is_late
                self._change()
        finally:
            if not reading.done.is_set():
                reading.error = ReaderEnded("the process that read this index has ended. Call again.")
                reading.done.set()
        if not is_whole:
            self._n_in_time -= not is_late
            self._change()
            await self._start(context)

    async def _in_process(self, reading: _Reading[T], context: "WorkerContext") -> bool:
        """Runs a read in a process. Returns whether that still exists."""
        import trio_parallel

        try:
            reading.result = await context.run_sync(
                reading.work, *reading.arguments, kill_on_cancel=True, limiter=self._processes
            )
        except trio_parallel.BrokenWorkerError:
            return False
        except Exception as error:  # noqa: BLE001 (raised again in the task of the question)
            reading.error = error
        reading.done.set()
        return True

    def _change(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

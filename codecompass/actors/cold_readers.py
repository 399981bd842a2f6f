"""Where indexes are read that no actor has open: in reader processes, and in threads while none of those can be used.

In threads, reading a hundred indexes would hold the interpreter lock against questions about one project.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Final, TypeVar

import trio

from codecompass.actors.reader_processes import ReaderEnded, ReaderProcess, ReaderProcesses
from codecompass.errors import DeadlineExceeded
from codecompass.units import SECONDS

T = TypeVar("T")

COLD_READERS: Final = 2
"""Processes or threads that read at a time; each has one index open, with about ten files."""

MAX_THREADS: Final = 4 * COLD_READERS
"""Threads that read, with those that exceed their time, which cannot be stopped."""

LATE_SECONDS: Final = 2 * SECONDS
"""How long a question waits for a read that has exceeded its time; what the reader finds until then is not lost."""


class ColdReaders:
    """Runs blocking reads. `serve` must run beside it; without `in_processes` all reads are in threads."""

    def __init__(self, prepare: Callable[[], object], *, in_processes: bool) -> None:
        """`prepare` is called once in each reader process, which is not used before: it loads what a read needs."""
        self._processes = ReaderProcesses(COLD_READERS, prepare)
        self._in_processes = in_processes
        self._threads = trio.CapacityLimiter(MAX_THREADS)
        self._n_in_threads = 0
        """Reads in threads that are waited for."""

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
        process = await self._turn(may_be_in_thread=not has_ended_process)
        with trio.move_on_after(seconds + late_seconds):
            if process is None:
                return await self._in_thread(work, arguments)
            return await self._processes.run(process, seconds, work, *arguments)
        raise DeadlineExceeded("its index could not be read in time. Call again, or name fewer projects.")

    async def _turn(self, *, may_be_in_thread: bool) -> ReaderProcess | None:
        """Waits until a reader process is free, and returns it, or until a thread may read: then it returns None.

        Threads read where no process has started or all of them are late.
        """
        if self._in_processes:
            self._processes.want()
        while True:
            process = self._processes.take()
            if process is not None:
                return process
            is_thread_free = self._n_in_threads < COLD_READERS and self._threads.available_tokens > 0
            if may_be_in_thread and not self._processes.n_in_time and is_thread_free:
                return None
            await self._processes.wait_changed()

    async def _in_thread(self, work: Callable[..., T], arguments: tuple[object, ...]) -> T:
        self._n_in_threads += 1
        try:
            return await trio.to_thread.run_sync(work, *arguments, limiter=self._threads, abandon_on_cancel=True)
        finally:
            self._n_in_threads -= 1
            self._processes.wake()

    async def serve(self) -> None:
        """Keeps reader processes available, from the first read until they were idle for a while. Runs until cancelled."""
        await self._processes.serve()

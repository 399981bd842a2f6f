"""Chooses where a question about one workspace is answered: in a thread, or in a reader process if the server is busy.

    nothing else is being answered   -> a thread
    others are, no process is usable -> a thread; processes are started once that has lasted
    others are                       -> the next free process; a thread if all of them turn out slow, or on a machine of few cores
    a process ends or has no answer  -> a thread
    other programs have the cores    -> a thread, for some seconds

Most of an answer is Python and holds the interpreter lock, so threads take turns on one core. A process answers the same question
with the same bytes on another one, and the server's own core is left for its event loop: while processes are in time, no second
question is answered in a thread.
"""

import os
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from math import inf
from typing import Final

import structlog
import trio

from codecompass.actors.asking import TimeLimit
from codecompass.actors.index_answers import TreeIndex
from codecompass.actors.packed_structs import unpacked
from codecompass.actors.question import Question
from codecompass.actors.reader_answers import SentAnswer, SentQuestion, answer_sent, prepared, sent
from codecompass.actors.reader_processes import ReaderEnded, ReaderProcess, ReaderProcesses
from codecompass.nurseries import open_nursery
from codecompass.protocol.replies import Reply
from codecompass.query.options import QueryOptions
from codecompass.units import MILLISECONDS, SECONDS

MAX_READERS: Final = 6
"""Beyond that the server's own process is the bottleneck: it takes at least 3.4 of the 28.6 ms of an answer in words."""

FEW_CORES: Final = 2
"""With so few cores a thread answers beside the processes: it has work while they wait for the event loop. With more of them it
would hold the interpreter lock against the event loop, which they all need."""

BUSY_QUESTIONS: Final = 10
BUSY_SECONDS: Final = 5 * SECONDS
"""Processes are started once so many questions within so much time have found another one being answered: starting two takes two
seconds of CPU time, and an agent that asks four things at once is no load."""

SLOW_SECONDS: Final = 500 * MILLISECONDS
"""A process that takes longer for a question is not counted on for the next ones. Most answers take a tenth of that."""

LEAST_SHARE: Final = 0.35
"""Processes that get less of a core than this are worse than threads: other programs take the cores, each process waits for its
turn, and the server for all of them. On two free cores, two processes and the server have two thirds each."""

CROWDED_SECONDS: Final = 5 * SECONDS
"""How long threads then answer before the processes are tried again."""

MEMORY: Final = 0.8
"""Weight of the answers so far against the next one, in the share that processes get."""


class AnswerReaders:
    """The reader processes for questions of a busy server. `serve` must run beside it. Get one from `open_answer_readers`."""

    def __init__(self, size: int, n_beside: int = 0, least_share: float = LEAST_SHARE) -> None:
        """Up to `size` processes; `n_beside` threads answer beside them while all of them are busy. Threads answer alone while
        the processes get less than `least_share` of a core each."""
        self.processes: Final = ReaderProcesses(size, prepared)
        self._least_share = least_share
        self._seconds = self._cpu_seconds = 0.0
        """Of the last answers of processes; the older ones count less."""
        self._crowded_until = -inf
        self._n_beside = n_beside
        self._n_in_threads = 0
        self._n_asked = 0
        """Questions that are being answered now, wherever."""
        self._met_another: deque[float] = deque(maxlen=BUSY_QUESTIONS)
        """When the last questions came while another one was being answered, by the event loop's clock."""
        self._line = trio.Lock()
        """Held by the question whose turn is next; the others wait in the order in which they came."""

    async def answer(
        self,
        tree: TreeIndex,
        asked: Question,
        options: QueryOptions,
        limit: TimeLimit,
        in_thread: Callable[[], Awaitable[Reply]],
    ) -> Reply:
        """Returns the answer of a reader process, else that of `in_thread`. The caller bounds the time.

        Raises the errors of the query core, and those of `in_thread`. Safe to cancel: a search in a process then ends as well.
        """
        is_alone = self._n_asked == 0
        self._n_asked += 1
        try:
            question = None if is_alone or self._is_crowded else sent(tree, asked, options, limit)
            if question is not None:
                self._note_load()
                process = await self._turn()
                reply = None if process is None else await self._in_process(process, question)
                if reply is not None:
                    return reply
            return await self._in_thread(in_thread)
        finally:
            self._n_asked -= 1

    async def _in_thread(self, in_thread: Callable[[], Awaitable[Reply]]) -> Reply:
        self._n_in_threads += 1
        try:
            return await in_thread()
        finally:
            self._n_in_threads -= 1
            self.processes.wake()

    @property
    def _is_crowded(self) -> bool:
        return trio.current_time() < self._crowded_until

    def _note_share(self, found: SentAnswer) -> None:
        self._seconds = MEMORY * self._seconds + found.seconds
        self._cpu_seconds = MEMORY * self._cpu_seconds + found.cpu_seconds
        if self._cpu_seconds < self._least_share * self._seconds:
            self._seconds = self._cpu_seconds = 0.0
            self._crowded_until = trio.current_time() + CROWDED_SECONDS

    def _note_load(self) -> None:
        now = trio.current_time()
        self._met_another.append(now)
        if self.processes.is_wanted or (len(self._met_another) == BUSY_QUESTIONS and now - self._met_another[0] <= BUSY_SECONDS):
            self.processes.want()

    async def _turn(self) -> ReaderProcess | None:
        """Waits for the next free process; returns None as soon as none is usable, or a thread may answer beside them."""
        if not self.processes.n_in_time:
            return None
        async with self._line:
            while self.processes.n_in_time and not self._is_crowded:
                process = self.processes.take()
                if process is not None:
                    return process
                if self._n_in_threads < self._n_beside:
                    return None
                await self.processes.wait_changed()
        return None

    async def _in_process(self, process: ReaderProcess, question: SentQuestion) -> Reply | None:
        """Returns the answer of a process, None if it has none. Raises the errors of the query core."""
        cause = "the process has ended"
        try:
            data = await self.processes.run(
                process, SLOW_SECONDS, answer_sent, question, ends_after=max(SLOW_SECONDS, question.seconds), drops=True
            )
        except ReaderEnded:
            pass
        else:
            found = unpacked(data)
            assert isinstance(found, SentAnswer)
            self._note_share(found)
            if found.error is not None:
                raise found.error
            if found.reply is not None:
                return found.reply
            cause = found.cause
        structlog.get_logger(__name__).info("reader_has_no_answer", project=question.project.project_id, cause=cause)
        return None


@asynccontextmanager
async def open_answer_readers() -> AsyncIterator[AnswerReaders]:
    """Yields an AnswerReaders; its processes have ended when the block ends."""
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    readers = AnswerReaders(max(2, min(MAX_READERS, n_cores - 1)), n_beside=int(n_cores <= FEW_CORES))
    async with open_nursery() as nursery:
        nursery.start_soon(readers.processes.serve)
        yield readers
        nursery.cancel_scope.cancel()

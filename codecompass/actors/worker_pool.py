"""The pool of worker processes: takes a batch, returns its answers, replaces a worker that dies and reports the file at fault.

The pool is shared by all workspaces of a process and knows nothing of the index. A worker is started when first needed and lives
until the pool ends; each serves one batch at a time, so the number of workers bounds the batches in flight.
"""

import fcntl
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Final

import msgspec
import structlog
import trio
from msgspec import Struct

from codecompass import hints
from codecompass.actors.blocking_calls import unresponsive
from codecompass.errors import InternalError
from codecompass.units import KIB, MIB, SECONDS
from codecompass.worker.messages import (
    LENGTH,
    MAX_FRAME_BYTES,
    Answer,
    Batch,
    FileText,
    Highlight,
    Highlighted,
    MarkdownPieces,
    Probe,
    Probed,
    ReadMarkdown,
    decode_answer,
    decode_highlighted,
    decode_markdown,
    decode_probed,
    encode_frame,
)
from codecompass.worker.process import OUTSIDE_SIGNALS, WORKER_DIRECTORY, worker_command, worker_environment

PIPE_BYTES: Final = 1 * MIB
"""The most to which Linux enlarges a pipe without privileges; workers then run ahead while the server writes the index."""

READ_BYTES: Final = 256 * KIB

F_SETPIPE_SZ: Final = 1031

SILENCE_FACTOR: Final = 6.0
SILENCE_MINIMUM_SECONDS: Final = 30.0
"""Silence after which a worker is killed, as a multiple of the CPU time for a parse, and at least. A worker that exceeds its CPU
time ends itself; one that is silent for this long was stopped or is stuck in the kernel."""

LEAST_PAUSE_SECONDS: Final = 0.001 * SECONDS
LONGEST_PAUSE_SECONDS: Final = 0.02 * SECONDS
"""While answers are expected, those of half of the files left are awaited and taken together, for as long as the files before
them suggest: each waking up of the event loop takes as long as reading a small file. A worker that has finished its batch waits
meanwhile: with 40 ms a tenth of the time that text takes, with 20 ms a twentieth, for as many steps of the event loop; with 10 ms
a thirtieth, for more steps on a busy machine (simulated from the times of the files of Django and Rails, 2026-11-28)."""

SLOW_READ_SECONDS: Final = 2.0
"""A read that takes this long waits for a disk or a network; normally it takes milliseconds."""

EXIT_SECONDS: Final = 2.0
"""How long a worker whose output has ended may take to exit before it is killed."""

ATTEMPTS: Final = 3
"""Workers that have to die at a file before the file counts as the cause."""

OUTSIDE_ATTEMPTS: Final = 10
"""Workers that have to be killed from outside at a file before that counts: the system's out-of-memory killer may do so."""

FRUITLESS_DEATHS: Final = 20
"""Number of workers ending in a row without a single answer that shows a broken installation, not broken files."""


class BatchResult(Struct, frozen=True):
    """Answers in the order of the batch's files, and the paths whose parse or reading killed a worker."""

    answers: tuple[Answer, ...]
    killed_parsing: tuple[str, ...] = ()
    killed_reading: tuple[str, ...] = ()


class HighlightResult(Struct, frozen=True):
    """The answers about the first texts of an order: about all, unless the worker died or time ran out. `was_killed_by_text`:
    the first text without an answer ended the worker, by its CPU time or a crash."""

    answers: tuple[Highlighted, ...]
    was_killed_by_text: bool = False


class MarkdownResult(Struct, frozen=True):
    """The pieces of a document; None if the worker died or time ran out. `was_killed_by_text`: as in a `HighlightResult`."""

    answer: MarkdownPieces | None
    was_killed_by_text: bool = False


class _Reply(Struct, frozen=True):
    frames: list[memoryview]
    was_own_death: bool


class _WorkerDied(Exception):
    def __init__(self, *, was_silent: bool) -> None:
        super().__init__()
        self.was_silent = was_silent


class _Death(Struct, frozen=True):
    path: str
    was_parsing: bool
    was_limit: bool
    was_silent: bool
    was_outside: bool


class _Worker:
    """One process and its pipes."""

    def __init__(self, process: trio.Process) -> None:
        assert isinstance(process.stdout, trio.lowlevel.FdStream)
        self.process = process
        self._output = process.stdout.fileno()
        self._buffer = bytearray()
        self.ended = False

    async def answers(self, batch: Batch, silence_seconds: float, tokens: trio.CapacityLimiter) -> AsyncIterator[Answer]:
        """Yields the answers to `batch` as they arrive. Raises _WorkerDied if the process ends or falls silent.

        While a file is slow to read, `tokens` has one token more: the worker waits for a disk and needs no core.
        """
        assert self.process.stdin is not None
        expected = len(batch.tasks)
        try:
            with trio.fail_after(silence_seconds):
                await self.process.stdin.send_all(encode_frame(batch))
            is_reading = True
            started = trio.current_time()
            while expected:
                frames = self._frames_now() or await self._frames_in_time(silence_seconds, tokens if is_reading else None)
                for frame in frames:
                    answer = decode_answer(frame)
                    is_reading = not (isinstance(answer, FileText) and answer.will_parse)
                    expected -= is_reading
                    yield answer
                n_done = len(batch.tasks) - expected
                pause = (trio.current_time() - started) / n_done * expected / 2 if n_done else 0.0
                if pause >= LEAST_PAUSE_SECONDS:
                    await trio.sleep(min(pause, LONGEST_PAUSE_SECONDS))
        except trio.TooSlowError as error:
            raise _WorkerDied(was_silent=True) from error
        except (trio.BrokenResourceError, trio.ClosedResourceError, msgspec.DecodeError) as error:
            raise _WorkerDied(was_silent=False) from error

    async def reply(self, order: Probe | Highlight | ReadMarkdown, count: int, seconds: float, frames: list[memoryview]) -> None:
        """Appends the `count` frames that answer `order`. Raises _WorkerDied if the process ends or takes longer than `seconds`;
        those that came before are appended then too."""
        assert self.process.stdin is not None
        try:
            with trio.fail_after(seconds):
                await self.process.stdin.send_all(encode_frame(order))
                while len(frames) < count:
                    frames += await self._frames()
        except trio.TooSlowError as error:
            raise _WorkerDied(was_silent=True) from error
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            raise _WorkerDied(was_silent=False) from error

    async def _frames_in_time(self, silence_seconds: float, tokens: trio.CapacityLimiter | None) -> list[memoryview]:
        """Returns the frames that arrive next. Raises TooSlowError after `silence_seconds` without one."""
        with trio.fail_after(silence_seconds):
            if tokens is not None:
                with trio.move_on_after(SLOW_READ_SECONDS):
                    return await self._frames()
                tokens.total_tokens += 1
            try:
                return await self._frames()
            finally:
                if tokens is not None:
                    tokens.total_tokens -= 1

    async def _frames(self) -> list[memoryview]:
        """Returns the bodies of all frames that have arrived, at least one: waiting for single frames costs more than reading."""
        await self._fill(LENGTH.size)
        await self._fill(LENGTH.size + self._length(0))
        return self._taken()

    def _frames_now(self) -> list[memoryview]:
        """Returns the bodies of the frames that have arrived, perhaps none. Raises BrokenResourceError after the last."""
        with suppress(BlockingIOError):
            self._add(os.read(self._output, READ_BYTES))
        return self._taken()

    def _taken(self) -> list[memoryview]:
        """Removes and returns the bodies of the whole frames in the buffer."""
        read = memoryview(bytes(self._buffer))
        frames = []
        end = 0
        while len(read) >= end + LENGTH.size and len(read) >= (stop := end + LENGTH.size + self._length(end)):
            frames.append(read[end + LENGTH.size : stop])
            end = stop
        del self._buffer[:end]
        return frames

    def _length(self, offset: int) -> int:
        (length,) = LENGTH.unpack_from(self._buffer, offset)
        if length > MAX_FRAME_BYTES:
            raise trio.BrokenResourceError("frame too large")
        return int(length)

    async def _fill(self, count: int) -> None:
        assert self.process.stdout is not None
        while len(self._buffer) < count:
            self._add(await self.process.stdout.receive_some(READ_BYTES))

    def _add(self, data: bytes | bytearray) -> None:
        if not data:
            self.ended = True
            raise trio.BrokenResourceError("worker ended")
        self._buffer += data

    async def end(self) -> None:
        """Kills the process and reaps it. Safe to call if it has already ended."""
        with trio.CancelScope(shield=True):
            # A worker that is already exiting keeps its own exit status, which tells why.
            with trio.move_on_after(EXIT_SECONDS):
                if self.ended:
                    await self.process.wait()
            self.process.kill()
            # A worker that hangs in a file system ends when that answers: do not wait longer.
            with trio.move_on_after(EXIT_SECONDS):
                await self.process.wait()
            for stream in (self.process.stdin, self.process.stdout):
                if stream is not None:
                    await stream.aclose()


class WorkerPool:
    """At most `size` worker processes. Get one from `open_worker_pool`, which ends them."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._idle: list[_Worker] = []
        self._tokens = trio.CapacityLimiter(size)
        self._log = structlog.get_logger(__name__)
        self._fruitless_deaths = 0
        self.started_count = 0
        self.killed_count = 0

    async def run(self, batch: Batch) -> BatchResult:
        """Returns the answers for every file of `batch`; waits for a free worker.

        A file whose parse exceeds its CPU time is reported in `killed_parsing`; its text is among the answers. A worker that ends
        otherwise (a grammar crashed) or stands still may not be the file's fault: the file is tried ATTEMPTS times before it is
        reported in `killed_parsing`, or in `killed_reading` if reading it ended the worker. After kills from outside it is tried
        OUTSIDE_ATTEMPTS times, and never given up for reading: an index without it would claim to be complete. Cancelling kills
        the worker.

        Raises FileSystemUnresponsive if a worker twice gave no sign while reading a file, InternalError if workers end on every
        batch or are killed at every attempt to read one file: the job fails rather than publish an index without files.
        """
        answers: list[Answer] = []
        killed_parsing: list[str] = []
        killed_reading: list[str] = []
        tasks = batch.tasks
        suspect, n_deaths = "", 0
        async with self._tokens:
            while tasks:
                death = await self._run_once(msgspec.structs.replace(batch, tasks=tasks), answers)
                if death is None:
                    break
                n_deaths = n_deaths + 1 if death.path == suspect else 1
                suspect = death.path
                is_last = n_deaths >= (OUTSIDE_ATTEMPTS if death.was_outside else ATTEMPTS)
                rest = tasks[[task.path for task in tasks].index(suspect) :]
                if death.was_parsing and (is_last or death.was_limit):
                    killed_parsing.append(death.path)
                    rest = rest[1:]
                elif death.was_parsing:
                    answers.pop()
                elif n_deaths > 1 and death.was_silent:
                    raise unresponsive(death.path)
                elif is_last and death.was_outside:
                    raise InternalError(
                        f"worker processes are killed from outside ({n_deaths} in a row at {death.path}): "
                        "the system may be short of memory. Free some, then try again."
                    )
                elif is_last:
                    killed_reading.append(death.path)
                    rest = rest[1:]
                tasks = rest
        return BatchResult(tuple(answers), tuple(killed_parsing), tuple(killed_reading))

    async def probe(self, probe: Probe) -> Probed | None:
        """Returns how the files hold the texts, None if the worker died of them; waits for a free worker.

        Cancelling kills the worker. Raises InternalError if no worker can be started.
        """
        reply = await self._reply(probe, 1, max(SILENCE_MINIMUM_SECONDS, SILENCE_FACTOR * probe.cpu_seconds))
        return decode_probed(reply.frames[0]) if reply.frames else None

    async def highlight(self, order: Highlight, seconds: float) -> HighlightResult:
        """Returns the answers about the texts of `order`. `seconds` count from when a worker is free, for which this waits.

        Cancelling kills the worker. Raises InternalError if no worker can be started.
        """
        reply = await self._reply(order, len(order.texts), seconds)
        answers = tuple(decode_highlighted(frame) for frame in reply.frames)
        return HighlightResult(answers, was_killed_by_text=reply.was_own_death)

    async def read_markdown(self, order: ReadMarkdown, seconds: float) -> MarkdownResult:
        """Returns the document of `order`. Waits, is cancelled and raises like `highlight`."""
        reply = await self._reply(order, 1, seconds)
        answer = decode_markdown(reply.frames[0]) if reply.frames else None
        return MarkdownResult(answer, was_killed_by_text=reply.was_own_death)

    async def _reply(self, order: Probe | Highlight | ReadMarkdown, count: int, seconds: float) -> _Reply:
        """Returns the frames that answer an order, fewer than `count` if its worker died."""
        frames: list[memoryview] = []
        was_own_death = False
        async with self._tokens:
            worker = await self._living()
            is_whole = False
            try:
                await worker.reply(order, count, seconds, frames)
                is_whole = True
            except _WorkerDied as error:
                self.killed_count += 1
                await worker.end()
                ending = -(worker.process.returncode or 0)
                was_own_death = not error.was_silent and ending not in OUTSIDE_SIGNALS
                self._log.warning("worker_died", order=type(order).__name__, returncode=worker.process.returncode)
            finally:
                if is_whole:
                    self._idle.append(worker)
                else:
                    await worker.end()
        return _Reply(frames, was_own_death)

    async def _run_once(self, batch: Batch, answers: list[Answer]) -> _Death | None:
        """Runs `batch` on one worker and appends to `answers`. Returns None once it is complete, else how the worker died."""
        worker = await self._living()
        parsing: str | None = None
        n_done = 0
        n_before = len(answers)
        silence = max(SILENCE_MINIMUM_SECONDS, SILENCE_FACTOR * batch.parse_cpu_seconds)
        is_whole = False
        was_silent = False
        try:
            async for answer in worker.answers(batch, silence, self._tokens):
                answers.append(answer)
                if isinstance(answer, FileText) and answer.will_parse:
                    parsing = answer.path
                else:
                    parsing = None
                    n_done += 1
            is_whole = True
        except _WorkerDied as error:
            was_silent = error.was_silent
        finally:
            # A cancelled batch leaves answers in the pipe: the worker cannot serve another batch.
            if is_whole:
                self._idle.append(worker)
            else:
                await worker.end()
        self._fruitless_deaths = 0 if is_whole or len(answers) > n_before else self._fruitless_deaths + 1
        if is_whole:
            return None
        self.killed_count += 1
        if self._fruitless_deaths >= FRUITLESS_DEATHS:
            raise InternalError(
                f"worker processes end as soon as they get work (exit status {worker.process.returncode}). "
                f"{hints.CHECK} says what is missing."
            )
        path = batch.tasks[n_done].path if parsing is None else parsing
        was_limit = not was_silent and worker.process.returncode == -signal.SIGPROF
        self._log.warning("worker_died", path=path, was_parsing=parsing is not None, returncode=worker.process.returncode)
        was_outside = not was_silent and -(worker.process.returncode or 0) in OUTSIDE_SIGNALS
        return _Death(path, was_parsing=parsing is not None, was_limit=was_limit, was_silent=was_silent, was_outside=was_outside)

    async def _living(self) -> _Worker:
        """Returns a living worker, idle or new. A worker that ended while idle is blamed on no file."""
        while self._idle:
            worker = self._idle.pop()
            if worker.process.returncode is None:
                return worker
            await worker.end()
        return await self._start()

    async def _start(self) -> _Worker:
        try:
            process = await trio.lowlevel.open_process(
                worker_command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=worker_environment(),
                cwd=WORKER_DIRECTORY,
            )
        except OSError as error:
            raise InternalError(
                f"cannot start a worker process: {error.strerror or error}. Check memory and process limits."
            ) from error
        self.started_count += 1
        for stream in (process.stdin, process.stdout):
            _enlarge_pipe(stream)
        return _Worker(process)

    async def warm_up(self) -> None:
        """Starts all workers before the first batch: each takes a tenth of a second to start.

        Raises nothing if workers cannot be started: the first batch raises the reason.
        """
        with suppress(InternalError):
            while len(self._idle) + self._tokens.borrowed_tokens < self.size:
                async with self._tokens:
                    self._idle.append(await self._start())

    async def close(self) -> None:
        """Ends all workers. None may be in use."""
        while self._idle:
            await self._idle.pop().end()


@asynccontextmanager
async def open_worker_pool(size: int) -> AsyncIterator[WorkerPool]:
    """Yields a pool whose processes have ended when the block ends, however it ends."""
    pool = WorkerPool(size)
    try:
        yield pool
    finally:
        await pool.close()


def default_pool_size() -> int:
    """Returns the number of usable cores, at most 6: beyond that the server's own thread is the bottleneck."""
    return max(1, min(6, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1))


def _enlarge_pipe(stream: object) -> None:
    fileno = getattr(stream, "fileno", None)
    if sys.platform == "linux" and fileno is not None:
        try:
            fcntl.fcntl(fileno(), F_SETPIPE_SZ, PIPE_BYTES)
        except OSError:
            pass  # over the user's pipe quota; the default size works too

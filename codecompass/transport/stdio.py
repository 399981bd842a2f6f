"""The process's own standard input and output as a connection: one JSON message a line.

    fd 0 --dup--> reader -> LineFrames -> ClientSession -> FrameWriter -> writer <--dup-- fd 1
    meanwhile fd 0 reads as empty; fd 1 is stderr, and stays so until the process ends

Nothing but frames reaches the client, whatever a library prints. Descriptors are non-blocking while we use them and are switched
back afterwards. Other processes on the same terminal would notice that, so a terminal is read and written in threads instead.
"""

import os
import stat
import sys
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final, Protocol

import trio
from msgspec import Struct

from codecompass.transport.mcp.connection import ConnectionEnd, Input, Receive, serve_connection
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.jsonrpc import oversized
from codecompass.units import KIB

READ_BYTES: Final = 64 * KIB
"""The capacity of a pipe on Linux."""

KEPT_BYTES: Final = 64 * KIB
"""A buffer that grew beyond this is freed after its line."""

STDIN, STDOUT, STDERR = 0, 1, 2


class Pipes(Struct, frozen=True, kw_only=True):
    """The two descriptors of the client; children of this process do not inherit them."""

    input: int
    output: int


class ByteStream(Protocol):
    """A stream over one descriptor, used in one direction."""

    async def receive_some(self) -> bytes:
        """Returns the next bytes; empty at the end."""

    async def send_all(self, data: bytes) -> None:
        """Writes all of it."""


@contextmanager
def take_standard_streams() -> Iterator[Pipes]:
    """Yields the client's descriptors and keeps everything else off them; restores stdin and stderr afterwards.

    From here on, what this process and its children print goes to stderr, and their stdin is empty. stdout is not restored: a
    library written in C may buffer its output until the process ends.
    """
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    pipes = Pipes(input=os.dup(STDIN), output=os.dup(STDOUT))
    errors = os.dup(STDERR)
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        if _is_same_pipe(STDOUT, STDERR):
            # The client reads both as one stream: a log line between two frames would be a broken frame.
            os.dup2(nowhere, STDERR)
        os.dup2(nowhere, STDIN)
        os.dup2(STDERR, STDOUT)
        yield pipes
    finally:
        sys.stdout.flush()
        for kept, standard in ((pipes.input, STDIN), (errors, STDERR)):
            os.dup2(kept, standard)
        for descriptor in (pipes.input, pipes.output, errors, nowhere):
            os.close(descriptor)


async def serve_stdio(core: Core, pipes: Pipes, *, after_frame: Callable[[], None] = lambda: None) -> ConnectionEnd:
    """Serves the client until it disconnects or `core.stop` is called. Calls `after_frame` after each frame sent.

    Leaves the descriptors open.
    """
    async with open_frames(pipes, core.limits.frame_bytes) as (receive, send):

        async def write(body: bytes) -> None:
            await send(body)
            after_frame()

        return await serve_connection(core, "stdio", receive=receive, write=write)


@asynccontextmanager
async def open_frames(pipes: Pipes, max_bytes: int) -> AsyncIterator[tuple[Receive, Callable[[bytes], Awaitable[None]]]]:
    """Yields functions that receive and send a frame: one message a line, each way. Leaves the descriptors open."""
    frames = LineFrames(max_bytes)
    ready: deque[Input] = deque()

    async with open_stream(pipes.input) as source, open_stream(pipes.output) as sink:

        async def receive() -> Input | None:
            while not ready:
                data = await source.receive_some()
                if not data:
                    ready.extend(frames.end())
                    return ready.popleft() if ready else None
                ready.extend(frames.feed(data))
            return ready.popleft()

        async def write(body: bytes) -> None:
            await sink.send_all(body + b"\n")

        yield receive, write


class LineFrames:
    """Splits the input of one connection into lines, which end with LF or CRLF; blank lines are skipped. Does no I/O.

    The frames do not depend on how the bytes are cut; no more than one frame and one piece of input is held at a time. A line
    that is too long is reported once, as soon as that is known, and dropped up to its end.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._begun = bytearray()
        self._is_skipping = False

    def feed(self, data: bytes) -> Iterator[Input]:
        """Yields the frames that `data` completes, in order. Must be exhausted before the next call."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            yield from self._add(data, start, end)
            yield from self._finish_line()
            start = end + 1
        yield from self._add(data, start, len(data))

    def end(self) -> Iterator[Input]:
        """Yields the last line if the input ended without an end of line."""
        yield from self._finish_line()

    def _add(self, data: bytes, start: int, end: int) -> Iterator[Input]:
        if self._is_skipping:
            return
        # One byte more than the limit: the carriage return of a line end.
        if len(self._begun) + end - start > self._max_bytes + 1:
            yield self._skip()
        else:
            self._begun += memoryview(data)[start:end]

    def _skip(self) -> Input:
        self._is_skipping = True
        self._begun = bytearray()
        return Input(malformed=oversized(self._max_bytes))

    def _finish_line(self) -> Iterator[Input]:
        line = bytes(self._begun).removesuffix(b"\r")
        if len(self._begun) > KEPT_BYTES:
            self._begun = bytearray()
        else:
            self._begun.clear()
        was_skipping, self._is_skipping = self._is_skipping, False
        if was_skipping or not line.strip():
            return
        if len(line) > self._max_bytes:
            yield Input(malformed=oversized(self._max_bytes))
        else:
            yield Input(line)


@asynccontextmanager
async def open_stream(descriptor: int) -> AsyncIterator[ByteStream]:
    """Yields a stream over a descriptor. Leaves the descriptor open and restores its blocking mode afterwards."""
    if os.isatty(descriptor) or stat.S_ISREG(os.fstat(descriptor).st_mode):
        # A regular file never blocks, and the operating system refuses to poll it.
        yield _Blocking(descriptor)
        return
    stream = trio.lowlevel.FdStream(os.dup(descriptor))
    try:
        yield _NotBlocking(stream)
    finally:
        with trio.CancelScope(shield=True):
            await trio.aclose_forcefully(stream)


class _NotBlocking:
    def __init__(self, stream: trio.lowlevel.FdStream) -> None:
        self._stream = stream

    async def receive_some(self) -> bytes:
        return bytes(await self._stream.receive_some(READ_BYTES))

    async def send_all(self, data: bytes) -> None:
        await self._stream.send_all(data)


class _Blocking:
    """Reads and writes in threads. A cancelled read abandons its thread, which ends with the process or the next key."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    async def receive_some(self) -> bytes:
        return await trio.to_thread.run_sync(os.read, self._descriptor, READ_BYTES, abandon_on_cancel=True)

    async def send_all(self, data: bytes) -> None:
        while data:
            data = data[await trio.to_thread.run_sync(os.write, self._descriptor, data, abandon_on_cancel=True) :]


def _is_same_pipe(first: int, second: int) -> bool:
    one, other = os.fstat(first), os.fstat(second)
    is_pipe = stat.S_ISFIFO(one.st_mode) or stat.S_ISSOCK(one.st_mode)
    return is_pipe and (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)

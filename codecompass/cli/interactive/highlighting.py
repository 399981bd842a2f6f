"""The worker process that classifies the tokens of previews: a lexer may take any time, with the interpreter locked.

Belongs to one thread, which never waits longer than WAIT_SECONDS, nor for an answer that nobody wants any more: that one is
skipped when it comes. Code that kills the process is shown plain, also the next time.
"""

import hashlib
import os
import select
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

import msgspec

from codecompass.units import KIB, MILLISECONDS, SECONDS
from codecompass.worker.messages import (
    LENGTH,
    MAX_FRAME_BYTES,
    CodeText,
    Highlight,
    Highlighted,
    decode_highlighted,
    encode_frame,
)
from codecompass.worker.process import OUTSIDE_SIGNALS, WORKER_DIRECTORY, worker_command, worker_environment

CPU_SECONDS: Final = 0.5 * SECONDS
"""CPU time for a preview; one takes a few milliseconds."""

WAIT_SECONDS: Final = 4 * SECONDS
"""How long a preview waits for its colours, also for the process to start, when other processes use the processors."""

LOOK_SECONDS: Final = 20 * MILLISECONDS
"""How often it is asked whether the answer is still wanted."""

EXIT_SECONDS: Final = 1 * SECONDS
"""How long a process whose output has ended may take to exit before it is killed."""

READ_BYTES: Final = 64 * KIB

MAX_KNOWN_SLOW: Final = 100
"""Previews of which it is known that they kill the process, the latest."""


class PreviewHighlighter:
    """Starts the process when it is first needed, and again after it has ended."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._received = bytearray()
        self._unsent = memoryview(b"")
        self._n_unwanted = 0
        self._slow: dict[bytes, None] = {}

    def start(self) -> None:
        """Starts the process unless there is one; what it needs is loaded meanwhile. Does nothing if the system has none."""
        if self._process is not None and self._process.poll() is None:
            return
        self.close()
        with suppress(OSError):
            self._process = subprocess.Popen(
                worker_command(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=worker_environment(),
                cwd=WORKER_DIRECTORY,
                bufsize=0,
            )
            for stream in (self._process.stdin, self._process.stdout):
                assert stream is not None
                os.set_blocking(stream.fileno(), False)

    def highlighted(self, text: str, language: str, is_dropped: Callable[[], bool]) -> Highlighted | None:
        """Returns the spans of the lines of a text; None if it is shown plain, or once `is_dropped` returns True."""
        encoded = text.encode("utf-8", "surrogatepass")
        key = hashlib.sha256(language.encode() + b"\n" + encoded).digest()
        if key in self._slow:
            return None
        self.start()
        if self._process is None:
            return None
        self._unsent = memoryview(bytes(self._unsent) + encode_frame(Highlight((CodeText(encoded, language),), b"", CPU_SECONDS)))
        try:
            body = self._answer(time.monotonic() + WAIT_SECONDS, is_dropped)
        except (OSError, EOFError):
            # It may have died of an earlier text, or have been killed.
            if self._n_unwanted == 0 and self._has_ended_itself():
                self._note_slow(key)
            self.close()
            return None
        if body is None:
            return None
        with suppress(msgspec.DecodeError):
            return decode_highlighted(body)
        self.close()
        return None

    def close(self) -> None:
        """Ends the process. May be called again."""
        process, self._process = self._process, None
        self._received.clear()
        self._unsent, self._n_unwanted = memoryview(b""), 0
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):
                    stream.close()

    def _answer(self, deadline: float, is_dropped: Callable[[], bool]) -> bytes | None:
        """Returns the next answer that is wanted; None if it is dropped or late. Raises EOFError or OSError if the process has
        ended."""
        while True:
            if (body := self._received_frame()) is not None:
                if self._n_unwanted == 0:
                    return body
                self._n_unwanted -= 1
                continue
            if is_dropped():
                self._n_unwanted += 1
                return None
            if time.monotonic() >= deadline:
                self.close()
                return None
            self._transfer()

    def _transfer(self) -> None:
        """Sends and receives what can be without waiting longer than LOOK_SECONDS. Raises EOFError, OSError."""
        assert self._process is not None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        source, sink = self._process.stdout.fileno(), self._process.stdin.fileno()
        readable, writable, _ = select.select([source], [sink] if self._unsent else [], [], LOOK_SECONDS)
        if writable:
            self._unsent = self._unsent[os.write(sink, self._unsent) :]
        if readable:
            data = os.read(source, READ_BYTES)
            if not data:
                raise EOFError
            self._received += data

    def _received_frame(self) -> bytes | None:
        if len(self._received) < LENGTH.size:
            return None
        (length,) = LENGTH.unpack_from(self._received)
        if length > MAX_FRAME_BYTES:
            raise EOFError
        end = LENGTH.size + length
        if len(self._received) < end:
            return None
        body = bytes(self._received[LENGTH.size : end])
        del self._received[:end]
        return body

    def _has_ended_itself(self) -> bool:
        assert self._process is not None
        with suppress(subprocess.TimeoutExpired):
            return -self._process.wait(EXIT_SECONDS) not in OUTSIDE_SIGNALS
        return False

    def _note_slow(self, key: bytes) -> None:
        while len(self._slow) >= MAX_KNOWN_SLOW:
            del self._slow[next(iter(self._slow))]
        self._slow[key] = None

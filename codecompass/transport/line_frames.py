"""Splits bytes into lines, for connections with one message a line. Does no I/O.

Invariants: the frames do not depend on how the bytes are cut; no more than one frame and one piece of input is held at a time.
A line that is too long is reported once, as soon as that is known, and dropped up to its end.
"""

from collections.abc import Iterator
from typing import Final

from codecompass.transport.mcp.connection import Input
from codecompass.transport.mcp.jsonrpc import oversized
from codecompass.units import KIB

KEPT_BYTES: Final = 64 * KIB
"""A buffer that grew beyond this is freed after its line."""


class LineFrames:
    """Collects the input of one connection. Lines end with LF or CRLF; blank lines are skipped."""

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

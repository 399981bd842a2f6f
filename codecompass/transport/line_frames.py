"""Bytes -> lines, for connections that have a message on each. No input or output in here.

Invariants: the same frames come out however the bytes are cut; never more than one frame and one piece of input is kept.
A line that is too long is reported once, when that is known, and dropped up to its end.
"""

from collections.abc import Iterator
from typing import Final

from codecompass.transport.mcp.connection import Input
from codecompass.transport.mcp.jsonrpc import oversized
from codecompass.units import KIB

KEPT_BYTES: Final = 64 * KIB
"""A buffer that grew beyond this is given back after its line."""


class LineFrames:
    """Collects one connection's input. Lines end with LF, or CRLF; blank ones are no frames."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._begun = bytearray()
        self._is_skipping = False

    def feed(self, data: bytes) -> Iterator[Input]:
        """Gives what `data` completes, in order. To be exhausted before the next call."""
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            yield from self._add(data, start, end)
            yield from self._finish_line()
            start = end + 1
        yield from self._add(data, start, len(data))

    def end(self) -> Iterator[Input]:
        """Gives the last line, where the input ended without an end of line."""
        yield from self._finish_line()

    def _add(self, data: bytes, start: int, end: int) -> Iterator[Input]:
        if self._is_skipping:
            return
        # One more than fits: the carriage return of an end of line.
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

"""Two properties of JSON that decoders cannot handle, found before decoding: deep nesting, as decoders recurse for each level,
and lone surrogates, which clients send that cut a text in the middle of a surrogate pair.
"""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from codecompass.units import KIB

MAX_DEPTH: Final = 100
"""Levels of objects and arrays in a message, itself included. Messages of clients have about five."""

# Possessive, and the end of a string may be missing: each byte is read once, whatever the bytes are.
_REST_OF_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_UP_TO_OPEN_STRING: Final = re.compile(rb'(?>(?:[^"]++|"(?:[^"\\]++|\\.)*+")*)', re.DOTALL)
_PIECE: Final = 64 * KIB
"""Bytes that are scanned in one go, which blocks the interpreter for up to 10 ms."""

_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"
_STEPS: Final = dict.fromkeys(_OPENING, 1) | dict.fromkeys(_CLOSING, -1)
_NO_STEPS: Final = bytes(byte for byte in range(256) if byte not in _STEPS)


def nests_too_deeply(frame: bytes) -> bool:
    """Returns whether a decoder would recurse more than MAX_DEPTH levels; may return True for bytes that are not JSON.

    Takes microseconds for a usual message, and up to half a second for 4 MiB of nothing but brackets and strings.
    """
    if sum(map(frame.count, (b"[", b"{"))) <= MAX_DEPTH:
        return False
    depth = 0
    for piece in _outside_strings(frame):
        steps = piece.translate(None, _NO_STEPS)
        if max(accumulate(map(_STEPS.__getitem__, steps), initial=depth)) > MAX_DEPTH:
            return True
        depth += sum(map(steps.count, (b"[", b"{"))) - sum(map(steps.count, (b"]", b"}")))
    return False


def _outside_strings(frame: bytes) -> Iterator[bytes]:
    """Yields the frame in pieces, without its strings."""
    is_in_string = False
    at = 0
    while at < len(frame):
        piece = frame[at : at + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = frame[at : at + _PIECE + 1]  # a backslash is kept together with the byte that it escapes
        at += len(piece)
        if is_in_string:
            rest = _REST_OF_STRING.match(piece)
            assert rest is not None, "also matches the empty string"
            if rest.end() == len(piece):
                continue
            piece = piece[rest.end() + 1 :]
        closed = _UP_TO_OPEN_STRING.match(piece)
        assert closed is not None, "also matches the empty string"
        is_in_string = closed.end() < len(piece)
        yield _STRING.sub(b"", piece[: closed.end()])


_HEX: Final = rb"[0-9a-fA-F]"
_PERHAPS_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]|\xed[\xa0-\xbf]")
_LONE_SURROGATE: Final = re.compile(
    rb"((?>(?:[^\\]++"
    rb"|\\u[dD][89abAB]" + _HEX + _HEX + rb"\\u[dD][c-fC-F]" + _HEX + _HEX + rb"|\\(?!u[dD][89a-fA-F]" + _HEX + _HEX + rb").)*))"
    rb"\\u[dD][89a-fA-F]" + _HEX + _HEX,
    re.DOTALL,
)
"""Everything before a lone surrogate, and that surrogate. Escapes are matched one after the other: `\\\\ud800` contains none."""

_UNESCAPED_SURROGATE: Final = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
"""A surrogate encoded in UTF-8 as if it were a character."""

_END: Final = rb"\ud800"
_REPLACEMENT: Final = rb"\ufffd"
_HIGH_HALF: Final = re.compile(rb"\\u[dD][89abAB]" + _HEX + _HEX)
_LOW_HALF: Final = re.compile(rb"\\u[dD][c-fC-F]" + _HEX + _HEX)
_ESCAPE_BYTES: Final = len(rb"\ud800")

_SURROGATES_PIECE: Final = 64 * KIB
"""Bytes that are scanned in one go, which blocks the interpreter for up to 15 ms."""


def without_lone_surrogates(frame: bytes) -> bytes:
    """Returns the frame with each lone surrogate replaced by U+FFFD.

    Linear, whatever the bytes; 4 MiB of nothing but lone surrogates take up to a second.
    """
    if _PERHAPS_SURROGATE.search(frame) is None or not frame.rstrip().endswith(b"}"):
        return frame
    return b"".join(map(_repaired, _pieces(frame)))


def _repaired(piece: bytes) -> bytes:
    if _PERHAPS_SURROGATE.search(piece) is None:
        return piece
    piece = _UNESCAPED_SURROGATE.sub(b"\xef\xbf\xbd", piece)
    # With one appended the pattern matches to the end, instead of being tried at each byte after the last match.
    return _LONE_SURROGATE.sub(rb"\1\\ufffd", piece + _END).removesuffix(_REPLACEMENT)


def _pieces(frame: bytes) -> Iterator[bytes]:
    """Yields the frame in pieces that do not split characters, escapes or surrogate pairs."""
    at = 0
    while at < len(frame):
        end = _boundary(frame, at, at + _SURROGATES_PIECE)
        yield frame[at:end]
        at = end


def _boundary(frame: bytes, start: int, end: int) -> int:
    """Returns a position near `end` where the frame can be split; `start` must be one too."""
    if end >= len(frame):
        return len(frame)
    last = frame.rfind(b"\\", start, end)
    if last + _ESCAPE_BYTES < end:
        for _ in range(3):
            if frame[end] & 0xC0 == 0x80:  # inside a UTF-8 character
                end -= 1
        return end
    if not _is_escape(frame, start, last):
        last -= 1  # the second of two backslashes
    before = last - _ESCAPE_BYTES
    if before > start and _LOW_HALF.match(frame, last) and _HIGH_HALF.match(frame, before) and _is_escape(frame, start, before):
        return before
    return last


def _is_escape(frame: bytes, start: int, at: int) -> bool:
    """Returns whether the backslash at `at` begins an escape, rather than being escaped itself."""
    run = frame[start : at + 1]
    return (len(run) - len(run.rstrip(b"\\"))) % 2 == 1

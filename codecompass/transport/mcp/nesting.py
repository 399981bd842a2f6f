"""How deep JSON nests, found out before a decoder calls itself for each level.

What ends a decoder is another thing in every Python: 1,000 levels less the frames of the caller in 3.11, 1,500 in 3.12.1, 10,000
in 3.13, which fit into a stack of 8 MiB and overflow one of 1 MiB. So the bound is ours, and the same everywhere.
"""

import re
from collections.abc import Iterator
from itertools import accumulate
from typing import Final

from codecompass.units import KIB

MAX_DEPTH: Final = 100
"""Levels of objects and arrays in a message, itself included. Messages of clients have about five."""

# Possessive, and its end may be missing: whatever the bytes, each is looked at once.
_REST_OF_STRING: Final = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)
_STRING: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)
_UP_TO_OPEN_STRING: Final = re.compile(rb'(?:[^"]++|"(?:[^"\\]++|\\.)*+")*+', re.DOTALL)
_PIECE: Final = 64 * KIB
"""Bytes that are looked through in one go: the interpreter can do nothing else meanwhile, for up to 10 ms."""

_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"
_STEPS: Final = dict.fromkeys(_OPENING, 1) | dict.fromkeys(_CLOSING, -1)
_NO_STEPS: Final = bytes(byte for byte in range(256) if byte not in _STEPS)


def nests_too_deeply(frame: bytes) -> bool:
    """Says whether a decoder would go down more than MAX_DEPTH levels; of bytes that are no JSON, at most that it would.

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
    """Gives the frame in pieces, without its strings."""
    is_in_string = False
    at = 0
    while at < len(frame):
        piece = frame[at : at + _PIECE]
        if (len(piece) - len(piece.rstrip(b"\\"))) % 2:
            piece = frame[at : at + _PIECE + 1]  # what a backslash escapes belongs to it
        at += len(piece)
        if is_in_string:
            rest = _REST_OF_STRING.match(piece)
            assert rest is not None, "it matches nothing too"
            if rest.end() == len(piece):
                continue
            piece = piece[rest.end() + 1 :]
        closed = _UP_TO_OPEN_STRING.match(piece)
        assert closed is not None, "it matches nothing too"
        is_in_string = closed.end() < len(piece)
        yield _STRING.sub(b"", piece[: closed.end()])

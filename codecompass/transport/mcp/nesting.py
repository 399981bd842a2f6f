"""How deep JSON nests, found out before a decoder calls itself for each level.

What ends a decoder is another thing in every Python: 1,000 levels less the frames of the caller in 3.11, 1,500 in 3.12.1, 10,000
in 3.13, which fit into a stack of 8 MiB and overflow one of 1 MiB. So the bound is ours, and the same everywhere.
"""

import re
from itertools import accumulate
from typing import Final

MAX_DEPTH: Final = 100
"""Levels of objects and arrays in a message, itself included. Messages of clients have about five."""

# Possessive, and its end may be missing: whatever the bytes, each is looked at once.
_STRINGS: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
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
    steps = _STRINGS.sub(b"", frame).translate(None, _NO_STEPS)
    return max(accumulate(map(_STEPS.__getitem__, steps)), default=0) > MAX_DEPTH

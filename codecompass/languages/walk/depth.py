"""Bounds how deep brackets and comments are nested in what a grammar is given.

Some grammars take time or memory in the square of the number of brackets that nothing closes, or look for the end of each comment
in the rest of the text. People do not nest that deep. What is too deep is blank, so that offsets and lines stay the same.
"""

import re
from typing import Final

MAX_BRACKETS: Final = 500
"""A grammar for which the time grows with the square takes .1 s for so many."""

MAX_COMMENTS: Final = 100
"""For each of them the rest of a text may be searched. A mark in a string counts too."""

_BRACKET: Final = re.compile(rb"(?P<opening>[(\[{])|[)\]}]")
_COMMENT: Final = re.compile(rb"(?P<opening>/\*)|\*/")
_NOT_A_BREAK: Final = re.compile(rb"[^\r\n]")


def with_shallow_brackets(source: bytes) -> bytes:
    """Returns a source in which what is within more than MAX_BRACKETS brackets is blank. Any bracket closes any other."""
    return _shallow(source, _BRACKET, MAX_BRACKETS) if sum(map(source.count, (b"(", b"[", b"{"))) > MAX_BRACKETS else source


def with_shallow_comments(source: bytes) -> bytes:
    """Returns a source in which what is within more than MAX_COMMENTS comments (`/* /* .. */ */`) is blank."""
    return _shallow(source, _COMMENT, MAX_COMMENTS) if source.count(b"/*") > MAX_COMMENTS else source


def _shallow(source: bytes, marks: re.Pattern[bytes], limit: int) -> bytes:
    pieces: list[bytes] = []
    depth, end = 0, 0
    start = -1
    """Where what is too deep begins; -1 outside of it."""
    for match in marks.finditer(source):
        if match["opening"] is not None:
            depth += 1
            if depth > limit and start < 0:
                start = match.start()
        elif depth:
            depth -= 1
            if depth == limit and start >= 0:
                pieces += [source[end:start], _NOT_A_BREAK.sub(b" ", source[start : match.end()])]
                start, end = -1, match.end()
    if start >= 0:
        pieces += [source[end:start], _NOT_A_BREAK.sub(b" ", source[start:])]
        end = len(source)
    return b"".join((*pieces, source[end:])) if pieces else source

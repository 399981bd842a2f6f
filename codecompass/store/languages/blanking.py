"""Taking code out of a source before it is parsed: nothing moves, a blank takes the place of each byte."""

import re
from collections.abc import Iterable
from typing import Final

C_LITERALS: Final = re.compile(
    # Each branch begins with a plain character, so that the search can skip to the next of them.
    rb"""//(?:[^\n\\]++|\\\r\n|\\.)*+ | /\*.*?(?:\*/|\Z)
    | R(?:(?<!\wR)|(?<=\b[uUL]R)|(?<=\bu8R))"(?P<tag>[^()\\\s"]{0,16})\(.*?(?:\)(?P=tag)"|\Z)
    | "(?:[^"\\\n]++|\\\r\n|\\.)*+" | '(?<![0-9a-fA-F]')(?:[^'\\\n]|\\.)++'""",
    re.DOTALL | re.VERBOSE,
)

_BLANKS: Final = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))
_QUOTES: Final = bytes(byte if byte in b"\r\n" else 0x22 for byte in range(256))


def masked(source: bytes, literals: re.Pattern[bytes] = C_LITERALS) -> bytearray:
    """Returns `source` with comments as blanks and the other `literals` (strings, characters) as rows of `"`."""
    return bytearray(literals.sub(_mask, source))


def _mask(match: re.Match[bytes]) -> bytes:
    text = match[0]
    if text[:1] != b"/":
        return text.translate(_QUOTES)
    blanks = text.translate(_BLANKS)
    # In a macro the line goes on behind the comment.
    for continuation in (b"\\\n", b"\\\r\n"):
        if continuation in text:
            blanks = continuation.join(part.translate(_BLANKS) for part in text.split(continuation))
    return blanks


def blank(text: bytearray, start: int, end: int) -> None:
    """Overwrites `text[start:end]` with blanks, line breaks excepted."""
    text[start:end] = text[start:end].translate(_BLANKS)


def blank_each(text: bytearray, code: bytes, in_the_way: Iterable[tuple[bytes, re.Pattern[bytes]]]) -> None:
    """Blanks in `text` the first group of each match in `code`; a pattern is tried only where its marker is in the code."""
    for marker, pattern in in_the_way:
        if marker in code:
            for match in pattern.finditer(code):
                blank(text, match.start(1), match.end(1))

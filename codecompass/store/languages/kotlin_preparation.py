"""What the Kotlin grammar is given to parse: the source without what it does not know yet.

The grammar takes a class below annotations for an expression, and stumbles over bodies on one line, guards in `when`,
delegation (`A by b`), a class whose constructor stands on a line of its own, `!!` at the end of a line; what is around
is lost with it. Nothing moves: the text keeps its length.
"""

import re
from typing import Final

from codecompass.store.languages.blanking import blank, blank_each, masked

_LITERALS: Final = re.compile(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | \"\"\".*?(?:\"\"\"+|\Z) | "(?:[^"\\\n]++|\\.)*+" | '(?:[^'\\\n]|\\.)++'""",
    re.DOTALL | re.VERBOSE,
)
_ARGUMENTS: Final = rb"(?:\((?:[^()]|\((?:[^()]|\([^()]*+\))*+\))*+\))"
_IN_THE_WAY: Final = (
    (b"@", re.compile(rb"^[ \t]*((?:@(?:\w+:[ \t]*)?[\w.]+" + _ARGUMENTS + rb"?[ \t]*)+)", re.MULTILINE)),
    (b"when", re.compile(rb"^[ \t]*(?:!?is|in)\s[^\n{}]*?\s(if\b[^{};]*?)->", re.MULTILINE)),
    (b" by ", re.compile(rb"\bva[lr]\s[^\n=]{0,200}?\sby\s+[A-Z]\w*(\s+[a-z]\w*\s+[A-Z][^\n]*)$", re.MULTILINE)),
    (b"actual", re.compile(rb"\b(actual)\s+va[lr]\b")),
    (b"!!", re.compile(rb"(!!)[ \t\r]*$", re.MULTILINE)),
    (b"in ", re.compile(rb"^[ \t]*(!?in)\s[^\n]*->", re.MULTILINE)),
    (b"..<", re.compile(rb"\.\.(<)")),
    (b" & Any", re.compile(rb"\w( & Any)\b")),
    (b">::", re.compile(rb"\w(<[^<>\n()]*>)::")),
    (
        b"constructor",
        re.compile(
            rb"\bclass\s+\w+(?:<[^<>\n]*>)?[ \t\r]*\n\s*"
            rb"((?:@\w+(?:\([^()]*\))?\s+)*(?:(?:private|internal|protected|public)\s+)?constructor)\s*\("
        ),
    ),
    (b'$$"', re.compile(rb'(\$\$+)"')),
)
_DELEGATION: Final = re.compile(rb"\s(by\s+(?:[\w.]+" + _ARGUMENTS + rb"?(?:\s+as\s+[\w.<>]+)?|" + _ARGUMENTS + rb"))(?=\s*[,{])")
_SUPERTYPES: Final = re.compile(rb"[ \t]*(?:[):]|[A-Z][\w.<>?, ()]*\Z)|(?![ \t]*(?:\w+ )*va[lr]\s+\w+\s*:).*\b(?:class|object)\b")
"""What the line of a delegation looks like that is one of a class, not of a property."""

_LONGEST_HEAD: Final = 500
"""Bytes of a line that are looked at to tell what it declares."""

_DECLARES: Final = re.compile(rb"[^\n{}]*?\b(?:class|object|interface|fun|va[lr])\b")
_LAST_BLANK: Final = re.compile(rb"(?<=[^\s{;])(?<!->) (?=\})")


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, without what the grammar cannot take."""
    code = bytes(masked(source, _LITERALS))
    text = bytearray(source)
    blank_each(text, code, _IN_THE_WAY)
    if b" by " in source:
        for match in _DELEGATION.finditer(code):
            line_start = max(code.rfind(b"\n", 0, match.start()) + 1, match.start() - _LONGEST_HEAD)
            if _SUPERTYPES.match(code, line_start, match.start()):
                blank(text, match.start(1), match.end(1))
    line_start, declares = -1, False
    for match in _LAST_BLANK.finditer(code):
        start = code.rfind(b"\n", 0, match.start()) + 1
        if start != line_start:
            line_start, declares = start, _DECLARES.match(code, start, start + _LONGEST_HEAD) is not None
        if declares:
            # A body on one line must end in a semicolon.
            text[match.start()] = 0x3B
    return bytes(text)

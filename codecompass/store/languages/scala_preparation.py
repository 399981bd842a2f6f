"""What the Scala grammar is given to parse: the source without what breaks it.

A second argument list of a superclass, `with` before a brace on the line of a `given`, names in backquotes where a type
is meant, and values that are called `end` or `extension`. Nothing moves: what is replaced keeps its length.
"""

import re
from typing import Final

from codecompass.store.languages.blanking import blank, masked

_LITERALS: Final = re.compile(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | \"\"\".*?(?:\"\"\"+|\Z) | "(?:[^"\\\n]++|\\.)*+" """, re.DOTALL | re.VERBOSE
)
_SECOND_ARGUMENTS: Final = re.compile(rb"\bextends\s+[\w.]+(?:\[[^\n()]*\])?\([^()\n]*\)(\([^()\n]*\))")
_GIVEN_WITH: Final = re.compile(rb"^[ \t]*given\b[^\n{]*\b(with)\s*\{", re.MULTILINE)
_SOFT_KEYWORD: Final = re.compile(rb"\bend(?=\s+match\s*\{)|\bextension(?=\s*[:.,)=])")
_QUOTED_NAME: Final = re.compile(rb"`[^`\n]+`")
# Letters, because an underscore takes the operator behind it into the name.
_ONLY_WORDS: Final = bytes(byte if byte >= 0x80 or chr(byte).isalnum() else 0x71 for byte in range(256))


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, without what the grammar cannot take."""
    code = bytes(masked(source, _LITERALS))
    text = bytearray(source)
    for match in _SECOND_ARGUMENTS.finditer(code):
        blank(text, match.start(1), match.end(1))
    for match in _GIVEN_WITH.finditer(code):
        text[match.start(1) : match.end(1)] = b"=new"
    for match in _SOFT_KEYWORD.finditer(code):
        text[match.start() : match.end()] = b"q" * len(match[0])
    if b"`" in code:
        for match in _QUOTED_NAME.finditer(code):
            text[match.start() : match.end()] = b"q" + match[0][1:].translate(_ONLY_WORDS)
    return bytes(text)

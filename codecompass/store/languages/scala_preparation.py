"""What the Scala grammar is given to parse: the source without three things that break it.

A second argument list of a superclass, `with` before a brace on the line of a `given`, and a value named `end`. Nothing
moves: what is replaced keeps its length.
"""

import re
from typing import Final

from codecompass.store.languages.c_conditionals import blank, masked

_LITERALS: Final = re.compile(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | \"\"\".*?(?:\"\"\"+|\Z) | "(?:[^"\\\n]++|\\.)*+" """, re.DOTALL | re.VERBOSE
)
_SECOND_ARGUMENTS: Final = re.compile(rb"\bextends\s+[\w.]+(?:\[[^\n()]*\])?\([^()\n]*\)(\([^()\n]*\))")
_GIVEN_WITH: Final = re.compile(rb"^[ \t]*given\b[^\n{]*\b(with)\s*\{", re.MULTILINE)
_END: Final = re.compile(rb"\bend(?=\s+match\s*\{)")


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, without what the grammar cannot take."""
    if b"extends" not in source and b"given" not in source and b"end match" not in source:
        return source
    code = bytes(masked(source, _LITERALS))
    text = bytearray(source)
    for match in _SECOND_ARGUMENTS.finditer(code):
        blank(text, match.start(1), match.end(1))
    for match in _GIVEN_WITH.finditer(code):
        text[match.start(1) : match.end(1)] = b"=new"
    for match in _END.finditer(code):
        text[match.start() : match.end()] = b"___"
    return bytes(text)

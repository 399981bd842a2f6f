"""What the C# grammar is given to parse: the source without directives, and without three constructs that break it.

A directive inside an expression or a parameter list, a statement that begins with `*`, an address taken behind a cast
and `ref partial struct` each cost the grammar the rest of the file. Nothing moves: blanks take the place of each byte.
"""

import re
from typing import Final

from codecompass.store.languages.blanking import blank_each, masked
from codecompass.store.languages.c_conditionals import resolve

_LITERALS: Final = re.compile(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | \"\"\".*?(?:\"\"\"+|\Z) | @\$?"(?:[^"]++|"")*+"
    | "(?:[^"\\\n]++|\\.)*+" | '(?:[^'\\\n]|\\.)++'""",
    re.DOTALL | re.VERBOSE,
)
_IN_THE_WAY: Final = (
    (b"partial", re.compile(rb"\b(ref)\s+partial\s+struct\b")),
    (b"*", re.compile(rb"(?:[;{}=(,]|\breturn)\s*(\*+\s*(?:\(\s*\w+\s*\*+\s*\)\s*&?)?)\s*[(\w]")),
    (b"&", re.compile(rb"\(\s*\w+\s*\*+\s*\)\s*(&)")),
)


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of what the grammar cannot take."""
    code = masked(source, _LITERALS)
    text = bytearray(source)
    if b"#" in code:
        resolve(text, code)
    blank_each(text, bytes(code), _IN_THE_WAY)
    return bytes(text)

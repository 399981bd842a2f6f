"""What the Swift grammar is given to parse: the source without `#if` lines and a few words that it does not know.

The grammar has no `#if` inside a type, and takes the rest of the type for something else. Nothing moves: blanks take the
place of each byte.
"""

import re
from typing import Final

from codecompass.store.languages.blanking import blank_each, masked
from codecompass.store.languages.c_conditionals import resolve

_LITERALS: Final = re.compile(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | \"\"\".*?(?:\"\"\"|\Z) | "(?:[^"\\\n]++|\\.)*+" """, re.DOTALL | re.VERBOSE
)
_DIRECTIVE: Final = re.compile(rb"^[ \t]*#(if|elseif|else|endif|error|warning)\b[^\n]*", re.MULTILINE)
_UNDERSCORED: Final = re.compile(rb"#(?=_\w)")
_IN_THE_WAY: Final = (
    (b"nonisolated(", re.compile(rb"\b(nonisolated\(\w+\))")),
    (b"sending ", re.compile(rb":\s*(sending)\s")),
    (b"await ", re.compile(rb"\b(?:if|guard|while)\s+(?:let|var)\s[^\n{=]*=\s*((?:try[?!]?\s+)?await)\s")),
    (b"consume ", re.compile(rb"[=(,]\s*(consume)\s+\w")),
)


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of what the grammar cannot take."""
    code = masked(source, _LITERALS)
    text = bytearray(source)
    if b"#if" in code:
        resolve(text, code, _DIRECTIVE, ends_with_line=True)
    blank_each(text, bytes(code), _IN_THE_WAY)
    if b"#_" in code:
        for match in _UNDERSCORED.finditer(bytes(code)):
            text[match.start()] = 0x5F
    return bytes(text)

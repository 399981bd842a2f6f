"""What the C and C++ grammars are given to parse: the source with the preprocessor's traces blanked where they hurt."""

import re
from typing import Final

from codecompass.store.languages.blanking import masked
from codecompass.store.languages.c_conditionals import resolve
from codecompass.store.languages.c_macros import blank_macros

_DEFAULTED: Final = re.compile(rb"=\s*(?:default|delete)\s*(?=;)")


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of what the grammars cannot take."""
    text, _ = _prepared(source)
    return bytes(text)


def prepare_cpp(source: bytes) -> bytes:
    """As `prepare`; `= default` becomes an empty body too, because outside a class the grammar takes it for a value."""
    text, code = _prepared(source)
    if b"default" in code or b"delete" in code:
        for match in _DEFAULTED.finditer(bytes(code)):
            length = match.end() - match.start()
            text[match.start() : match.end()] = (
                b"{}".ljust(length) if b"\n" not in match[0] else text[match.start() : match.end()]
            )
    return bytes(text)


def _prepared(source: bytes) -> tuple[bytearray, bytearray]:
    code = masked(source)
    text = bytearray(source)
    resolve(text, code)
    blank_macros(text, code)
    return text, code

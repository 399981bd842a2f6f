"""What the TypeScript grammar is given to parse: signatures without a name in an interface, each ended by a semicolon.

`(a: A): Reply` on one line and `<T extends U>(...)` on the next are one type with a list of arguments to the grammar, which
then loses the interface and what follows it. A blank of the indentation becomes the semicolon.
"""

import re
from typing import Final

_TYPE_PARAMETERS: Final = re.compile(rb"\n[ \t]*([ \t])<(?=(?:const\s+)?[A-Za-z_]\w*(?:\s+extends\b|\s*=|,|>\())")
_AFTER_TYPE: Final = re.compile(rb"(?:[\w\])}]|(?<!=)>)$")
_LOOK_BACK: Final = 1_000
"""Bytes looked at above a line: enough for the comments over it and the end of the code before them."""


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with a semicolon before each signature that begins with type parameters."""
    if b" <" not in source and b"\t<" not in source:
        return source
    text = bytearray(source)
    for match in _TYPE_PARAMETERS.finditer(source):
        before = _code_above(source, match.start())
        if _AFTER_TYPE.search(before) and not before.endswith(b"extends"):
            text[match.start(1)] = ord(";")
    return bytes(text)


def _code_above(source: bytes, end: int) -> bytes:
    """The end of the last line before the byte `end` that is more than a comment, without the comment behind it."""
    for line in reversed(source[max(end - _LOOK_BACK, 0) : end].split(b"\n")):
        code = line.partition(b"//")[0].rstrip()
        if code:
            return code
    return b""

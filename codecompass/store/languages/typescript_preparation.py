"""What the TypeScript grammar is given to parse: signatures without a name in an interface, each ended by a semicolon.

`<T>(a: T): Reply<T>` on one line and `<T extends U>(...)` on the next are one type with two lists of arguments to the
grammar, which then loses the interface and what follows it. A blank of the indentation becomes the semicolon.
"""

import re
from typing import Final

_SIGNATURE_BELOW_ARGUMENTS: Final = re.compile(rb"(?<!=)>[ \t\r]*\n[ \t]*([ \t])<(?=[A-Za-z_])")


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with a semicolon before each signature that begins with type parameters."""
    if b" <" not in source and b"\t<" not in source:
        return source
    text = bytearray(source)
    for match in _SIGNATURE_BELOW_ARGUMENTS.finditer(source):
        text[match.start(1)] = ord(";")
    return bytes(text)

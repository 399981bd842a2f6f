"""What the Zig grammar is given to parse: the source without what the language got after the grammar was written.

Destructuring (`const a, const b = f();`), a label before `switch` and what it is continued with. Nothing moves: blanks
take the place of each byte.
"""

import re
from typing import Final

from codecompass.store.languages.blanking import blank, masked

_LITERALS: Final = re.compile(
    rb"""//[^\n]*+ | \\\\[^\n]*+ | "(?:[^"\\\n]++|\\.)*+" | '(?:[^'\\\n]|\\.)++'""", re.DOTALL | re.VERBOSE
)
_DESTRUCTURING: Final = re.compile(
    rb"\b(?:const|var)\s+\w+(?:\s*:[^,=;(){}]+)?((?:\s*,\s*(?:(?:const|var)\s+)?\w+(?:\s*:[^,=;(){}]+)?){1,12})\s*=(?!=)"
)
_LABEL: Final = re.compile(rb"(?:[=;{}(,>]|\breturn)\s*(\w+\s*:)\s*switch\b")
_CONTINUED: Final = re.compile(rb"\bcontinue\s*:\w+(\s+[^,;\n]+)(?=[,;])")


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of what the grammar cannot take."""
    code = bytes(masked(source, _LITERALS))
    text = bytearray(source)
    for pattern in (_DESTRUCTURING, _LABEL, _CONTINUED):
        for match in pattern.finditer(code):
            blank(text, match.start(1), match.end(1))
    return bytes(text)

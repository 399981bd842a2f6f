"""Literate Haskell: the sections and labels of the document in LaTeX, and the code, which stands behind bird tracks or between
`\\begin{code}` and `\\end{code}`."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.documents.latex import outline
from codecompass.languages.functional.haskell import HASKELL
from codecompass.languages.walk.markup import Pieces
from codecompass.languages.walk.regions import Region, Regions
from codecompass.languages.walk.text_rules import Entry

_CODE: Final = lazy.pattern(r"^>[ \t]?(?P<line>[^\n]*+)|^\\begin\{code\}[^\n]*+(?P<block>\n)", re.MULTILINE)
_END: Final = lazy.pattern(r"\n\\(?:end|begin)\{code\}")
"""A block that is not closed ends where the next one begins."""


def regions(text: str) -> tuple[Region, ...]:
    """Returns the code of a text as one region."""
    pieces = Pieces(text)
    at = 0
    while (match := _CODE.search(text, at)) is not None:
        at = match.end()
        if match["line"] is not None:
            # Without their track, lines are aligned with those of the other blocks.
            pieces.add(match.start(), at, match["line"].ljust(at - match.start()))
        else:
            closing = _END.search(text, match.start("block"))
            end = len(text) if closing is None else closing.start()
            pieces.add(at, end)
            at = max(end, at)
    return (Region("haskell", 0, len(text), pieces.whole()),)


def _sections(text: str, path: str) -> Iterator[Entry]:
    """Yields what the document around the code defines; what it includes is no module."""
    return (item for item in outline(text, path) if isinstance(item, Entry))


LITERATEHASKELL = replace(
    HASKELL,
    grammar="",
    rules={},
    outline=_sections,
    display=replace(HASKELL.display, lexer="literate-haskell"),
    regions=Regions(holds="blocks of code", found=regions, are_all=True),
)

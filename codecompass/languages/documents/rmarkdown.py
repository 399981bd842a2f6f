"""R Markdown and Quarto: headings, and the chunks of code, which are one program for each language."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.detect import language_named
from codecompass.languages.display import Display
from codecompass.languages.documents.markdown import MARKDOWN
from codecompass.languages.scripting.r import R
from codecompass.languages.walk.markup import Pieces
from codecompass.languages.walk.regions import Region, Regions

_FENCE: Final = lazy.pattern(r"^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[ \t]*+(?:\{[ \t]*+(?P<word>\w++)[^\n]*+|[^\n]*+)$", re.MULTILINE)

_ENGINES: Final = {"Rcpp": "cpp"}
"""Languages of chunks whose engines are not named like them."""


def regions(text: str) -> Iterator[Region]:
    """Yields the chunks of each language as one region; a chunk that nothing closes reaches to the end."""
    pieces: dict[str, Pieces] = {}
    begin, fence, word = 0, "", ""
    for match in _FENCE.finditer(text):
        if not fence:
            begin, fence, word = match.end(), match["fence"], match["word"] or ""
        elif match["fence"].startswith(fence) and match["word"] is None:
            _add(pieces, text, word, begin, match.start())
            fence = ""
    if fence:
        _add(pieces, text, word, begin, len(text))
    for language, collected in pieces.items():
        yield Region(language, 0, len(text), collected.whole())


def _add(pieces: dict[str, Pieces], text: str, word: str, start: int, end: int) -> None:
    language = _ENGINES.get(word) or language_named(word) if word else ""
    if language:
        pieces.setdefault(language, Pieces(text)).add(start, end)


RMARKDOWN = replace(
    R,
    grammar="",
    rules={},
    outline=MARKDOWN.outline,
    regions=Regions(holds="chunks", found=regions, are_all=True),
    display=Display(lexer=None),
)

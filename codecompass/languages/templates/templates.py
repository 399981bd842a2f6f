"""Templates with code between `<%` and `%>`: ERB (Ruby), EJS (JavaScript), EEx, HEEx and LEEx (Elixir).

Scripts and styles in them are read too.
"""

import re
from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.beam.elixir import ELIXIR
from codecompass.languages.documents.html import scripts_among
from codecompass.languages.ecmascript.ecmascript import JAVASCRIPT
from codecompass.languages.scripting.ruby import RUBY
from codecompass.languages.walk.markup import Pieces
from codecompass.languages.walk.regions import Region, Regions

_TAG: Final = lazy.pattern(r"<%(?P<mark>%|#|!--|[=\-_]{0,2})(?P<code>(?>[^%]++|%(?!>))*)%>")
_NO_CODE: Final = ("%", "#", "!--")
"""Marks of comments, and of a `<%` that is text."""

_TRIMMED: Final = "-_="
"""Characters before `%>` that are marks and no code."""

_OF_ELIXIR: Final = lazy.pattern(
    r"(?<=[={>\s])\{(?P<code>[^{}\n]++)\}|<(?P<local>\.)(?P<name>[a-z_]\w*+)|<(?P<remote>[A-Z]\w*+(?:\.\w++)+)"
)
"""Values of attributes and texts in HEEx, and its tags of components, which are functions."""


_SCRIPTS: Final = scripts_among(r"<%=[^%\n]*+(?>(?:%(?!>)[^%\n]*+)*)%>|(?P<control><%[^%]*+(?>(?:%(?!>)[^%]*+)*)%>)")


def code_of(text: str) -> str:
    """Returns a template in which all but its code is blank; what ends a tag becomes a semicolon."""
    pieces = Pieces(text)
    for match in _TAG.finditer(text, 0, text.rfind("%>") + 2):
        if match["mark"] not in _NO_CODE:
            _add(pieces, text, *match.span("code"))
    return pieces.whole()


def code_of_elixir(text: str) -> str:
    """Returns a template of Elixir in which all but its code is blank, also that in braces and the names of components."""
    tags = [match for match in _TAG.finditer(text, 0, text.rfind("%>") + 2) if match["mark"] not in _NO_CODE]
    pieces = Pieces(text)
    for match in sorted((*tags, *_OF_ELIXIR.finditer(text)), key=re.Match.start):
        if match["code"] is not None:
            _add(pieces, text, *match.span("code"))
        elif match["local"] is not None:
            pieces.add(match.start("local"), match.end(), f";{match['name']}")
        else:
            pieces.add(*match.span("remote"))
    return pieces.whole()


def _add(pieces: Pieces, text: str, start: int, end: int) -> None:
    last = end - (text[end - 1 : end] in _TRIMMED and end > start)
    pieces.add(start, end + 1, text[start:last].ljust(end - start) + ";")


def _code(language: str, reader: Callable[[str], str]) -> Regions:
    return Regions(
        holds="code in tags, scripts, styles",
        found=lambda text: (Region(language, 0, len(text), reader(text)), *_SCRIPTS(text)),
        are_all=True,
    )


ERB = replace(RUBY, regions=_code("ruby", code_of))
EJS = replace(JAVASCRIPT, imports=None, regions=_code("javascript", code_of))
EEX = replace(ELIXIR, regions=_code("elixir", code_of_elixir))

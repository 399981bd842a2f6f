"""MDX: Markdown with the imports, exports and components of a module."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.documents.markdown import HEADING, WITHOUT_HEADINGS, level
from codecompass.languages.ecmascript.ecmascript import TSX
from codecompass.languages.ecmascript.ecmascript_components import with_component
from codecompass.languages.records import Import
from codecompass.languages.walk.markup import CODE_STRINGS, Pieces, blank, braces_code
from codecompass.languages.walk.regions import Region, Regions
from codecompass.languages.walk.text_rules import Entry, headings

_MODULE: Final = lazy.pattern(
    r"^(?:import\s++(?:[\"'{*]|type\b|[\w$]++\s*+(?:,|from\b))"
    r"|export\s++(?:default|const|let|var|function|class|async|type|interface|enum|[{*]))",
    re.MULTILINE,
)
_TOKEN: Final = lazy.pattern(
    rf"(?P<open>[(\[{{])|(?P<close>[)\]}}])|(?P<empty>\n(?=[ \t]*+(?:\n|\Z)))|{CODE_STRINGS}|//[^\n]*+|/\*.*?(?:\*/|\Z)",
    re.DOTALL,
)
_INLINE_CODE: Final = lazy.pattern(r"(?<!`)(?P<mark>`++)(?>(?:(?!(?P=mark))[^\n]){1,500})(?P=mark)")
_NO_TEXT: Final = lazy.pattern(rf"\{{\s*+/\*.*?(?:\*/\s*+\}}|\Z)|{WITHOUT_HEADINGS}", re.DOTALL | re.MULTILINE)
"""Comments, which may hold listings, and what has no headings in Markdown."""


def _modules(code: str) -> Iterator[tuple[int, int]]:
    """Yields where imports and exports begin and end: before an empty line that is in no brackets."""
    at, may_be_closed = 0, True
    while (match := _MODULE.search(code, at)) is not None:
        depth, first = 0, -1
        at = -1
        for token in _TOKEN.finditer(code, match.end() - 1):
            if token["open"] is not None:
                depth += 1
            elif token["close"] is not None:
                depth -= 1
            elif token["empty"] is not None:
                first = token.start() if first < 0 else first
                if depth <= 0 or not may_be_closed:
                    at = token.start()
                    break
        if at < 0:
            # A bracket that nothing closes. Later ones are not searched for to the end, which would take quadratic time.
            may_be_closed = may_be_closed and depth <= 0
            at = len(code) if depth <= 0 or first < 0 else first
        yield match.start(), at


def _code_of(text: str) -> str:
    """Returns a document without front matter, listings and comments."""
    return _NO_TEXT.sub(lambda match: blank(match[0]), text)


def regions(text: str) -> Iterator[Region]:
    """Yields the imports and exports of a document, which are one module, with the code in its text."""
    code = _code_of(text)
    script, markup = Pieces(code), list[str]()
    at = 0
    for start, end in _modules(code):
        script.add(start, end)
        markup += [_used(code[at:start]), code[start:end]]
        at = end
    markup.append(_used(code[at:]))
    yield Region("tsx", 0, len(text), script.whole(), "".join(markup))


def _used(markdown: str) -> str:
    return braces_code(_INLINE_CODE.sub(lambda match: blank(match[0]), markdown))


# Indented text is no listing, unlike in Markdown.
_HEADINGS: Final = headings(rf"^[ \t]*+{HEADING}", level)


def _outline(text: str, path: str) -> Iterable[Entry | Import]:
    code = _code_of(text)
    markdown, at = Pieces(code), 0
    for start, end in _modules(code):
        markdown.add(at, start)
        at = end
    markdown.add(at, len(code))
    return _HEADINGS(markdown.whole(), path)


MDX = replace(
    TSX,
    grammar="",
    rules={},
    prepare=None,
    tests=None,
    registers=None,
    before_walk=None,
    outline=_outline,
    regions=Regions(holds="imports, exports, components", found=regions, are_all=True, completed=with_component),
    display=Display(lexer=None),
)

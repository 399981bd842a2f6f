"""MDX: Markdown with the imports, exports and components of a module."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.ecmascript import TSX
from codecompass.languages.ecmascript_components import with_component
from codecompass.languages.markdown import MARKDOWN, NO_HEADINGS
from codecompass.languages.walk.markup import Pieces, blank, braces_code
from codecompass.languages.walk.regions import Region, Regions

_MODULE: Final = lazy.pattern(
    r"^(?:import\s++(?:[\"'{*]|type\b|[\w$]++\s*+(?:,|from\b))"
    r"|export\s++(?:default|const|let|var|function|class|async|type|interface|enum|[{*]))[^\n]*+(?>(?:\n(?![ \t]*+$)[^\n]*+)*)",
    re.MULTILINE,
)
_INLINE_CODE: Final = lazy.pattern(r"(?<!`)(?P<mark>`++)(?>(?:(?!(?P=mark))[^\n]){1,500})(?P=mark)")


def regions(text: str) -> Iterator[Region]:
    """Yields the imports and exports of a document, which are one module, with the code in its text."""
    code = NO_HEADINGS.sub(lambda match: blank(match[0]), text)
    script, markup = Pieces(code), list[str]()
    at = 0
    for match in _MODULE.finditer(code):
        script.add(match.start(), match.end())
        markup += [_used(code[at : match.start()]), match[0]]
        at = match.end()
    markup.append(_used(code[at:]))
    yield Region("tsx", 0, len(text), script.whole(), "".join(markup))


def _used(markdown: str) -> str:
    return braces_code(_INLINE_CODE.sub(lambda match: blank(match[0]), markdown))


MDX = replace(
    TSX,
    grammar="",
    rules={},
    prepare=None,
    tests=None,
    registers=None,
    before_walk=None,
    outline=MARKDOWN.outline,
    regions=Regions(holds="imports, exports, components", found=regions, are_all=True, completed=with_component),
    display=Display(lexer=None),
)

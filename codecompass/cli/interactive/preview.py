"""The code around a hit, with its syntax coloured: lines of styled text without control characters.

The lines come from the index, so that a preview shows what is indexed. Pygments reads at most 161 lines, cut to a bounded
length; the inside of a construct that starts above them, such as a comment, may be coloured wrongly.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from msgspec import Struct
from pygments.lexer import Lexer
from pygments.lexers import get_all_lexers, get_lexer_by_name
from pygments.token import Token

from codecompass.cli.interactive.source import CodeAround, ListedHit
from codecompass.cli.terminal import printable

MAX_LINE_CHARACTERS: Final = 400
"""More than any terminal shows of a line."""

TAB_COLUMNS: Final = 4

Fragment = tuple[str, str]
"""A style of prompt_toolkit, and a printable text."""

_STYLES: Final[tuple[tuple[Any, str], ...]] = (
    (Token.Comment, "class:code.comment"),
    (Token.Literal.String, "class:code.string"),
    (Token.Literal.Number, "class:code.number"),
    (Token.Keyword, "class:code.keyword"),
    (Token.Operator.Word, "class:code.keyword"),
    (Token.Name.Function, "class:code.name"),
    (Token.Name.Class, "class:code.name"),
    (Token.Name.Tag, "class:code.name"),
    (Token.Name.Decorator, "class:code.decorator"),
    (Token.Generic.Heading, "class:code.keyword"),
)
"""Styles by type of token; a token has the first one whose type includes its own."""

_ALIASES: Final = {
    "assembly": "nasm",
    **dict.fromkeys(("astro", "eex", "ejs", "razor", "svelte"), "html"),
    "commonlisp": "common-lisp",
    "emacslisp": "emacs-lisp",
    "gettext": "po",
    "gradle": "groovy",
    "jsonc": "json",
    "just": "make",
    "literatehaskell": "literate-haskell",
    "zon": "zig",
}
"""Names that Pygments has for languages, if they differ from ours."""


class Preview(Struct, frozen=True):
    """Lines from `first` on, each as fragments. The hit is `hit_first`..`hit_last`; `focus` is the line to mark."""

    path: str
    first: int
    lines: tuple[tuple[Fragment, ...], ...]
    focus: int
    hit_first: int
    hit_last: int


def preview(code: CodeAround, hit: ListedHit) -> Preview:
    """Returns the preview of a hit from the lines around it."""
    lines = [printable(line[:MAX_LINE_CHARACTERS].expandtabs(TAB_COLUMNS).rstrip()) for line in code.lines]
    return Preview(
        path=hit.path,
        first=code.first,
        lines=tuple(_highlighted(lines, code.language)),
        focus=hit.line,
        hit_first=hit.result.line_start,
        hit_last=hit.result.line_end,
    )


def _highlighted(lines: list[str], language: str) -> Iterator[tuple[Fragment, ...]]:
    lexer = _lexer(language)
    if lexer is None or not lines:
        yield from (((("", line),)) for line in lines)
        return
    current: list[Fragment] = []
    n_lines = 0
    for token, text in lexer.get_tokens("\n".join(lines)):
        style = next((style for parent, style in _STYLES if token in parent), "")
        first, *others = text.split("\n")
        if first:
            current.append((style, first))
        for other in others:
            yield tuple(current)
            n_lines += 1
            current = [(style, other)] if other else []
    if n_lines < len(lines):
        yield tuple(current)


@cache
def _known_names() -> frozenset[str]:
    # Without plugins: looking for those loads code of any installed package.
    return frozenset(alias for _, aliases, _, _ in get_all_lexers(plugins=False) for alias in aliases)


def _lexer(language: str) -> Lexer | None:
    name = _ALIASES.get(language, language)
    return get_lexer_by_name(name, stripnl=False, ensurenl=False) if name in _known_names() else None

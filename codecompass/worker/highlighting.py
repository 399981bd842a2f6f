"""Classifies the tokens of code in the worker process, for pages that show it in colour, and finds the words to mark in it.

Lexers are regular expressions with a state, and some take quadratic time and more within a single token, with the interpreter
locked. So none runs in a server: here the kernel ends the process. A lexer is loaded when the first text of its language comes.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from codecompass.languages import SYMBOL_LANGUAGES, described
from codecompass.worker.messages import CodeText, Highlight, Highlighted, Span
from codecompass.worker.parsing import ending_limit

MAX_LEXERS: Final = 64

CLASSES: Final[tuple[tuple[_TokenType, str], ...]] = (
    (Comment.Preproc, "p"),
    (Comment, "c"),
    (String.Doc, "c"),
    (String, "s"),
    (Number, "m"),
    (Keyword.Constant, "m"),
    (Keyword, "k"),
    (Operator.Word, "k"),
    (Name.Function, "f"),
    (Name.Class, "f"),
    (Name.Decorator, "p"),
    (Name.Tag, "k"),
    (Name.Attribute, "p"),
    (Name.Builtin.Pseudo, "m"),
)
"""CSS classes by token type; the first match counts. Few, so that pages are small and their contrast can be checked."""

_DEFECTS: Final = (ValueError, RecursionError, AttributeError, IndexError, TypeError, KeyError, AssertionError)
"""Exceptions that a defect in a lexer raises. The text is then plain."""


def highlighted_texts(order: Highlight) -> Iterator[Highlighted]:
    """Yields the spans of each text of `order`, in order. Kills the process if they take too much CPU time together."""
    wanted = re.compile(order.wanted.decode("utf-8", "surrogatepass")) if order.wanted else None
    with ending_limit(order.cpu_seconds):
        for text in order.texts:
            yield Highlighted(_spans_by_line(text, wanted))


def _spans_by_line(code: CodeText, wanted: re.Pattern[str] | None) -> tuple[tuple[Span, ...], ...]:
    lines = code.text.decode("utf-8", "surrogatepass").split("\n")
    lexer = lexer_of(code.language)
    kinds: list[list[tuple[str, str]]] | None = None
    if lexer is not None:
        try:
            kinds = _parts_by_line(lexer, "\n".join(lines))
        except _DEFECTS:
            kinds = None
    if kinds is None or len(kinds) != len(lines):
        # A lexer that loses or adds a line must not move the others.
        kinds = [[("", line)] for line in lines]
    return tuple(tuple(_marked(parts, wanted)) for parts in kinds)


def _parts_by_line(lexer: Lexer, text: str) -> list[list[tuple[str, str]]]:
    """Returns the parts of each line with their classes."""
    lines: list[list[tuple[str, str]]] = [[]]
    for kind, part in _parts(lexer, text):
        first, *following = part.split("\n")
        lines[-1].append((kind, first))
        lines += [[(kind, each)] for each in following]
    return lines


def _marked(parts: Sequence[tuple[str, str]], wanted: re.Pattern[str] | None) -> Iterator[Span]:
    """Yields the spans of a line: its parts, divided where a match of `wanted` begins and ends."""
    for kind, text in parts:
        shown = kind if not text.isspace() else ""
        at = 0
        for match in wanted.finditer(text) if wanted is not None else ():
            if match.end() > match.start():
                if match.start() > at:
                    yield Span(match.start() - at, shown)
                yield Span(match.end() - match.start(), shown, is_wanted=True)
                at = match.end()
        if at < len(text):
            yield Span(len(text) - at, shown)


def _parts(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    """Yields the parts of a text with their classes; neighbours of one class are joined. Covers the whole text, in order."""
    at, kind, begun = 0, "", 0
    for position, token, value in lexer.get_tokens_unprocessed(text):
        found = _class_of(token)
        if position < at or not value:
            continue
        if position > at or found != kind:
            if at > begun:
                yield kind, text[begun:at]
            if position > at:
                yield "", text[at:position]
            begun, kind = position, found
        at = position + len(value)
    if at > begun:
        yield kind, text[begun:at]
    if at < len(text):
        yield "", text[at:]


@lru_cache(maxsize=500)
def _class_of(token: _TokenType) -> str:
    return next((name for kind, name in CLASSES if token in kind), "")


@lru_cache(maxsize=MAX_LEXERS)
def lexer_of(language: str) -> Lexer | None:
    """Returns the lexer of one of our languages; None for one that is shown plain, as those with code of another one are."""
    name: str | None = None
    options: Mapping[str, bool] = {}
    described_as = described(language)
    regions, display = described_as.regions, described_as.display
    if language in SYMBOL_LANGUAGES and (regions is None or not regions.are_all or described_as.outline is not None):
        name, options = language if display.lexer == "" else display.lexer, display.lexer_options
    if name is None:
        return None
    # The default options would strip the text and add a line end.
    lexer: Lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False, **options)
    return lexer

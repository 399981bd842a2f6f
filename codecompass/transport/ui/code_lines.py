"""Lines of code as pages show them: numbered, highlighted, with gaps between lines that are not adjacent.

Pygments classifies the tokens, MarkupSafe escapes each of them: no part of the code ever becomes markup. A lexer is loaded when
the first file of its language is shown. Code that is too large or too slow to lex is shown plain.
"""

import re
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Final

from markupsafe import Markup, escape
from msgspec import Struct
from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from codecompass.languages.detect import language_of
from codecompass.protocol.replies import MatchedLine, Result
from codecompass.units import MILLISECONDS

NO_NUMBER: Final = 0
"""The number of a line of which only the text is known."""

INDENTATION: Final = "    "
"""The indentation of lines below a signature."""


class CodeLine(Struct, frozen=True):
    """A line. `number` counts from 1, NO_NUMBER if it is not known; `follows` is False for the first one after a gap; `html` is
    escaped."""

    number: int
    html: Markup
    follows: bool = True


def code_lines(lines: Sequence[MatchedLine], language: str, wanted: re.Pattern[str] | None = None) -> tuple[CodeLine, ...]:
    """Returns the lines, highlighted, adjacent ones together. Matches of `wanted` are marked."""
    return tuple(
        CodeLine(line.line, html, follows=position > 0 or line.line == lines[0].line)
        for run in _runs(lines)
        for position, (line, html) in enumerate(zip(run, highlighted([each.text for each in run], language, wanted), strict=True))
    )


def lines_of_hit(hit: Result, wanted: re.Pattern[str] | None = None) -> tuple[CodeLine, ...]:
    """Returns the lines of a hit: those that matched, or all of a short definition, else its signature with the best lines.

    Common indentation is removed.
    """
    language = hit.language or language_of(hit.path, b"")
    shown = hit.excerpt
    if shown is None:
        # A project that is not live returns no lines of code.
        text = hit.signature or hit.snippet
        number = hit.line_start if hit.signature else NO_NUMBER
        return code_lines(hit.matched_lines or (MatchedLine(line=number, text=text),), language, wanted) if text else ()
    # Lines are those of the index, whatever other line separators they contain.
    margins = [_indentation(line.text) for line in shown.lines if line.text.strip()]
    margin = min(margins, key=len, default="")
    margin = margin if all(each.startswith(margin) for each in margins) else ""
    lines = tuple(MatchedLine(line=line.line, text=line.text.removeprefix(margin)) for line in shown.lines)
    has_first = any(line.line <= hit.line_start for line in lines)
    if hit.signature and not shown.is_whole and not has_first:
        inner = (MatchedLine(line=line.line, text=f"{INDENTATION}{line.text}") for line in lines)
        lines = (MatchedLine(line=hit.line_start, text=hit.signature), *inner)
    return code_lines(lines, language, wanted)


def _indentation(text: str) -> str:
    return text[: len(text) - len(text.lstrip(" \t"))]


def _runs(lines: Sequence[MatchedLine]) -> Iterator[list[MatchedLine]]:
    run: list[MatchedLine] = []
    for line in lines:
        if run and line.line != run[-1].line + 1:
            yield run
            run = []
        run.append(line)
    if run:
        yield run


MAX_CHARACTERS: Final = 100_000
MAX_LINES: Final = 1_000
"""Bounds of a text that is lexed. Some lexers take quadratic time for constructs that are opened repeatedly and never closed
(here documents)."""

MAX_LINE_CHARACTERS: Final = 2_000
"""A text with a longer line is data, for which colours are of no use."""

MAX_SECONDS: Final = 300 * MILLISECONDS
"""The rest of a text after this time stays plain."""

_LEXERS: Final = {
    "bash": "bash", "c": "c", "cmake": "cmake", "cpp": "cpp", "csharp": "csharp", "css": "css", "dockerfile": "docker",
    "elixir": "elixir", "go": "go", "haskell": "haskell", "html": "html", "java": "java", "javascript": "javascript",
    "json": "json", "kotlin": "kotlin", "lua": "lua", "make": "make", "php": "php", "python": "python", "ruby": "ruby",
    "rust": "rust", "scala": "scala", "sql": "sql", "swift": "swift", "terraform": "terraform", "toml": "toml",
    "tsx": "tsx", "typescript": "typescript", "xml": "xml", "yaml": "yaml", "zig": "zig",
}  # fmt: skip
"""The lexers of the languages that are highlighted. The others, Markdown for one, are shown plain."""

_CLASSES: Final[tuple[tuple[_TokenType, str], ...]] = (
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


def highlighted(lines: Sequence[str], language: str, wanted: re.Pattern[str] | None = None) -> list[Markup]:
    """Returns each line as HTML, escaped, with its keywords, comments, strings, numbers and names of definitions marked.

    Matches of `wanted` are marked too; matching must be linear in the length of a line.
    """
    lexer = _lexer(_LEXERS.get(language, ""))
    n_characters = sum(map(len, lines))
    is_large = n_characters > MAX_CHARACTERS or len(lines) > MAX_LINES
    if lexer is None or is_large or any(len(line) > MAX_LINE_CHARACTERS for line in lines):
        return [_plain(line, wanted) for line in lines]
    shown: list[list[str]] = [[]]
    for kind, text in _tokens(lexer, "\n".join(lines)):
        first, *following = text.split("\n")
        _add(shown[-1], kind, first, wanted)
        for part in following:
            shown.append([])
            _add(shown[-1], kind, part, wanted)
    # All parts have been escaped by `_add`.
    marked = [Markup("".join(parts)) for parts in shown]
    if len(marked) != len(lines):
        # A lexer that loses or adds a line must not move the others.
        return [_plain(line, wanted) for line in lines]
    return marked


def _plain(line: str, wanted: re.Pattern[str] | None) -> Markup:
    return Markup(_marked(line[:MAX_LINE_CHARACTERS], wanted)) + escape(line[MAX_LINE_CHARACTERS:])


def _add(parts: list[str], kind: str, text: str, wanted: re.Pattern[str] | None) -> None:
    if text:
        escaped = _marked(text, wanted)
        parts.append(f'<i class="{kind}">{escaped}</i>' if kind and not text.isspace() else escaped)


def _marked(text: str, wanted: re.Pattern[str] | None) -> str:
    """Returns a text, escaped, with the matches of `wanted` marked."""
    if wanted is None:
        return str(escape(text))
    parts: list[str] = []
    at = 0
    for match in wanted.finditer(text):
        if match.end() > match.start():
            parts += [str(escape(text[at : match.start()])), "<b>", str(escape(match[0])), "</b>"]
            at = match.end()
    parts.append(str(escape(text[at:])))
    return "".join(parts)


def _tokens(lexer: Lexer, text: str) -> Iterator[tuple[str, str]]:
    """Yields the parts of a text with their classes; neighbours of one class are joined. Covers the whole text, in order."""
    ends = time.monotonic() + MAX_SECONDS
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
        if time.monotonic() > ends:
            break
    if at > begun:
        yield kind, text[begun:at]
    if at < len(text):
        yield "", text[at:]


@lru_cache(maxsize=500)
def _class_of(token: _TokenType) -> str:
    return next((name for kind, name in _CLASSES if token in kind), "")


@lru_cache(maxsize=len(_LEXERS) + 1)
def _lexer(name: str) -> Lexer | None:
    if not name:
        return None
    # `name` is one of our constants. The default options would strip the text and add a line end.
    options = {"startinline": True} if name == "php" else {}
    lexer: Lexer = get_lexer_by_name(name, stripnl=False, ensurenl=False, **options)
    return lexer

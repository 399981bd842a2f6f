"""Lines of code as pages show them: numbered, highlighted, with gaps between lines that are not adjacent."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from markupsafe import Markup
from msgspec import Struct

from codecompass.languages.detect import language_of
from codecompass.protocol.replies import MatchedLine, Result
from codecompass.transport.ui.highlighting import highlighted

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

"""Lines of code as pages show them: numbered, highlighted, with gaps between what does not follow on each other."""

from collections.abc import Iterator, Sequence

from markupsafe import Markup
from msgspec import Struct

from codecompass.languages.detect import language_of
from codecompass.protocol.replies import MatchedLine, Result
from codecompass.transport.ui.highlighting import highlighted


class CodeLine(Struct, frozen=True):
    """A line. `number` counts from 1; `follows` is false for the first one behind a gap; `html` is escaped."""

    number: int
    html: Markup
    follows: bool = True


def code_lines(lines: Sequence[MatchedLine], language: str) -> tuple[CodeLine, ...]:
    """Returns the lines, highlighted: those that follow on each other together."""
    return tuple(
        CodeLine(line.line, html, follows=position > 0 or run is lines or line.line == lines[0].line)
        for run in _runs(lines)
        for position, (line, html) in enumerate(zip(run, highlighted([each.text for each in run], language), strict=True))
    )


def lines_of_hit(hit: Result) -> tuple[CodeLine, ...]:
    """Returns the lines of a hit: those that matched, or all of a short definition, else its signature with the best lines."""
    language = hit.language or language_of(hit.path, b"")
    shown = hit.excerpt
    if shown is None:
        text = hit.signature or hit.snippet
        return code_lines((MatchedLine(line=hit.line_start, text=text),), language) if text else ()
    lines = shown.lines
    has_first = any(line.line <= hit.line_start for line in lines)
    if hit.signature and not shown.is_whole and not has_first:
        lines = (MatchedLine(line=hit.line_start, text=hit.signature), *lines)
    return code_lines(lines, language)


def _runs(lines: Sequence[MatchedLine]) -> Iterator[list[MatchedLine]]:
    run: list[MatchedLine] = []
    for line in lines:
        if run and line.line != run[-1].line + 1:
            yield run
            run = []
        run.append(line)
    if run:
        yield run

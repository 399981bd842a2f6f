"""Lines of code as pages show them: numbered, highlighted, with gaps between lines that are not adjacent.

A worker process classifies the tokens, because lexers may take any time, and finds the words to mark; MarkupSafe escapes the
characters here: no part of the code ever becomes markup. Code that is too large, or that kills the worker, is shown plain.
"""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Final

import trio
from markupsafe import Markup, escape
from msgspec import Struct

from codecompass.actors.worker_pool import HighlightResult, WorkerPool
from codecompass.errors import InternalError
from codecompass.languages.detect import language_of
from codecompass.protocol.replies import MatchedLine, Result
from codecompass.transport.ui.slow_texts import SlowTexts
from codecompass.units import SECONDS
from codecompass.worker.messages import CodeText, Highlight, Highlighted, Span

NO_NUMBER: Final = 0
"""The number of a line of which only the text is known."""

INDENTATION: Final = "    "
"""The indentation of lines below a signature."""

MAX_CHARACTERS: Final = 100_000
MAX_LINES: Final = 1_000
"""Bounds of a text that is lexed."""

MAX_LINE_CHARACTERS: Final = 2_000
"""A text with a longer line is data, for which colours are of no use; words are marked in so much of it."""

CPU_SECONDS: Final = 1 * SECONDS
"""CPU time for all code of a page. A page of 800 lines takes 50 ms (2026-11-26)."""

WAIT_SECONDS: Final = 4 * SECONDS
"""How long a page waits for its colours, when other processes use the processors or all workers are busy."""


class CodeLine(Struct, frozen=True):
    """A line. `number` counts from 1, NO_NUMBER if it is not known; `follows` is False for the first one after a gap; `html` is
    escaped."""

    number: int
    html: Markup
    follows: bool = True


class PlainLines(Struct, frozen=True):
    """Lines of one file, in order, before they are highlighted."""

    lines: tuple[MatchedLine, ...]
    language: str


class Highlighter:
    """Makes lines for pages, with the help of worker processes."""

    def __init__(self, workers: WorkerPool) -> None:
        self._workers = workers
        self._slow = SlowTexts()

    async def lines(self, places: Sequence[PlainLines], wanted: re.Pattern[str] | None = None) -> list[tuple[CodeLine, ...]]:
        """Returns the lines of each place, highlighted, adjacent ones together. Matches of `wanted` are marked."""
        runs = [(run, place.language) for place in places for run in _runs(place.lines)]
        spans = await self._spans([([line.text for line in run], language) for run, language in runs], wanted)
        # In a thread: pages may have a thousand lines.
        return await trio.to_thread.run_sync(_shown, places, spans)

    async def _spans(self, texts: Sequence[tuple[list[str], str]], wanted: re.Pattern[str] | None) -> list[Highlighted | None]:
        """Returns the spans of each text; None for one that is shown plain."""
        found: list[Highlighted | None] = [None] * len(texts)
        pattern = b"" if wanted is None else wanted.pattern.encode("utf-8", "surrogatepass")
        sent: list[tuple[int, CodeText, bytes]] = []
        for number, (lines, language) in enumerate(texts):
            code = _code_text(lines, language)
            key = self._slow.key(language.encode(), pattern, code.text)
            if key not in self._slow:
                sent.append((number, code, key))
        if not sent:
            return found
        order = Highlight(tuple(code for _, code, _ in sent), pattern, CPU_SECONDS)
        result = HighlightResult(())
        # The page is shown anyway if no process can be started.
        with trio.move_on_after(WAIT_SECONDS), suppress(InternalError):
            result = await self._workers.highlight(order, WAIT_SECONDS)
        for (number, _, _), answer in zip(sent, result.answers, strict=False):
            found[number] = answer
        if result.was_killed_by_text:
            self._slow.add(sent[len(result.answers)][2])
        return found


def _code_text(lines: Sequence[str], language: str) -> CodeText:
    is_data = (
        len(lines) > MAX_LINES or sum(map(len, lines)) > MAX_CHARACTERS or any(len(each) > MAX_LINE_CHARACTERS for each in lines)
    )
    text = "\n".join(line[:MAX_LINE_CHARACTERS] for line in lines)
    return CodeText(text.encode("utf-8", "surrogatepass"), "" if is_data else language)


def _shown(places: Sequence[PlainLines], spans: Sequence[Highlighted | None]) -> list[tuple[CodeLine, ...]]:
    following = iter(spans)
    return [
        tuple(
            CodeLine(line.line, html, follows=position > 0 or line.line == place.lines[0].line)
            for run in _runs(place.lines)
            for position, (line, html) in enumerate(zip(run, _html(run, next(following)), strict=True))
        )
        for place in places
    ]


def _html(run: Sequence[MatchedLine], spans: Highlighted | None) -> list[Markup]:
    if spans is None or len(spans.lines) != len(run):
        return [escape(line.text) for line in run]
    return [_html_of_line(line.text, own) for line, own in zip(run, spans.lines, strict=True)]


def _html_of_line(text: str, spans: Sequence[Span]) -> Markup:
    parts: list[str] = []
    at = 0
    for kind, group in groupby(spans, key=lambda span: span.kind):
        parts.append(f'<i class="{kind}">' if kind else "")
        for span in group:
            escaped = str(escape(text[at : at + span.length]))
            parts.append(f"<b>{escaped}</b>" if span.is_wanted else escaped)
            at += span.length
        parts.append("</i>" if kind else "")
    # All parts have been escaped; the classes are ours.
    return Markup("".join(parts)) + escape(text[at:])


def lines_of_hit(hit: Result) -> PlainLines:
    """Returns the lines of a hit: those that matched, or all of a short definition, else its signature with the best lines.

    Common indentation is removed.
    """
    language = hit.language or language_of(hit.path, b"")
    shown = hit.excerpt
    if shown is None:
        # A project that is not live returns no lines of code.
        text = hit.signature or hit.snippet
        number = hit.line_start if hit.signature else NO_NUMBER
        shown_lines = hit.matched_lines or (MatchedLine(line=number, text=text),)
        return PlainLines(shown_lines if text else (), language)
    # Lines are those of the index, whatever other line separators they contain.
    margins = [_indentation(line.text) for line in shown.lines if line.text.strip()]
    margin = min(margins, key=len, default="")
    margin = margin if all(each.startswith(margin) for each in margins) else ""
    lines = tuple(MatchedLine(line=line.line, text=line.text.removeprefix(margin)) for line in shown.lines)
    has_first = any(line.line <= hit.line_start for line in lines)
    if hit.signature and not shown.is_whole and not has_first:
        inner = (MatchedLine(line=line.line, text=f"{INDENTATION}{line.text}") for line in lines)
        lines = (MatchedLine(line=hit.line_start, text=hit.signature), *inner)
    return PlainLines(lines, language)


def opening_line(hit: Result) -> int:
    """Returns the line at which a hit is opened: that of the definition that it is, else the first one that it shows."""
    if hit.result_type == "symbol" or hit.symbol_id:
        return hit.line_start
    lines = lines_of_hit(hit).lines
    return (lines[0].line if lines else 0) or hit.line_start


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

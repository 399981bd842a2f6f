"""Which lines of a hit a person wants to see: those with the words of the query in them. Reads them from the index."""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from codecompass.protocol.replies import Result
from codecompass.store.index import Snapshot
from codecompass.store.query.source import lines_of
from codecompass.store.query.tokens import query_words, stem

MATCHING_LINES: Final = 3
CONTEXT_LINES: Final = 12
SEARCHED_LINES: Final = 400
"""A hit longer than this is looked at from its beginning only."""

MIN_WORD: Final = 2


class NumberedLine(Struct, frozen=True):
    """A line of a file, counted from 1."""

    number: int
    text: str


class Excerpt(Struct, frozen=True):
    """The lines to show of a hit, in order, and whether it goes on behind them."""

    lines: tuple[NumberedLine, ...]
    is_cut: bool = False


def word_pattern(query: str) -> re.Pattern[str] | None:
    """Returns what finds the query's words, and words of the same stem, in a line; None where there are none."""
    stems = {stem(word.text) for word in query_words(query) if len(word.text) >= MIN_WORD}
    if not stems:
        return None
    alternatives = "|".join(re.escape(word) for word in sorted(stems, key=lambda word: (-len(word), word)))
    # The rest of a word in small letters belongs to it: `writer`, but not `write` and `Lock` in `writeLock`.
    return re.compile(f"(?:(?i:{alternatives}))[a-z]*")


def excerpts(
    snapshot: Snapshot, results: Sequence[Result], pattern: re.Pattern[str] | None, *, has_context: bool
) -> tuple[Excerpt, ...]:
    """Returns what to show of each result: with `has_context` its beginning, else its lines with most of the words."""
    return tuple(_excerpt(snapshot, result, pattern, has_context=has_context) for result in results)


def _excerpt(snapshot: Snapshot, result: Result, pattern: re.Pattern[str] | None, *, has_context: bool) -> Excerpt:
    if result.matched_lines:
        return Excerpt(tuple(NumberedLine(line.line, line.text) for line in result.matched_lines))
    file = snapshot.facts.file(result.path)
    if file is None:
        return Excerpt(())
    last = min(result.line_end, result.line_start + SEARCHED_LINES - 1)
    lines = [
        NumberedLine(result.line_start + offset, text)
        for offset, text in enumerate(lines_of(snapshot, file.id, result.line_start, last))
    ]
    if has_context:
        return Excerpt(tuple(lines[:CONTEXT_LINES]), is_cut=len(lines) > CONTEXT_LINES)
    if pattern is None:
        return Excerpt(())
    # The signature stands above the excerpt already.
    candidates = lines[1:] if result.signature else lines
    return Excerpt(tuple(_best(candidates, pattern)))


def _best(lines: Iterable[NumberedLine], pattern: re.Pattern[str]) -> list[NumberedLine]:
    """The lines with most different words, the earlier ones of equals, in the order of the file."""
    counted = ((len({stem(match.lower()) for match in pattern.findall(line.text)}), line) for line in lines)
    found = sorted(((n, line) for n, line in counted if n), key=lambda item: (-item[0], item[1].number))
    most = found[0][0] if found else 0
    # A line with one word of several is noise beside a line that has them all.
    kept = [line for n, line in found if n == most or n > 1][:MATCHING_LINES]
    return sorted(kept, key=lambda line: line.number)

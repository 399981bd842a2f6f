"""Which lines of a hit an answer shows to a reader: a person at a terminal, or a model that gets answers as text.

A short definition is shown whole, of a longer one and of a piece of text the lines that say most of the query. Reads them from
the index, so that what is shown is of the generation that was searched.
"""

import re
from collections.abc import Sequence
from typing import Final

from codecompass.protocol.replies import Enclosing, Excerpt, MatchedLine
from codecompass.protocol.requests import DetailLevel
from codecompass.store.index import Snapshot
from codecompass.store.query.asked_lines import lines_shown
from codecompass.store.query.bodies import body_of
from codecompass.store.query.ranking import RankedPlace
from codecompass.store.query.source import lines_of
from codecompass.store.query.tokens import query_words, stem

MATCHING_LINES: Final = 3
"""Lines shown of a definition or a piece of text that is too long to be shown whole."""

WHOLE_LINES: Final = 8
"""A definition of so many lines or fewer is shown whole: a reader would ask for it next."""

CONTEXT_LINES: Final = 30
"""Lines shown at level `context`, from the first one on."""

SEARCHED_LINES: Final = 400
"""A hit longer than this is looked through from its beginning only."""

SHOWN_CHARACTERS: Final = 200
LEAD_CHARACTERS: Final = 60
"""Of a long line: what is shown of it, and how much of that stands before the first match."""

MIN_WORD: Final = 2


def word_pattern(query: str) -> re.Pattern[str] | None:
    """Returns what finds the query's words, and words of the same stem, in a line; None where there are none."""
    stems = {stem(word.text) for word in query_words(query) if len(word.text) >= MIN_WORD}
    if not stems:
        return None
    alternatives = "|".join(re.escape(word) for word in sorted(stems, key=lambda word: (-len(word), word)))
    # The rest of a word in small letters belongs to it: `writer`, but not `write` and `Lock` in `writeLock`.
    return re.compile(f"(?:(?i:{alternatives}))[a-z]*")


def excerpt_of(
    snapshot: Snapshot,
    place: RankedPlace,
    matched: Sequence[MatchedLine],
    level: DetailLevel,
    pattern: re.Pattern[str] | None,
    *,
    with_docs: bool = False,
) -> Excerpt:
    """Returns the lines of `place` to show, in order. `matched` are those that a literal or regular expression matched: they
    are shown as they are, except at the levels `context` and `body`, which show the beginning and all of the place."""
    enclosing = _enclosing(place)
    if level == "location" or place.type == "file":
        return Excerpt(enclosing=enclosing)
    if level == "body":
        return _whole(snapshot, place, enclosing, with_docs=with_docs)
    if (matched or place.asked_first) and level != "context":
        return Excerpt(lines=tuple(matched) or lines_shown(snapshot, place), enclosing=enclosing)
    last = min(place.line_end, place.line_start + SEARCHED_LINES - 1)
    lines = [
        MatchedLine(line=place.line_start + offset, text=text)
        for offset, text in enumerate(lines_of(snapshot, place.place.id, place.line_start, last))
    ]
    if level == "context":
        return _beginning(lines, place, enclosing)
    if place.symbol is not None and len(lines) <= WHOLE_LINES:
        return Excerpt(lines=tuple(_shortened(line, None) for line in lines), is_whole=True, enclosing=enclosing)
    # The signature of a definition stands above the excerpt already.
    candidates = lines[1:] if place.symbol is not None and place.symbol.signature else lines
    return Excerpt(lines=_best(candidates, pattern, place.focus), enclosing=enclosing)


def _enclosing(place: RankedPlace) -> Enclosing | None:
    row = place.enclosing
    if place.symbol is not None or row is None:
        return None
    return Enclosing(
        kind=row.kind, name=row.name, qualified_name=row.qualified_name, line_start=row.line_start, line_end=row.line_end
    )


def _whole(snapshot: Snapshot, place: RankedPlace, enclosing: Enclosing | None, *, with_docs: bool) -> Excerpt:
    body = body_of(snapshot, place, with_docs=with_docs)
    lines = tuple(MatchedLine(line=number, text=text) for number, text in enumerate(body.lines, body.line_start))
    return Excerpt(lines=lines, is_whole=not body.lines_omitted, n_omitted=body.lines_omitted, enclosing=enclosing)


def _beginning(lines: Sequence[MatchedLine], place: RankedPlace, enclosing: Enclosing | None) -> Excerpt:
    first = 0
    if place.symbol is None and place.focus:
        first = max(0, min(place.focus - place.line_start - MATCHING_LINES, len(lines) - CONTEXT_LINES))
    shown = tuple(_shortened(line, None) for line in lines[first : first + CONTEXT_LINES])
    omitted = place.line_end - place.line_start + 1 - first - len(shown)
    return Excerpt(lines=shown, is_whole=not (first or omitted), n_omitted=omitted, enclosing=enclosing)


def _best(lines: Sequence[MatchedLine], pattern: re.Pattern[str] | None, focus: int) -> tuple[MatchedLine, ...]:
    """The line that the hit points at and those with most different words, the earlier ones of equals, in line order."""
    counts = {line.line: _n_words(line.text, pattern) for line in lines}
    found = sorted((line for line in lines if counts[line.line]), key=lambda line: (-counts[line.line], line.line))
    most = counts[found[0].line] if found else 0
    pointed = [line for line in lines if line.line == focus]
    # A line with one word of several is noise beside a line that has them all.
    others = [line for line in found if line.line != focus and (counts[line.line] == most or counts[line.line] > 1)]
    kept = (pointed + others)[:MATCHING_LINES]
    return tuple(_shortened(line, pattern) for line in sorted(kept, key=lambda line: line.line))


def _n_words(text: str, pattern: re.Pattern[str] | None) -> int:
    return 0 if pattern is None else len({stem(match.lower()) for match in pattern.findall(text)})


def _shortened(line: MatchedLine, pattern: re.Pattern[str] | None) -> MatchedLine:
    if len(line.text) <= SHOWN_CHARACTERS:
        return MatchedLine(line=line.line, text=line.text.rstrip())
    match = pattern.search(line.text) if pattern is not None else None
    return MatchedLine(line=line.line, text=shortened(line.text, match.start() if match is not None else 0))


def shortened(text: str, match_start: int) -> str:
    """Returns a line of code as it is shown: whole, or the part around the match, with `…` where it was cut."""
    if len(text) <= SHOWN_CHARACTERS:
        return text.rstrip()
    first = max(0, match_start - LEAD_CHARACTERS)
    cut = text[first : first + SHOWN_CHARACTERS].rstrip()
    return ("…" if first else "") + cut + ("…" if first + SHOWN_CHARACTERS < len(text) else "")

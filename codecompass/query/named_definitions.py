"""Definitions that a query names rather than describes: by frames of a stack trace, by a signature, by a misspelt name.

Certain ones rank above all places found by words; definitions with merely similar names rank below the best of these.
"""

import re
from collections.abc import Sequence
from typing import Final

from codecompass.query.exact_names import Reading, exactly
from codecompass.query.intent import QueryIntent
from codecompass.query.name_lookup import find_named
from codecompass.query.places import RankedPlace, Signals
from codecompass.query.query_words import name_parts
from codecompass.query.ranking import KIND_WEIGHT
from codecompass.query.source_lines import lines_of
from codecompass.query.traces_and_signatures import FrameLocation, declared_name, frames, is_signature, locate_frames
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

MAX_DEFINITIONS: Final = 5
"""Definitions of a name that are ranked first; the rest of the page is for code that mentions them."""

LOOKED_AT: Final = 10
"""Places whose text is searched for a name that has no definition."""

_GUESSES: Final[frozenset[Reading]] = frozenset({"case_insensitive", "words", "scope", "fuzzy"})
_WEAK_GUESSES: Final[frozenset[Reading]] = frozenset({"parts", "similar"})
_OTHER_CASE: Final[frozenset[Reading]] = frozenset({"case_insensitive"})
_NONE: Final[frozenset[Reading]] = frozenset()


def named_definitions(
    snapshot: Snapshot, query: str, intent: QueryIntent, ranked: Sequence[RankedPlace], where: Filter
) -> list[RankedPlace]:
    """Returns the places that `query` names, with scores that rank them among `ranked`; mostly none."""
    above = ranked[0].score if ranked else 0.0
    framed = [place for place in locate_frames(snapshot, frames(query)) if _passes(place.file.language, place.file.id, where)]
    if framed:
        return [_frame(place, _score(above, index)) for index, place in enumerate(framed)]
    rows: list[SymbolRow] = []
    if is_signature(query):
        rows = [named.row for named in exactly(snapshot, declared_name(query), where, None)]
    elif len(query.split()) == 1 and not _is_known(snapshot, query, ranked):
        is_name = intent == "symbol" or not ranked
        sure, weak = (_GUESSES, _WEAK_GUESSES) if is_name else (_OTHER_CASE, _NONE)
        named = find_named(snapshot, query, where, None)
        rows = [found.row for found in named if found.reading in sure]
        if not rows:
            return _behind_the_best([found.row for found in named if found.reading in weak], ranked)
    return [definition_place(row, _score(above, index)) for index, row in enumerate(rows[:MAX_DEFINITIONS])]


def _behind_the_best(rows: Sequence[SymbolRow], ranked: Sequence[RankedPlace]) -> list[RankedPlace]:
    """Returns the definitions with scores between those of the first and the second place."""
    best = ranked[0].score if ranked else 1.0
    second = ranked[1].score if len(ranked) > 1 else best / 2
    step = (best - second) / (MAX_DEFINITIONS + 1)
    return [definition_place(row, best - step * (index + 1)) for index, row in enumerate(rows[:MAX_DEFINITIONS])]


def _is_known(snapshot: Snapshot, name: str, ranked: Sequence[RankedPlace]) -> bool:
    """Whether a definition has this name, or the best places contain it literally: then no similar name is meant."""
    if any(place.signals.exact or place.signals.qualified for place in ranked):
        return True
    bare = re.compile(rf"(?<!\w){re.escape((name_parts(name) or (name,))[-1])}(?!\w)")
    return any(
        bare.search(line) is not None
        for place in ranked[:LOOKED_AT]
        for line in lines_of(snapshot, place.file.id, place.line_start, place.line_end)
    )


def _score(above: float, index: int) -> float:
    return above + 1.0 + 1.0 / (1 + index)


def _passes(language: str, file_id: int, where: Filter) -> bool:
    return (not where.languages or language in where.languages) and (where.file_ids is None or file_id in where.file_ids)


def _frame(found: FrameLocation, score: float) -> RankedPlace:
    file = found.file
    if found.symbol is not None:
        return definition_place(found.symbol, score, found.line)
    indexed = IndexedFile(file.id, file.path, file.language, file.line_count)
    line = min(max(1, found.line), max(1, file.line_count))
    signals = Signals(exact=1.0, path=1.0)
    return RankedPlace(file=indexed, type="file", line_start=line, line_end=line, score=score, signals=signals, focus=line)


def definition_place(row: SymbolRow, score: float, line: int = 0) -> RankedPlace:
    """Returns a definition as a place with this score; `line` is the line in it that the query names, 0 if none."""
    return RankedPlace(
        file=IndexedFile(row.file_id, row.path, row.language, row.line_end),
        type="symbol",
        line_start=row.line_start,
        line_end=row.line_end,
        score=score,
        signals=Signals(qualified=1.0, definition=1.0, kind=KIND_WEIGHT[row.kind]),
        symbol=row,
        focus=line,
    )

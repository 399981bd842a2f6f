"""Widens or narrows a place to a definition: the function or class that contains its best lines, if it is short enough.

BM25 finds chunks, which begin and end anywhere; a reader wants the definition. This reads the chunk's text and the definitions
around it, so it is done only for the places on the page.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from codecompass.languages.records import SymbolKind
from codecompass.query.filters import has_kind
from codecompass.query.query_words import WantedWords
from codecompass.query.search_hits import RankedPlace
from codecompass.query.source_lines import lines_of
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_SYMBOL_LINES: Final = 60
"""A definition of up to this many lines is shown instead of a chunk of it."""

MIN_SHARE: Final = 0.6
"""Share of a chunk's matches that must be in one definition for it to replace the chunk."""

SHOWN_KINDS: Final[frozenset[SymbolKind]] = frozenset(
    {"fn", "method", "class", "struct", "enum", "trait", "interface", "macro", "type", "module", "test"}
)
ENCLOSING_KINDS: Final[frozenset[SymbolKind]] = SHOWN_KINDS | {"impl"}


def fit_to_definition(
    snapshot: Snapshot, place: RankedPlace, wanted: WantedWords, kinds: frozenset[SymbolKind] | None = None
) -> RankedPlace | None:
    """Returns the place with its final lines; None if `kinds` are given and no definition of these kinds fits."""
    if place.type != "snippet":
        return place
    lines = lines_of(snapshot, place.file.id, place.line_start, place.line_end)
    # Squared, so that a line with half of the query outweighs several lines with one word of it.
    worth = [wanted.recall(line) ** 2 for line in lines]
    focus = place.line_start + max(range(len(worth)), key=lambda index: (worth[index], -index), default=0)
    around = snapshot.facts.symbols_around(place.file.id, place.line_start, place.line_end)
    symbol = narrowest(around, place.line_start, worth, kinds)
    if symbol is not None:
        return as_symbol(place, symbol, focus)
    if kinds is not None:
        return None
    enclosing = enclosing_symbol(around, place.line_start, place.line_end)
    return msgspec.structs.replace(place, enclosing=enclosing, focus=focus)


def as_symbol(place: RankedPlace, symbol: SymbolRow, focus: int = 0) -> RankedPlace:
    """Returns the place with the lines of the whole definition."""
    return msgspec.structs.replace(
        place, type="symbol", line_start=symbol.line_start, line_end=symbol.line_end, symbol=symbol, focus=focus
    )


def narrowest(
    around: Sequence[SymbolRow],
    first_line: int,
    worth: Sequence[float],
    kinds: frozenset[SymbolKind] | None,
    min_share: float = MIN_SHARE,
) -> SymbolRow | None:
    """Returns the shortest definition with at least `min_share` of `worth`, whose entries are the lines from `first_line` on."""
    total = sum(worth)
    if total <= 0.0:
        return None
    fitting = []
    for row in around:
        length = row.line_end - row.line_start + 1
        if length > MAX_SYMBOL_LINES or (row.kind not in SHOWN_KINDS if kinds is None else not has_kind(row, kinds)):
            continue
        inside = sum(worth[max(0, row.line_start - first_line) : max(0, row.line_end - first_line + 1)])
        if inside >= min_share * total:
            fitting.append((length, row.line_start, row.id, row))
    return min(fitting)[-1] if fitting else None


def enclosing_symbol(around: Sequence[SymbolRow], first: int, last: int) -> SymbolRow | None:
    """Returns the innermost definition that contains all of the lines."""
    outer = [row for row in around if row.kind in ENCLOSING_KINDS and row.line_start <= first and row.line_end >= last]
    return max(outer, key=lambda row: (row.line_start, -row.line_end, row.id), default=None)

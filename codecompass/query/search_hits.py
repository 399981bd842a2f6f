"""The places that a search finds, with their scores and signals, and the hits of an answer before they are shaped.

BM25 finds chunks, which begin and end anywhere; a reader wants the definition. `fit_to_definition` widens or narrows a place to
the function or class that contains its best lines, if it is short enough. It reads the chunk's text and the definitions around
it, so it is done only for the places on the page.
"""

from collections.abc import Mapping, Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct

from codecompass.languages.records import SymbolKind
from codecompass.protocol.replies import HitUnit, MatchedLine
from codecompass.query.filters import has_kind
from codecompass.query.source_lines import lines_of
from codecompass.query.words.query_words import WantedWords
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot

PlaceType = Literal["symbol", "snippet", "file", "import"]
QueryIntent = Literal["symbol", "path", "error", "natural_language"]

Relation = Literal["uses", "subtypes", "tests", "changes"]
"""What a question such as "who calls X" asks for."""

MAX_SYMBOL_LINES: Final = 60
"""A definition of up to this many lines is shown instead of a chunk of it."""

MIN_SHARE: Final = 0.6
"""Share of a chunk's matches that must be in one definition for it to replace the chunk."""

SHOWN_KINDS: Final[frozenset[SymbolKind]] = frozenset(
    {"fn", "method", "class", "struct", "enum", "trait", "interface", "macro", "type", "module", "test", "resource", "route"}
)
ENCLOSING_KINDS: Final[frozenset[SymbolKind]] = SHOWN_KINDS | {"impl", "section", "target", "rule"}

KIND_WEIGHT: Final[Mapping[SymbolKind, float]] = {
    "class": 1.0,
    "struct": 1.0,
    "trait": 1.0,
    "interface": 1.0,
    "enum": 0.95,
    "type": 0.9,
    "fn": 0.85,
    "macro": 0.85,
    "module": 0.8,
    "method": 0.75,
    "const": 0.6,
    "var": 0.55,
    "field": 0.4,
    "impl": 0.3,
    "use": 0.1,
    "test": 0.3,
    "resource": 0.8,
    "route": 0.8,
    "section": 0.2,
    "key": 0.2,
    "rule": 0.2,
    "target": 0.25,
}
"""How much a name of this kind counts in a ranking by names."""


class Signals(Struct, frozen=True, kw_only=True, gc=False):
    """The features that make up a place's score, each 0..1 except `bm25`, which is the raw score of the text index."""

    exact: float = 0.0
    """Its name, or its text, is exactly what was asked for."""
    qualified: float = 0.0
    """Its qualified name ends in a qualified name of the query."""
    path: float = 0.0
    """How many words of the query are in the path, by their worth."""
    definition: float = 0.0
    """How well its name matches the words of the query."""
    kind: float = 0.0
    """The weight of its symbol kind."""
    bm25: float = 0.0
    meaning: float = 0.0
    """Similarity of its text to the question: the cosine of their vectors, 0 if there is none."""


class RankedPlace(Struct, frozen=True, kw_only=True, gc=False):
    """A place that may become a hit. Lines are 1-based and inclusive."""

    file: IndexedFile
    type: PlaceType
    line_start: int
    line_end: int
    score: float
    """Above 0 and not bounded; `final_score` makes it 0..1."""
    signals: Signals
    scale: float = 1.0
    """The factor that the score contains for the role of the file and for the files that import it."""
    symbol: SymbolRow | None = None
    """The definition that the place consists of."""
    enclosing: SymbolRow | None = None
    """The definition around a place that is not a definition."""
    focus: int = 0
    """The line with most of the query, 0 if not determined."""
    also: tuple[SymbolRow, ...] = ()
    """Further definitions of the file that answer the question, best first."""
    imported: str = ""
    """For an import: its name as written in the source."""
    asked_first: int = 0
    """The first of the lines requested by number, 0 if none were."""
    asked_last: int = 0

    @property
    def final_score(self) -> float:
        """The score as it is shown: 0..1, in the same order, rounded to four digits."""
        return round(self.score / (self.score + 1.0), 4)


class Hit(Struct, frozen=True, kw_only=True):
    """A place of the answer."""

    place: RankedPlace
    matched_lines: tuple[MatchedLine, ...] = ()
    """The lines that a literal or regular expression matched."""
    match: str = ""
    """How well the place matches the requested name (`exact_names.NameMatch`)."""
    held: tuple[MatchedLine, ...] = ()
    """Lines of the place that an answer must show: they have tokens of the question as they were asked."""
    n_copies: int = 0
    """Places of other files that are nearly the same and were left out for it."""


class HitPage(Struct, frozen=True):
    """A page of hits, or of lines: it begins after `offset` of them and has up to `limit`."""

    offset: int
    limit: int

    @property
    def end(self) -> int:
        """How many must be known to fill the page."""
        return self.offset + self.limit


class Hits(Struct, frozen=True, kw_only=True):
    """The first hits of a search, ranked and without duplicates."""

    shown: tuple[Hit, ...]
    intent: QueryIntent
    total: int
    """Places found before the limit was applied, or what `unit` counts."""
    unit: HitUnit = "place"
    """What `total` counts."""
    are_lines_paged: bool = False
    """Whether the limit and the offset count lines, and not hits."""
    is_counted: bool = True
    """Whether `total` is exact; else there are at least so many."""
    next_offset: int = 0
    """The offset of the next page, 0 if there is none."""
    notice: str = ""
    """What must be said before the hits: how the query was read, or that nothing has it as it was asked."""
    is_verbatim: bool = False
    """Whether the hits have the query as it was asked."""
    is_weak: bool = False
    """Whether none of the hits fits the question; `notice` says why."""
    duplicates: int = 0
    """Places left out because another hit shows the same lines."""
    warnings: tuple[str, ...] = ()
    wanted: WantedWords | None = None
    """The words that were searched for, if any were."""
    is_partial: bool = False
    """Whether the search ended early."""
    is_in_other_case: bool | None = None
    """Whether a literal that was not found stands in the index in another case; None if that is not known."""


def score_above(above: float, index: int) -> float:
    """Returns a score over `above` for the place with this index, so that places keep their order."""
    return above + 1.0 + 1.0 / (1 + index)


def score_in_order(index: int, certainty: float = 1.0) -> float:
    """Returns the score for the place with this index among places whose order is final; `certainty` is 0..1."""
    return 20.0 * certainty / (1.0 + 0.05 * index)


def definition_place(row: SymbolRow, score: float, signals: Signals | None = None, line: int = 0) -> RankedPlace:
    """Returns a definition as a place with this score; by default its signals are those of a definition that the query names.

    `line` is the line in it that the query names, 0 if none.
    """
    return RankedPlace(
        file=IndexedFile(row.file_id, row.path, row.file_language, row.line_end),
        type="symbol",
        line_start=row.line_start,
        line_end=row.line_end,
        score=score,
        signals=signals or Signals(qualified=1.0, definition=1.0, kind=KIND_WEIGHT[row.kind]),
        symbol=row,
        focus=line,
    )


def file_place(file: IndexedFile, score: float, signals: Signals) -> RankedPlace:
    """Returns a whole file as a place."""
    return RankedPlace(file=file, type="file", line_start=1, line_end=max(1, file.line_count), score=score, signals=signals)


def fit_to_definition(
    snapshot: Snapshot, place: RankedPlace, wanted: WantedWords, kinds: frozenset[SymbolKind] | None = None
) -> RankedPlace | None:
    """Returns the place with its final lines; None if `kinds` are given and no definition of these kinds fits."""
    if place.type != "snippet":
        return place
    lines = lines_of(snapshot, place.file.id, place.line_start, place.line_end)
    # Squared, so that a line with half of the query outweighs several lines with one word of it.
    worth = [share**2 for share in wanted.recalls(lines)]
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

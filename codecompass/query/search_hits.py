"""The results of a search before they are shaped: places with their scores and signals, and the hits of an answer."""

from typing import Literal

from msgspec import Struct

from codecompass.protocol.replies import MatchedLine
from codecompass.query.intent import QueryIntent
from codecompass.query.query_words import WantedWords
from codecompass.store.rows import IndexedFile, SymbolRow

PlaceType = Literal["symbol", "snippet", "file", "import"]


class Signals(Struct, frozen=True, kw_only=True):
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


class RankedPlace(Struct, frozen=True, kw_only=True):
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
    """The name of an import as a person writes it, for a place that is one."""
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


class Hits(Struct, frozen=True, kw_only=True):
    """The first hits of a search, ranked and without duplicates."""

    shown: tuple[Hit, ...]
    intent: QueryIntent
    total: int
    """Places found before the limit was applied."""
    duplicates: int = 0
    """Places left out because another hit shows the same lines."""
    warnings: tuple[str, ...] = ()
    wanted: WantedWords | None = None
    """The words that were searched for, if any were."""
    is_partial: bool = False
    """Whether the search ended early."""

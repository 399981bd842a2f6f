"""What a search finds: places with their score and what the score is made of; the hits of an answer, not yet shaped."""

from typing import Literal

from msgspec import Struct

from codecompass.protocol.replies import MatchedLine
from codecompass.query.intent import QueryIntent
from codecompass.query.query_words import WantedWords
from codecompass.store.rows import IndexedFile, SymbolRow

PlaceType = Literal["symbol", "snippet", "file", "import"]


class Signals(Struct, frozen=True, kw_only=True):
    """The features that a place's score is made of, each 0..1 except `bm25`, which is as the text index gave it."""

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
    """How near its text is to the question: the cosine of their vectors, 0 where there is none."""


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
    """The factor in the score for the kind of its file and for the files that import it."""
    symbol: SymbolRow | None = None
    """The definition that the place is."""
    enclosing: SymbolRow | None = None
    """The definition around a place that is not one."""
    focus: int = 0
    """The line with most of the query, 0 where it was not determined."""
    also: tuple[SymbolRow, ...] = ()
    """Further definitions of the file that answer the question, best first."""
    imported: str = ""
    """What an import brings in, as a person writes it."""
    asked_first: int = 0
    """The first of the lines that were asked for by number, 0 where none were."""
    asked_last: int = 0

    @property
    def final_score(self) -> float:
        """The score as it is shown: 0..1, in the same order, four digits."""
        return round(self.score / (self.score + 1.0), 4)


class Hit(Struct, frozen=True, kw_only=True):
    """A place of the answer."""

    place: RankedPlace
    matched_lines: tuple[MatchedLine, ...] = ()
    """The lines that a literal or regular expression matched."""
    match: str = ""
    """How well the place has the name that was asked for (`exact_names.NameMatch`)."""


class Hits(Struct, frozen=True, kw_only=True):
    """The first hits of a search, ranked and without duplicates."""

    shown: tuple[Hit, ...]
    intent: QueryIntent
    total: int
    """Places found, before the limit was applied."""
    duplicates: int = 0
    """Places left out because another hit shows the same lines."""
    warnings: tuple[str, ...] = ()
    wanted: WantedWords | None = None
    """The words that the search was for, where it was for words."""
    is_partial: bool = False
    """Whether the search ended before it had looked at everything."""

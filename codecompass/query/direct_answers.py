"""Places that answer a query directly and rank above those found by words.

They are the definitions that a query names rather than describes (by frames of a stack trace, a signature, a misspelt name), and
the users of a definition for questions about a relation ("who calls X", "subclasses of X", "tests for X"). Definitions with
merely similar names rank below the best place found by words.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Literal

import msgspec
from msgspec import Struct

from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.query.filters import passes
from codecompass.query.hierarchy import direct_subtypes
from codecompass.query.messages.traces_and_signatures import FrameLocation, declared_name, frames, is_signature, locate_frames
from codecompass.query.names.exact_names import Reading, exactly, find_exactly, without_declarations
from codecompass.query.names.name_lookup import find_named
from codecompass.query.search_hits import RankedPlace, Signals, definition_place, score_above
from codecompass.query.source_lines import lines_of
from codecompass.query.uses.definitions import entity
from codecompass.query.uses.found_uses import FoundUse, Uses
from codecompass.query.uses.symbol_places import SymbolPlaces
from codecompass.query.words.intent import QueryIntent
from codecompass.query.words.query_words import name_parts
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

MAX_DEFINITIONS: Final = 5
"""Definitions of a name that are ranked first; the rest of the page is for code that mentions them."""

SEARCHED_PLACES: Final = 10
"""Places whose text is searched for a name that has no definition."""

_GUESSES: Final[frozenset[Reading]] = frozenset({"case_insensitive", "words", "scope", "fuzzy"})
_WEAK_GUESSES: Final[frozenset[Reading]] = frozenset({"parts", "similar"})
_OTHER_CASE: Final[frozenset[Reading]] = frozenset({"case_insensitive"})
_NONE: Final[frozenset[Reading]] = frozenset()

Relation = Literal["uses", "subtypes", "tests"]
MAX_PLACES: Final = 100

MAX_MEANT: Final = 5
"""Definitions of the name that are looked up; with more of them it is unknown which one is meant."""

MAX_QUESTION: Final = 200
"""Characters. Longer texts are not such questions."""

STEP: Final = 1e-6
"""Difference between the scores of two places, so that they keep their order."""

_SUBJECT: Final = (
    r"(?:the\s+)?(?:(?:function|method|class|interface|trait|type)\s+)?[`'\"]?(?P<name>[^\s`'\"?]+?)(?:\(\))?[`'\"]?"
)
_START: Final = r"(?:please\s+)?(?:find\s+|show\s+|list\s+)?(?:me\s+)?(?:all\s+)?(?:the\s+)?"
_QUESTIONS: Final[Mapping[Relation, tuple[str, ...]]] = {
    "uses": (
        rf"(?:who|what)\s+(?:calls|uses|invokes|references|depends\s+on|instantiates)\s+{_SUBJECT}",
        rf"{_START}(?:callers|calls|uses|usages?|references|call\s+sites)\s+(?:of|to|for)\s+{_SUBJECT}",
        rf"where\s+(?:is|are)\s+{_SUBJECT}\s+(?:used|called|referenced|invoked|instantiated)",
    ),
    "subtypes": (
        rf"{_START}(?:implementations|implementers|implementors|subclasses|subtypes)\s+of\s+{_SUBJECT}",
        rf"(?:who|what|which\s+\w+)\s+(?:implements?|extends?|subclass(?:es)?|inherits?\s+from)\s+{_SUBJECT}",
    ),
    "tests": (
        rf"{_START}(?:unit\s+)?tests?\s+(?:for|of|that\s+(?:use|call|cover))\s+{_SUBJECT}",
        rf"(?:who|what|which\s+tests?)\s+tests?\s+{_SUBJECT}",
    ),
}
_PATTERNS: Final = tuple(
    (relation, re.compile(rf"{pattern}\s*\??", re.IGNORECASE))
    for relation, patterns in _QUESTIONS.items()
    for pattern in patterns
)


def named_definitions(
    snapshot: Snapshot, query: str, intent: QueryIntent, ranked: Sequence[RankedPlace], where: Filter
) -> list[RankedPlace]:
    """Returns the places that `query` names, with scores that rank them among `ranked`; mostly none."""
    above = ranked[0].score if ranked else 0.0
    is_allowed = passes(where)
    framed = [place for place in locate_frames(snapshot, frames(query)) if is_allowed(place.file.id, place.file.language)]
    if framed:
        return [_frame(place, score_above(above, index)) for index, place in enumerate(framed)]
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
    return [definition_place(row, score_above(above, index)) for index, row in enumerate(rows[:MAX_DEFINITIONS])]


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
        for place in ranked[:SEARCHED_PLACES]
        for line in lines_of(snapshot, place.file.id, place.line_start, place.line_end)
    )


def _frame(found: FrameLocation, score: float) -> RankedPlace:
    file = found.file
    if found.symbol is not None:
        return definition_place(found.symbol, score, line=found.line)
    indexed = IndexedFile(file.id, file.path, file.language, file.line_count)
    line = min(max(1, found.line), max(1, file.line_count))
    signals = Signals(exact=1.0, path=1.0)
    return RankedPlace(file=indexed, type="file", line_start=line, line_end=line, score=score, signals=signals, focus=line)


class RelationQuestion(Struct, frozen=True):
    """A relation and the name that it is asked for."""

    relation: Relation
    name: str


def relation_question(text: str) -> RelationQuestion | None:
    """Returns the question that a text asks, None if it is not such a question."""
    text = text.strip()
    if len(text) > MAX_QUESTION:
        return None
    for relation, pattern in _PATTERNS:
        found = pattern.fullmatch(text)
        if found is not None:
            return RelationQuestion(relation, found["name"])
    return None


def relation_places(snapshot: Snapshot, text: str, above: float, is_expired: Callable[[], bool]) -> list[RankedPlace]:
    """Returns the places that answer such a question, in the order of `find_references`, with scores over `above`; empty for any
    other text and for a name without definitions."""
    question = relation_question(text)
    if question is None:
        return []
    rows = without_declarations(find_exactly(snapshot, question.name))
    meant = {entity(row): row for row in rows if lexical_rules(row.language) is not None}
    if not meant or len(meant) > MAX_MEANT:
        return []
    uses = Uses(snapshot, is_expired)
    places: dict[tuple[int, int, int], RankedPlace] = {}
    for row in meant.values():
        for place in _subtypes(uses, row) if question.relation == "subtypes" else _users(uses, row, rows, question.relation):
            places.setdefault((place.file.id, place.line_start, place.line_end), place)
    found = list(places.values())[:MAX_PLACES]
    best = above + STEP * (len(found) + 1)
    return [msgspec.structs.replace(place, score=best - STEP * number) for number, place in enumerate(found)]


def _subtypes(uses: Uses, row: SymbolRow) -> Iterator[RankedPlace]:
    for subtype in direct_subtypes(uses, row):
        if subtype.confidence != "possible":
            yield definition_place(subtype.type, 0.0)


def _users(uses: Uses, row: SymbolRow, rows: Sequence[SymbolRow], relation: Relation) -> Iterator[RankedPlace]:
    overloads = tuple(each for each in rows if entity(each) == entity(row))
    for use in uses.of_symbols([SymbolPlaces(overloads)]).uses:
        if use.confidence == "possible" or use.role == "import" or (relation == "tests" and not use.is_test):
            continue
        yield _place(use)


def _place(use: FoundUse) -> RankedPlace:
    if use.enclosing is not None:
        return msgspec.structs.replace(definition_place(use.enclosing, 0.0), focus=use.line)
    file = IndexedFile(use.file.file_id, use.file.path, use.file.language, use.line)
    return RankedPlace(
        file=file, type="snippet", line_start=use.line, line_end=use.line, score=0.0, signals=Signals(), focus=use.line
    )

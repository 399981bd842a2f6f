"""Questions in words about the users of a definition: "who calls X", "subclasses of X", "tests for X".

They are answered from the index's uses; the answers rank above places found by words.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal

import msgspec
from msgspec import Struct

from codecompass.languages.lexis import LEXES
from codecompass.query.definitions import entity
from codecompass.query.exact_names import find_exactly, without_declarations
from codecompass.query.hierarchy import direct_subtypes
from codecompass.query.named_definitions import definition_place
from codecompass.query.places import RankedPlace, Signals
from codecompass.query.references import FoundUse, Uses
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot

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
    meant = {entity(row): row for row in rows if row.language in LEXES}
    if not meant or len(meant) > MAX_MEANT:
        return []
    uses = Uses(snapshot, is_expired)
    places: dict[tuple[int, int, int], RankedPlace] = {}
    for row in meant.values():
        for place in _subtypes(uses, row) if question.relation == "subtypes" else _users(uses, row, question.relation):
            places.setdefault((place.file.id, place.line_start, place.line_end), place)
    found = list(places.values())[:MAX_PLACES]
    best = above + STEP * (len(found) + 1)
    return [msgspec.structs.replace(place, score=best - STEP * number) for number, place in enumerate(found)]


def _subtypes(uses: Uses, row: SymbolRow) -> Iterator[RankedPlace]:
    for subtype in direct_subtypes(uses, row):
        if subtype.confidence != "possible":
            yield definition_place(subtype.type, 0.0)


def _users(uses: Uses, row: SymbolRow, relation: Relation) -> Iterator[RankedPlace]:
    for use in uses.of(row).uses:
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

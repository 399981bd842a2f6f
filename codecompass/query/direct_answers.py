"""Places that answer a query directly and rank above those found by words.

They are the definitions that a query names rather than describes (by frames of a stack trace, a request that a route serves, a
signature, a misspelt name), the users of a definition for questions about a relation ("who calls X", "subclasses of X", "tests
for X"), and the files that go with a change ("what else must change with X"). Definitions with merely similar names rank below
the best place found by words.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from codecompass import lazy
from codecompass.query.filters import passes
from codecompass.query.messages.traces_and_signatures import FrameLocation, declared_name, frames, is_signature, locate_frames
from codecompass.query.names.exact_names import Reading, exactly
from codecompass.query.names.name_lookup import CODE_KINDS, find_named
from codecompass.query.names.named_routes import routes_asked
from codecompass.query.search_hits import QueryIntent, RankedPlace, Relation, Signals, definition_place, score_above
from codecompass.query.source_lines import lines_of
from codecompass.query.words.query_words import name_parts
from codecompass.scan.git_change_history import NO_HISTORY, ChangeHistory
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

MAX_QUESTION: Final = 200
"""Characters. Longer texts are not such questions."""

_SUBJECT: Final = (
    r"(?:the\s+)?(?:(?:function|method|class|interface|trait|type)\s+)?[`'\"]?(?P<name>[^\s`'\"?]+?)(?:\(\))?[`'\"]?"
)
_START: Final = r"(?:please\s+)?(?:find\s+|show\s+|list\s+)?(?:me\s+)?(?:all\s+)?(?:the\s+)?"
_WHEN: Final = r"(?:when|if|after)(?:\s+(?:I|we)\s+change|\s+changing)?"
_RUN: Final = rf"(?:I\s+|we\s+)?run\s+(?:for|{_WHEN})"
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
        rf"(?:which|what)\s+tests?\s+(?:(?:should|must|do|can)\s+)?(?:validates?|covers?|exercises?|checks?|{_RUN})\s+{_SUBJECT}",
    ),
    "changes": (
        rf"what\s+(?:else\s+)?(?:must|should|has\s+to|needs\s+to|may\s+have\s+to)\s+(?:be\s+)?change[ds]?\s+(?:too\s+)?"
        rf"(?:with|{_WHEN})\s+{_SUBJECT}(?:\s+changes)?",
        rf"{_START}(?:what|what\s+else|which\s+files|files\s+that)\s+changes?\s+(?:together\s+)?(?:with|{_WHEN})\s+{_SUBJECT}"
        r"(?:\s+changes)?",
    ),
}
_PATTERNS: Final = tuple(
    (relation, lazy.pattern(rf"{pattern}\s*\??", re.IGNORECASE))
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
        return [framed_place(place, score_above(above, index)) for index, place in enumerate(framed)]
    rows = routes_asked(snapshot, query, where)
    if not rows and is_signature(query):
        rows = [named.row for named in exactly(snapshot, declared_name(query), where, None)]
    elif not rows and len(query.split()) == 1 and not _is_known(snapshot, query, ranked):
        is_name = intent == "symbol" or not ranked
        sure, weak = (_GUESSES, _WEAK_GUESSES) if is_name else (_OTHER_CASE, _NONE)
        named = find_named(snapshot, query, where, CODE_KINDS)
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


def framed_place(found: FrameLocation, score: float) -> RankedPlace:
    """Returns the place of a frame: the definition around its line, else the line."""
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


def needs_history(text: str) -> bool:
    """Whether the answer to a text depends on which files changed together."""
    question = relation_question(text) if "test" in text or "change" in text else None
    return question is not None and question.relation in ("tests", "changes")


def relation_places(
    snapshot: Snapshot, text: str, above: float, is_expired: Callable[[], bool], history: ChangeHistory = NO_HISTORY
) -> list[RankedPlace]:
    """Returns the places that answer such a question, in the order of `find_references`, with scores over `above`, then the files
    that go with a change of the definition or file; empty for any other text and for a name without definitions."""
    question = relation_question(text)
    if question is None:
        return []
    from codecompass.query.relation_places import files_that_go_with, places_related_to

    relation = question.relation
    users = places_related_to(snapshot, question.name, "uses" if relation == "changes" else relation, above, is_expired)
    if relation not in ("tests", "changes"):
        return users
    files = files_that_go_with(snapshot, question.name, relation, users, history, above)
    return files if relation == "changes" else users + files

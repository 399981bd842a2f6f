"""Finds the definitions that a text may name, from the strictest reading to the loosest: the exact name, a stack frame or a
signature, the name in another scope, the same words, typing errors.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final

from codecompass.languages.records import DOCUMENT_KINDS, SYMBOL_KINDS, SymbolKind
from codecompass.languages.words import split_identifier
from codecompass.query.names.exact_names import (
    MAX_NAMESAKES,
    NamedDefinition,
    NameMatch,
    Namesakes,
    Reading,
    allowed,
    exactly,
    ordered,
)
from codecompass.query.options import no_deadline
from codecompass.query.words.query_words import name_parts, query_words, same_word, word_bag
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import FieldBoost, Filter, WordQuery

if TYPE_CHECKING:
    from codecompass.query.messages.traces_and_signatures import StackFrame

LOOSE_LIMIT: Final = 100
MAX_NAME_WORDS: Final = 12
MIN_FUZZY_LENGTH: Final = 3
MAX_FUZZY_LENGTH: Final = 300
"""No name is longer. The automaton for 16,384 characters takes half a second and cannot be interrupted."""

TWO_ERRORS_FROM: Final = 6
"""Length from which two typing errors are accepted instead of one."""

MIN_SHARED_WORDS: Final = 0.6
"""Least share of the requested words in a similar name; half is enough if it has no other words."""

_NAME_WORDS: Final = (FieldBoost("name_words", 1.0),)


def by_scope(
    namesakes: Namesakes, parts: Sequence[str], where: Filter, kinds: frozenset[SymbolKind] | None
) -> tuple[list[SymbolRow], list[SymbolRow]]:
    """Returns the definitions named like the last of several `parts`: those whose scope or path shares words with the other
    parts, most shared words first, and all others."""
    if len(parts) < 2:
        return [], []
    rows = ordered(allowed(namesakes.bound(parts[-1]), where, kinds))
    wanted = {word for part in parts[:-1] for word in split_identifier(part)}
    shared = {row.id: len(wanted.intersection(split_identifier(f"{row.path} {row.qualified_name}"))) for row in rows}
    near = sorted((row for row in rows if shared[row.id]), key=lambda row: -shared[row.id])
    return near[:LOOSE_LIMIT], [row for row in rows if not shared[row.id]][:LOOSE_LIMIT]


def by_parts(
    snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None
) -> tuple[list[SymbolRow], list[SymbolRow]]:
    """Returns the definitions whose name has the words of `name` and no others, in any order, notation and number; and those
    with all of them in their name or scope, the fewest other words first."""
    words = list(dict.fromkeys(split_identifier(name)))[:MAX_NAME_WORDS]
    if not words:
        return [], []
    ids: dict[int, None] = {}
    for variant in _variants(words):
        query = [WordQuery(word, _NAME_WORDS, is_required=True) for word in variant]
        ids.update(dict.fromkeys(hit.symbol_id for hit in snapshot.text.search_symbols(query, LOOSE_LIMIT, where)))
    distances: dict[int, tuple[int, int, int]] = {}
    rows = ordered(allowed(snapshot.facts.symbols_by_id(list(ids)).values(), where, kinds))
    for row in rows:
        own = split_identifier(row.name)
        missing = sum(not any(same_word(word, other) for other in own) for word in words)
        distances[row.id] = missing, len(own), len(set(words).difference(own))
    rows.sort(key=lambda row: distances[row.id])
    same = [row for row in rows if distances[row.id][:2] == (0, len(words))]
    return same, rows[len(same) :]


def fuzzily(snapshot: Snapshot, parts: Sequence[str], where: Filter, kinds: frozenset[SymbolKind] | None) -> list[SymbolRow]:
    """Returns the definitions whose names are one or two typing errors away from the last part, or begin with it."""
    bare = (parts or ("",))[-1].lower()
    if not MIN_FUZZY_LENGTH <= len(bare) <= MAX_FUZZY_LENGTH or not query_words(bare):
        return []
    distance = _typing_errors(bare)
    ids = snapshot.text.fuzzy_symbols(bare, distance, LOOSE_LIMIT) + snapshot.text.prefix_symbols(bare, LOOSE_LIMIT)
    rows = ordered(allowed(snapshot.facts.symbols_by_id(ids).values(), where, kinds))
    rows.sort(key=lambda row: edit_distance(bare, row.name.lower(), cap=distance + 1))
    return rows


def by_similar_words(snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None) -> list[SymbolRow]:
    """Returns the definitions with most words of `name`, for names with a word too many."""
    words = list(dict.fromkeys(split_identifier(name)))[:MAX_NAME_WORDS]
    if len(words) < 2:
        return []
    hits = snapshot.text.search_symbols([WordQuery(word, _NAME_WORDS) for word in words], LOOSE_LIMIT, where)
    rows = ordered(allowed(snapshot.facts.symbols_by_id([hit.symbol_id for hit in hits]).values(), where, kinds))
    shares: dict[int, tuple[float, int]] = {}
    for row in rows:
        own = split_identifier(row.name)
        shared = sum(any(same_word(word, other) for other in own) for word in words) / len(words)
        foreign = sum(not any(same_word(word, other) for word in words) for other in own)
        if shared >= MIN_SHARED_WORDS or (shared >= 0.5 and not foreign):
            shares[row.id] = -shared, foreign
    return sorted((row for row in rows if row.id in shares), key=lambda row: shares[row.id])


def _typing_errors(bare: str) -> int:
    return 2 if len(bare) >= TWO_ERRORS_FROM else 1


def _variants(words: list[str]) -> list[list[str]]:
    """Returns the words unchanged, and with the last one or all in the other grammatical number."""
    other = [_other_number(word) for word in words]
    variants = [words, [*words[:-1], other[-1]], other]
    return [list(variant) for variant in dict.fromkeys(map(tuple, variants))]


def _other_number(word: str) -> str:
    """Returns the singular of a word that looks like a plural, else the plural."""
    if len(word) < MIN_FUZZY_LENGTH:
        return word
    if word.endswith("ies"):
        return word[:-3] + "y"
    if word.endswith(("ses", "xes", "zes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def edit_distance(left: str, right: str, cap: int) -> int:
    """Returns the number of single-character edits (a swap of neighbours counts as one) between two words, at most `cap`."""
    if abs(len(left) - len(right)) >= cap:
        return cap
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, character in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            cost = min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (character != other))
            if row > 1 and column > 1 and character == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return min(previous[-1], cap)


READING_SCORE: Final[dict[Reading, float]] = {
    "exact": 1.0,
    "qualified": 1.0,
    "frame": 1.0,
    "case_insensitive": 0.8,
    "words": 0.7,
    "scope": 0.6,
    "parts": 0.5,
    "bare": 0.4,
    "fuzzy": 0.3,
    "similar": 0.2,
}

NAME_MATCH: Final[dict[Reading, NameMatch]] = {
    "exact": "exact",
    "qualified": "exact",
    "frame": "exact",
    "case_insensitive": "case",
    "words": "parts",
    "scope": "parts",
    "parts": "parts",
    "bare": "parts",
    "fuzzy": "similar",
    "similar": "similar",
}
"""How an answer describes each reading: exact, except for case, the same words, or similar."""


def find_named(
    snapshot: Snapshot,
    text: str,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    is_expired: Callable[[], bool] = no_deadline,
) -> list[NamedDefinition]:
    """Returns the definitions that `text` may refer to, the most likely first. Empty if nothing resembles it.

    Without `kinds`, code comes before documents: those with exactly this name count only if no code has its words, and then no
    similar name is looked for. `is_expired` is called before each looser reading; once it returns True, no further one is tried.
    """
    namesakes = Namesakes(snapshot)
    name = text.strip()
    if kinds is not None:
        return _find_named(snapshot, name, where, kinds, is_expired, namesakes)
    found = exactly(snapshot, name, where, CODE_KINDS, namesakes)
    if found:
        return found
    documents = exactly(snapshot, name, where, DOCUMENT_KINDS, namesakes)
    found = _find_otherwise(snapshot, name, where, CODE_KINDS, is_expired, namesakes, with_similar=not documents)
    if found and found[0].reading in _SURE:
        return found
    if not documents and not found and not is_expired():
        documents = titled(snapshot, text, where, DOCUMENT_KINDS)
    return documents + found


CODE_KINDS: Final[frozenset[SymbolKind]] = frozenset(SYMBOL_KINDS) - DOCUMENT_KINDS
_SURE: Final[frozenset[Reading]] = frozenset({"exact", "qualified", "frame", "case_insensitive", "words"})
MAX_TITLE_WORDS: Final = 20


def titled(snapshot: Snapshot, text: str, where: Filter, kinds: frozenset[SymbolKind]) -> list[NamedDefinition]:
    """Returns the definitions of these kinds with all the words in their names, which other readings do not search by words."""
    words = list(dict.fromkeys(text.split()))[:MAX_TITLE_WORDS]
    rows = snapshot.facts.titled(words, kinds, MAX_NAMESAKES) if words else []
    return [NamedDefinition(row, "parts") for row in ordered(allowed(rows, where, kinds))]


def _find_named(
    snapshot: Snapshot,
    text: str,
    where: Filter,
    kinds: frozenset[SymbolKind],
    is_expired: Callable[[], bool],
    namesakes: Namesakes,
) -> list[NamedDefinition]:
    found = exactly(snapshot, text, where, kinds, namesakes)
    return found or _find_otherwise(snapshot, text, where, kinds, is_expired, namesakes)


def _find_otherwise(
    snapshot: Snapshot,
    text: str,
    where: Filter,
    kinds: frozenset[SymbolKind],
    is_expired: Callable[[], bool],
    namesakes: Namesakes,
    *,
    with_similar: bool = True,
) -> list[NamedDefinition]:
    """Returns the definitions that a text may refer to of which none has it as its name."""
    # Most names are found exactly; the patterns of a trace are for the others.
    from codecompass.query.messages.traces_and_signatures import frames, locate_frames

    places = frames(text)
    located = [place.symbol for place in locate_frames(snapshot, places) if place.symbol is not None]
    rows = allowed(located, where, kinds)
    if rows:
        return [NamedDefinition(row, "frame") for row in rows]
    names = _names_in(text, places)
    for name in names:
        if is_expired():
            return []
        found = exactly(snapshot, name, where, kinds, namesakes)
        if found:
            return _like_the_signature(found, text)
    return _loosely(snapshot, (*names, text)[0], where, kinds, is_expired, namesakes, with_similar=with_similar)


def _names_in(text: str, places: Sequence["StackFrame"]) -> list[str]:
    from codecompass.query.messages.traces_and_signatures import declared_name

    return [frame.name for frame in places if frame.name] or [name for name in (declared_name(text),) if name]


def sought_names(text: str) -> tuple[str, ...]:
    """Returns the names that `find_named` looks up exactly: the text itself, and the names of its stack frames or the one that it
    declares. Pure."""
    from codecompass.query.messages.traces_and_signatures import frames

    text = text.strip()
    return tuple(dict.fromkeys((text, *_names_in(text, frames(text)))))


def _like_the_signature(found: list[NamedDefinition], text: str) -> list[NamedDefinition]:
    """Sorts the definitions of one name by how many words their signature shares with `text`, most first."""
    wanted = word_bag(text)

    def likeness(named: NamedDefinition) -> float:
        own = word_bag(named.row.signature)
        return round(len(wanted & own) / len(wanted | own), 1) if own else 0.0

    return sorted(found, key=lambda named: -likeness(named))


def _loosely(
    snapshot: Snapshot,
    name: str,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    is_expired: Callable[[], bool],
    namesakes: Namesakes,
    *,
    with_similar: bool,
) -> list[NamedDefinition]:
    if is_expired():
        return []
    parts = name_parts(name)
    in_scope, elsewhere = by_scope(namesakes, parts, where, kinds)
    if is_expired():
        return []
    same_words, with_words = by_parts(snapshot, name, where, kinds)
    found = [
        *(NamedDefinition(row, "words") for row in same_words),
        *(NamedDefinition(row, "scope") for row in in_scope),
        *(NamedDefinition(row, "parts") for row in with_words),
        *(NamedDefinition(row, "bare") for row in elsewhere),
    ]
    if not found and with_similar and not is_expired():
        found = [NamedDefinition(row, "fuzzy") for row in fuzzily(snapshot, parts, where, kinds)]
    if not found and with_similar and not is_expired():
        found = [NamedDefinition(row, "similar") for row in by_similar_words(snapshot, name, where, kinds)]
    return _once(found)


def _once(found: Sequence[NamedDefinition]) -> list[NamedDefinition]:
    by_id: dict[int, NamedDefinition] = {}
    for named in found:
        by_id.setdefault(named.row.id, named)
    return list(by_id.values())

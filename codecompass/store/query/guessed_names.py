"""Finds definitions by what an agent believes they are called, from the strictest reading of the text to the loosest.

    exact            the name as written
    qualified        the qualified name or its end, with any language's separators; the file's path may stand before it
    case-insensitive the same, but for case
    frame            the definition around a line of a stack trace
    words            definitions whose name has the same words, in another order, notation or number
    scope            the last part of a qualified name, in a scope that shares words with the one asked for
    parts            definitions that have all the words in their name or scope
    bare             the last part of a qualified name, anywhere
    fuzzy            one or two typing errors away, or beginning with it
    similar          most of the words

A signature or a declaration is read as the name that it gives. The first of the strict readings that finds anything
answers alone; looser ones would only add noise behind it.
"""

from collections.abc import Callable, Sequence
from typing import Final

from codecompass.protocol.decode import well_formed
from codecompass.store.index import Snapshot
from codecompass.store.query.frames import symbols_of_frames
from codecompass.store.query.guesses import declared_name, frames
from codecompass.store.query.hits import never
from codecompass.store.query.loose_names import by_parts, by_scope, by_similar_words, fuzzily
from codecompass.store.query.names import Named, NameMatch, Reading, allowed, exactly
from codecompass.store.query.tokens import name_parts, word_bag
from codecompass.store.records import SymbolKind
from codecompass.store.text import Filter

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
"""The readings as an answer tells them apart: as written, but for case, the same words, or a guess."""


def find_named(
    snapshot: Snapshot,
    text: str,
    where: Filter,
    kinds: frozenset[SymbolKind] | None,
    is_expired: Callable[[], bool] = never,
) -> list[Named]:
    """Returns the definitions that `text` may mean, the most likely first. Empty where nothing resembles it.

    `is_expired` is asked before each looser reading, none of which is tried any more then.
    """
    text = well_formed(text).strip()
    found = exactly(snapshot, text, where, kinds)
    if found:
        return found
    places = frames(text)
    rows = allowed(symbols_of_frames(snapshot, places), where, kinds)
    if rows:
        return [Named(row, "frame") for row in rows]
    names = [frame.name for frame in places if frame.name] or [declared_name(text)]
    for name in names:
        if is_expired():
            return []
        found = exactly(snapshot, name, where, kinds) if name else []
        if found:
            return _like_the_signature(found, text)
    return _loosely(snapshot, names[0] or text, where, kinds, is_expired)


def _like_the_signature(found: list[Named], text: str) -> list[Named]:
    """Of definitions of one name, those first whose signature shares most words with the one asked for."""
    wanted = word_bag(text)

    def likeness(named: Named) -> float:
        own = word_bag(named.row.signature)
        return round(len(wanted & own) / len(wanted | own), 1) if own else 0.0

    return sorted(found, key=lambda named: -likeness(named))


def _loosely(
    snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None, is_expired: Callable[[], bool]
) -> list[Named]:
    if is_expired():
        return []
    parts = name_parts(name)
    in_scope, elsewhere = by_scope(snapshot, parts, where, kinds)
    if is_expired():
        return []
    same_words, with_words = by_parts(snapshot, name, where, kinds)
    found = [
        *(Named(row, "words") for row in same_words),
        *(Named(row, "scope") for row in in_scope),
        *(Named(row, "parts") for row in with_words),
        *(Named(row, "bare") for row in elsewhere),
    ]
    if not found and not is_expired():
        found = [Named(row, "fuzzy") for row in fuzzily(snapshot, parts, where, kinds)]
    if not found and not is_expired():
        found = [Named(row, "similar") for row in by_similar_words(snapshot, name, where, kinds)]
    return _once(found)


def _once(found: Sequence[Named]) -> list[Named]:
    by_id: dict[int, Named] = {}
    for named in found:
        by_id.setdefault(named.row.id, named)
    return list(by_id.values())

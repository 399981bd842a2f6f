"""The users of a definition, its subtypes and its tests as places of a search: what answers "who calls X"."""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.query.hierarchy import direct_subtypes
from codecompass.query.names.exact_names import find_exactly, without_declarations
from codecompass.query.search_hits import RankedPlace, Relation, Signals, definition_place
from codecompass.query.uses.definitions import entity
from codecompass.query.uses.found_uses import FoundUse, Uses
from codecompass.query.uses.symbol_places import SymbolPlaces
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_PLACES: Final = 100

MAX_MEANT: Final = 5
"""Definitions of the name that are looked up; with more of them it is unknown which one is meant."""

STEP: Final = 1e-6
"""Difference between the scores of two places, so that they keep their order."""


def places_related_to(
    snapshot: Snapshot, name: str, relation: Relation, above: float, is_expired: Callable[[], bool]
) -> list[RankedPlace]:
    """Returns the places that have this relation to the definitions of `name`, in the order of `find_references`, with scores
    over `above`; empty for a name without definitions."""
    rows = without_declarations(find_exactly(snapshot, name))
    meant = {entity(row): row for row in rows if lexical_rules(row.language) is not None}
    if not meant or len(meant) > MAX_MEANT:
        return []
    uses = Uses(snapshot, is_expired)
    places: dict[tuple[int, int, int], RankedPlace] = {}
    for row in meant.values():
        for place in _subtypes(uses, row) if relation == "subtypes" else _users(uses, row, rows, relation):
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

"""The users of a definition, its subtypes and its tests, and the files that change with it, as places of a search: what answers
"who calls X" and "what else must change with X".
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

import msgspec

from codecompass.languages.records import DOCUMENT_KINDS
from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.query.differences.companions import Change, companions
from codecompass.query.hierarchy import direct_subtypes
from codecompass.query.names.exact_names import find_exactly, without_declarations
from codecompass.query.search_hits import RankedPlace, Relation, Signals, definition_place, file_place
from codecompass.query.uses.definitions import entity
from codecompass.query.uses.found_uses import FoundUse, Uses
from codecompass.query.uses.symbol_places import SymbolPlaces
from codecompass.scan.git_change_history import ChangeHistory
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


def files_that_go_with(
    snapshot: Snapshot, name: str, relation: Relation, users: Sequence[RankedPlace], history: ChangeHistory, above: float
) -> list[RankedPlace]:
    """Returns the files, for the relation `tests` those of tests, that go with a change of the file or the definitions `name`,
    with scores over `above` and below those of `places_related_to`; empty if there is none of that name. `users` are the places
    that use it."""
    change = _change_of(snapshot, name, users)
    if change is None:
        return []
    found = companions(snapshot, change, history)
    paths = [each.path for each in (found.tests if relation == "tests" else found.in_turns())]
    rows = [row for path in paths if (row := snapshot.facts.file(path)) is not None]
    files = [IndexedFile(row.id, row.path, row.language, row.line_count) for row in rows]
    return [file_place(file, above + STEP * (1.0 - number / (len(files) + 1)), Signals()) for number, file in enumerate(files)]


def _change_of(snapshot: Snapshot, name: str, users: Sequence[RankedPlace]) -> Change | None:
    for path in snapshot.facts.paths_ending(name, 1) if "/" in name or "." in name else ():
        file = snapshot.facts.file(path)
        if file is not None:
            rows = [row for row in snapshot.facts.symbols_in_file(file.id) if row.kind not in DOCUMENT_KINDS]
            outer = tuple(dict.fromkeys(row.name for row in rows if row.parent_id is None))
            importing = {row.path for row in snapshot.facts.imports_from((path,), outer)}
            return Change(paths=(path,), names=outer, users=(importing,))
    rows = without_declarations(find_exactly(snapshot, name))
    if not rows or len({entity(row) for row in rows}) > MAX_MEANT:
        return None
    return Change(
        paths=tuple(dict.fromkeys(row.path for row in rows)), names=(rows[0].name,), users=({place.file.path for place in users},)
    )


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

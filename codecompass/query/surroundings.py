"""The surroundings of some places: the definitions that their code uses, the code that uses them, and their tests."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from codecompass.languages.language import CLASS_LIKE, FUNCTION_LIKE
from codecompass.languages.lexis import LEXES
from codecompass.languages.records import SymbolKind
from codecompass.query.call_graph import ANY_USAGE, Neighbours
from codecompass.query.search_hits import RankedPlace
from codecompass.scan.path_roles import PathReader
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_LINES: Final = 80
"""Lines of a place that are read."""

MAX_USED: Final = 10
MAX_USERS: Final = 4
MAX_TESTS: Final = 3

PLACES_WITH_USERS: Final = 2
"""Places whose users and tests are looked up: that costs more than finding what a place uses."""

MAX_FILES: Final = 80
"""Most files that may use the name of a place; the users of a commoner name say little, and cost as much as the search."""

USED_KINDS: Final[frozenset[SymbolKind]] = frozenset(
    {"fn", "method", "class", "struct", "enum", "trait", "interface", "type", "macro"}
)


def surroundings(
    snapshot: Snapshot, places: Sequence[RankedPlace], is_expired: Callable[[], bool]
) -> list[tuple[SymbolRow, RankedPlace]]:
    """Returns definitions, each once with the first place that it belongs to: what the code at `places` uses (used by most places
    first, then in line order), what uses the first of them, then their tests.

    Definitions that overlap one of the places are left out.
    """
    neighbours = Neighbours(snapshot, is_expired)
    paths = PathReader()
    used: dict[int, tuple[SymbolRow, RankedPlace]] = {}
    counts: Counter[int] = Counter()
    for place in places:
        for row in _used_at(neighbours, place):
            if row.kind in USED_KINDS and paths.role(row.path).rank == 0:
                used.setdefault(row.id, (row, place))
                counts[row.id] += 1
    users: dict[int, tuple[SymbolRow, RankedPlace]] = {}
    tests: dict[int, tuple[SymbolRow, RankedPlace]] = {}
    for place in places[:PLACES_WITH_USERS]:
        symbol = place.symbol
        if symbol is None or symbol.language not in LEXES or symbol.kind not in FUNCTION_LIKE | CLASS_LIKE:
            continue
        if is_expired() or neighbours.uses.n_files(symbol.name) > MAX_FILES:
            continue
        for step in neighbours.callers(symbol):
            group = tests if neighbours.uses.is_test(step.neighbour) else users
            group.setdefault(step.neighbour.id, (step.neighbour, place))
    most_used = sorted(used.values(), key=lambda item: -counts[item[0].id])
    found: dict[int, tuple[SymbolRow, RankedPlace]] = {}
    for items, limit in ((most_used, MAX_USED), ([*users.values()], MAX_USERS), ([*tests.values()], MAX_TESTS)):
        apart = [item for item in items if item[0].id not in found and not any(_overlaps(place, item[0]) for place in places)]
        found |= {row.id: (row, place) for row, place in apart[:limit]}
    return list(found.values())


def _used_at(neighbours: Neighbours, place: RankedPlace) -> Iterator[SymbolRow]:
    if place.file.language not in LEXES:
        return
    file = neighbours.uses.binder.definitions.names_of(place.file.id, place.file.path, place.file.language)
    last = min(place.line_end, place.line_start + MAX_LINES)
    for step in neighbours.used_in(file, [(place.line_start, last)], ANY_USAGE):
        name = step.neighbour.name
        if name.startswith("__"):  # the meaning of an operator or constructor in Python
            continue
        # `get` on an unknown receiver need not be the only definition of `get`; `get_session` is very likely its only definition.
        if step.confidence == "exact" or "_" in name or name != name.lower():
            yield step.neighbour


def _overlaps(place: RankedPlace, row: SymbolRow) -> bool:
    return place.file.id == row.file_id and place.line_start <= row.line_end and place.line_end >= row.line_start

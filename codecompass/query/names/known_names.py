"""The definitions that a name may refer to, in order, of which an answer shows a page.

A thousand targets of a build may have one name. Reading and ordering them takes 5 ms, and each page, and each later question
about the name, needs the same order. So it is kept for the generation, as row ids.
"""

from array import array
from collections.abc import Callable, Sequence
from typing import Final

from codecompass.languages.records import SymbolKind
from codecompass.query.names.exact_names import NO_FILTER, NamedDefinition, NameMatch, Reading
from codecompass.query.names.name_lookup import NAME_MATCH, find_named
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

MANY: Final = 100
"""Definitions of a name whose order is kept; fewer are found and ordered within a millisecond."""


class KnownNames:
    """Definitions in order, each with the reading that finds it. Those that are not at hand are read when they are shown."""

    def __init__(
        self, snapshot: Snapshot, ids: Sequence[int], readings: Sequence[Reading], named: Sequence[NamedDefinition] = ()
    ) -> None:
        """`named` are the definitions if they are at hand."""
        self.matches: Final[frozenset[NameMatch]] = frozenset(NAME_MATCH[each] for each in set(readings))
        """How the definitions match the name."""
        self._snapshot = snapshot
        self.ids: Final = ids
        self.readings: Final = readings
        self._named = named

    def __len__(self) -> int:
        return len(self.ids)

    def part(self, start: int, stop: int) -> Sequence[NamedDefinition]:
        """Returns the definitions from `start` to before `stop`, as far as there are any."""
        if self._named:
            return self._named[start:stop]
        ids = self.ids[start:stop]
        rows = self._snapshot.facts.symbols_by_id(ids)
        return [NamedDefinition(rows[each], reading) for each, reading in zip(ids, self.readings[start:stop], strict=True)]


def known_names(snapshot: Snapshot, named: Sequence[NamedDefinition]) -> KnownNames:
    """Returns definitions that are at hand."""
    return KnownNames(snapshot, [each.row.id for each in named], [each.reading for each in named], named)


def find_known(
    snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None, is_expired: Callable[[], bool]
) -> KnownNames:
    """Returns the definitions that `find_named` finds."""
    name = name.strip()
    # What is found once the time is up lacks the looser readings.
    kept = snapshot.facts.kept if kinds is None and where == NO_FILTER and not is_expired() else None
    if kept is not None and (known := kept.names.get(name)) is not None:
        kept.names.used((name,))
        return KnownNames(snapshot, *known)
    found = known_names(snapshot, find_named(snapshot, name, where, kinds, is_expired))
    if kept is not None and len(found) > MANY and not is_expired():
        kept.names.put(name, (array("q", found.ids), tuple(found.readings)), len(found))
    return found

"""Rows of the facts that the questions about one generation read again and again, kept in memory: people and agents ask several
questions about the same files.

They are exact, because facts change only with the description of their generation (see `index.py`), and bounded: what was used
longest ago goes first. Threads share them.
"""

import threading
from collections.abc import Hashable, Iterable, Sequence
from typing import Any, Final, Generic, TypeVar

from codecompass.languages.records import SymbolKind
from codecompass.store.rows import DefinitionSpan, IndexedFile

KEPT_FILES: Final = 4_096
KEPT_IMPORTER_COUNTS: Final = 4_096
"""Files whose rows, and whose numbers of importers, are kept: 250 bytes each. A question in words meets some 200 of them."""

KEPT_SPANS: Final = 8_000
"""Definitions without the columns that only answers show, 200 bytes each: those of some 150 files, of which a question compares
15."""

KEPT_NAMED: Final = 100_000
"""Definitions of names of many, 16 bytes each."""

_Key = TypeVar("_Key", bound=Hashable)
_Value = TypeVar("_Value")


class RecentRows(Generic[_Key, _Value]):
    """Values by key, of which those used last are kept, up to `most` in weight."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._rows: dict[_Key, tuple[_Value, int]] = {}
        self._weight = 0

    def get(self, key: _Key) -> _Value | None:
        """Returns the value of a key, None if it is not kept."""
        found = self._rows.get(key)
        return None if found is None else found[0]

    def used(self, keys: Iterable[_Key]) -> None:
        """Notes that the values of these keys were used."""
        with self._lock:
            for key in keys:
                found = self._rows.pop(key, None)
                if found is not None:
                    self._rows[key] = found

    def put(self, key: _Key, value: _Value, weight: int = 1) -> None:
        """Keeps a value, which must not be changed any more; one that is heavier than all that is kept, it does not."""
        if weight > self._most:
            return
        with self._lock:
            before = self._rows.pop(key, None)
            self._weight += weight - (0 if before is None else before[1])
            self._rows[key] = (value, weight)
            while self._weight > self._most:
                self._weight -= self._rows.pop(next(iter(self._rows)))[1]


class KeptRows:
    """The rows that are kept of one generation."""

    def __init__(self) -> None:
        self.files: Final = RecentRows[int, IndexedFile](KEPT_FILES)
        self.importer_counts: Final = RecentRows[tuple[str, int], int](KEPT_IMPORTER_COUNTS)
        """By path and the number up to which importers are counted."""
        self.spans: Final = RecentRows[tuple[int, frozenset[SymbolKind]], tuple[DefinitionSpan, ...]](KEPT_SPANS)
        """The definitions of some kinds, in source order, by file and kinds."""
        self.names: Final = RecentRows[str, tuple[Sequence[int], tuple[Any, ...]]](KEPT_NAMED)
        """The definitions that names of many may refer to, in order: row ids, and the reading that finds each."""

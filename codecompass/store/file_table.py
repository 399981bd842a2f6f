"""What questions about one generation share. All indexed files in memory, sorted by path, for filters and file listings, which go
through every path; the order of hits; uses of names that the index does not hold yet.

A table is read once per generation and cached (`TableCache`), because reading 22,000 rows takes longer than the rest of a filter.
It never changes, so threads may share it.
"""

import threading
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import accumulate
from typing import Final

from codecompass.languages.records import Use
from codecompass.store.facts import FactsReader, path_range
from codecompass.store.kept_rows import KeptRows
from codecompass.store.rows import FileOrder

KEPT_FILES: Final = 200_000
"""The largest table that is cached, in files of about 300 bytes each. A larger one is read each time."""

FEW_IN_ORDER: Final = 200
SHARE_IN_ORDER: Final = 20
MOST_IN_ORDER: Final = 2_000
"""Fewer files, or a smaller share of all, are sorted by looking them up, at 1 us each; for more, the order of all is read
once and kept."""

KEPT_USES: Final = 100_000
"""Pairs of a file and a name, and uses: 20 MB. They are needed only until the background has read all."""


class FileTable:
    """Columns of the indexed files, all in the order of `paths`."""

    def __init__(self, facts: FactsReader) -> None:
        rows = facts.file_columns()
        self.ids: tuple[int, ...] = tuple(row[0] for row in rows)
        self.paths: tuple[str, ...] = tuple(row[1] for row in rows)
        self.languages: tuple[str, ...] = tuple(row[2] for row in rows)
        self.line_counts: tuple[int, ...] = tuple(row[3] for row in rows)
        self.role_ranks: bytes = bytes(row[4] for row in rows)
        """The rank of the role of each path, 0 for product code (see `path_roles.py`)."""

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def lower_paths(self) -> tuple[str, ...]:
        """The paths in lower case."""
        return tuple(map(str.lower, self.paths))

    @cached_property
    def name_starts(self) -> tuple[int, ...]:
        """The offset of the file name in each path, in characters."""
        return tuple([path.rfind("/") + 1 for path in self.paths])

    @cached_property
    def ranks(self) -> tuple[int, ...]:
        """The position of each file when product code comes before tests, and short paths before long ones."""
        places = [
            (rank, path.count("/"), len(path), number)
            for number, (rank, path) in enumerate(zip(self.role_ranks, self.paths, strict=True))
        ]
        ranks = [0] * len(places)
        for rank, (_, _, _, number) in enumerate(sorted(places)):
            ranks[number] = rank
        return tuple(ranks)

    def runs(self, body: str, *, has_case: bool = True) -> Iterator[range]:
        """Yields the numbers of the paths that the RE2 expression `body` matches as a whole, as ranges of consecutive numbers.

        `body` must not match a line break; a line break in a path is matched as U+0000. Raises re2.error for an invalid
        expression.
        """
        import re2

        options = re2.Options()
        options.log_errors = False
        options.never_capture = True
        options.case_sensitive = has_case
        # One match covers a whole run of paths, because a match costs as much as reading twenty paths.
        pattern = re2.compile(f"(?m:^(?:(?:{body})\n)+)".encode(), options=options)
        text, starts = self._text
        for match in pattern.finditer(text):
            start, end = match.span()
            yield range(bisect_left(starts, start), bisect_left(starts, end))

    def below(self, directory: str) -> range:
        """Returns the numbers of the files below a directory ('' for the root)."""
        first, end = path_range(directory)
        return range(bisect_left(self.paths, first), bisect_left(self.paths, end))

    def number(self, path: str) -> int | None:
        """Returns the number of the file with exactly this path, None if there is none."""
        found = bisect_left(self.paths, path)
        return found if found < len(self.paths) and self.paths[found] == path else None

    def ending(self, suffix: str, limit: int) -> list[str]:
        """Returns the first paths equal to `suffix` or ending in `/suffix`, whatever the case of ASCII letters, shortest first:
        those of `FactsReader.paths_ending`."""
        sought = suffix.replace("\n", "\0").encode("utf-8", "replace").lower() + b"\n"
        text, starts = self._lower_text, self._text[1]
        found: list[str] = []
        at = text.find(sought)
        while at >= 0:
            if at == 0 or text[at - 1] in b"/\n":
                found.append(self.paths[bisect_right(starts, at) - 1])
            at = text.find(sought, at + 1)
        return sorted(found, key=lambda path: (len(path), path))[:limit]

    def names_in(self, directory: str) -> list[str]:
        """Returns the names directly in a directory ('' for the root), sorted by path; directories end in '/'."""
        names = []
        start = len(directory.rstrip("/")) + 1 if directory else 0
        numbers = self.below(directory)
        at = numbers.start
        while at < numbers.stop:
            name, slash, _ = self.paths[at][start:].partition("/")
            names.append(name + slash)
            at = bisect_right(self.paths, path_range(self.paths[at][:start] + name)[1], at) if slash else at + 1
        return names

    @cached_property
    def _text(self) -> tuple[bytes, list[int]]:
        lines = [f"{path.replace(chr(10), chr(0))}\n".encode() for path in self.paths]
        return b"".join(lines), [0, *accumulate(map(len, lines))]

    @cached_property
    def _lower_text(self) -> bytes:
        return self._text[0].lower()


class FileOrdering:
    """The order of hits, by the rank of a file's role and then by path, as numbers by file id: 4 bytes each."""

    def __init__(self, facts: FactsReader) -> None:
        ordered = facts.order_of_files()
        self._places = array("I", bytes(4 * (1 + max((file_id for _, file_id in ordered), default=0))))
        ranks = bytearray()
        for place, (rank, file_id) in enumerate(ordered):
            self._places[file_id] = place
            ranks.append(rank)
        self._ranks = bytes(ranks)

    def of(self, ids: Iterable[int]) -> Iterator[FileOrder]:
        """Yields the files in order."""
        places, ranks = self._places, self._ranks
        for file_id in sorted(ids, key=places.__getitem__):
            yield FileOrder(ranks[places[file_id]], file_id)


class KeptUses:
    """The uses of names in files that questions have read from the text of one generation, at most KEPT_USES."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._uses: dict[tuple[int, str], tuple[Use, ...]] = {}
        self._left = KEPT_USES

    def get(self, file_id: int, name: str) -> tuple[Use, ...] | None:
        """Returns the uses of a name in a file, None if they are not kept."""
        return self._uses.get((file_id, name))

    def put(self, file_id: int, name: str, uses: tuple[Use, ...]) -> None:
        """Keeps the uses of a name in a file, if there is room."""
        with self._lock:
            if self._left >= 0 and (file_id, name) not in self._uses:
                self._uses[file_id, name] = uses
                self._left -= 1 + len(uses)


class TableCache:
    """What questions about one generation share: its file table and the order of its files, read on first use, rows that were
    read before, and uses that it does not hold yet."""

    def __init__(self) -> None:
        self.kept_uses: Final = KeptUses()
        self._lock = threading.Lock()
        self._table: FileTable | None = None
        self._ordering: FileOrdering | None = None
        self._rows: tuple[float, KeptRows] | None = None

    def rows(self, published_at: float) -> KeptRows:
        """Returns the rows that are kept of what was published at that time: a text can be published again with other facts."""
        with self._lock:
            if self._rows is None or self._rows[0] != published_at:
                self._rows = published_at, KeptRows()
            return self._rows[1]

    def in_order(self, facts: FactsReader, ids: Collection[int], n_files: int) -> Iterator[FileOrder]:
        """Yields the files of `ids`, of `n_files`, sorted by the rank of their role, then by path. `facts` must be of the
        generation of this cache."""
        ordering = self._ordering
        if ordering is None and len(ids) <= min(max(FEW_IN_ORDER, n_files // SHARE_IN_ORDER), MOST_IN_ORDER):
            return facts.in_order(ids)
        if ordering is None:
            # At worst two threads read the same.
            ordering = self._ordering = FileOrdering(facts)
        return ordering.of(ids)

    def kept(self) -> FileTable | None:
        """Returns the file table if it was read."""
        with self._lock:
            return self._table

    def table(self, facts: FactsReader) -> FileTable:
        """Returns the file table. `facts` must be of the generation of this cache."""
        with self._lock:
            if self._table is not None:
                return self._table
        table = FileTable(facts)
        if len(table) <= KEPT_FILES:
            with self._lock:
                self._table = table
        return table

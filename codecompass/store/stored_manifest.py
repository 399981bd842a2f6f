"""The manifest of an index that is being written: read from its table as far as somebody asks.

An update of one file asks for a few rows and costs by them; a whole comparison reads all rows at once. Belongs to one writer
and sees what that has written: the writer changes a row first and says so here afterwards.
"""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final

from codecompass.store.facts import facts_guard, path_range
from codecompass.store.manifest import ManifestEntry

_COLUMNS: Final = "path, id, status, reason, language, size, mtime_ns, ctime_ns, inode, content_hash, symbol_count, is_parsed"


class StoredManifest(Mapping[str, ManifestEntry]):
    """The entries by path. Raises IndexDamaged wherever the table cannot be read."""

    def __init__(self, connection: sqlite3.Connection, *, is_empty: bool = False) -> None:
        """Reads nothing yet. `is_empty`: the table has no rows, and as yet no index by path."""
        self._connection = connection
        self._asked: dict[str, ManifestEntry | None] = {}
        self._whole: dict[str, ManifestEntry] | None = {} if is_empty else None

    def whole(self) -> dict[str, ManifestEntry]:
        """Returns all entries as they are now."""
        if self._whole is None:
            with facts_guard():
                self._whole = dict(map(_entry, self._connection.execute(f"SELECT {_COLUMNS} FROM files")))
            self._asked.clear()
        return self._whole

    def get(self, path: str, default: ManifestEntry | None = None) -> ManifestEntry | None:  # type: ignore[override]
        """Returns the entry of a path, `default` where it has none."""
        if self._whole is not None:
            return self._whole.get(path, default)
        if path not in self._asked:
            with facts_guard():
                row = self._connection.execute(f"SELECT {_COLUMNS} FROM files WHERE path = ?", (path,)).fetchone()
            self._asked[path] = None if row is None else _entry(row)[1]
        entry = self._asked[path]
        return default if entry is None else entry

    def __getitem__(self, path: str) -> ManifestEntry:
        entry = self.get(path)
        if entry is None:
            raise KeyError(path)
        return entry

    def __setitem__(self, path: str, entry: ManifestEntry) -> None:
        if self._whole is None:
            self._asked[path] = entry
        else:
            self._whole[path] = entry

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())

    def pop(self, path: str) -> ManifestEntry | None:
        """Forgets the entry of a path and returns it, None where it has none."""
        entry = self.get(path)
        if self._whole is None:
            self._asked[path] = None
        elif entry is not None:
            del self._whole[path]
        return entry

    def paths_in(self, directory: str) -> list[str]:
        """Returns the paths directly in `directory` ('' for the root), sorted."""
        return self._level(directory)[0]

    def subdirectories(self, directory: str) -> set[str]:
        """Returns the names of the directories directly in `directory` with something below them."""
        return self._level(directory)[1]

    def paths_below(self, directory: str) -> list[str]:
        """Returns the paths anywhere below `directory`, sorted."""
        with facts_guard():
            rows = self._connection.execute(
                "SELECT path FROM files WHERE path >= ? AND path < ? ORDER BY path", path_range(directory)
            )
            return [row[0] for row in rows]

    def _level(self, directory: str) -> tuple[list[str], set[str]]:
        """Jumps over what lies in subdirectories, so that a level costs by its own entries."""
        paths: list[str] = []
        names: set[str] = set()
        position, end = path_range(directory)
        start = len(position)
        with facts_guard():
            while True:
                rows = self._connection.execute(
                    "SELECT path FROM files WHERE path >= ? AND path < ? ORDER BY path", (position, end)
                )
                for (path,) in rows:
                    slash = path.find("/", start)
                    if slash >= 0:
                        names.add(path[start:slash])
                        position = path_range(path[:slash])[1]
                        break
                    paths.append(path)
                else:
                    return paths, names


def _entry(row: tuple) -> tuple[str, ManifestEntry]:  # type: ignore[type-arg]
    # Columns and fields are the same list.
    return row[0], ManifestEntry(*row[1:-1], bool(row[-1]))  # type: ignore[call-arg]

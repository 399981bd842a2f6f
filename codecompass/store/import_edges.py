"""Import edges of the index that is being written: buffered while files arrive, resolved once all paths of the job are known.

Resolution depends on which files exist. An edge of an unchanged file is resolved again exactly if a path that it depends on (its
tails, see `imports`) was added or removed, or if a configuration file of its ecosystem changed. So the cost of an update depends
on the size of the change, and an incremental index equals a full one.
"""

import sqlite3
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Final

from codecompass.languages.ecosystems import records_of
from codecompass.languages.imports import (
    InMemoryPaths,
    ModuleRoot,
    ModuleRoots,
    PathIndex,
    Resolver,
    affected_tails,
    languages_of,
    resolve,
)
from codecompass.languages.imports.configuration import completed_roots
from codecompass.languages.imports.paths import SuffixIndex, with_slashes
from codecompass.languages.records import Import
from codecompass.store.facts import IMPORT_LANGUAGE
from codecompass.store.manifest import ManifestEntry
from codecompass.store.overlay import SharedRows

ROOT_COLUMNS: Final = "ecosystem, prefix, directory, scope, rank"
ROW: Final = "INSERT INTO main.imports VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

INSERT_LANGUAGE: Final = "INSERT INTO main.row_languages VALUES (?, ?, ?, ?)"

IN_MEMORY_FROM: Final = 300
"""With this many changed files, a table of all paths in memory (5 us per path) is cheaper than queries to SQLite."""

IN_MEMORY_FROM_IMPORTS: Final = 2_000
"""With this many imports to resolve it is cheaper too, however few the files: an import looks up to hundreds of paths up."""

CHECKPOINT_IMPORTS: Final = 50
"""Imports that are resolved between two calls of `checkpoint`."""

_REMEMBERED_PATHS: Final = 500_000
"""Paths that one job caches from the tables; the cache is emptied when it holds more."""


class ImportEdges:
    """The imports of one writer's transaction. Counts the rows that it writes."""

    def __init__(self, connection: sqlite3.Connection, rows: SharedRows) -> None:
        self._connection = connection
        self._rows = rows
        self._next_import = rows.next_id("imports")
        self._pending: list[tuple[int, str, str, tuple[Import, ...]]] = []
        self._added: set[str] = set()
        self._removed: set[str] = set()
        self._root_changes: Counter[ModuleRoot] = Counter()
        self.rows_written = 0

    def add(self, file_id: int, path: str, language: str, imports: tuple[Import, ...]) -> None:
        """Buffers the imports of a parsed file. Nothing is written before `resolve_all`."""
        if imports:
            self._pending.append((file_id, path, language, imports))

    def write_roots(self, file_id: int, roots: Sequence[ModuleRoot]) -> None:
        """Writes the module roots of a configuration file."""
        if roots:
            self._connection.executemany(
                "INSERT INTO module_roots VALUES (?, ?, ?, ?, ?, ?)",
                [(file_id, root.ecosystem, root.prefix, root.directory, root.scope, root.rank) for root in roots],
            )
            self._root_changes.update(roots)
            self.rows_written += len(roots)

    def file_removed(self, file_id: int) -> None:
        """Removes the imports and module roots of a file's old content."""
        self._pending = [item for item in self._pending if item[0] != file_id] if self._pending else self._pending
        self.rows_written += self._connection.execute("DELETE FROM main.imports WHERE file_id = ?", (file_id,)).rowcount
        gone = self._connection.execute(
            f"DELETE FROM module_roots WHERE file_id = ? RETURNING {ROOT_COLUMNS}", (file_id,)
        ).fetchall()
        self._root_changes.subtract(ModuleRoot(*row) for row in gone)
        self.rows_written += len(gone)

    def path_added(self, path: str) -> None:
        """Records that a path was added to the index."""
        self._removed.discard(path)
        self._added.add(path)

    def path_removed(self, path: str) -> None:
        """Records that a path was removed from the index."""
        self._added.discard(path)
        self._removed.add(path)

    def resolve_all(self, manifest: Mapping[str, ManifestEntry], checkpoint: Callable[[], None] = lambda: None) -> int:
        """Resolves the new imports, and those whose target may have changed; returns the number of rows written.

        `checkpoint` is called every few milliseconds and may raise; then this object is unchanged, and the rows written belong to
        a transaction that must be rolled back.
        """
        if not (self._pending or self._added or self._removed or self._root_changes):
            return 0
        before = self.rows_written
        has_stored = self._has_stored()
        if self._pending or has_stored:
            self._resolve(manifest, has_stored, checkpoint)
        self._pending.clear()
        self._added.clear()
        self._removed.clear()
        self._root_changes.clear()
        return self.rows_written - before

    def _has_stored(self) -> bool:
        return self._connection.execute("SELECT 1 FROM imports LIMIT 1").fetchone() is not None

    def _resolve(self, manifest: Mapping[str, ManifestEntry], has_stored: bool, checkpoint: Callable[[], None]) -> None:
        paths = self._paths(manifest)
        if has_stored:
            self._move_existing(paths, self._changed_ecosystems(), checkpoint)
        resolver = Resolver(paths)
        for file_id, path, language, imports in self._pending:
            rows = []
            languages = []
            for position, item in enumerate(imports):
                if position % CHECKPOINT_IMPORTS == 0:
                    checkpoint()
                written_in = item.language or language
                found, target = resolver.resolved(written_in, item, path)
                tails = (*found, "", "")
                self._next_import += 1
                if item.language:
                    languages.append((file_id, 1, self._next_import, item.language))
                rows.append(
                    (
                        self._next_import,
                        file_id,
                        item.line_start,
                        item.line_end,
                        item.spec,
                        item.name,
                        item.alias,
                        item.kind,
                        tails[0],
                        tails[1],
                        target,
                    )
                )
            self._connection.executemany(ROW, rows)
            if languages:
                self._connection.executemany(INSERT_LANGUAGE, languages)
            self.rows_written += len(rows)

    def _changed_ecosystems(self) -> set[str]:
        """Returns the ecosystems that gained or lost a module root. A root that another file has too does not count."""
        changes = {root: change for root, change in self._root_changes.items() if change}
        if not changes:
            return set()
        now = Counter(self._roots())
        return {root.ecosystem for root, change in changes.items() if (now[root] > 0) != (now[root] - change > 0)}

    def _roots(self) -> list[ModuleRoot]:
        return [ModuleRoot(*row) for row in self._connection.execute(f"SELECT {ROOT_COLUMNS} FROM module_roots")]

    def _paths(self, manifest: Mapping[str, ManifestEntry]) -> PathIndex:
        n_imports = sum(len(item[3]) for item in self._pending)
        if n_imports > IN_MEMORY_FROM_IMPORTS or len(self._pending) + len(self._added) + len(self._removed) > IN_MEMORY_FROM:
            return InMemoryPaths([path for path, entry in manifest.items() if entry.status == "indexed"], self._roots())
        return _StoredPaths(self._connection)

    def _move_existing(self, paths: PathIndex, changed_ecosystems: set[str], checkpoint: Callable[[], None]) -> None:
        found: dict[int, tuple[str, str, Import, str]] = {}
        for tail in affected_tails(self._added, self._removed, paths):
            checkpoint()
            # The database indexes omit empty tails, and are only used if the statement excludes them.
            self._collect("(i.tail = ? AND i.tail != '') OR (i.other_tail = ? AND i.other_tail != '')", (tail, tail), found)
        for ecosystem in sorted(changed_ecosystems):
            languages = languages_of(ecosystem)
            among = ", ".join("?" * len(languages))
            self._collect(f"f.language IN ({among})", languages, found)
            in_regions = f"SELECT row_id FROM row_languages WHERE is_import AND language IN ({among})"
            self._collect(f"i.id IN ({in_regions})", languages, found)
        moved = []
        for position, (row_id, (path, language, item, target)) in enumerate(found.items()):
            if position % CHECKPOINT_IMPORTS == 0:
                checkpoint()
            new_target = resolve(language, item, path, paths)
            if new_target != target:
                moved.append((new_target, row_id))
        self._rows.move_targets(moved)
        self.rows_written += len(moved)

    def _collect(self, where: str, arguments: Sequence[str], found: dict[int, tuple[str, str, Import, str]]) -> None:
        statement = (
            f"SELECT i.id, f.path, {IMPORT_LANGUAGE}, i.line_start, i.line_end, i.spec, i.name, i.alias, i.kind, i.target "
            f"FROM imports i JOIN files f ON f.id = i.file_id WHERE {where}"
        )
        for row in self._connection.execute(statement, tuple(arguments)):
            found[row[0]] = (row[1], row[2], Import(*row[3:9]), row[9])


class _StoredPaths(PathIndex):
    """Looks paths up in the tables, so that the cost of a small update does not depend on the size of the repository."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._roots: dict[str, ModuleRoots] = {}
        self.search_paths: dict[str, tuple[str, ...]] = {}
        self._files: dict[str, bool] = {}
        self._found: dict[str, Sequence[str]] = {}
        self._n_found = 0
        self._packages_found: dict[str, Collection[str]] = {}
        self._endings = SuffixIndex(self.files_with_tail)
        self._packages = SuffixIndex(self.package_directories)
        self._namespaces = SuffixIndex(self.package_directories, with_slashes)

    def has_file(self, path: str) -> bool:
        is_file = self._files.get(path)
        if is_file is None:
            row = self._connection.execute("SELECT 1 FROM files WHERE path = ? AND status = 'indexed'", (path,)).fetchone()
            is_file = self._files[path] = row is not None
            self._note_found(1)
        return is_file

    def files_with_tail(self, tail: str) -> Sequence[str]:
        found = self._found.get(tail)
        if found is None:
            found = self._read_files_with_tail(tail)
            self._note_found(1 + len(found))
            self._found[tail] = found
        return found

    def package_directories(self, tail: str) -> Collection[str]:
        found = self._packages_found.get(tail)
        if found is None:
            found = self._packages_found[tail] = super().package_directories(tail)
        return found

    def files_ending(self, tail: str, suffix: str) -> Sequence[str]:
        return self._endings.find(tail, suffix)

    def packages_ending(self, tail: str, suffix: str) -> Sequence[str]:
        return self._packages.find(tail, suffix)

    def namespaces_ending(self, tail: str, suffix: str) -> Sequence[str]:
        return self._namespaces.find(tail, suffix)

    def _note_found(self, n_paths: int) -> None:
        self._n_found += n_paths
        if self._n_found > _REMEMBERED_PATHS:
            self._forget()

    def _forget(self) -> None:
        self._files.clear()
        self._found.clear()
        self._packages_found.clear()
        self._n_found = 0
        for endings in (self._endings, self._packages, self._namespaces):
            endings.clear()

    def _read_files_with_tail(self, tail: str) -> Sequence[str]:
        rows = self._connection.execute(
            "SELECT f.path FROM path_tails t JOIN files f ON f.id = t.file_id "
            "WHERE t.tail = ? AND f.status = 'indexed' ORDER BY f.path",
            (tail,),
        )
        return [row[0] for row in rows]

    def files_below(self, directory: str) -> Iterator[str]:
        # '0' is the character after '/', so this is the range of all paths below the directory.
        rows = self._connection.execute(
            "SELECT path FROM files WHERE path >= ? AND (path < ? OR ?) AND status = 'indexed' ORDER BY path",
            (directory, directory[:-1] + "0", not directory),
        )
        return (row[0] for row in rows)

    def roots(self, ecosystem: str) -> ModuleRoots:
        if ecosystem not in self._roots:
            stored = (ecosystem, *records_of(ecosystem))
            among = ", ".join("?" * len(stored))
            rows = self._connection.execute(f"SELECT {ROOT_COLUMNS} FROM module_roots WHERE ecosystem IN ({among})", stored)
            self._roots[ecosystem] = ModuleRoots(completed_roots(ecosystem, [ModuleRoot(*row) for row in rows]))
        return self._roots[ecosystem]

    def ecosystems(self) -> Collection[str]:
        return [row[0] for row in self._connection.execute("SELECT DISTINCT ecosystem FROM module_roots")]

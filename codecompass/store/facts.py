"""Reads the facts of one index (files, symbols, imports) from SQLite and returns them as Structs.

A `FactsReader` lives inside one read transaction (see `index.py`), so that all its results are of one generation. Every list has
a fixed order. A database that cannot be read raises IndexDamaged.
"""

import sqlite3
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

from msgspec.structs import replace

from codecompass.errors import REBUILD, IndexDamaged
from codecompass.languages import described
from codecompass.languages.records import EXPORT, UNBOUND_KINDS, NameUses, Symbol, SymbolKind, Use
from codecompass.languages.uses.packed_uses import DamagedUses, unpacked, unpacked_all
from codecompass.store.kept_rows import KeptRows, RecentRows
from codecompass.store.rows import (
    DefinitionSpan,
    FileContent,
    FileOrder,
    FileRow,
    ImportRow,
    IndexedFile,
    PackageRow,
    SymbolRow,
    TextFile,
)

COUNTED_TOGETHER: Final = 8
"""Files whose importers are counted by one statement: one for each takes twice the time."""

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

SQLITE_VARIABLES: Final = 500
"""Placeholders in one statement; SQLite's own limit is 999 in old builds."""

FILE_COLUMNS: Final = (
    "id, path, status, reason, language, size, mtime_ns, ctime_ns, inode, content_hash, line_count, chunk_count, "
    "symbol_count, blob_id, encoding, long_lines, is_parsed"
)
# A LEFT JOIN would read all rows of the joined table if it is a view, see overlay.py.
_LANGUAGE: Final = (
    "coalesce((SELECT r.language FROM row_languages r "
    "WHERE r.file_id = {0}.file_id AND r.is_import = {1} AND r.row_id = {0}.id), f.language)"
)
SYMBOL_LANGUAGE: Final = _LANGUAGE.format("s", 0)
IMPORT_LANGUAGE: Final = _LANGUAGE.format("i", 1)
"""The language of the code of a row."""

SYMBOL_COLUMNS: Final = (
    f"s.id, s.file_id, f.path, {SYMBOL_LANGUAGE}, s.parent_id, s.name, s.kind, s.qualified_name, s.line_start, s.line_end, "
    "s.ordinal, s.signature, s.visibility, s.doc, (SELECT p.kind FROM symbols p WHERE p.id = s.parent_id), f.language, "
    "f.role_rank"
)
_UNBOUND: Final = ", ".join(f"'{kind}'" for kind in sorted(UNBOUND_KINDS))
SYMBOL_ORDER: Final = "f.path, s.line_start, s.ordinal, s.id"
IMPORT_COLUMNS: Final = (
    f"i.file_id, f.path, i.line_start, i.line_end, i.spec, i.name, i.alias, i.kind, i.target, {IMPORT_LANGUAGE}, i.id"
)
"""The last is not in `ImportRow`: if the table is a view, columns of ORDER BY must be selected, see overlay.py."""


@contextmanager
def facts_guard() -> Iterator[None]:
    """Turns SQLite's errors for a damaged file into IndexDamaged."""
    try:
        yield
    except (sqlite3.DatabaseError, UnicodeError, DamagedUses) as error:  # decoding a message that quotes damaged data can fail
        raise IndexDamaged(f"the index cannot be read ({error}). {REBUILD}") from error


MAX_MATCHED: Final = 4096
"""No end of a path and no module name is longer, in characters. SQLite refuses patterns of 50,000 bytes with the same error as
for a damaged file."""


class FactsReader:
    """Point reads and short lists over one connection. Not thread-safe: only the owner of the connection may call it."""

    def __init__(self, connection: sqlite3.Connection, kept: KeptRows | None = None) -> None:
        """`kept` are rows of the same generation, if the transaction is of one."""
        self._connection = connection
        self.kept: Final = kept

    def meta(self) -> dict[str, str]:
        """Returns the rows of the table `meta`, the description of the index."""
        return dict(self._rows("SELECT key, value FROM meta"))

    def text_files(self) -> list[TextFile]:
        """Returns the files of the text index that belongs to these facts, sorted by name."""
        return [TextFile(*row) for row in self._rows("SELECT name, size, mtime_ns, inode, digest FROM text_files ORDER BY name")]

    # files

    def file(self, path: str) -> FileRow | None:
        """Returns the manifest row of a path, skipped files included."""
        rows = self._files("WHERE path = ?", (path,))
        return rows[0] if rows else None

    def indexed_files(self, ids: Sequence[int]) -> dict[int, IndexedFile]:
        """Returns the files of `ids` by id; ids that do not exist are missing."""
        found, missing = _known(None if self.kept is None else self.kept.files, ids)
        for batch in _batches(missing):
            statement = f"SELECT id, path, language, line_count, role_rank FROM files WHERE id IN ({_placeholders(batch)})"
            for row in self._rows(statement, batch):
                file = found[row[0]] = IndexedFile(*row)
                if self.kept is not None:
                    self.kept.files.put(file.id, file)
        return found

    def role_ranks(self, ids: Collection[int]) -> dict[int, int]:
        """Returns the rank of the role of each file of `ids` (product code 0, see `path_roles.py`), by id."""
        found: dict[int, int] = {}
        for batch in _batches(list(ids)):
            found.update(self._rows(f"SELECT id, role_rank FROM files WHERE id IN ({_placeholders(batch)})", batch))
        return found

    def files(self) -> list[FileRow]:
        """Returns the whole manifest, sorted by path. Its cost grows with the repository: not for queries."""
        return self._files("ORDER BY path", ())

    def stamps(self, skip_reasons: Sequence[str]) -> tuple[set[tuple], set[tuple]]:  # type: ignore[type-arg]
        """Returns the manifest as a scan of the same tree finds it: path, size, times and inode of each file, and path, size and
        reason of those that are skipped for one of `skip_reasons`, or not parsed yet, for which the reason is empty."""
        left_out = f"NOT is_parsed OR status = 'skipped' AND reason IN ({_placeholders(skip_reasons)})"
        reasons = tuple(skip_reasons)
        files = self._rows(f"SELECT path, size, mtime_ns, ctime_ns, inode FROM files WHERE NOT ({left_out})", reasons)
        others = self._rows(
            f"SELECT path, size, iif(status = 'skipped', reason, '') FROM files WHERE {left_out}",
            reasons,
        )
        return set(files), set(others)

    def contents(self) -> dict[int, FileContent]:
        """Returns the content of each indexed file by file id. Its cost grows with the repository: not for queries."""
        return {
            row[0]: FileContent(*row[1:])
            for row in self._rows(
                "SELECT f.id, f.path, f.language, f.content_hash, f.is_parsed, f.symbol_count, "
                "(SELECT coalesce(min(s.id), 0) FROM symbols s WHERE s.file_id = f.id) FROM files f WHERE f.status = 'indexed'"
            )
        }

    def paths(self) -> list[tuple[int, str]]:
        """Returns (id, path) of every indexed file, by path."""
        return self._rows("SELECT id, path FROM files WHERE status = 'indexed' ORDER BY path")

    def file_columns(self) -> list[tuple[int, str, str, int, int]]:
        """Returns (id, path, language, lines, rank of its role) of every indexed file, by path."""
        return self._rows("SELECT id, path, language, line_count, role_rank FROM files WHERE status = 'indexed' ORDER BY path")

    def order_of_files(self) -> list[tuple[int, int]]:
        """Returns (rank of its role, id) of every file, sorted by rank, then by path."""
        return self._rows("SELECT role_rank, id FROM files ORDER BY role_rank, path")

    def in_order(self, ids: Collection[int]) -> Iterator[FileOrder]:
        """Yields the files of `ids`, sorted by the rank of their role, then by path."""
        found: list[tuple[int, str, int]] = []
        for batch in _batches(list(ids)):
            found += self._rows(f"SELECT role_rank, path, id FROM files WHERE id IN ({_placeholders(batch)})", batch)
        yield from (FileOrder(rank, file_id) for rank, _, file_id in sorted(found))

    def paths_ending(self, suffix: str, limit: int) -> list[str]:
        """Returns indexed paths equal to `suffix` or ending in `/suffix`, case-insensitively, shortest first."""
        if len(suffix) > MAX_MATCHED:
            return []
        pattern = _like(suffix)
        return [
            path
            for (path,) in self._rows(
                "SELECT path FROM files WHERE status = 'indexed' AND (path LIKE ? ESCAPE '\\' OR path LIKE ? ESCAPE '\\') "
                "ORDER BY length(path), path LIMIT ?",
                (pattern, "%/" + pattern, limit),
            )
        ]

    def paths_in(self, directory: str, limit: int) -> list[str]:
        """Returns the first indexed paths directly in `directory` ('' for the root), by path."""
        start, end = path_range(directory)
        return [
            path
            for (path,) in self._rows(
                "SELECT path FROM files WHERE status = 'indexed' AND path >= ? AND path < ? AND instr(substr(path, ?), '/') = 0 "
                "ORDER BY path LIMIT ?",
                (start, end, len(start) + 1, limit),
            )
        ]

    def skipped_by_reason(self) -> list[tuple[str, int]]:
        """Returns how many files were skipped for each reason, by reason."""
        return self._rows("SELECT reason, count(*) FROM files WHERE status = 'skipped' GROUP BY reason ORDER BY reason")

    def text_only_by_reason(self) -> list[tuple[str, int]]:
        """Returns how many files are only searchable as text although their language has symbols, by reason."""
        return self._rows(
            "SELECT reason, count(*) FROM files WHERE status = 'indexed' AND reason != '' GROUP BY reason ORDER BY reason"
        )

    def files_by_encoding(self) -> list[tuple[str, int]]:
        """Returns the number of files of each encoding other than UTF-8, most frequent first."""
        return self._rows("SELECT encoding, count(*) FROM files WHERE encoding != '' GROUP BY encoding ORDER BY 2 DESC, 1")

    def long_line_count(self) -> int:
        """Returns how many lines are left out of files because they are too long."""
        return int(self._rows("SELECT coalesce(sum(long_lines), 0) FROM files")[0][0])

    def symbol_counts(self) -> list[tuple[SymbolKind, int]]:
        """Returns the number of definitions of each kind, most frequent first. Reads all of them."""
        return self._rows("SELECT kind, count(*) FROM symbols GROUP BY kind ORDER BY 2 DESC, 1")

    def files_by_language(self) -> list[tuple[str, int]]:
        """Returns the number of indexed files of each language, most frequent first."""
        return self._rows("SELECT language, count(*) FROM files WHERE status = 'indexed' GROUP BY language ORDER BY 2 DESC, 1")

    def pending_file_count(self) -> int:
        """Returns how many files have not been parsed yet."""
        return int(self._rows("SELECT count(*) FROM files WHERE is_parsed = 0")[0][0])

    # symbols

    def symbols_in_file(self, file_id: int) -> list[SymbolRow]:
        """Returns the definitions of a file in source order."""
        return self._symbols("WHERE s.file_id = ? ORDER BY s.line_start, s.id", (file_id,))

    def parsed_symbols(self, file_id: int) -> tuple[Symbol, ...]:
        """Returns the definitions of a file as the parser gave them, in that order, but without what no use of a name needs."""
        rows = self._rows(
            "SELECT name, kind, qualified_name, line_start, line_end, signature, '', coalesce(parent_id - min(id) OVER (), -1) "
            "FROM symbols WHERE file_id = ? ORDER BY id",
            (file_id,),
        )
        # The definitions of a file are numbered in a row.
        return tuple([Symbol(*row) for row in rows])

    def spans_in_files(self, file_ids: Sequence[int], kinds: Collection[SymbolKind]) -> dict[int, Sequence[DefinitionSpan]]:
        """Returns the definitions of these kinds in files, in source order, without columns that only answers show: a third of
        the time."""
        columns = "file_id, line_start, id, line_end, parent_id, kind, name, qualified_name"
        chosen = frozenset(kinds)
        spans = None if self.kept is None else self.kept.spans
        known, missing = _known(spans, [(file_id, chosen) for file_id in file_ids])
        found: dict[int, Sequence[DefinitionSpan]] = {file_id: own for (file_id, _), own in known.items()}
        read: dict[int, list[DefinitionSpan]] = {file_id: [] for file_id, _ in missing}
        for batch in _batches_of(list(read), SQLITE_VARIABLES - len(chosen)):
            where = f"file_id IN ({_placeholders(batch)}) AND kind IN ({_placeholders(chosen)})"
            # Sorted here: that takes a third of the time of SQLite's own sorting.
            rows = self._rows(f"SELECT {columns} FROM symbols WHERE {where}", (*batch, *chosen))
            rows.sort()
            for file_id, line_start, number, line_end, parent_id, kind, name, qualified_name in rows:
                span = DefinitionSpan(line_start, number, line_end, parent_id, kind, name, qualified_name)
                read[file_id].append(span)
        for file_id, own in read.items():
            kept = found[file_id] = tuple(own)
            if spans is not None:
                spans.put((file_id, chosen), kept, len(kept) + 1)
        return found

    def symbols_named(self, name: str, limit: int) -> list[SymbolRow]:
        """Returns definitions whose name is `name`, ignoring ASCII case, by path and line; no UNBOUND_KINDS, of which there may
        be thousands with one name."""
        where = f"WHERE s.name = ? COLLATE NOCASE AND s.kind NOT IN ({_UNBOUND}) ORDER BY {SYMBOL_ORDER} LIMIT ?"
        return self._symbols(where, (name, limit))

    def unbound_named(self, name: str, limit: int) -> list[SymbolRow]:
        """Returns definitions of UNBOUND_KINDS whose name is `name`, ignoring ASCII case, by path and line."""
        where = f"WHERE s.name = ? COLLATE NOCASE AND s.kind IN ({_UNBOUND}) ORDER BY {SYMBOL_ORDER} LIMIT ?"
        return self._symbols(where, (name, limit))

    def symbols_named_in(self, name: str, directory: str) -> list[SymbolRow]:
        """Returns definitions whose name is `name` in the files directly in `directory` ('' for the root), by path and line."""
        first, end = path_range(directory)
        return self._symbols(
            f"WHERE s.name = ? COLLATE NOCASE AND s.name = ? AND s.kind NOT IN ({_UNBOUND}) AND f.path >= ? AND f.path < ? "
            f"AND instr(substr(f.path, ?), '/') = 0 ORDER BY {SYMBOL_ORDER}",
            (name, name, first, end, len(first) + 1),
        )

    def titled(self, words: Sequence[str], kinds: Collection[SymbolKind], limit: int) -> list[SymbolRow]:
        """Returns definitions of these kinds whose names contain all words, ignoring ASCII case, by path and line. Reads all
        definitions."""
        kept = [word for word in words if len(word) <= MAX_MATCHED]
        titled = "".join([" AND s.name LIKE ? ESCAPE '\\'"] * len(kept))
        arguments = (*sorted(kinds), *(f"%{_like(word)}%" for word in kept), limit)
        return self._symbols(f"WHERE s.kind IN ({_placeholders(kinds)}){titled} ORDER BY {SYMBOL_ORDER} LIMIT ?", arguments)

    def symbols_by_id(self, ids: Sequence[int]) -> dict[int, SymbolRow]:
        """Returns the definitions of `ids` by row id; ids that do not exist are missing."""
        found: dict[int, SymbolRow] = {}
        for batch in _batches(ids):
            found.update((row.id, row) for row in self._symbols(f"WHERE s.id IN ({_placeholders(batch)})", batch))
        return found

    def symbols_with_id_prefix(self, prefix: int) -> list[SymbolRow]:
        """Returns the definitions whose `symbol_id` has this prefix (`identity.id_prefix`), one in 65,536, sorted by row id.

        Reads one database index from end to end: 2 ms for 55,000 symbols.
        """
        # Sorted here: with ORDER BY, SQLite would read the whole table instead.
        found = sorted(row[0] for row in self._rows("SELECT id FROM symbols WHERE id_prefix = ?", (prefix,)))
        return list(self.symbols_by_id(found).values())

    def children(self, symbol_id: int) -> list[SymbolRow]:
        """Returns the definitions directly inside another, in source order."""
        return self._symbols("WHERE s.parent_id = ? ORDER BY s.line_start, s.id", (symbol_id,))

    def symbols_around(self, file_id: int, line_start: int, line_end: int) -> list[SymbolRow]:
        """Returns the definitions of a file that overlap the lines, in source order (outer before inner)."""
        return self._symbols(
            "WHERE s.file_id = ? AND s.line_start <= ? AND s.line_end >= ? ORDER BY s.line_start, s.id",
            (file_id, line_end, line_start),
        )

    def top_level_symbols_under(self, directory: str, limit: int) -> list[SymbolRow]:
        """Returns definitions without a parent in the files below `directory` ('' for all), by path and line."""
        first, end = path_range(directory)
        return self._symbols(
            f"WHERE f.path >= ? AND f.path < ? AND s.parent_id IS NULL ORDER BY {SYMBOL_ORDER} LIMIT ?", (first, end, limit)
        )

    def top_level_symbols_in(self, directory: str, limit: int) -> list[SymbolRow]:
        """Returns definitions without a parent in the files directly in `directory` ('' for the root), by path and line."""
        first, end = path_range(directory)
        return self._symbols(
            "WHERE f.path >= ? AND f.path < ? AND instr(substr(f.path, ?), '/') = 0 AND s.parent_id IS NULL "
            f"ORDER BY {SYMBOL_ORDER} LIMIT ?",
            (first, end, len(first) + 1, limit),
        )

    # uses of names

    def uses(self, file_ids: Iterable[int], name: str) -> Iterator[tuple[IndexedFile, tuple[Use, ...]]]:
        """Yields the files of `file_ids` that use `name`, in no order, each with its uses sorted by line: once for each language
        of code in it that does, as a file of that language. Reads lazily."""
        columns = "f.id, f.path, f.language, f.line_count, f.role_rank, u.names"
        for batch in _batches(list(file_ids)):
            statement = (
                f"SELECT {columns} FROM uses u JOIN files f ON f.id = u.file_id WHERE u.file_id IN ({_placeholders(batch)})"
            )
            for *file, names in self._rows(statement, batch):
                with facts_guard():
                    found = unpacked(names, name)
                for each in found:
                    whole = IndexedFile(*file)
                    yield (replace(whole, language=each.language) if each.language else whole), each.uses

    def unread_uses(self) -> frozenset[int]:
        """Returns the files whose uses are still to be read. `uses` and `all_uses` know nothing of these."""
        return frozenset([row[0] for row in self._rows("SELECT file_id FROM unread_uses")])

    def has_unread_uses(self) -> bool:
        """Whether the uses of any file are still to be read."""
        return bool(self._rows("SELECT 1 FROM unread_uses LIMIT 1"))

    def all_uses(self, file_id: int) -> tuple[NameUses, ...]:
        """Returns the uses of all names in a file, sorted by name, each with its language."""
        rows = self._rows(
            "SELECT u.names, f.language FROM uses u JOIN files f ON f.id = u.file_id WHERE u.file_id = ?", (file_id,)
        )
        with facts_guard():
            found = unpacked_all(rows[0][0]) if rows else ()
        return tuple([each if each.language else replace(each, language=rows[0][1]) for each in found])

    # imports

    def files_importing(self, packages: Collection[str], separator: str) -> list[int]:
        """Returns the files that import one of the packages, or something in one, from outside the workspace; sorted by id."""
        names = frozenset(packages)
        # One pass for all packages: a repository may have hundreds, and each would be compared with each import.
        specs = (spec for (spec,) in self._rows("SELECT DISTINCT spec FROM imports WHERE target = ''"))
        wanted = [spec for spec in specs if not names.isdisjoint(_with_containers(spec, separator))]
        found: set[int] = set()
        for batch in _batches_of(wanted, SQLITE_VARIABLES):
            statement = f"SELECT DISTINCT file_id FROM imports WHERE target = '' AND spec IN ({_placeholders(batch)})"
            found.update(file_id for (file_id,) in self._rows(statement, batch))
        return sorted(found)

    def packages(self, ecosystem: str, manifest: str) -> list[PackageRow]:
        """Returns the packages of an ecosystem (`go`, `node`, `cargo`) that files called `manifest` declare, by path."""
        rows = self._rows(
            "SELECT DISTINCT f.path, m.prefix FROM module_roots m JOIN files f ON f.id = m.file_id "
            "WHERE m.ecosystem = ? AND m.prefix != '' AND m.prefix NOT LIKE '%*' ORDER BY f.path, m.prefix",
            (ecosystem,),
        )
        return [PackageRow(*row) for row in rows if row[0].rpartition("/")[2] == manifest]

    def imports_of(self, file_id: int) -> list[ImportRow]:
        """Returns the imports of a file in source order."""
        return self._imports("WHERE i.file_id = ? ORDER BY i.line_start, i.id", (file_id,))

    def imports_named(self, name: str, limit: int) -> list[ImportRow]:
        """Returns the imports of `name`, as a name, an alias or a module, by path and line. Reads all imports."""
        if len(name) > MAX_MATCHED:
            return []
        endings = tuple(f"%{separator}{_like(name)}" for separator in ("/", ".", ":", "\\\\"))
        is_module = " OR ".join(["i.spec = ?", *["i.spec LIKE ? ESCAPE '\\'"] * len(endings)])
        return self._imports(
            f"WHERE i.kind != ? AND (i.name = ? OR i.alias = ? OR (i.name = '' AND ({is_module}))) "
            "ORDER BY f.path, i.line_start, i.id LIMIT ?",
            (EXPORT, name, name, name, *endings, limit),
        )

    def imports_from(self, paths: Collection[str], names: Collection[str]) -> list[ImportRow]:
        """Returns the imports that resolve to one of the files and take one of the names, all names, or the module itself."""
        found: list[ImportRow] = []
        taken = sorted({*names, "*", ""})[: SQLITE_VARIABLES // 2]
        for batch in _batches_of(sorted(paths), SQLITE_VARIABLES - len(taken)):
            found += self._imports(
                f"WHERE i.target IN ({_placeholders(batch)}) AND i.target != '' AND i.name IN ({_placeholders(taken)})",
                (*batch, *taken),
            )
        return found

    def imported_among(self, paths: Collection[str]) -> set[str]:
        """Returns those of the files that an import resolves to."""
        found: set[str] = set()
        for batch in _batches_of(sorted(paths), SQLITE_VARIABLES):
            among = f"target IN ({_placeholders(batch)}) AND target != ''"
            found.update(row[0] for row in self._rows(f"SELECT DISTINCT target FROM imports WHERE {among}", batch))
        return found

    def exports_in(self, paths: Collection[str], names: Collection[str]) -> list[ImportRow]:
        """Returns the statements in the files that export one of the names under another one."""
        found: list[ImportRow] = []
        wanted = sorted(set(names))[: SQLITE_VARIABLES // 2]
        for batch in _batches_of(sorted(paths), SQLITE_VARIABLES - len(wanted) - 1):
            found += self._imports(
                f"WHERE f.path IN ({_placeholders(batch)}) AND i.kind = ? AND i.name IN ({_placeholders(wanted)})",
                (*batch, EXPORT, *wanted),
            )
        return found

    def importer_counts(self, languages: Mapping[str, str], cap: int) -> dict[str, int]:
        """Returns how many imports resolve to each path (see `leading_to`), up to `cap`; `languages` are by path."""
        kept = None if self.kept is None else self.kept.importer_counts
        known, missing = _known(kept, [(path, cap) for path in languages])
        counts = {path: count for (path, _), count in known.items()}
        for batch in _batches_of([(path, languages[path]) for path, _ in missing], COUNTED_TOGETHER):
            columns: list[str] = []
            arguments: list[object] = []
            for path, language in batch:
                where, own = leading_to(path, language)
                table = "imports i" if len(own) == 1 else "imports i JOIN files f ON f.id = i.file_id"
                columns.append(f"(SELECT count(*) FROM (SELECT 1 FROM {table} WHERE {where} LIMIT ?))")
                arguments += [*own, cap]
            found = self._rows(f"SELECT {', '.join(columns)}", arguments)[0]
            for (path, _), count in zip(batch, found, strict=True):
                counts[path] = int(count)
                if kept is not None:
                    kept.put((path, cap), int(count))
        return counts

    def _rows(self, statement: str, arguments: Sequence[object] = ()) -> list[tuple]:  # type: ignore[type-arg]
        with facts_guard():
            return self._connection.execute(statement, tuple(arguments)).fetchall()

    def _files(self, rest: str, arguments: Sequence[object]) -> list[FileRow]:
        rows = self._rows(f"SELECT {FILE_COLUMNS} FROM files {rest}", arguments)
        return [FileRow(*row[:-1], bool(row[-1])) for row in rows]  # type: ignore[call-arg]  # the length is the column list's

    def _symbols(self, rest: str, arguments: Sequence[object]) -> list[SymbolRow]:
        statement = f"SELECT {SYMBOL_COLUMNS} FROM symbols s JOIN files f ON f.id = s.file_id {rest}"
        rows = [SymbolRow(*row) for row in self._rows(statement, arguments)]
        return [row if row.language == row.file_language else self._apart(row) for row in rows]

    def _apart(self, row: SymbolRow) -> SymbolRow:
        """Returns a definition in a region without the kind of a parent in another language: it is no member of that."""
        if row.parent_kind is None:
            return row
        same = self._rows(
            "SELECT 1 FROM row_languages WHERE file_id = ? AND is_import = 0 AND row_id = ? AND language = ?",
            (row.file_id, row.parent_id, row.language),
        )
        return row if same else replace(row, parent_kind=None)

    def _imports(self, rest: str, arguments: Sequence[object]) -> list[ImportRow]:
        statement = f"SELECT {IMPORT_COLUMNS} FROM imports i JOIN files f ON f.id = i.file_id {rest}"
        return [ImportRow(*row[:-1]) for row in self._rows(statement, arguments)]


def _known(kept: RecentRows[_Key, _Value] | None, keys: Sequence[_Key]) -> tuple[dict[_Key, _Value], Sequence[_Key]]:
    """Returns the rows that are kept, by key, and the keys of the others."""
    if kept is None:
        return {}, keys
    found: dict[_Key, _Value] = {}
    missing: list[_Key] = []
    for key in keys:
        value = kept.get(key)
        if value is None:
            missing.append(key)
        else:
            found[key] = value
    kept.used(found)
    return found, missing


def leading_to(path: str, language: str) -> tuple[str, tuple[str, ...]]:
    """Returns the SQL condition for imports that resolve to a file, and its arguments.

    If packages are directories (Go, the JVM languages, C#), an import of a package counts for every file of these languages
    directly in it; an import of a Swift module for every source file below its directory. Other files there (a README, a
    template) are not imported.
    """
    rules = described(language).imports
    if rules is None or not rules.importers:
        # The database index omits empty targets and is only used if the statement excludes them.
        return "i.target = ? AND i.target != ''", (path,)
    # For a file in the root this is '/', the name of the root as a package.
    directories = [path.rpartition("/")[0] + "/"]
    if rules.is_part_of_outer_packages:
        parts = path.split("/")[:-1]
        directories = ["/".join(parts[:count]) + "/" for count in range(len(parts) + 1)]
    named = f"i.target IN (?, {_placeholders(directories)}) AND i.target != ''"
    by_whom = f"(i.target = ? OR f.language IN ({_placeholders(rules.importers)}))"
    return f"{named} AND {by_whom}", (path, *directories, path, *rules.importers)


def path_range(directory: str) -> tuple[str, str]:
    """Returns the bounds (inclusive, exclusive) of the paths below a directory ('' for the root).

    For the database index on paths, which LIKE could not use.
    """
    if not directory:
        return "", "\U0010ffff"
    # '0' is the character after '/'.
    return directory.rstrip("/") + "/", directory.rstrip("/") + "0"


def _with_containers(spec: str, separator: str) -> Iterator[str]:
    """Yields what an import names, and everything that this is in: `a/b/c`, `a`, `a/b`."""
    yield spec
    end = spec.find(separator)
    while end >= 0:
        yield spec[:end]
        end = spec.find(separator, end + 1)


def _batches(ids: Sequence[int]) -> Iterator[tuple[int, ...]]:
    yield from _batches_of(list(dict.fromkeys(ids)), SQLITE_VARIABLES)


def _batches_of(values: Sequence[_Value], size: int) -> Iterator[tuple[_Value, ...]]:
    for start in range(0, len(values), size):
        yield tuple(values[start : start + size])


def _placeholders(values: Collection[object]) -> str:
    return ",".join("?" * len(values))


def _like(text: str) -> str:
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")

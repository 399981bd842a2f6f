"""The facts of a fork: an immutable base from another epoch, and an overlay with the rows that differ from it.

    base.db     a hard link to the facts of another epoch; never written again
    facts.db    complete tables of files, module roots, quarantine, text files, unread uses and description; of SHARED_TABLES only
                the rows that differ; `hidden_files` lists the files whose rows in base.db do not count (removed, rewritten,
                moved)

A connection sees both as one: temporary views hide the tables of the same name, so that a statement reads the same with and
without a base. Writers name the table (`main.symbols`). Rows of the base keep their ids; new ids are larger. A row of `imports`
with the id of a row in the base replaces that row, because the targets of imports can change in files that did not.

If SQLite cannot flatten a view into a statement, it reads all its rows. Therefore no shared table is on the right of a LEFT JOIN,
and columns of ORDER BY are selected (`test_every_statement_on_shared_rows_uses_their_indexes`).
"""

import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from codecompass.store.databases import ReadConnection, base_path, connect_for_reading, database_uri, mapped_bytes
from codecompass.store.facts import facts_guard

SHARED_TABLES: Final = ("symbols", "imports", "row_languages", "uses", "path_tails")
"""Tables of which a fork holds only the rows that differ from its base. They are 97 % of the facts."""

HAS_BASE: Final = 1
"""`user_version` of facts that have a base."""

_OTHER_ROWS: Final = {"imports": "AND id NOT IN (SELECT id FROM main.imports)"}
_IMPORT_COLUMNS: Final = "id, file_id, line_start, line_end, spec, name, alias, kind, tail, other_tail"


def connect_to_facts(path: Path) -> ReadConnection:
    """Opens the facts of an index, with their base, for reading.

    Raises sqlite3.OperationalError if they are missing, IndexDamaged if they are not a database.
    """
    try:
        opened = connect_for_reading(path)
        try:
            attach_base(opened.connection, path)
        except BaseException:
            opened.connection.close()
            raise
    except sqlite3.OperationalError:
        raise
    except (sqlite3.DatabaseError, UnicodeError):
        with facts_guard():
            raise
    return opened


def attach_base(connection: sqlite3.Connection, facts: Path) -> bool:
    """Attaches the base of `facts` to a connection, if it has one. Returns whether it has.

    Raises sqlite3.OperationalError if the base is missing, DatabaseError if it is damaged.
    """
    if connection.execute("PRAGMA main.user_version").fetchone() != (HAS_BASE,):
        return False
    connection.execute("ATTACH ? AS base", (database_uri(base_path(facts), mode="ro", immutable=True),))
    connection.execute("PRAGMA base.cache_size = -16000")
    connection.execute(f"PRAGMA base.mmap_size = {mapped_bytes()}")
    for table in SHARED_TABLES:
        connection.execute(
            f"CREATE TEMP VIEW {table} AS SELECT * FROM main.{table} UNION ALL {_visible_rows(table, 'base', 'main')}"
        )
    return True


def _visible_rows(table: str, base: str, own: str) -> str:
    """Returns the SELECT for the rows of `base` that count for the overlay `own`, both named as they are attached."""
    others = _OTHER_ROWS.get(table, "").replace("main.", f"{own}.")
    return f"SELECT * FROM {base}.{table} WHERE file_id NOT IN (SELECT file_id FROM {own}.hidden_files) {others}"


def copy_merged(connection: sqlite3.Connection, *, own: str, base: str) -> None:
    """Fills the shared tables of `main` with the rows of an overlay and its base, which are attached under these names."""
    for table in SHARED_TABLES:
        connection.execute(f"INSERT INTO main.{table} SELECT * FROM {own}.{table} UNION ALL {_visible_rows(table, base, own)}")


class SharedRows:
    """Changes rows of SHARED_TABLES of files that are removed or whose imports move, with or without a base. For one writer."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._has_base = any(row[1] == "base" for row in connection.execute("PRAGMA database_list"))

    def next_id(self, table: Literal["symbols", "imports"]) -> int:
        """Returns the largest row id in a table, including its base: new rows get larger ones."""
        found = self._largest(f"main.{table}")
        return max(found, self._largest(f"base.{table}")) if self._has_base else found

    def _largest(self, table: str) -> int:
        return int(self._connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0])

    def remove_file(self, file_id: int, path: str, *, keeps_path: bool) -> None:
        """Removes the symbols and uses of a file, the languages of its rows, and its path tails unless `keeps_path`.

        `ImportEdges` removes its imports.
        """
        for table in ("symbols", "row_languages", "uses", "unread_uses"):
            self._connection.execute(f"DELETE FROM main.{table} WHERE file_id = ?", (file_id,))
        if keeps_path and not self._has_base:
            return
        from codecompass.languages.imports.paths import path_tails

        tails = [(tail, file_id) for tail in path_tails(path)]
        if not keeps_path:
            self._connection.executemany("DELETE FROM main.path_tails WHERE tail = ? AND file_id = ?", tails)
        if self._has_base:
            self._connection.execute("INSERT OR IGNORE INTO main.hidden_files VALUES (?)", (file_id,))
            if keeps_path:
                self._connection.executemany("INSERT OR IGNORE INTO main.path_tails VALUES (?, ?)", tails)

    def move_targets(self, moved: Sequence[tuple[str, int]]) -> None:
        """Changes the targets of imports; `moved` are pairs of target and row id."""
        if self._has_base:
            # A row of the base cannot be changed, so it is copied, and the copy counts instead.
            self._connection.executemany(
                f"INSERT OR IGNORE INTO main.imports SELECT {_IMPORT_COLUMNS}, target FROM base.imports WHERE id = ?",
                [(row_id,) for _, row_id in moved],
            )
        self._connection.executemany("UPDATE main.imports SET target = ? WHERE id = ?", moved)

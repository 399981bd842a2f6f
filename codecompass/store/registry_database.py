"""The database of the registry: creates, opens and upgrades it, and translates its errors.

Several processes read and write it at once. Every change is one `BEGIN IMMEDIATE` transaction, so two processes wait for each
other and every change is atomic. If the database cannot be opened for writing (a full or read-only disk), a copy in memory is
read instead; a change then raises PermissionDenied, unless the database can be opened for writing by then.
"""

import contextlib
import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codecompass.errors import DeadlineExceeded, IndexDamaged, PermissionDenied, StoreNewer
from codecompass.store.databases import connect_for_reading, database_uri, is_refusal, primary_code, refusal
from codecompass.store.layout import FILE_MODE, make_private_directory, not_writable
from codecompass.store.schema import REGISTRY_VERSION
from codecompass.units import KIB, MIB, MILLISECONDS

DEFAULT_BUSY_TIMEOUT_MS: Final = 5000
"""How long to wait for another process that has the database locked, in milliseconds."""

RESERVE_BYTES: Final = 128 * KIB
"""More than the log of one change and the index of the log take."""

LEAST_FREE_BYTES: Final = 4 * MIB
"""With less free space than this on the disk, no reserve is created."""

_COPY_ATTEMPTS: Final = 5
"""How often to copy a registry that cannot be locked, until no other process has written it meanwhile."""

_TABLES: Final = """
CREATE TABLE projects (
    project_id TEXT PRIMARY KEY,
    alias TEXT UNIQUE,
    root BLOB NOT NULL UNIQUE,         -- as on disk; a path need not be UTF-8
    is_auto_discovered INTEGER NOT NULL,
    is_default INTEGER NOT NULL,
    created_at REAL NOT NULL,          -- seconds since 1970
    last_used_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE evicted (                 -- discovered projects that made room: known, though without an index
    project_id TEXT PRIMARY KEY,
    alias TEXT,
    root BLOB NOT NULL UNIQUE,
    evicted_at REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE project_groups (
    name TEXT NOT NULL,
    project_id TEXT NOT NULL REFERENCES projects ON DELETE CASCADE,
    PRIMARY KEY (name, project_id)
) WITHOUT ROWID;
CREATE TABLE project_names (             -- of projects and evicted ones that nobody gave a name
    root BLOB PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
) WITHOUT ROWID;
CREATE TABLE stop_requests (             -- jobs that somebody wants ended; the process that runs one looks for it
    job_id TEXT PRIMARY KEY REFERENCES jobs (job_id) ON DELETE CASCADE
) WITHOUT ROWID;
CREATE UNIQUE INDEX one_default ON projects (is_default) WHERE is_default = 1;
CREATE TABLE jobs (
    sequence INTEGER PRIMARY KEY,
    job_id TEXT NOT NULL UNIQUE,
    project_id TEXT NOT NULL REFERENCES projects ON DELETE CASCADE,
    mode TEXT NOT NULL,
    status TEXT NOT NULL,
    cause TEXT NOT NULL,
    error TEXT NOT NULL,
    error_code TEXT NOT NULL DEFAULT '',
    ref TEXT NOT NULL,
    pid INTEGER NOT NULL,
    process_started TEXT NOT NULL,
    progress INTEGER NOT NULL,
    files_scanned INTEGER NOT NULL,
    files_total INTEGER NOT NULL,
    files_indexed INTEGER NOT NULL,
    symbols_extracted INTEGER NOT NULL,
    source_bytes INTEGER NOT NULL,
    changed_files INTEGER NOT NULL,
    duration_ms INTEGER,
    created_at REAL NOT NULL,
    started_at REAL,
    finished_at REAL,
    updated_at REAL NOT NULL
);
CREATE INDEX jobs_project ON jobs (project_id, sequence);
CREATE INDEX jobs_open ON jobs (status) WHERE status IN ('queued', 'running');
"""

COMPATIBLE_VERSION: Final = 3
"""The version of a new registry, and the highest that is left. Programs that know a later one take it for one to be upgraded,
find that done, and raise the version; programs that know only this one take it as it is. So programs of several versions can use
one registry at the same time."""

_CREATION: Final = f"BEGIN; {_TABLES} PRAGMA user_version = {COMPATIBLE_VERSION}; COMMIT;"

_ERROR_CODE: Final = "ALTER TABLE jobs ADD COLUMN error_code TEXT NOT NULL DEFAULT ''"
"""The column that version 1 lacks, and a version 2 that was in use for a day. It cannot be added twice, so a registry of version
1 does not get it from this program: programs of versions 2 to 4 would fail to upgrade it, and those of version 1 refuse a later
version."""

_ERROR_CODES: Final = (
    "CREATE TABLE IF NOT EXISTS error_codes (job_id TEXT PRIMARY KEY REFERENCES jobs (job_id) ON DELETE CASCADE, "
    "code TEXT NOT NULL) WITHOUT ROWID"
)
"""Where the error codes of a registry of version 1 are, until another program has added the column."""

_MOVE_ERROR_CODES: Final = (
    "UPDATE jobs SET error_code = (SELECT code FROM error_codes WHERE error_codes.job_id = jobs.job_id) "
    "WHERE job_id IN (SELECT job_id FROM error_codes)",
    "DELETE FROM error_codes",
)

_ADDITIONS: Final = {
    "evicted": "CREATE TABLE IF NOT EXISTS evicted (project_id TEXT PRIMARY KEY, alias TEXT, root BLOB NOT NULL UNIQUE, "
    "evicted_at REAL NOT NULL) WITHOUT ROWID",
    "project_groups": "CREATE TABLE IF NOT EXISTS project_groups (name TEXT NOT NULL, project_id TEXT NOT NULL "
    "REFERENCES projects ON DELETE CASCADE, PRIMARY KEY (name, project_id)) WITHOUT ROWID",
    "project_names": "CREATE TABLE IF NOT EXISTS project_names (root BLOB PRIMARY KEY, name TEXT NOT NULL UNIQUE) WITHOUT ROWID",
    "stop_requests": "CREATE TABLE IF NOT EXISTS stop_requests (job_id TEXT PRIMARY KEY REFERENCES jobs (job_id) "
    "ON DELETE CASCADE) WITHOUT ROWID",
}
"""The tables that came later, with the statements that add them. They need no new version: older programs leave them alone. A
change that an older program could not live with needs another file, so that it keeps its own."""


class RegistryDatabase:
    """A connection to the registry, for one caller at a time."""

    def __init__(self, path: Path, busy_timeout_ms: int) -> None:
        """Opens the database, which is created if it does not exist. Raises the same errors as `registry.open_registry`."""
        self._path = path
        self._busy_timeout_ms = busy_timeout_ms
        self.is_copy = False
        """Whether the connection is to a copy in memory, because the database cannot be written."""
        try:
            self._connection = self._connect()
        except PermissionDenied as error:
            self._connection = _copy_in_memory(path, error)
            self.is_copy = True
        else:
            _keep_reserve(path)

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    @contextmanager
    def transaction(self, *, may_be_of_copy: bool = False) -> Iterator[sqlite3.Connection]:
        """Yields the connection inside one write transaction, which waits for other processes; rolls back on errors.

        With `may_be_of_copy`, the change may be made only in the copy. Raises PermissionDenied if the database cannot be written.
        """
        if self.is_copy and not may_be_of_copy:
            opened = self._connect()
            self._connection.close()
            self._connection, self.is_copy = opened, False
        with registry_guard(self._path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._connection.execute("ROLLBACK")
                raise

    @property
    def has_error_codes(self) -> bool:
        """Whether the error codes of jobs are in their own rows. Another program may add the column at any time."""
        with registry_guard(self._path):
            return has_error_codes(self._connection)

    def changes(self) -> tuple[int, int]:
        """Returns two numbers, of which one is another after every change of the database: by others, and by this connection."""
        ((by_others,),) = self.rows("PRAGMA data_version")
        return by_others, self._connection.total_changes

    def rows(self, statement: str, arguments: Sequence[object] = ()) -> list[tuple]:  # type: ignore[type-arg]
        """Returns the rows of a SELECT."""
        with registry_guard(self._path):
            return self._connection.execute(statement, tuple(arguments)).fetchall()

    def write_without_space(self, change: Callable[[sqlite3.Connection], None]) -> bool:
        """Makes a change that needs no more space, on a disk without space for its log. Returns False if it fails."""
        with contextlib.suppress(OSError):
            # The reserve is created again when the registry is next opened with enough free space.
            reserve(self._path).unlink()
        with contextlib.suppress(PermissionDenied):
            with self.transaction() as connection:
                change(connection)
            return True
        return self.is_copy and self._write_in_place(change)

    def _write_in_place(self, change: Callable[[sqlite3.Connection], None]) -> bool:
        """Changes the database in place if no other process has it open. A power failure can damage it."""
        try:
            connection = sqlite3.connect(database_uri(self._path, mode="rw"), uri=True, isolation_level=None)
            try:
                # With exclusive locking, SQLite keeps the index of the log, and then the journal, in memory.
                for pragma in ("locking_mode = EXCLUSIVE", "journal_mode = MEMORY", "foreign_keys = ON"):
                    connection.execute(f"PRAGMA {pragma}")
                connection.execute("BEGIN IMMEDIATE")
                change(connection)
                connection.execute("COMMIT")
            finally:
                connection.close()
        except sqlite3.Error:
            return False
        return True

    def _connect(self) -> sqlite3.Connection:
        with registry_guard(self._path):
            if not _exists(self._path):
                make_private_directory(self._path.parent)
                _create(self._path)
            return _connect(self._path, self._busy_timeout_ms)


@contextmanager
def registry_guard(path: Path) -> Iterator[None]:
    """Turns errors of SQLite into ours, with a remedy."""
    try:
        yield
    except sqlite3.Error as error:
        code = primary_code(error)
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise DeadlineExceeded(
                f"another process keeps the registry {path} locked. Run again when it is done.", path=str(path)
            ) from error
        if is_refusal(error):
            raise not_writable(path, refusal(error, path)) from error
        raise _damaged(path, error) from error
    except UnicodeError as error:
        # Python's sqlite3 module decodes error messages, which can quote damaged data.
        raise _damaged(path, error) from error


def _damaged(path: Path, cause: Exception) -> IndexDamaged:
    return IndexDamaged(
        f"the registry {path} cannot be read ({cause}). Move it away; projects are known again when they are next "
        "used, and their indexes are kept. Only names given to projects are lost.",
        path=str(path),
        remediation=f"mv {path} {path}.damaged",
    )


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise not_writable(path, error) from error


def _create(path: Path) -> None:
    """Creates the registry under a temporary name and then links it, so that no process sees an incomplete one."""
    import tempfile

    try:
        descriptor, name = tempfile.mkstemp(prefix="registry-", suffix=".new", dir=path.parent)  # mkstemp makes it private
    except OSError as error:
        raise not_writable(path, error) from error
    # Closed before SQLite opens the file: closing a descriptor later would release SQLite's own locks on it.
    os.close(descriptor)
    temporary = Path(name)
    try:
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(_CREATION)
            # The log has another name: what it holds must be in the file before the file gets its name. Closing does not say so.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            connection.close()
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            pass
        except OSError:
            # The file system has no hard links. If two processes get here at the same time, one registration is lost.
            temporary.replace(path)
    except OSError as error:
        raise not_writable(path, error) from error
    finally:
        for suffix in ("", "-wal", "-shm"):
            Path(name + suffix).unlink(missing_ok=True)


def _connect(path: Path, busy_timeout_ms: int) -> sqlite3.Connection:
    connection = sqlite3.connect(
        database_uri(path, mode="rw"),
        uri=True,
        timeout=busy_timeout_ms * MILLISECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA foreign_keys = ON")
        _require_version(connection, path)
        # A removal on a full disk changes the journal mode.
        connection.execute("PRAGMA journal_mode = WAL")
        _bring_up(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _copy_in_memory(path: Path, refused: PermissionDenied) -> sqlite3.Connection:
    """Returns a copy of a registry that cannot be written, empty if there is none. Raises `refused` if it cannot be read."""
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with registry_guard(path):
            try:
                path.lstat()
            except FileNotFoundError:
                memory.executescript(_CREATION)
                return memory
            except OSError:
                raise refused from None
            for _ in range(_COPY_ATTEMPTS):
                try:
                    source = connect_for_reading(path)
                except sqlite3.OperationalError as error:
                    if is_refusal(error):
                        raise refused from error
                    raise
                with contextlib.closing(source.connection):
                    source.connection.backup(memory)
                    if source.is_settled:
                        break
            memory.execute("PRAGMA foreign_keys = ON")
            _require_version(memory, path)
            _bring_up(memory)
    except BaseException:
        memory.close()
        raise
    return memory


def _require_version(connection: sqlite3.Connection, path: Path) -> None:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > REGISTRY_VERSION:
        raise StoreNewer(
            f"the registry {path} was written by a newer codecompass (its version is {version}, this program knows "
            f"{REGISTRY_VERSION}). Upgrade this program, or set CODECOMPASS_HOME to a store of its own.",
            path=str(path),
            current_schema_version=version,
            required_schema_version=REGISTRY_VERSION,
            remediation="upgrade codecompass",
        )
    if version < 1:
        raise sqlite3.DatabaseError(f"its version is {version}, which no release has written")
    if not {"projects", "jobs"} <= _tables(connection):
        raise sqlite3.DatabaseError("it is the database of another program")


def _bring_up(connection: sqlite3.Connection) -> None:
    """Adds what an older program's registry lacks, so that names and groups are kept, and leaves it a version that this program
    and those before it can read."""
    if not _lacking(connection):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Read again inside the transaction: another process may have been first.
        for statement in _lacking(connection):
            connection.execute(statement)
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):
            connection.execute("ROLLBACK")
        raise


def _lacking(connection: sqlite3.Connection) -> list[str]:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    tables = _tables(connection)
    statements = [statement for table, statement in _ADDITIONS.items() if table not in tables]
    if has_error_codes(connection):
        is_moved = "error_codes" not in tables or connection.execute("SELECT 1 FROM error_codes").fetchone() is None
        statements += () if is_moved else _MOVE_ERROR_CODES
    elif version > 1:
        statements.append(_ERROR_CODE)
    elif "error_codes" not in tables:
        statements.append(_ERROR_CODES)
    if version > COMPATIBLE_VERSION:
        statements.append(f"PRAGMA user_version = {COMPATIBLE_VERSION}")
    return statements


def has_error_codes(connection: sqlite3.Connection) -> bool:
    """Returns whether the jobs of this registry have the column `error_code`."""
    return "error_code" in {row[1] for row in connection.execute("PRAGMA table_info(jobs)")}


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def reserve(registry: Path) -> Path:
    """Returns the path of the reserve: a file that is deleted to make space for a removal on a full disk."""
    return registry.with_name("registry.reserve")


def _keep_reserve(registry: Path) -> None:
    with contextlib.suppress(OSError):
        if reserve(registry).exists():
            return
        import shutil

        if shutil.disk_usage(registry.parent).free < LEAST_FREE_BYTES:
            return
        descriptor = os.open(reserve(registry), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            # Not zeros, for which some file systems allocate no space.
            os.write(descriptor, os.urandom(RESERVE_BYTES))
        finally:
            os.close(descriptor)

"""The registry of all projects of a user: one small SQLite database that several processes read and write at once.

Owns opening, creating and guarding the database, and its table of projects; the jobs are in `job_log.py`, what made room in
`evictions.py`. A `Registry`
belongs to one caller at a time. Every change is one `BEGIN IMMEDIATE` transaction, so two processes wait for each other
and never fail half-way. What the registry holds can be lost without losing an index: ids come from paths.

Where the database cannot be opened for writing (a full disk, a read-only one), a copy in memory is read instead; a change is
refused then, unless the database can be opened for writing by the time that it is made.
"""

import contextlib
import difflib
import os
import re
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from msgspec import Struct

from codecompass.errors import (
    DeadlineExceeded,
    IndexDamaged,
    InvalidInput,
    PermissionDenied,
    ProjectNotFound,
    StoreNewer,
)
from codecompass.identity import ProjectId, project_id
from codecompass.protocol.requests import MAX_PROJECT_ID_LENGTH, PROJECT_ID_PATTERN
from codecompass.store.databases import connect_for_reading, database_uri, is_refusal, primary_code, refusal
from codecompass.store.layout import FILE_MODE, HomeLayout, make_private_directory, not_writable
from codecompass.store.schema import REGISTRY_VERSION
from codecompass.units import KIB, MIB, MILLISECONDS

ALIAS: Final = re.compile(PROJECT_ID_PATTERN.strip("^$"))
MAX_ALIAS_LENGTH: Final = MAX_PROJECT_ID_LENGTH
_LOOKS_LIKE_HASH: Final = re.compile(r"[0-9a-f]{16}")

DEFAULT_BUSY_TIMEOUT_MS: Final = 5000
"""How long another process may hold the database before we give up, in milliseconds."""

RESERVE_BYTES: Final = 128 * KIB
"""More than the log of one change and its index take."""

LEAST_FREE_BYTES: Final = 4 * MIB
"""On a disk with less than this the reserve is not made."""

_COPY_ATTEMPTS: Final = 5
"""How often a registry is copied that cannot be locked and that somebody writes meanwhile."""

TABLES: Final = """
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

_STEPS: Final = {
    1: "ALTER TABLE jobs ADD COLUMN error_code TEXT NOT NULL DEFAULT ''",
    2: "CREATE TABLE IF NOT EXISTS evicted (project_id TEXT PRIMARY KEY, alias TEXT, root BLOB NOT NULL UNIQUE, "
    "evicted_at REAL NOT NULL) WITHOUT ROWID",
}
"""From each version that a release has written to the next one."""

_COLUMNS: Final = "project_id, alias, root, is_auto_discovered, is_default, created_at, last_used_at"


class Project(Struct, frozen=True, kw_only=True):
    """A registered workspace. `root` is canonical, times are seconds since 1970."""

    project_id: ProjectId
    alias: str | None
    root: Path
    is_auto_discovered: bool
    is_default: bool
    created_at: float
    last_used_at: float

    @property
    def name(self) -> str:
        """How answers and people call the project: its alias, else its id."""
        return self.alias or self.project_id

    @property
    def schema_name(self) -> str:
        """The name reported for the project's store."""
        return "project_" + self.name.replace("-", "_")


class Registry:
    """Projects by id, alias and path. Get one from `open_registry`; not for two threads at a time."""

    def __init__(self, path: Path, busy_timeout_ms: int) -> None:
        self._path = path
        self._busy_timeout_ms = busy_timeout_ms
        self.is_copy = False
        try:
            self._connection = self._connect()
        except PermissionDenied as error:
            self._connection = _copy_in_memory(path, error)
            self.is_copy = True
        else:
            _keep_reserve(path)

    def close(self) -> None:
        """Closes the database."""
        self._connection.close()

    def _connect(self) -> sqlite3.Connection:
        with registry_guard(self._path):
            if not _exists(self._path):
                make_private_directory(self._path.parent)
                _create(self._path)
            return _connect(self._path, self._busy_timeout_ms)

    def projects(self) -> tuple[Project, ...]:
        """Returns all projects by root."""
        return self._projects("ORDER BY root")

    def find(self, name: str) -> Project | None:
        """Returns the project with this id or alias."""
        return self._first("WHERE project_id = ? OR alias = ?", (name, name))

    def require(self, name: str) -> Project:
        """Returns the project with this id or alias. Raises ProjectNotFound."""
        found = self.find(name)
        if found is None:
            near = difflib.get_close_matches(name, [project.name for project in self.projects()], n=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            raise ProjectNotFound(
                f"no project is called {name!r}.{meant} List the known ones with: codecompass projects list", project_id=name
            )
        return found

    def at(self, root: Path) -> Project | None:
        """Returns the project whose canonical root is `root`."""
        return self._first("WHERE root = ?", (os.fsencode(root),))

    def containing(self, path: Path) -> Project | None:
        """Returns the project with the nearest root at or above the canonical `path`."""
        roots = [os.fsencode(directory) for directory in (path, *path.parents)]
        marks = ",".join("?" * len(roots))
        return self._first(f"WHERE root IN ({marks}) ORDER BY length(root) DESC LIMIT 1", roots)

    def default(self) -> Project | None:
        """Returns the project for callers that name none and stand nowhere."""
        return self._first("WHERE is_default = 1")

    def register(self, root: Path, *, auto_discovered: bool = False) -> Project:
        """Returns the project at the canonical `root`, made known if it was not. A known one stays as it is.

        One that was evicted gets back the name that it had, unless another project has it by now.
        """
        now = time.time()
        with self.transaction() as connection:
            connection.execute(
                f"INSERT INTO projects ({_COLUMNS}) VALUES (?, NULL, ?, ?, 0, ?, ?) ON CONFLICT DO NOTHING",
                (project_id(root), os.fsencode(root), auto_discovered, now, now),
            )
            connection.execute(
                "UPDATE OR IGNORE projects SET alias = (SELECT alias FROM evicted WHERE evicted.root = projects.root) "
                "WHERE root = ? AND alias IS NULL",
                (os.fsencode(root),),
            )
            connection.execute("DELETE FROM evicted WHERE root = ?", (os.fsencode(root),))
        found = self.at(root)
        if found is None:
            raise ProjectNotFound(f"the project at {root} was removed by another process. Run again.")
        return found

    def adopt(self, project: str, *, alias: str | None = None, as_default: bool | None = None) -> Project:
        """Returns the project after an explicit `init`: never evicted any more, with `alias` if one is given.

        It becomes the default if `as_default`, or if there is none (None). Raises InvalidInput for a bad or taken alias.
        """
        if alias is not None:
            self.rename(project, alias)
        with self.transaction() as connection:
            connection.execute("UPDATE projects SET is_auto_discovered = 0 WHERE project_id = ?", (project,))
            has_default = connection.execute("SELECT 1 FROM projects WHERE is_default = 1").fetchone() is not None
            if as_default or (as_default is None and not has_default):
                connection.execute("UPDATE projects SET is_default = 0 WHERE is_default = 1")
                connection.execute("UPDATE projects SET is_default = 1 WHERE project_id = ?", (project,))
        return self.require(project)

    def rename(self, project: str, alias: str | None) -> Project:
        """Gives a project its alias, or takes it away. Raises InvalidInput for one that is malformed or taken."""
        if alias is not None:
            check_alias(alias)
        with self.transaction() as connection:
            if alias is not None:
                self.require_free(alias, project)
            connection.execute("UPDATE projects SET alias = ? WHERE project_id = ?", (alias, project))
        return self.require(project)

    def require_free(self, alias: str, project: str | None) -> None:
        """Raises InvalidInput where another project than `project` has this alias."""
        row = self._connection.execute("SELECT root, project_id FROM projects WHERE alias = ?", (alias,)).fetchone()
        if row is not None and row[1] != project:
            raise InvalidInput(
                f"the project at {os.fsdecode(row[0])} is called {alias!r} already. Choose another name, "
                f"or free it with: codecompass projects rename {alias} NEW_NAME",
                field="project_id",
                value=alias,
                constraint="unique",
            )

    def touch(self, project: str) -> None:
        """Notes that the project was used just now."""
        with self.transaction() as connection:
            connection.execute("UPDATE projects SET last_used_at = ? WHERE project_id = ?", (time.time(), project))

    def remove(self, project: str) -> None:
        """Forgets a project and its jobs; files on disk are not touched. Unknown ids are no error. Needs no free space."""

        def delete(connection: sqlite3.Connection) -> None:
            connection.execute("DELETE FROM projects WHERE project_id = ?", (project,))
            connection.execute("DELETE FROM evicted WHERE project_id = ?", (project,))

        try:
            with self.transaction() as connection:
                delete(connection)
        except PermissionDenied:
            if not self._write_without_space(delete):
                raise

    # for this module and job_log.py

    @contextmanager
    def transaction(self, *, may_be_of_copy: bool = False) -> Iterator[sqlite3.Connection]:
        """Gives the connection inside one write transaction, which waits for other processes; rolls back on errors.

        With `may_be_of_copy` a change of the copy alone will do, for whoever reads it. Raises PermissionDenied where the
        database cannot be written.
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

    def rows(self, statement: str, arguments: Sequence[object] = ()) -> list[tuple]:  # type: ignore[type-arg]
        """Returns what a SELECT gives."""
        with registry_guard(self._path):
            return self._connection.execute(statement, tuple(arguments)).fetchall()

    def _write_without_space(self, change: Callable[[sqlite3.Connection], None]) -> bool:
        """Makes a change that makes nothing larger, on a disk that has no room for a log of it. False where it cannot be made."""
        with contextlib.suppress(OSError):
            # Whoever opens the registry when there is room again puts it back.
            reserve(self._path).unlink()
        with contextlib.suppress(PermissionDenied):
            with self.transaction() as connection:
                change(connection)
            return True
        return self.is_copy and self._write_in_place(change)

    def _write_in_place(self, change: Callable[[sqlite3.Connection], None]) -> bool:
        """Overwrites the database, where nobody else has it open: a power failure meanwhile can damage it, which costs names."""
        try:
            connection = sqlite3.connect(database_uri(self._path, mode="rw"), uri=True, isolation_level=None)
            try:
                # Alone with the database SQLite keeps the index of the log, and then the journal, in memory.
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

    def _projects(self, rest: str, arguments: Sequence[object] = ()) -> tuple[Project, ...]:
        with registry_guard(self._path):
            return tuple(_project(row) for row in self.rows(f"SELECT {_COLUMNS} FROM projects {rest}", arguments))

    def _first(self, rest: str, arguments: Sequence[object] = ()) -> Project | None:
        found = self._projects(rest, arguments)
        return found[0] if found else None


def _project(row: tuple[Any, ...]) -> Project:
    identifier, alias, root, is_auto_discovered, is_default, created_at, last_used_at = row
    # An id comes from the root: where it does not, one of them is not what was written.
    if not isinstance(root, bytes) or identifier != project_id(Path(os.fsdecode(root))):
        raise sqlite3.DatabaseError("the entry of a project is damaged")
    return Project(
        project_id=identifier,
        alias=alias,
        root=Path(os.fsdecode(root)),
        is_auto_discovered=bool(is_auto_discovered),
        is_default=bool(is_default),
        created_at=created_at,
        last_used_at=last_used_at,
    )


def reserve(registry: Path) -> Path:
    """Returns where the reserve of a registry is: a file of no use but for its room, which a removal on a full disk takes."""
    return registry.with_name("registry.reserve")


def _keep_reserve(registry: Path) -> None:
    with contextlib.suppress(OSError):
        if reserve(registry).exists() or shutil.disk_usage(registry.parent).free < LEAST_FREE_BYTES:
            return
        descriptor = os.open(reserve(registry), os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, FILE_MODE)
        try:
            # Not zeros, which some file systems keep without taking room for them.
            os.write(descriptor, os.urandom(RESERVE_BYTES))
        finally:
            os.close(descriptor)


def check_alias(alias: str) -> None:
    """Raises InvalidInput unless `alias` can name a project."""
    is_wellformed = ALIAS.fullmatch(alias) is not None and len(alias) <= MAX_ALIAS_LENGTH
    if not is_wellformed or _LOOKS_LIKE_HASH.fullmatch(alias):
        constraint = "1 to 50 lower-case letters, digits and single hyphens between them, and not 16 hex characters"
        raise InvalidInput(
            f"a project cannot be called {alias!r}: a name is {constraint}.",
            field="project_id",
            value=alias,
            constraint=constraint,
        )


@contextmanager
def open_registry(home: HomeLayout, *, busy_timeout_ms: int = DEFAULT_BUSY_TIMEOUT_MS) -> Iterator[Registry]:
    """Gives the registry of a data directory, made if there is none, and closes it.

    Where it cannot be written it can still be read; where there is none and none can be made, it is empty. Raises
    PermissionDenied where it cannot be read either, StoreNewer where a newer program wrote it, IndexDamaged where it
    is no registry, DeadlineExceeded where another process holds it for longer than `busy_timeout_ms`.
    """
    with contextlib.closing(Registry(home.registry, busy_timeout_ms)) as registry:
        yield registry


@contextmanager
def registry_guard(path: Path) -> Iterator[None]:
    """Turns what SQLite and the disk complain about into errors with a remedy."""
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
        # Python's module for SQLite decodes messages, which quote what was found.
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
    """Makes a whole registry under another name and then gives it its own: nobody ever sees half of one."""
    try:
        descriptor, name = tempfile.mkstemp(prefix="registry-", suffix=".new", dir=path.parent)  # private by itself
    except OSError as error:
        raise not_writable(path, error) from error
    # Closed before SQLite opens the file: closing a descriptor later would drop SQLite's own locks on it.
    os.close(descriptor)
    temporary = Path(name)
    try:
        connection = sqlite3.connect(temporary, isolation_level=None)
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {REGISTRY_VERSION}; COMMIT;")
        finally:
            connection.close()
        try:
            path.hardlink_to(temporary)
        except FileExistsError:
            pass
        except OSError:
            # A file system without hard links. Two processes that come here in the same instant lose one registration.
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
        # A removal on a full disk takes it out of this mode.
        connection.execute("PRAGMA journal_mode = WAL")
        _bring_up(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _copy_in_memory(path: Path, refused: PermissionDenied) -> sqlite3.Connection:
    """What a registry that cannot be written holds; nothing where there is none. Raises `refused` where it cannot be read."""
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    try:
        with registry_guard(path):
            try:
                path.lstat()
            except FileNotFoundError:
                memory.executescript(f"BEGIN; {TABLES} PRAGMA user_version = {REGISTRY_VERSION}; COMMIT;")
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
    if version < min(_STEPS):
        raise sqlite3.DatabaseError(f"its version is {version}, which no release has written")


def _bring_up(connection: sqlite3.Connection) -> None:
    """Takes a registry of an older program to this one's version: names that people gave must not be lost to an upgrade."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    while version < REGISTRY_VERSION:
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Looked at again inside the transaction: another process may have been first.
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            if version < REGISTRY_VERSION:
                connection.execute(_STEPS[version])
                version += 1
                connection.execute(f"PRAGMA user_version = {version}")
            connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise

"""Opens our SQLite databases: for writing, and for reading wherever their bytes can be read at all.

A database in WAL mode cannot simply be read: SQLite makes the index of the log (`-shm`) first, which takes space and a directory
that can be written. Where that is refused, there are other ways, the surest first:

    mode=ro         the log and its index are there already, or can be made: sees what others write, as ever
    immutable=1     there is no log, or an empty one: the file alone is everything. Nothing is locked, so whoever reads asks
                    afterwards whether the files are still what they were
    a copy          there is a log and nowhere to make its index: both files are copied to a place that can be written

A reader's connection never changes the database: only a connection that may write moves the log into it.
"""

import contextlib
import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote_from_bytes

from msgspec import Struct

from codecompass.units import KIB, MIB

BUSY_TIMEOUT_SECONDS: Final = 5.0

MAX_COPIED_BYTES: Final = 256 * MIB
"""A larger database is not copied to be read: temporary places are often memory."""

TEMPORARY_PLACES: Final = ("/dev/shm", "/run/shm", "/var/tmp", "/tmp")
"""Where to look for a place that can be written, after what the environment names."""

LEAST_FREE_BYTES: Final = 64 * KIB
"""What the index of a log takes, and a log."""

_REASONS: Final = {
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
}
"""Primary codes with which SQLite says that a file cannot be made, extended or opened."""

Mark = tuple[int, ...]
"""How the files of a database look to stat(): any write to them changes it."""


class ReadConnection(Struct, frozen=True):
    """A connection for reading. `mark` is there where nothing keeps the files from changing while they are read."""

    connection: sqlite3.Connection
    path: Path
    mark: Mark | None = None

    @property
    def is_settled(self) -> bool:
        """Whether what was read so far is of one moment: always, unless files were changed that nothing had locked."""
        return self.mark is None or self.mark == _mark(self.path)


def is_refusal(error: sqlite3.Error) -> bool:
    """Returns whether SQLite was refused a file or the space for it: by a full disk, a read-only one, or permissions."""
    return primary_code(error) in _REASONS


def refusal(error: sqlite3.Error, path: Path) -> OSError:
    """Returns an error of the system for one of SQLite's (see `is_refusal`), with its reason in words."""
    number = _REASONS.get(primary_code(error), errno.EIO)
    with contextlib.suppress(OSError):
        # SQLite calls it an error of input and output where there is no room for the index of the log.
        if number == errno.EIO and shutil.disk_usage(path.parent).free < LEAST_FREE_BYTES:
            number = errno.ENOSPC
    return OSError(number, os.strerror(number) if number in (errno.ENOSPC, errno.EROFS) else str(error))


def primary_code(error: sqlite3.Error) -> int:
    """Returns what kind of error it is; extended codes say more than anybody acts upon."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def connect(path: Path, *, mode: Literal["ro", "rw", "rwc"], immutable: bool = False) -> sqlite3.Connection:
    """Opens a database with the pragmas that all indexes share. Transactions are begun and ended by hand.

    Raises sqlite3.OperationalError where the file is missing (but for mode `rwc`), DatabaseError where it is no database.
    """
    connection = sqlite3.connect(
        database_uri(path, mode=mode, immutable=immutable),
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        connection.execute("PRAGMA cache_size = -16000")
        connection.execute("PRAGMA mmap_size = 268435456")
        connection.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_for_reading(path: Path) -> ReadConnection:
    """Opens a database that is only read, in one of the ways above.

    Raises sqlite3.OperationalError where the file is missing or none of them works, DatabaseError where it is no database.
    """
    try:
        return ReadConnection(_tried(connect(path, mode="ro")), path)
    except sqlite3.OperationalError as error:
        if not is_refusal(error) or not os.access(path, os.R_OK):
            raise
        refused = error
    mark = _mark(path)
    if not log_size(path):
        return ReadConnection(_tried(connect(path, mode="ro", immutable=True)), path, mark)
    copied = _copied(path, mark)
    if copied is None:
        raise refused
    return copied


def log_size(path: Path) -> int:
    """Returns how many bytes the log of a database holds, 0 where there is none."""
    try:
        return log_path(path).stat().st_size
    except OSError:
        return 0


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """Gives an empty private directory, in the first temporary place that takes one, and removes it.

    Raises OSError where there is no such place.
    """
    failure: OSError | None = None
    for place in dict.fromkeys([*_named_places(), *TEMPORARY_PLACES]):
        try:
            made = tempfile.mkdtemp(prefix="codecompass-", dir=place)
        except OSError as error:
            failure = error
            continue
        try:
            yield Path(made)
        finally:
            shutil.rmtree(made, ignore_errors=True)
        return
    raise failure or FileNotFoundError("there is no directory for temporary files")


def database_uri(path: Path, *, mode: Literal["ro", "rw", "rwc"], immutable: bool = False) -> str:
    """Returns what SQLite opens; a path need not be UTF-8."""
    return f"file:{quote_from_bytes(os.fsencode(path))}?mode={mode}" + ("&immutable=1" if immutable else "")


def _tried(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Returns the connection once it has read something: until then SQLite has opened neither the log nor its index."""
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _copied(path: Path, mark: Mark) -> ReadConnection | None:
    """A connection to a copy, which is deleted at once: open files stay readable. None where there is no place for one."""
    log = log_path(path)
    if sum(each.stat().st_size for each in (path, log)) > MAX_COPIED_BYTES:
        return None
    with contextlib.suppress(OSError), temporary_directory() as directory:
        copy = directory / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(log, log_path(copy))
        if _mark(path) != mark:
            return None
        return ReadConnection(_tried(connect(copy, mode="rw")), path, mark)
    return None


def _mark(path: Path) -> Mark:
    mark: list[int] = []
    for each in (path, log_path(path)):
        try:
            status = each.stat()
        except OSError:
            mark.append(-1)
        else:
            is_log = each is not path
            if is_log and not status.st_size:
                mark.append(-1)  # an empty log says as much as none
            else:
                mark += (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return tuple(mark)


def log_path(path: Path) -> Path:
    """Returns where the log of a database is."""
    return path.with_name(path.name + "-wal")


def _named_places() -> list[str]:
    return [place for name in ("TMPDIR", "XDG_RUNTIME_DIR") if (place := os.environ.get(name))]

"""Opens our SQLite databases for writing, and for reading even on a full or read-only disk.

To read a database in WAL mode SQLite first creates the index of the log (`-shm`), which needs space and a writable directory. If
that fails, there are fallbacks, the safest first:

    mode=ro         the normal way, but on a read-only disk: the log and its index exist or can be created
    immutable=1     the log is missing or empty. Nothing is locked, so the reader checks afterwards whether the files have
                    changed
    a copy          there is a log, and its index cannot be created: both files are copied to a writable directory

A connection for reading never changes the database: only a writable one moves the log into it.
"""

import contextlib
import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote_from_bytes

from msgspec import Struct

from codecompass.units import KIB, MIB

BUSY_TIMEOUT_SECONDS: Final = 5.0

MAX_COPIED_BYTES: Final = 256 * MIB
"""A larger database is not copied: temporary directories are often in memory."""

MAPPED_BYTES: Final = 256 * MIB
MAPPED_PARTS: Final = 16
"""How much of a database is mapped, and which part of a limited address space at most: several are open at once."""

TEMPORARY_PLACES: Final = ("/dev/shm", "/run/shm", "/var/tmp", "/tmp")
"""Directories to try after those that the environment names."""

LEAST_FREE_BYTES: Final = 64 * KIB
"""The least space that a log and its index take."""

_REASONS: Final = {
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
}
"""SQLite's primary result codes for a file that cannot be created, extended or opened, and the matching errno."""

Stamp = tuple[int, ...]
"""The stat() results of the files of a database: any write changes them."""


class ReadConnection(Struct, frozen=True):
    """A connection for reading. `stamp` is set if no lock keeps the files from changing while they are read."""

    connection: sqlite3.Connection
    path: Path
    stamp: Stamp | None = None

    @property
    def is_settled(self) -> bool:
        """Whether everything read so far is consistent: False only if unlocked files have changed."""
        return self.stamp is None or self.stamp == _stamp_of(self.path)


def is_refusal(error: sqlite3.Error) -> bool:
    """Returns whether the system refused SQLite a file or space: a full or read-only disk, or missing permissions."""
    return primary_code(error) in _REASONS


def refusal(error: sqlite3.Error, path: Path) -> OSError:
    """Returns the OSError that explains a refusal (see `is_refusal`)."""
    import shutil

    number = _REASONS.get(primary_code(error), errno.EIO)
    with contextlib.suppress(OSError):
        # SQLite reports an I/O error if there is no room for the index of the log.
        if number == errno.EIO and shutil.disk_usage(path.parent).free < LEAST_FREE_BYTES:
            number = errno.ENOSPC
    if number in (errno.EIO, errno.EACCES):
        # It reports a quota as an I/O error, and a lack of descriptors as a file that cannot be opened.
        number = _tried_errno(path.parent, is_write=number == errno.EIO) or number
    is_known = number in (errno.ENOSPC, errno.EROFS) or number not in _REASONS.values()
    return OSError(number, os.strerror(number) if is_known else str(error))


def _tried_errno(directory: Path, *, is_write: bool) -> int:
    """Returns the errno of opening a file, and with `is_write` of writing one in `directory`; 0 if that works."""
    import tempfile

    try:
        if is_write:
            with tempfile.TemporaryFile(dir=directory) as probe:
                probe.write(bytes(LEAST_FREE_BYTES))
                probe.flush()
        else:
            os.close(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
    except OSError as error:
        return error.errno or 0
    return 0


def primary_code(error: sqlite3.Error) -> int:
    """Returns the primary part of an error's extended result code."""
    code: int = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)
    return code & 0xFF


def address_space_limit() -> int | None:
    """Returns how many bytes of address space this process may have; None if there is no limit or it is unknown."""
    try:
        import resource  # not on Windows
    except ImportError:
        return None
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    return None if limit == resource.RLIM_INFINITY else limit


def mapped_bytes() -> int:
    """Returns how many bytes of a database a connection maps; the rest is read, which is slower. Text indexes must be mapped, so
    databases leave them the address space if it is limited."""
    limit = address_space_limit()
    return MAPPED_BYTES if limit is None else min(MAPPED_BYTES, limit // MAPPED_PARTS)


def connect(path: Path, *, mode: Literal["ro", "rw", "rwc"], immutable: bool = False) -> sqlite3.Connection:
    """Opens a database with the pragmas that all indexes share. Transactions are begun and ended explicitly.

    Raises sqlite3.OperationalError if the file is missing (except in mode `rwc`), DatabaseError if it is not a database.
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
        connection.execute(f"PRAGMA mmap_size = {mapped_bytes()}")
        connection.execute("PRAGMA temp_store = MEMORY")
    except BaseException:
        connection.close()
        raise
    return connection


def connect_for_reading(path: Path) -> ReadConnection:
    """Opens a database for reading, in the first of the ways above that works.

    Raises sqlite3.OperationalError if the file is missing or none of them works, DatabaseError if it is not a database.
    """
    may_be_locked = not _is_on_read_only_disk(path)
    try:
        if may_be_locked:
            return ReadConnection(_tried(connect(path, mode="ro")), path)
    except sqlite3.OperationalError as error:
        if not is_refusal(error) or not os.access(path, os.R_OK):
            raise
    stamp = _stamp_of(path)
    if not log_size(path):
        return ReadConnection(_tried(connect(path, mode="ro", immutable=True)), path, stamp)
    return _copied(path, stamp) or ReadConnection(_tried(connect(path, mode="ro")), path)


def _is_on_read_only_disk(path: Path) -> bool:
    """Whether nothing can be written beside a database.

    An index of the log that is left there opens for reading alone, and SQLite keeps it so for all connections of the process:
    none could write once the disk can be written again.
    """
    try:
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    except OSError:
        return False


def log_size(path: Path) -> int:
    """Returns the size of a database's log in bytes, 0 if there is none."""
    try:
        return log_path(path).stat().st_size
    except OSError:
        return 0


def settle(path: Path) -> None:
    """Moves the log of a database into it, except for what open readers still need."""
    if log_size(path):
        with contextlib.closing(connect(path, mode="rw")) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


@contextmanager
def temporary_directory(needed_bytes: int = 0) -> Iterator[Path]:
    """Yields an empty private directory in the first temporary directory where one can be created, and removes it afterwards.

    Directories with less than `needed_bytes` of free space are tried last. Raises OSError if there is none.
    """
    import shutil
    import tempfile

    def lacks_space(place: str) -> bool:
        try:
            return shutil.disk_usage(place).free < needed_bytes
        except OSError:
            return True

    failure: OSError | None = None
    places = list(dict.fromkeys([*_named_places(), *TEMPORARY_PLACES]))
    for place in sorted(places, key=lacks_space) if needed_bytes else places:
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
    """Returns the URI of a database, whose path need not be UTF-8."""
    return f"file:{quote_from_bytes(os.fsencode(path))}?mode={mode}" + ("&immutable=1" if immutable else "")


def _tried(connection: sqlite3.Connection) -> sqlite3.Connection:
    """Returns the connection after a first read, because only that makes SQLite open the log and its index."""
    try:
        connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone()
    except BaseException:
        connection.close()
        raise
    return connection


def _copied(path: Path, stamp: Stamp) -> ReadConnection | None:
    """Returns a connection to a copy, which is deleted at once because open files stay readable. None if no copy can be made."""
    import shutil

    log = log_path(path)
    if sum(each.stat().st_size for each in (path, log)) > MAX_COPIED_BYTES:
        return None
    with contextlib.suppress(OSError), temporary_directory() as directory:
        copy = directory / path.name
        shutil.copyfile(path, copy)
        shutil.copyfile(log, log_path(copy))
        if _stamp_of(path) != stamp:
            return None
        return ReadConnection(_tried(connect(copy, mode="rw")), path, stamp)
    return None


def _stamp_of(path: Path) -> Stamp:
    stamp: list[int] = []
    for each in (path, log_path(path)):
        try:
            status = each.stat()
        except OSError:
            stamp.append(-1)
        else:
            is_log = each is not path
            if is_log and not status.st_size:
                stamp.append(-1)  # an empty log is the same as a missing one
            else:
                stamp += (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
    return tuple(stamp)


def log_path(path: Path) -> Path:
    """Returns the path of a database's log."""
    return path.with_name(path.name + "-wal")


def base_path(facts: Path) -> Path:
    """Returns the path of the base of facts, which exists only for forks (see overlay.py)."""
    return facts.with_name("base.db")


def _named_places() -> list[str]:
    return [place for name in ("TMPDIR", "XDG_RUNTIME_DIR") if (place := os.environ.get(name))]

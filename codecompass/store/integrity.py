"""Checks that the files of an index are as they were written, by a checksum of each file and a stamp to know when to compute it.

    facts.sum       beside facts.db: its stamp and checksum, and those of base.db if there is one; see facts_record.py
    text_files      a table in the facts: stamp and checksum of each file of the generation's text index

A file with the recorded stamp has not been written since; comparing all stamps takes microseconds. A file with a different stamp
is read completely: if its checksum is the recorded one (it was touched or copied), the new stamp is accepted, otherwise the index
is damaged and is rebuilt. Large facts have no checksum until a server has time for it; a copy of them must have the recorded size
and be consistent. Damage that leaves the stamp unchanged (a disk that loses data) is found only by reading everything,
which `doctor` does, and a server in the background.

Only a writer changes facts.db, and only by moving the log into it between two writes of facts.sum. The log has SQLite's own
checksums: if it is cut short, SQLite reads the previous publication.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.errors import REBUILD, IndexDamaged, PermissionDenied
from codecompass.store.databases import base_path, connect_for_reading, log_path
from codecompass.store.facts_record import (
    FactsRecord,
    Pace,
    Stamp,
    base_stamp,
    digest_of,
    digest_of_log,
    facts_stamp,
    read_record,
    record_path,
    stamp_of,
    write_record,
)
from codecompass.store.layout import ProjectLayout, not_readable
from codecompass.store.lock import LockHeld, is_locked, writer_lock
from codecompass.store.rows import TextFile
from codecompass.units import MILLISECONDS

LATELY_SECONDS: Final = 50 * MILLISECONDS
"""A question checks the files of the text index when it ends, and also when it begins if the last check is older than this."""

_STABLE_ATTEMPTS: Final = 10
"""How often facts and their record are read until they match, while a writer changes both."""


class _KnownFacts(Struct, frozen=True):
    """Facts that were found intact, with the stamps of the database, its record, its base, and its log if that belongs to
    them."""

    epoch: str
    path: str
    stamp: Stamp
    record_path: str
    record: Stamp
    log: Stamp | None
    base: Stamp

    def is_as_it_was(self) -> bool:
        return (
            facts_stamp(self.path) == self.stamp
            # `verify_index` deletes the record when it finds damage.
            and _stamp_or_none(self.record_path) == self.record
            and base_stamp(self.path) == self.base
            and (self.log is None or _stamp_or_none(str(log_path(Path(self.path)))) == self.log)
        )


class IntactFacts:
    """Checks facts, and remembers the epoch and stamps with which they were intact. Shared by all readers in a process."""

    def __init__(self, layout: ProjectLayout) -> None:
        self._layout = layout
        self._known: _KnownFacts | None = None

    def require(self, epoch: str, *, is_writer: bool = False) -> None:
        """Raises IndexDamaged if the facts are not as they were written. Costs four stat() calls if they are unchanged.

        `is_writer` says that the caller holds the writer lock. Raises FileNotFoundError if the epoch is gone.
        """
        known = self._known
        if known is not None and known.epoch == epoch and known.is_as_it_was():
            return
        path = self._layout.facts(epoch)
        for _ in range(_STABLE_ATTEMPTS):
            before = read_record(path)
            stamp, log, of_record = facts_stamp(path), _stamp_or_none(log_path(path)), _stamp_or_none(record_path(path))
            record = read_record(path)
            if record == before:
                break
        if record is None:
            if not path.parent.is_dir():
                raise FileNotFoundError(path)
            raise _damaged(path, "there is no valid record of its checksum")
        if record.is_changing:
            if not is_writer and is_locked(self._layout):
                return  # the log has everything until it has been moved
            # A writer ended while it moved the log, which still has everything.
            _require_consistent(path)
        elif not record.has_stamp(stamp):
            _require_copy(path, record, stamp)
        if not record.is_changing and not _is_log_there(path, record):
            raise _damaged(path, "a part of its log is not what was written")
        base = base_stamp(path)
        if base != record.base and not (base and digest_of(base_path(path)).hex() == record.base_digest):
            raise _damaged(base_path(path), "it is not what was written")
        known_log = log if record.log_bytes else None
        self._known = _KnownFacts(epoch, str(path), stamp, str(record_path(path)), of_record, known_log, base)


class IntactText:
    """Checks the files of one generation's text index, and remembers the stamps with which they were intact."""

    def __init__(self, directory: Path, files: Iterable[TextFile]) -> None:
        """Checks the files. Raises the same errors as `require`."""
        self._directory = directory
        self._files = tuple(files)
        self._stamps: dict[str, Stamp] = {f"{directory}/{file.name}": file.stamp for file in self._files}
        if not self._files:
            raise _damaged(directory, "there is no record of its checksums")
        self.require()

    def require(self) -> None:
        """Raises IndexDamaged if a file is not as it was written. Costs one stat() call for each unchanged file.

        A generation that was replaced and deleted meanwhile is not damaged: its mapped files stay readable.
        """
        self._required_at = time.monotonic()
        for path, known in self._stamps.items():
            try:
                status = os.stat(path)
            except FileNotFoundError as error:
                if not self._directory.exists():
                    return
                raise _damaged(path, "it is gone") from error
            except OSError as error:
                raise not_readable(path, error) from error
            if known != (status.st_size, status.st_mtime_ns, status.st_ino):
                self._compare(path)

    def require_lately(self) -> None:
        """Does the same as `require`, unless that was called within LATELY_SECONDS."""
        if time.monotonic() - self._required_at > LATELY_SECONDS:
            self.require()

    def _compare(self, path: str) -> None:
        file = next(file for file in self._files if file.name == path.rpartition("/")[2])
        try:
            stamp = stamp_of(os.stat(path))
            is_same = stamp[0] == file.size and digest_of(Path(path)) == file.digest
        except FileNotFoundError:
            return  # the next check decides whether this is damage
        except OSError as error:
            raise not_readable(path, error) from error
        if not is_same:
            raise _damaged(path, "it is not what was written")
        self._stamps = {**self._stamps, path: stamp}


def text_files(directory: Path, before: Mapping[str, TextFile]) -> tuple[TextFile, ...]:
    """Returns the files of a text index that was just committed. Files of `before` that are hard-linked are not read again."""
    found = []
    for name in sorted(os.listdir(directory)):
        path = directory / name
        status = path.stat()
        if name.endswith(".lock") or not stat.S_ISREG(status.st_mode):
            continue
        known = before.get(name)
        is_known = known is not None and known.stamp == stamp_of(status)
        digest = known.digest if known is not None and is_known else digest_of(path)
        found.append(TextFile(name, *stamp_of(status), digest))
    return tuple(found)


def verify_facts(layout: ProjectLayout, epoch: str, pace: Pace) -> bool:
    """Reads the facts completely. Returns True if their checksum was compared, False if there is none (yet).

    Raises IndexDamaged if they are not as they were written, OSError if they cannot be read.
    """
    path = layout.facts(epoch)
    record = read_record(path)
    if record is None:
        raise _damaged(path, "there is no valid record of its checksum")
    if record.is_changing or not record.digest:
        if not is_locked(layout):
            _require_consistent(path)
        return False
    for each, digest in ((path, record.digest), (base_path(path), record.base_digest)):
        if digest and digest_of(each, pace).hex() != digest and read_record(path) == record:
            raise _damaged(each, "it is not what was written")
    return True


def add_checksum(layout: ProjectLayout, epoch: str, pace: Pace) -> None:
    """Adds the checksum of facts that were too large to compute it when they were written.

    Does nothing if they are written meanwhile. Raises OSError if they cannot be read.
    """
    path = layout.facts(epoch)
    record = read_record(path)
    if record is None or record.is_changing or record.digest or not record.has_stamp(facts_stamp(path)):
        return
    digest = digest_of(path, pace).hex()
    with suppress(LockHeld, PermissionDenied, OSError), writer_lock(layout, f"checksum pid {os.getpid()}"):
        if read_record(path) == record and record.has_stamp(facts_stamp(path)):
            write_record(path, msgspec.structs.replace(record, digest=digest))


def verify_text_file(directory: Path, file: TextFile, pace: Pace) -> None:
    """Reads a file of a text index completely.

    Raises IndexDamaged if it is not as it was written; does not raise if its generation is gone.
    """
    path = directory / file.name
    try:
        is_same = digest_of(path, pace) == file.digest
    except FileNotFoundError:
        is_same = False
    if not is_same and directory.exists():
        raise _damaged(path, "it is not what was written")


def _stamp_or_none(path: Path | str) -> Stamp:
    """Returns the stamp of a file, empty if the file is missing. Raises OSError if that cannot be known."""
    try:
        return stamp_of(os.stat(path))
    except FileNotFoundError:
        return ()


def _is_log_there(path: Path, record: FactsRecord) -> bool:
    if not record.log_bytes:
        return True
    try:
        return digest_of_log(path, record.log_bytes).hex() == record.log_digest
    except FileNotFoundError:
        return False


def _require_copy(path: Path, record: FactsRecord, stamp: Stamp) -> None:
    """Raises IndexDamaged unless facts with another stamp than the recorded one are the same: touched, copied or restored.

    Large ones may have no checksum yet. Then they must have the same size, and be consistent.
    """
    is_same = digest_of(path).hex() == record.digest if record.digest else stamp[:1] == record.stamp[:1]
    if not is_same:
        raise _damaged(path, "it is not what was written")
    if not record.digest:
        _require_consistent(path)


def _require_consistent(path: Path) -> None:
    try:
        with closing(connect_for_reading(path).connection) as connection:
            ((verdict,), *_) = connection.execute("PRAGMA quick_check(1)").fetchall()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        raise _damaged(path, str(error)) from error
    if verdict != "ok":
        raise _damaged(path, verdict)


def _damaged(path: Path | str, cause: str) -> IndexDamaged:
    return IndexDamaged(f"the index is damaged: {path}: {cause}. {REBUILD}", path=str(path))

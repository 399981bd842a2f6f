"""Whether the files of an index are what was written: checksums, and a stamp of each file to know when to compare them.

    facts.sum       beside facts.db: its stamp and its checksum; `is_changing` while the log is moved into it, and a checksum
                    of the log where only a part of that could be moved
    text_files      a table in the facts: stamp and checksum of each file of the generation's text index

A file whose stamp is the recorded one has not been written since; comparing all stamps takes microseconds. A file with another
stamp is read whole: if its checksum is the recorded one (it was touched or copied), the new stamp is accepted, otherwise the
index is damaged and is rebuilt. What a stamp cannot show (a disk that loses data) is found by reading everything, which `doctor`
does, and a server in the background.

Only a writer changes facts.db, and only by moving the log into it between two writes of facts.sum. The log has SQLite's own
checksums: if it is cut short, SQLite reads what was published before.
"""

import os
import sqlite3
import stat
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

import msgspec
from blake3 import blake3
from msgspec import Struct

from codecompass.errors import REBUILD, IndexDamaged, PermissionDenied
from codecompass.store.databases import connect_for_reading, log_path
from codecompass.store.layout import ProjectLayout, not_readable, replace_file
from codecompass.store.lock import LockHeld, is_locked, writer_lock
from codecompass.units import MIB, MILLISECONDS

BLOCK_BYTES: Final = 1 * MIB
DIGEST_BYTES: Final = 16

ALWAYS_SUMMED_BYTES: Final = 16 * MIB
"""The checksum of facts up to this size is computed whenever they change, in 10 ms; of larger ones in the background."""

LATELY_SECONDS: Final = 50 * MILLISECONDS
"""A question checks the files of the text index when it ends, and when it begins unless they were checked this recently."""

_STABLE_ATTEMPTS: Final = 10
"""How often facts and their record are read until they belong together, while a writer changes both."""

Stamp = tuple[int, ...]
"""What stat() says of a file: size, modification time and inode. Of the facts the change time too; in the text index that changes
with each hard link that a later generation makes."""

Pace = Callable[[int], None]
"""Called with the number of bytes of each block that was read; it may wait."""


class TextFile(Struct, frozen=True):
    """A file of the text index of one generation, as it was published."""

    name: str
    size: int
    mtime_ns: int
    inode: int
    digest: bytes

    @property
    def stamp(self) -> Stamp:
        """What stat() said of it when it was published."""
        return self.size, self.mtime_ns, self.inode


class _FactsRecord(Struct, frozen=True, kw_only=True):
    """The content of facts.sum. `digest` is empty where it has not been computed yet.

    The first `log_bytes` of the log, with the checksum `log_digest`, belong to the facts: only a part of them was moved.
    """

    stamp: Stamp
    digest: str
    is_changing: bool
    log_bytes: int = 0
    log_digest: str = ""


class _KnownFacts(Struct, frozen=True):
    """Facts that were found intact, with the stamps of the database, of its record, and of the log where it belongs to them."""

    epoch: str
    path: str
    stamp: Stamp
    record_path: str
    record: Stamp
    log: Stamp | None

    def is_as_it_was(self) -> bool:
        return (
            _facts_stamp(self.path) == self.stamp
            # The record is deleted when reading the whole index has found damage.
            and _stamp_or_none(self.record_path) == self.record
            and (self.log is None or _stamp_or_none(str(log_path(Path(self.path)))) == self.log)
        )


class IntactFacts:
    """Remembers the epoch and the stamp with which the facts were found intact. Shared by all readers in a process."""

    def __init__(self, layout: ProjectLayout) -> None:
        self._layout = layout
        self._known: _KnownFacts | None = None

    def require(self, epoch: str, *, is_writer: bool = False) -> None:
        """Raises IndexDamaged where the facts are not what was written. Costs three stat() calls where they are unchanged.

        `is_writer` says that the caller holds the writer lock. Raises FileNotFoundError where the epoch is gone.
        """
        known = self._known
        if known is not None and known.epoch == epoch and known.is_as_it_was():
            return
        path = self._layout.facts(epoch)
        for _ in range(_STABLE_ATTEMPTS):
            before = _read_record(path)
            stamp, log, of_record = _facts_stamp(path), _stamp_or_none(log_path(path)), _stamp_or_none(_record_path(path))
            record = _read_record(path)
            if record == before:
                break
        if record is None:
            if not path.parent.is_dir():
                raise FileNotFoundError(path)
            raise _damaged(path, "there is no valid record of its checksum")
        if record.is_changing:
            if not is_writer and is_locked(self._layout):
                return  # until it is moved, it is read from the log
            # A writer ended while it moved the log: the log still has everything.
            _require_consistent(path)
        elif record.stamp != stamp and not (record.digest and digest_of(path).hex() == record.digest):
            raise _damaged(path, "it is not what was written")
        elif not _is_log_there(path, record):
            raise _damaged(path, "a part of its log is not what was written")
        self._known = _KnownFacts(epoch, str(path), stamp, str(_record_path(path)), of_record, log if record.log_bytes else None)


class IntactText:
    """The files of one generation's text index, and the stamps with which they were found intact."""

    def __init__(self, directory: Path, files: Iterable[TextFile]) -> None:
        """Raises what `require` raises."""
        self._directory = directory
        self._files = tuple(files)
        self._stamps: dict[str, Stamp] = {f"{directory}/{file.name}": file.stamp for file in self._files}
        if not self._files:
            raise _damaged(directory, "there is no record of its checksums")
        self.require()

    def require(self) -> None:
        """Raises IndexDamaged where a file is not what was written. Costs a stat() call for each unchanged file.

        A generation that was replaced and deleted since is not damaged: its mapped files stay readable.
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
        """Does what `require` does, unless that was done within LATELY_SECONDS."""
        if time.monotonic() - self._required_at > LATELY_SECONDS:
            self.require()

    def _compare(self, path: str) -> None:
        file = next(file for file in self._files if file.name == path.rpartition("/")[2])
        try:
            stamp = text_stamp(os.stat(path))
            is_same = stamp[0] == file.size and digest_of(Path(path)) == file.digest
        except FileNotFoundError:
            return  # the next check decides what this means
        except OSError as error:
            raise not_readable(path, error) from error
        if not is_same:
            raise _damaged(path, "it is not what was written")
        self._stamps = {**self._stamps, path: stamp}


def record_facts(
    layout: ProjectLayout, epoch: str, *, is_changing: bool = False, is_summed: bool | None = None, needs_log: bool = False
) -> None:
    """Writes facts.sum: before and after the log is moved into the facts. The caller holds the writer lock.

    The checksum is computed where the facts are small, or as `is_summed` says. `needs_log` says that only a part of the log was
    moved. Raises OSError where nothing can be written.
    """
    path = layout.facts(epoch)
    stamp = _facts_stamp(path)
    if is_summed is None:
        is_summed = stamp[0] <= ALWAYS_SUMMED_BYTES
    digest = digest_of(path).hex() if is_summed and not is_changing else ""
    record = _FactsRecord(stamp=stamp, digest=digest, is_changing=is_changing)
    if needs_log:
        content = log_path(path).read_bytes()
        record = msgspec.structs.replace(record, log_bytes=len(content), log_digest=_digest(content).hex())
    replace_file(_record_path(path), _sealed(msgspec.json.encode(record)))


def is_recorded(layout: ProjectLayout, epoch: str) -> bool:
    """Returns whether facts.sum says that the facts are not being changed."""
    record = _read_record(layout.facts(epoch))
    return record is not None and not record.is_changing


def text_files(directory: Path, before: Mapping[str, TextFile]) -> tuple[TextFile, ...]:
    """Returns the files of a text index that was just committed. Those of `before` that are linked are not read again."""
    found = []
    for name in sorted(os.listdir(directory)):
        path = directory / name
        status = path.stat()
        if name.endswith(".lock") or not stat.S_ISREG(status.st_mode):
            continue
        known = before.get(name)
        is_known = known is not None and known.stamp == text_stamp(status)
        digest = known.digest if known is not None and is_known else digest_of(path)
        found.append(TextFile(name, *text_stamp(status), digest))
    return tuple(found)


def digest_of(path: Path, pace: Pace | None = None) -> bytes:
    """Returns the checksum of a file's content. Raises OSError."""
    digest = blake3()
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
            if pace is not None:
                pace(len(block))
    return digest.digest(DIGEST_BYTES)


def verify_facts(layout: ProjectLayout, epoch: str, pace: Pace) -> bool:
    """Reads the facts whole. True where their checksum was compared, False where there is none (yet).

    Raises IndexDamaged where they are not what was written, OSError where they cannot be read.
    """
    path = layout.facts(epoch)
    record = _read_record(path)
    if record is None:
        raise _damaged(path, "there is no valid record of its checksum")
    if record.is_changing or not record.digest:
        if not is_locked(layout):
            _require_consistent(path)
        return False
    if digest_of(path, pace).hex() != record.digest and _read_record(path) == record:
        raise _damaged(path, "it is not what was written")
    return True


def add_checksum(layout: ProjectLayout, epoch: str, pace: Pace) -> None:
    """Computes the checksum of facts that were too large for it when they were written.

    Does nothing where they are written meanwhile. Raises OSError where they cannot be read.
    """
    path = layout.facts(epoch)
    record = _read_record(path)
    if record is None or record.is_changing or record.digest or record.stamp != _facts_stamp(path):
        return
    digest = digest_of(path, pace).hex()
    with suppress(LockHeld, PermissionDenied, OSError), writer_lock(layout, f"checksum pid {os.getpid()}"):
        if _read_record(path) == record and record.stamp == _facts_stamp(path):
            record = msgspec.structs.replace(record, digest=digest)
            replace_file(_record_path(path), _sealed(msgspec.json.encode(record)))


def verify_text_file(directory: Path, file: TextFile, pace: Pace) -> None:
    """Reads a file of a text index whole.

    Raises IndexDamaged where it is not what was written; nothing where its generation is gone.
    """
    path = directory / file.name
    try:
        is_same = digest_of(path, pace) == file.digest
    except FileNotFoundError:
        is_same = False
    if not is_same and directory.exists():
        raise _damaged(path, "it is not what was written")


def break_record(layout: ProjectLayout, epoch: str) -> None:
    """Makes every process that reads this epoch see it as damaged. Raises OSError where nothing can be written."""
    _record_path(layout.facts(epoch)).unlink(missing_ok=True)


def text_stamp(status: os.stat_result) -> tuple[int, int, int]:
    """Returns the stamp of a file of the text index."""
    return status.st_size, status.st_mtime_ns, status.st_ino


def _facts_stamp(path: Path | str) -> Stamp:
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def _stamp_or_none(path: Path | str) -> Stamp:
    """The stamp of a file, an empty one where there is no file."""
    try:
        return text_stamp(os.stat(path))
    except OSError:
        return ()


def _is_log_there(path: Path, record: _FactsRecord) -> bool:
    if not record.log_bytes:
        return True
    try:
        with log_path(path).open("rb") as file:
            return _digest(file.read(record.log_bytes)).hex() == record.log_digest
    except FileNotFoundError:
        return False


def _record_path(facts: Path) -> Path:
    return facts.with_name("facts.sum")


def _read_record(facts: Path) -> _FactsRecord | None:
    """The record of the facts, None where there is none or its own checksum is wrong."""
    try:
        sealed = _record_path(facts).read_bytes()
    except FileNotFoundError:
        return None
    content = sealed[:-DIGEST_BYTES]
    if _sealed(content) != sealed:
        return None
    try:
        return msgspec.json.decode(content, type=_FactsRecord)
    except msgspec.DecodeError:
        return None


def _sealed(content: bytes) -> bytes:
    return content + _digest(content)


def _digest(content: bytes) -> bytes:
    return blake3(content).digest(DIGEST_BYTES)


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

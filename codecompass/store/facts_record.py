"""The file facts.sum beside the facts of an epoch, and moving SQLite's log into the facts, which changes it.

    facts.sum       stamp and checksum of facts.db after the last write; `is_changing` while the log is moved into it; a checksum
                    of the log if only a part of that could be moved; `is_shared` once other epochs have links to facts.db,
                    which is then never written again; stamp and checksum of base.db if the facts are an overlay (`overlay.py`)

Only the holder of the writer lock writes it; `integrity.py` compares it with the files. The log is only moved between two writes
of facts.sum: SQLite would do it automatically when the last writable connection is closed, and the checksum would be wrong.
"""

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import msgspec
from blake3 import blake3
from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.store.databases import BUSY_TIMEOUT_SECONDS, base_path, connect, log_path, log_size
from codecompass.store.layout import ProjectLayout, replace_file
from codecompass.store.overlay import connect_to_facts
from codecompass.units import MIB

BLOCK_BYTES: Final = 1 * MIB
DIGEST_BYTES: Final = 16

ALWAYS_SUMMED_BYTES: Final = 16 * MIB
"""The checksum of facts up to this size is computed whenever they change, in 10 ms; that of larger ones in the background."""

SETTLE_PATIENCE_MS: Final = 200
"""How long to wait for readers that still read an earlier generation from the log."""

Stamp = tuple[int, ...]
"""The stat() result of a file: size, modification time and inode. For facts that are not shared also the change time, which
changes with each new hard link."""

Pace = Callable[[int], None]
"""Called with the number of bytes of each block that was read; may wait to limit the rate."""


class FactsRecord(Struct, frozen=True, kw_only=True):
    """The content of facts.sum."""

    stamp: Stamp
    digest: str
    """Empty if it has not been computed yet."""
    is_changing: bool
    is_shared: bool = False
    log_bytes: int = 0
    """The first bytes of the log that belong to the facts, because only a part of the log was moved."""
    log_digest: str = ""
    base: Stamp = ()
    """The stamp of base.db, empty if there is none."""
    base_digest: str = ""

    def has_stamp(self, stamp: Stamp) -> bool:
        """Whether the facts have the recorded stamp; `stamp` is what `facts_stamp` returns."""
        return self.stamp == (_without_change_time(stamp) if self.is_shared else stamp)


class SharedFile(Struct, frozen=True):
    """The stamp and checksum of a base at the time when it was shared."""

    stamp: Stamp
    digest: str


def record_facts(
    layout: ProjectLayout,
    epoch: str,
    *,
    is_changing: bool = False,
    is_summed: bool | None = None,
    needs_log: bool = False,
    base: SharedFile | None = None,
) -> None:
    """Writes facts.sum, before and after the log is moved into the facts. The caller holds the writer lock.

    The checksum is computed as `is_summed` says; None computes it only for small facts. `needs_log` says that only a part of the
    log was moved. A `base` of None keeps what is recorded of base.db. Raises OSError if the file cannot be written.
    """
    path = layout.facts(epoch)
    stamp = facts_stamp(path)
    if is_summed is None:
        is_summed = stamp[0] <= ALWAYS_SUMMED_BYTES
    digest = digest_of(path).hex() if is_summed and not is_changing else ""
    if base is None:
        before = read_record(path)
        base = SharedFile((), "") if before is None else SharedFile(before.base, before.base_digest)
    record = FactsRecord(stamp=stamp, digest=digest, is_changing=is_changing, base=base.stamp, base_digest=base.digest)
    if needs_log:
        n_bytes = log_size(path)
        record = msgspec.structs.replace(record, log_bytes=n_bytes, log_digest=digest_of_log(path, n_bytes).hex())
    write_record(path, record)


def record_as_shared(path: Path, record: FactsRecord) -> FactsRecord:
    """Records that facts will have other links from now on, with their checksum; returns the new record.

    `record` is the current record, and there must be no log. The caller holds the writer lock. Raises OSError.
    """
    digest = record.digest or digest_of(path).hex()
    shared = msgspec.structs.replace(record, stamp=_without_change_time(facts_stamp(path)), digest=digest, is_shared=True)
    write_record(path, shared)
    return shared


def settle(connection: sqlite3.Connection, layout: ProjectLayout, epoch: str, *, least_bytes: int = 1) -> None:
    """Moves the log into the facts if it has `least_bytes`, and records their new checksum. Never raises: the log can stay.

    If readers still need a part of the log, its checksum is recorded too. A crash leaves a record that says that the facts are
    changing; the next writer continues from there.
    """
    facts = layout.facts(epoch)
    try:
        is_settled = log_size(facts) < least_bytes
        if is_settled and (least_bytes > 1 or is_recorded(layout, epoch)):
            return
        record_facts(layout, epoch, is_changing=True)
        connection.execute(f"PRAGMA busy_timeout = {SETTLE_PATIENCE_MS}")
        ((_, n_frames, n_moved),) = connection.execute("PRAGMA main.wal_checkpoint(TRUNCATE)").fetchall()
        record_facts(layout, epoch, needs_log=n_moved < n_frames)
    except (OSError, sqlite3.Error):
        pass
    finally:
        with suppress(sqlite3.Error):
            connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_SECONDS * 1000)}")


@contextmanager
def closing_unmoved(connection: sqlite3.Connection, layout: ProjectLayout, epoch: str) -> Iterator[None]:
    """Closes the connection at the end so that SQLite does not move the log into the facts.

    An open reading connection prevents that.
    """
    with closing(connection), ExitStack() as stack:
        yield
        if log_size(layout.facts(epoch)):
            with suppress(sqlite3.Error, CodeCompassError):
                reader = connect_to_facts(layout.facts(epoch)).connection
                stack.enter_context(closing(reader))
                connection.close()


def settle_unwritten(layout: ProjectLayout, epoch: str) -> bool:
    """Moves a log that an earlier writer could not move. Returns whether the facts now have no log and a valid record.

    Raises sqlite3.Error or OSError.
    """
    if log_size(layout.facts(epoch)) or not is_recorded(layout, epoch):
        connection = connect(layout.facts(epoch), mode="rw")
        with closing_unmoved(connection, layout, epoch):
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            settle(connection, layout, epoch)
    return not log_size(layout.facts(epoch)) and is_recorded(layout, epoch)


def is_recorded(layout: ProjectLayout, epoch: str) -> bool:
    """Returns whether facts.sum says that the facts are not being changed."""
    record = read_record(layout.facts(epoch))
    return record is not None and not record.is_changing


def is_shared(layout: ProjectLayout, epoch: str) -> bool:
    """Returns whether the facts of an epoch must not be written any more: they have other links, or may be getting one."""
    path = layout.facts(epoch)
    record = read_record(path)
    return os.stat(path).st_nlink > 1 or (record is not None and record.is_shared)


def break_record(layout: ProjectLayout, epoch: str) -> None:
    """Deletes facts.sum, so that every reader of this epoch sees it as damaged. Raises OSError if it cannot be deleted."""
    record_path(layout.facts(epoch)).unlink(missing_ok=True)


def record_path(facts: Path) -> Path:
    """Returns the path of facts.sum."""
    return facts.with_name("facts.sum")


def read_record(facts: Path) -> FactsRecord | None:
    """Returns the record of facts, None if the file is missing or its own checksum is wrong."""
    try:
        sealed = record_path(facts).read_bytes()
    except FileNotFoundError:
        return None
    content = sealed[:-DIGEST_BYTES]
    if _sealed(content) != sealed:
        return None
    try:
        return msgspec.json.decode(content, type=FactsRecord)
    except msgspec.DecodeError:
        return None


def write_record(facts: Path, record: FactsRecord) -> None:
    """Replaces the record of facts. Raises OSError."""
    replace_file(record_path(facts), _sealed(msgspec.json.encode(record)))


def facts_stamp(path: Path | str) -> Stamp:
    """Returns the stamp of facts that are not shared. Raises OSError."""
    status = os.stat(path)
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino


def stamp_of(status: os.stat_result) -> tuple[int, int, int]:
    """Returns the stamp of a file that may have several links: a file of the text index, or a base."""
    return status.st_size, status.st_mtime_ns, status.st_ino


def base_stamp(facts: Path | str) -> Stamp:
    """Returns the stamp of the base of facts, empty if there is none. Raises OSError if that cannot be known."""
    try:
        return stamp_of(os.stat(base_path(Path(facts))))
    except FileNotFoundError:
        return ()


def digest_of_log(facts: Path, n_bytes: int) -> bytes:
    """Returns the checksum of the first `n_bytes` of the log of facts. Raises OSError."""
    digest = blake3()
    with log_path(facts).open("rb", buffering=0) as file:
        while n_bytes > 0 and (block := file.read(min(BLOCK_BYTES, n_bytes))):
            digest.update(block)
            n_bytes -= len(block)
    return digest.digest(DIGEST_BYTES)


def digest_of(path: Path, pace: Pace | None = None) -> bytes:
    """Returns the checksum of a file's content. Raises OSError."""
    digest = blake3()
    with path.open("rb", buffering=0) as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
            if pace is not None:
                pace(len(block))
    return digest.digest(DIGEST_BYTES)


def _short_digest(content: bytes) -> bytes:
    """Returns the checksum of `content`."""
    return blake3(content).digest(DIGEST_BYTES)


def _without_change_time(stamp: Stamp) -> Stamp:
    size, mtime_ns, _, inode = stamp
    return size, mtime_ns, inode


def _sealed(content: bytes) -> bytes:
    return content + _short_digest(content)

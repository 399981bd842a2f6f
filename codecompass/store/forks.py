"""Begins an epoch as a fork of another one, of the same project or of another project of the same home.

Only the tables of files are copied: facts.db of the source becomes base.db of the fork (`overlay.py`) through a hard link, and
the segments of its text index are linked too. From then on that facts.db is never written: a writer whose own facts are shared
makes a fork of them. So neither project can change or damage what the other reads, and either can be removed.

Facts must have no log when they are linked, which only the holder of the source's writer lock can ensure; the lock is held for
the milliseconds that this takes, once in the life of a source. Meanwhile the readers' lock keeps the source from being removed.
"""

import errno
import os
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.store.databases import base_path, connect, database_uri, is_refusal, log_size
from codecompass.store.facts import FactsReader
from codecompass.store.facts_record import (
    SharedFile,
    base_stamp,
    is_shared,
    read_record,
    record_as_shared,
    settle_unwritten,
)
from codecompass.store.integrity import IntactFacts, IntactText, add_checksum
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import FORK, LockHeld, lock_for_reading, writer_lock
from codecompass.store.overlay import HAS_BASE, SHARED_TABLES, attach_base, copy_merged
from codecompass.store.schema import FACTS_TABLES, MANIFEST_INDEXES, SYMBOL_INDEXES
from codecompass.store.snapshot import IndexMeta, read_meta
from codecompass.store.text_writer import link_segments
from codecompass.units import MILLISECONDS, SECONDS

SOURCE_PATIENCE_SECONDS: Final = 10 * SECONDS
"""How long a fork waits for a job that writes the source. A job of a few files takes a tenth of a second."""

SOURCE_PAUSE_SECONDS: Final = 5 * MILLISECONDS

OVERGROWN_SHARE: Final = 0.5
"""A fork of an overlay is merged with its base if the overlay has this share of the base's size: the base then saves less than
its hidden rows cost."""

OUTGROWN_SHARE: Final = 1.0
"""With this share of its base's size, an overlay is forked and merged with its base even if nothing else requires it."""

OVERGROWN_LEAST_BYTES: Final = 1 << 20
"""A smaller overlay is never merged."""

_NO_LINKS: Final = frozenset({errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS})

_OWN_TABLES: Final = ("files", "module_roots", "text_files", "quarantine", "unread_uses", "meta")
"""Tables that every epoch holds completely."""


class ForkSource(Struct, frozen=True):
    """An epoch that can be forked."""

    layout: ProjectLayout
    epoch: str


class NotForkable(Exception):
    """The source is gone, damaged, incomplete, or was busy for too long. The text is for logs."""


def must_fork(layout: ProjectLayout, epoch: str) -> bool:
    """Returns whether a writer has to fork this epoch instead of continuing it, because its facts are shared or have outgrown
    their base.

    The caller holds the writer lock. Raises OSError.
    """
    facts = layout.facts(epoch)
    # The size of the facts is only known once the log has been moved into them.
    return is_shared(layout, epoch) or (not log_size(facts) and _is_overgrown(facts, OUTGROWN_SHARE))


def fork(
    layout: ProjectLayout, epoch: str, source: ForkSource, generation: int, checkpoint: Callable[[], None]
) -> tuple[sqlite3.Connection, IndexMeta, SharedFile | None]:
    """Fills the empty directory of a new epoch with a fork of `source`; returns a connection, its description and its base.

    The text index of the source is linked as that of `generation`, which is also set in the description. The base is None if the
    source was merged with its own. The tables are complete, with their indexes, but not durable yet. The caller holds the writer
    lock of `layout`. `checkpoint` is called while another process writes the source, and may raise.

    Raises NotForkable, and sqlite3.Error or OSError if the new epoch cannot be written.
    """
    is_own = source.layout.root == layout.root
    with _kept(source, is_own=is_own):
        try:
            facts = layout.facts(epoch)
            if base_stamp(source.layout.facts(source.epoch)):
                base = _link_base_of_overlay(source, facts)
            else:
                base = _link_facts(source, facts, checkpoint, is_own=is_own)
            return _filled(source, base, layout, epoch, generation)
        except (CodeCompassError, LockHeld, FileNotFoundError) as error:
            raise NotForkable(str(error)) from error
        except sqlite3.DatabaseError as error:
            if is_refusal(error):
                raise
            raise NotForkable(str(error)) from error


@contextmanager
def _kept(source: ForkSource, *, is_own: bool) -> Iterator[None]:
    """Keeps the source from being removed for the duration."""
    if is_own:
        yield
        return
    if not source.layout.current.exists():
        raise NotForkable("the source is gone")
    try:
        descriptor = lock_for_reading(source.layout)
    except LockHeld as error:
        raise NotForkable("the source is being removed") from error
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)


def _link_base_of_overlay(source: ForkSource, facts: Path) -> SharedFile:
    IntactFacts(source.layout).require(source.epoch)
    record = read_record(source.layout.facts(source.epoch))
    if record is None:
        raise NotForkable("the source has no record of its checksums")
    _link(base_path(source.layout.facts(source.epoch)), base_path(facts))
    return _shared(facts, record.base_digest)


def _link_facts(source: ForkSource, facts: Path, checkpoint: Callable[[], None], *, is_own: bool) -> SharedFile:
    """Links facts that are not an overlay. The first time, moves their log into them and records them as shared."""
    original = source.layout.facts(source.epoch)
    record = read_record(original)
    if record is None or not record.is_shared:
        if not is_own:
            # Done before the lock is taken: reading the whole file takes a tenth of a second.
            add_checksum(source.layout, source.epoch, pace=lambda _n_bytes: None)
        with nullcontext() if is_own else _patient_writer_lock(source.layout, checkpoint):
            IntactFacts(source.layout).require(source.epoch, is_writer=True)
            if not settle_unwritten(source.layout, source.epoch):
                raise NotForkable("readers still need the log of the source")
            record = read_record(original)
            if record is None:
                raise NotForkable("the source has no record of its checksums")
            if not record.is_shared:
                record = record_as_shared(original, record)
    else:
        IntactFacts(source.layout).require(source.epoch, is_writer=is_own)
    _link(original, base_path(facts))
    return _shared(facts, record.digest)


def _shared(facts: Path, digest: str) -> SharedFile:
    return SharedFile(base_stamp(facts), digest)


@contextmanager
def _patient_writer_lock(layout: ProjectLayout, checkpoint: Callable[[], None]) -> Iterator[None]:
    ends = time.monotonic() + SOURCE_PATIENCE_SECONDS
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(writer_lock(layout, f"{FORK} pid {os.getpid()}"))
                break
            except LockHeld:
                if time.monotonic() > ends:
                    raise
                checkpoint()
                time.sleep(SOURCE_PAUSE_SECONDS)
        yield


def _filled(
    source: ForkSource, base: SharedFile, layout: ProjectLayout, epoch: str, generation: int
) -> tuple[sqlite3.Connection, IndexMeta, SharedFile | None]:
    original, facts = source.layout.facts(source.epoch), layout.facts(epoch)
    connection = connect(facts, mode="rwc")
    try:
        connection.execute("PRAGMA main.journal_mode = OFF")
        connection.execute("PRAGMA main.synchronous = OFF")
        connection.executescript(FACTS_TABLES)
        is_overlay = bool(base_stamp(original))
        is_merged = is_overlay and _is_overgrown(original, OVERGROWN_SHARE)
        if is_overlay:
            _copy_overlay(connection, original, base_path(facts) if is_merged else None)
        if is_merged:
            base_path(facts).unlink()
        else:
            connection.execute(f"PRAGMA main.user_version = {HAS_BASE}")
            attach_base(connection, facts)
            if not is_overlay:
                _copy(connection, "base", _OWN_TABLES)
        facts_reader = FactsReader(connection)
        meta = _complete(read_meta(facts_reader))
        text = layout.text(epoch, generation)
        text.mkdir(parents=True)
        link_segments(source.layout.text(source.epoch, meta.generation), text)
        IntactText(text, facts_reader.text_files())
        for statement in (*MANIFEST_INDEXES, *SYMBOL_INDEXES):
            connection.execute(statement)
    except BaseException:
        connection.close()
        raise
    return connection, msgspec.structs.replace(meta, generation=generation), None if is_merged else base


def _complete(meta: IndexMeta) -> IndexMeta:
    if meta.completeness != "complete":
        raise NotForkable("the source is not complete")
    return meta


def _copy_overlay(connection: sqlite3.Connection, original: Path, merged_with: Path | None) -> None:
    """Copies the tables of an overlay, merged with the rows of its base if that is given."""
    connection.execute("ATTACH ? AS source", (database_uri(original, mode="ro"),))
    if merged_with is not None:
        connection.execute("ATTACH ? AS base", (database_uri(merged_with, mode="ro", immutable=True),))
    # The overlay may be written meanwhile: a transaction sees only one generation of it.
    connection.execute("BEGIN")
    _copy(connection, "source", _OWN_TABLES)
    if merged_with is None:
        _copy(connection, "source", (*SHARED_TABLES, "hidden_files"))
    else:
        copy_merged(connection, own="source", base="base")
    connection.execute("COMMIT")
    connection.execute("DETACH source")
    if merged_with is not None:
        connection.execute("DETACH base")


def _copy(connection: sqlite3.Connection, origin: str, tables: Sequence[str]) -> None:
    for table in tables:
        connection.execute(f"INSERT INTO main.{table} SELECT * FROM {origin}.{table}")


def _is_overgrown(facts: Path, share: float) -> bool:
    base = base_stamp(facts)
    return bool(base) and facts.stat().st_size > max(OVERGROWN_LEAST_BYTES, share * base[0])


def _link(original: Path, target: Path) -> None:
    """Links a file, or copies it if the file system does not support links or allows no more links to this file."""
    try:
        os.link(original, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        shutil.copyfile(original, target)

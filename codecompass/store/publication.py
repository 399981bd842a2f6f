"""The epoch that is being written: its transaction, its text generation, and the publication of both at once.

Readers see nothing before `publish`: the text index of the generation is built in its own directory, and one SQLite commit, which
names that directory, makes readers open it. A fresh build does the same in a new epoch and then replaces CURRENT. After a crash
at any moment readers see the last publication, and the next writer removes the unfinished files.

    fresh:       tables without indexes, no journal -> indexes -> commit -> WAL -> fsync -> CURRENT -> old epochs removed
    forked:      links to another epoch, no journal -> the same from here on
    incremental: WAL transaction -> text commit -> commit -> old text generations removed
"""

import errno
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Final, Literal

import msgspec

from codecompass.errors import REBUILD, IndexDamaged
from codecompass.store.databases import connect, is_refusal, refusal
from codecompass.store.epochs import may_be_current, next_epoch, park, require_compatible, write_current
from codecompass.store.facts import FactsReader
from codecompass.store.facts_record import SharedFile, closing_unmoved, record_facts, settle
from codecompass.store.forks import ForkSource, fork, must_fork
from codecompass.store.housekeeping import sweep
from codecompass.store.index import inspect_index
from codecompass.store.integrity import IntactFacts, IntactText, text_files
from codecompass.store.layout import ProjectLayout, discard, make_private_directory, not_writable, sync_directory
from codecompass.store.overlay import attach_base
from codecompass.store.rows import TextFile
from codecompass.store.schema import FACTS_TABLES, MANIFEST_INDEXES, SYMBOL_INDEXES
from codecompass.store.snapshot import IndexMeta, read_meta
from codecompass.store.text_writer import TextWriter
from codecompass.units import MIB

LARGE_LOG_BYTES: Final = 4 * MIB
"""A log of this size is moved into the facts after a publication, without waiting for the writer to end."""

Step = Literal["fork", "commit", "publication", "clean_up"]
"""What a writer is about to do: fork another epoch, make both stores durable, make them visible, remove what they replace."""


class EpochWriter:
    """Writes one epoch, for the holder of the writer lock. Not thread-safe. Call `abandon` at the end."""

    def __init__(
        self,
        layout: ProjectLayout,
        *,
        fresh: bool,
        source: ForkSource | None = None,
        parks: bool = False,
        on_step: Callable[[Step], None] | None = None,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> None:
        """Begins a new epoch beside the current one if `fresh`, as a fork if there is a `source`; otherwise continues the current
        one, in a fork of it if its facts are shared. With `parks`, the epoch that a new one replaces is parked (`epochs.py`).

        Raises IndexDamaged, NotForkable, and the errors that `write_guard` turns into PermissionDenied or IndexDamaged.
        """
        self._layout = layout
        self._on_step = on_step or (lambda _step: None)
        self._text: TextWriter | None = None
        self._text_files: Mapping[str, TextFile] = {}
        self._documents = 0
        self.in_transaction = False
        self.rows_written = 0
        self._base: SharedFile | None = None
        self._parks = parks
        self.is_change = fresh
        """Whether publishing this epoch is a change even if nothing is written."""
        if not fresh:
            self._name = require_compatible(layout).epoch
            IntactFacts(layout).require(self._name, is_writer=True)
            if must_fork(layout, self._name):
                source = ForkSource(layout, self._name)
        self.is_new = fresh or source is not None
        """Whether readers cannot see this epoch yet."""
        if self.is_new:
            self._name = next_epoch(layout)
            make_private_directory(layout.facts(self._name).parent)
        self.meta: IndexMeta
        """The last published description, or an empty one in a new epoch; its counts include what is not published yet."""
        if source is not None:
            self.connection = self._fork(source, checkpoint)
        else:
            self.connection = connect(layout.facts(self._name), mode="rwc" if fresh else "rw")
        try:
            # Only `settle` moves the log into the facts, never SQLite automatically.
            self.connection.execute("PRAGMA wal_autocheckpoint = 0")
            if source is None:
                self.meta = self._begin_epoch() if fresh else self._continue_epoch()
            self._has_text = source is not None or not fresh
        except BaseException:
            self.connection.close()
            raise

    @property
    def documents_written(self) -> int:
        """The number of documents written to the text index, published or not."""
        return self._documents + (0 if self._text is None else self._text.documents_written)

    def begin(self) -> None:
        """Begins a transaction if there is none."""
        if not self.in_transaction:
            self.connection.execute("BEGIN IMMEDIATE")
            self.in_transaction = True

    def execute(self, statement: str, arguments: tuple[object, ...]) -> None:
        """Writes one row."""
        self.connection.execute(statement, arguments)
        self.rows_written += 1

    def execute_many(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        """Writes rows."""
        if rows:
            self.connection.executemany(statement, rows)
            self.rows_written += len(rows)

    def text(self) -> TextWriter:
        """Returns the writer of the next text generation, which starts from the previous one."""
        if self._text is None:
            generation = self.meta.generation + 1
            previous = None
            if self._has_text:
                previous = self._layout.text(self._name, self.meta.generation)
            self._has_text = True
            self._text = TextWriter(self._layout.text(self._name, generation), previous)
        return self._text

    def count(self, *, files: int = 0, symbols: int = 0, size: int = 0) -> None:
        """Adds to the counts of the description; `size` is in bytes of source."""
        self.meta = msgspec.structs.replace(
            self.meta,
            file_count=self.meta.file_count + files,
            symbol_count=self.meta.symbol_count + symbols,
            source_bytes=self.meta.source_bytes + size,
        )

    def publish(
        self, *, completeness: Literal["partial", "complete"], ref: str, commit: str, rules_fingerprint: str, now: float | None
    ) -> None:
        """Makes everything written so far durable and visible. Called inside a transaction and inside `write_guard`."""
        if self.is_new:
            self.text()
        meta = msgspec.structs.replace(
            self.meta,
            generation=self.meta.generation + (1 if self._text is not None else 0),
            completeness=completeness,
            ref=ref,
            commit=commit,
            published_at=time.time() if now is None else now,
            rules_fingerprint=rules_fingerprint,
        )
        self._on_step("commit")
        if self._text is not None:
            self._text.commit()
            self._documents += self._text.documents_written
            self._text = None
            directory = self._layout.text(self._name, meta.generation)
            sync_directory(directory.parent)
            self._write_text_files(text_files(directory, self._text_files))
        for statement in MANIFEST_INDEXES:
            self.connection.execute(statement)
        if meta.symbol_count or meta.completeness == "complete":
            for statement in SYMBOL_INDEXES:
                self.connection.execute(statement)
        self.connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", _meta_rows(meta))
        if not self.is_new:
            self._on_step("publication")
        self.connection.execute("COMMIT")
        self.in_transaction = False
        if self.is_new:
            self._publish_epoch()
        self.meta = meta

    def clean_up(self) -> None:
        """Removes what the publication replaced. The next writer deletes what cannot be deleted now."""
        self._on_step("clean_up")
        settle(self.connection, self._layout, self._name, least_bytes=LARGE_LOG_BYTES)
        with suppress(OSError):
            sweep(self._layout, self._name, self.meta.generation)

    def abandon(self) -> None:
        """Drops what was not published and closes everything. Also the normal end of a writer."""
        with closing(self.connection) if self.is_new else closing_unmoved(self.connection, self._layout, self._name):
            if self._text is not None:
                self._text.abandon()
                self._text = None
            if self.in_transaction:
                with suppress(sqlite3.Error):  # without a journal a rollback fails; the epoch is deleted anyway
                    self.connection.rollback()
            if not self.is_new:
                settle(self.connection, self._layout, self._name)
        # Readers use the new epoch if CURRENT was replaced and only making that durable failed.
        if self.is_new and not may_be_current(self._layout, self._name):
            directory = self._layout.epochs / self._name
            if directory.exists():
                discard(self._layout, directory)

    def _fork(self, source: ForkSource, checkpoint: Callable[[], None]) -> sqlite3.Connection:
        """Makes the new epoch a fork of `source` and sets its description."""
        generation = _last_generation(self._layout)
        self._on_step("fork")
        try:
            connection, self.meta, self._base = fork(self._layout, self._name, source, generation, checkpoint)
            self._text_files = {file.name: file for file in FactsReader(connection).text_files()}
        except BaseException:
            with suppress(OSError):
                discard(self._layout, self._layout.epochs / self._name)
            raise
        return connection

    def _begin_epoch(self) -> IndexMeta:
        """Creates the tables of a new epoch and returns its empty description."""
        self.connection.execute("PRAGMA journal_mode = OFF")
        self.connection.execute("PRAGMA synchronous = OFF")
        self.connection.executescript(FACTS_TABLES)
        return IndexMeta(
            generation=_last_generation(self._layout),
            completeness="partial",
            ref="",
            commit="",
            published_at=0.0,
            file_count=0,
            symbol_count=0,
            source_bytes=0,
            rules_fingerprint="",
        )

    def _continue_epoch(self) -> IndexMeta:
        """Returns the description of the current epoch, and removes what an earlier writer left unpublished in it."""
        attach_base(self.connection, self._layout.facts(self._name))
        self.connection.execute("PRAGMA main.synchronous = FULL")
        facts = FactsReader(self.connection)
        meta = read_meta(facts)
        self._text_files = {file.name: file for file in facts.text_files()}
        IntactText(self._layout.text(self._name, meta.generation), self._text_files.values())
        sweep(self._layout, self._name, meta.generation)
        return meta

    def _write_text_files(self, files: Sequence[TextFile]) -> None:
        self.connection.execute("DELETE FROM text_files")
        self.connection.executemany(
            "INSERT INTO text_files VALUES (?, ?, ?, ?, ?)",
            [(file.name, file.size, file.mtime_ns, file.inode, file.digest) for file in files],
        )
        self._text_files = {file.name: file for file in files}

    def _publish_epoch(self) -> None:
        self.connection.execute("PRAGMA main.synchronous = FULL")
        ((mode,),) = self.connection.execute("PRAGMA main.journal_mode = WAL").fetchall()
        if mode != "wal":
            # SQLite does not raise an error if a write fails here. Without a log the next writer would change the facts in place.
            raise OSError(errno.EIO, "the facts cannot be given a log")
        facts = self._layout.facts(self._name)
        with facts.open("rb") as file:
            os.fsync(file.fileno())
        record_facts(self._layout, self._name, is_summed=True, base=self._base)
        for directory in (facts.parent, self._layout.epochs, self._layout.root):
            sync_directory(directory)
        self._on_step("publication")
        if self._parks:
            self._park_current()
        write_current(self._layout, self._name)
        self.is_new = False

    def _park_current(self) -> None:
        replaced = inspect_index(self._layout)
        current, meta = replaced.found.current, replaced.meta
        if current is not None and meta is not None and meta.completeness == "complete":
            park(self._layout, current.epoch, meta.commit)


@contextmanager
def write_guard(layout: ProjectLayout) -> Iterator[None]:
    """Turns refusals of the system into PermissionDenied and errors of a damaged database into IndexDamaged."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise not_writable(layout.root, refusal(error, layout.root) if is_refusal(error) else OSError(0, str(error))) from error
    except sqlite3.DatabaseError as error:
        raise IndexDamaged(f"the index cannot be read ({error}). {REBUILD}") from error
    except OSError as error:
        raise not_writable(layout.root, error) from error


def _last_generation(layout: ProjectLayout) -> int:
    """Returns the number of the current generation, which a new epoch continues; 0 if it cannot be read."""
    meta = inspect_index(layout).meta
    return 0 if meta is None else meta.generation


def _meta_rows(meta: IndexMeta) -> list[tuple[str, str]]:
    return [(name, str(getattr(meta, name))) for name in meta.__struct_fields__]

"""Writes an index: rows and documents in, whole generations out.

A writer holds the project's writer lock (its caller took it) and is the only one to change anything below the project's
directory. Nothing it writes is seen before `publish`, which moves both stores at once: the text index of the generation is
made in its own directory, and one SQLite commit, which names that directory, makes it the one that readers open. A fresh
build does the same in a new epoch and then moves CURRENT. A crash at any moment leaves the last publication; what it had
begun is swept by the next writer.

    fresh:       tables without indexes, no journal -> indexes -> commit -> WAL -> fsync -> CURRENT -> old epochs removed
    incremental: WAL transaction -> text commit -> commit -> old text generations removed
"""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Final, Literal

import msgspec
from msgspec import Struct

from codecompass.errors import REBUILD, CodeCompassError, IndexDamaged
from codecompass.imports import path_tails
from codecompass.languages.records import Symbol
from codecompass.languages.words import split_identifier
from codecompass.scan.path_roles import PathReader
from codecompass.scan.walk import SkippedFile
from codecompass.store.databases import BUSY_TIMEOUT_SECONDS, connect, is_refusal, log_size, refusal
from codecompass.store.edges import ImportEdges
from codecompass.store.epochs import next_epoch, require_compatible, write_current
from codecompass.store.facts import FactsReader
from codecompass.store.housekeeping import sweep
from codecompass.store.index import IndexMeta, connect_to_facts, read_meta
from codecompass.store.integrity import IntactFacts, IntactText, TextFile, is_recorded, record_facts, text_files
from codecompass.store.layout import (
    ProjectLayout,
    discard,
    make_private_directory,
    not_writable,
    sync_directory,
)
from codecompass.store.manifest import ManifestEntry, StoredManifest
from codecompass.store.schema import FACTS_TABLES, MANIFEST_INDEXES, SYMBOL_INDEXES
from codecompass.store.text_writer import INSERT_SYMBOL, FileDocument, SymbolDocument, TextWriter, symbol_rows
from codecompass.units import MIB
from codecompass.worker.messages import FileSymbols, FileText

LARGE_LOG_BYTES: Final = 4 * MIB
"""A log that has grown so large is moved into the facts before the writer has ended."""

SETTLE_PATIENCE_MS: Final = 200
"""How long the end of a writer waits for questions that still read an earlier generation from the log."""

Step = Literal["commit", "publication", "clean_up"]
"""What a writer is about to do: make both stores durable, make them visible, remove what they replace."""


class WriteCounts(Struct, frozen=True):
    """What a writer has done since it was opened: the cost of an update, independent of the clock."""

    files_written: int = 0
    files_removed: int = 0
    symbols_written: int = 0
    rows_written: int = 0
    documents_written: int = 0


class IndexWriter:
    """See the module. Not thread-safe: one thread at a time. Made by `open_writer`, which ends it."""

    def __init__(self, layout: ProjectLayout, *, fresh: bool, on_step: Callable[[Step], None] | None = None) -> None:
        self._layout = layout
        self._on_step = on_step or (lambda _step: None)
        self._is_new_epoch = fresh
        self._paths = PathReader()
        self._text: TextWriter | None = None
        self._text_files: Mapping[str, TextFile] = {}
        self._in_transaction = False
        self._files = self._removed = self._rows = self._symbols = self._documents = 0
        if fresh:
            self._epoch = next_epoch(layout)
            make_private_directory(layout.facts(self._epoch).parent)
        else:
            self._epoch = require_compatible(layout).epoch
            IntactFacts(layout).require(self._epoch, is_writer=True)
        self._connection = connect(layout.facts(self._epoch), mode="rwc" if fresh else "rw")
        try:
            # Only `_settle` moves the log into the facts, never SQLite by itself.
            self._connection.execute("PRAGMA wal_autocheckpoint = 0")
            self._meta = self._begin_epoch() if fresh else self._continue_epoch()
            self._has_text = not fresh
            self.manifest = StoredManifest(self._connection, is_empty=fresh)
            self.quarantined: frozenset[bytes] = frozenset(
                row[0] for row in self._connection.execute("SELECT content_hash FROM quarantine")
            )
            self._next_file = _next_id(self._connection, "files")
            self._next_symbol = _next_id(self._connection, "symbols")
            self._edges = ImportEdges(self._connection)
        except BaseException:
            self._connection.close()
            raise

    @property
    def meta(self) -> IndexMeta:
        """The last published description, or an empty one in a fresh epoch."""
        return self._meta

    @property
    def counts(self) -> WriteCounts:
        """What has been written so far, published or not."""
        return WriteCounts(
            files_written=self._files,
            files_removed=self._removed,
            symbols_written=self._symbols,
            rows_written=self._rows + self._edges.rows_written,
            documents_written=self._documents + (0 if self._text is None else self._text.documents_written),
        )

    def write_text(self, file: FileText) -> None:
        """Takes in a file as it was read: new, edited, unchanged (its times are noted), skipped or vanished."""
        entry = self.manifest.get(file.path)
        if file.status == "vanished":
            self.remove(file.path)
        elif file.status == "skipped":
            self._write_skipped(file)
        elif file.status == "unchanged" and entry is not None and entry.status == "indexed":
            self._touch(entry, file)
        else:
            self._write_indexed(entry, file)

    def write_symbols(self, file: FileSymbols) -> None:
        """Takes in what a parse gave. The file's text must have been written, with the same content hash."""
        entry = self.manifest.get(file.path)
        if entry is None or entry.is_parsed or entry.content_hash != file.content_hash:
            return
        self._begin()
        documents = self._insert_symbols(entry.id, file.path, file.symbols)
        self._edges.add(entry.id, file.path, entry.language, file.imports)
        self._execute(
            "UPDATE files SET symbol_count = ?, is_parsed = 1, reason = ? WHERE id = ?",
            (len(file.symbols), file.reason, entry.id),
        )
        if documents:
            self._text_writer().add(FileDocument(entry.id, entry.language, "", symbols=documents))
        self._symbols += len(file.symbols)
        self._count(symbols=len(file.symbols))
        self.manifest[file.path] = msgspec.structs.replace(
            entry, symbol_count=len(file.symbols), is_parsed=True, reason=file.reason
        )

    def skip(self, item: SkippedFile) -> None:
        """Notes a file that a scan left out."""
        self._write_skipped(FileText(item.path, "skipped", item.reason, size=item.size))

    def remove(self, path: str) -> None:
        """Forgets a file. Unknown paths are no error."""
        entry = self.manifest.pop(path)
        if entry is None:
            return
        self._begin()
        self._remove_content(path, entry)
        self._execute("DELETE FROM files WHERE id = ?", (entry.id,))
        self._removed += 1

    def quarantine(self, path: str, cause: str) -> None:
        """Notes that the content of `path` kills a parser. Its text stays searchable, and it is never parsed again."""
        entry = self.manifest.get(path)
        if entry is None:
            return
        self._begin()
        self._execute("INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?)", (entry.content_hash, cause, path))
        self.quarantined |= {entry.content_hash}
        self.write_symbols(FileSymbols(path, entry.content_hash, reason="quarantined"))

    def publish(
        self,
        *,
        completeness: Literal["partial", "complete"],
        ref: str,
        commit: str,
        rules_fingerprint: str,
        now: float | None = None,
        checkpoint: Callable[[], None] = lambda: None,
    ) -> IndexMeta:
        """Makes everything written so far visible at once and durable; returns the description of the new generation.

        Without changes to files only the description may change (another branch name), and the generation stays.
        The writer can go on afterwards. `checkpoint` is called while imports are resolved, which takes time, and may raise;
        then the writer must be abandoned. Raises PermissionDenied where the disk refuses; then nothing is published.
        """
        described = (completeness, ref, commit, rules_fingerprint)
        is_described = described == (
            self._meta.completeness,
            self._meta.ref,
            self._meta.commit,
            self._meta.rules_fingerprint,
        )
        if not self._in_transaction and is_described and not self._is_new_epoch:
            return self._meta
        with write_guard(self._layout):
            self._begin()
            self._rows += self._edges.resolve_all(self.manifest, checkpoint)
            if self._is_new_epoch:
                self._text_writer()
            generation = self._meta.generation + (1 if self._text is not None else 0)
            meta = IndexMeta(
                generation=generation,
                completeness=completeness,
                ref=ref,
                commit=commit,
                published_at=time.time() if now is None else now,
                file_count=self._meta.file_count,
                symbol_count=self._meta.symbol_count,
                source_bytes=self._meta.source_bytes,
                rules_fingerprint=rules_fingerprint,
            )
            self._publish(meta)
        self._on_step("clean_up")
        self._clean_up()
        return self._meta

    def abandon(self) -> None:
        """Drops what was not published and closes everything. Also the ordinary end of a writer."""
        with closing(self._connection), self._held_open():
            if self._text is not None:
                self._text.abandon()
                self._text = None
            if self._in_transaction:
                with suppress(sqlite3.Error):  # without a journal there is nothing to roll back; the epoch is swept
                    self._connection.rollback()
            if not self._is_new_epoch:
                self._settle()
        if self._is_new_epoch:
            directory = self._layout.epochs / self._epoch
            if directory.exists():
                discard(self._layout, directory)

    # the beginning

    def _begin_epoch(self) -> IndexMeta:
        """Makes the tables of a new epoch and returns its empty description."""
        previous = _previous_meta(self._layout)
        self._connection.execute("PRAGMA journal_mode = OFF")
        self._connection.execute("PRAGMA synchronous = OFF")
        self._connection.executescript(FACTS_TABLES)
        return IndexMeta(
            generation=0 if previous is None else previous.generation,
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
        """Returns the description of the current epoch, and removes what a writer before us has left in it."""
        self._connection.execute("PRAGMA synchronous = FULL")
        facts = FactsReader(self._connection)
        meta = read_meta(facts)
        self._text_files = {row[0]: TextFile(*row) for row in facts.text_files()}
        IntactText(self._layout.text(self._epoch, meta.generation), self._text_files.values())
        sweep(self._layout, self._epoch, meta.generation)
        return meta

    # publication

    def _publish(self, meta: IndexMeta) -> None:
        self._on_step("commit")
        if self._text is not None:
            self._text.commit()
            self._documents += self._text.documents_written
            self._text = None
            directory = self._layout.text(self._epoch, meta.generation)
            sync_directory(directory.parent)
            self._write_text_files(text_files(directory, self._text_files))
        for statement in MANIFEST_INDEXES:
            self._connection.execute(statement)
        if meta.symbol_count or meta.completeness == "complete":
            for statement in SYMBOL_INDEXES:
                self._connection.execute(statement)
        self._connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", _meta_rows(meta))
        if not self._is_new_epoch:
            self._on_step("publication")
        self._connection.execute("COMMIT")
        self._in_transaction = False
        if self._is_new_epoch:
            self._publish_epoch()
        self._meta = meta

    def _write_text_files(self, files: Sequence[TextFile]) -> None:
        self._connection.execute("DELETE FROM text_files")
        self._connection.executemany(
            "INSERT INTO text_files VALUES (?, ?, ?, ?, ?)",
            [(file.name, file.size, file.mtime_ns, file.inode, file.digest) for file in files],
        )
        self._text_files = {file.name: file for file in files}

    @contextmanager
    def _held_open(self) -> Iterator[None]:
        """Keeps SQLite from moving what is left of the log when the connection is closed: nobody would note the checksum.

        It does that for the last connection; one that is only for reading does not.
        """
        with ExitStack() as stack:
            yield
            if not self._is_new_epoch and log_size(self._layout.facts(self._epoch)):
                with suppress(sqlite3.Error, CodeCompassError):
                    reader = connect_to_facts(self._layout.facts(self._epoch)).connection
                    stack.enter_context(closing(reader))
                    self._connection.close()

    def _settle(self, *, least_bytes: int = 1) -> None:
        """Moves the log into the facts where it is that long, and notes their new checksum. Never fails: a log can stay.

        Of a part that readers still need, the checksum is noted as well. A crash leaves a record of facts that are changing;
        the next writer goes on from there.
        """
        facts = self._layout.facts(self._epoch)
        try:
            is_settled = log_size(facts) < least_bytes
            if is_settled and (least_bytes > 1 or is_recorded(self._layout, self._epoch)):
                return
            record_facts(self._layout, self._epoch, is_changing=True)
            self._connection.execute(f"PRAGMA busy_timeout = {SETTLE_PATIENCE_MS}")
            ((_, n_frames, n_moved),) = self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            record_facts(self._layout, self._epoch, needs_log=n_moved < n_frames)
        except (OSError, sqlite3.Error):
            pass
        finally:
            with suppress(sqlite3.Error):
                self._connection.execute(f"PRAGMA busy_timeout = {int(BUSY_TIMEOUT_SECONDS * 1000)}")

    def _publish_epoch(self) -> None:
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.execute("PRAGMA journal_mode = WAL")
        facts = self._layout.facts(self._epoch)
        with facts.open("rb") as file:
            os.fsync(file.fileno())
        record_facts(self._layout, self._epoch, is_summed=True)
        for directory in (facts.parent, self._layout.epochs, self._layout.root):
            sync_directory(directory)
        self._on_step("publication")
        write_current(self._layout, self._epoch)
        self._is_new_epoch = False

    def _clean_up(self) -> None:
        self._settle(least_bytes=LARGE_LOG_BYTES)
        try:
            sweep(self._layout, self._epoch, self._meta.generation)
        except OSError:
            pass  # what could not be deleted now is swept by the next writer

    # one file

    def _write_indexed(self, entry: ManifestEntry | None, file: FileText) -> None:
        self._begin()
        is_parsed = not file.has_symbols
        row = (
            "indexed",
            "",
            file.language,
            file.size,
            file.mtime_ns,
            file.ctime_ns,
            file.inode,
            file.content_hash,
            file.line_count,
            len(file.chunks),
            0,
            int(is_parsed),
        )
        file_id = self._write_row(file.path, entry, row)
        self._edges.write_roots(file_id, file.roots)
        if entry is None or entry.status != "indexed":
            tails = [(tail, file_id) for tail in path_tails(file.path)]
            self._execute_many("INSERT OR IGNORE INTO path_tails VALUES (?, ?)", tails)
            self._edges.path_added(file.path)
        words = " ".join(split_identifier(file.path))
        self._text_writer().add(FileDocument(file_id, file.language, words, chunks=file.chunks))
        self._files += 1
        self._count(files=1, size=file.size)
        self.manifest[file.path] = ManifestEntry(
            id=file_id,
            status="indexed",
            reason="",
            language=file.language,
            size=file.size,
            mtime_ns=file.mtime_ns,
            ctime_ns=file.ctime_ns,
            inode=file.inode,
            content_hash=file.content_hash,
            symbol_count=0,
            is_parsed=is_parsed,
        )

    def _write_skipped(self, file: FileText) -> None:
        self._begin()
        entry = self.manifest.get(file.path)
        stat = (file.size, file.mtime_ns, file.ctime_ns, file.inode)
        row = ("skipped", file.reason, "", *stat, file.content_hash, 0, 0, 0, 1)
        file_id = self._write_row(file.path, entry, row)
        self.manifest[file.path] = ManifestEntry(file_id, "skipped", file.reason, "", *stat, file.content_hash, 0, is_parsed=True)

    def _write_row(self, path: str, entry: ManifestEntry | None, row: tuple[object, ...]) -> int:
        """Writes the manifest row of a file, after removing what an earlier content had given."""
        if entry is None:
            self._next_file += 1
            rank = self._paths.role(path).rank
            self._execute(f"INSERT INTO files VALUES (?, ?{', ?' * len(row)}, ?)", (self._next_file, path, *row, rank))
            return self._next_file
        self._remove_content(path, entry, keeps_path=row[0] == "indexed")
        self._execute(
            "UPDATE files SET status = ?, reason = ?, language = ?, size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, "
            "content_hash = ?, line_count = ?, chunk_count = ?, symbol_count = ?, is_parsed = ? WHERE id = ?",
            (*row, entry.id),
        )
        return entry.id

    def _touch(self, entry: ManifestEntry, file: FileText) -> None:
        stat = (file.size, file.mtime_ns, file.ctime_ns, file.inode)
        if stat == (entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode):
            return
        self._begin()
        self._execute("UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ? WHERE id = ?", (*stat, entry.id))
        self.manifest[file.path] = msgspec.structs.replace(
            entry, size=file.size, mtime_ns=file.mtime_ns, ctime_ns=file.ctime_ns, inode=file.inode
        )

    def _remove_content(self, path: str, entry: ManifestEntry, *, keeps_path: bool = False) -> None:
        if entry.status != "indexed":
            return
        self._text_writer().remove(entry.id)
        if entry.symbol_count:
            self._execute("DELETE FROM symbols WHERE file_id = ?", (entry.id,))
        self._edges.file_removed(entry.id)
        if not keeps_path:
            self._execute_many(
                "DELETE FROM path_tails WHERE tail = ? AND file_id = ?", [(tail, entry.id) for tail in path_tails(path)]
            )
            self._edges.path_removed(path)
        self._count(files=-1, symbols=-entry.symbol_count, size=-entry.size)

    def _insert_symbols(self, file_id: int, path: str, symbols: Sequence[Symbol]) -> tuple[SymbolDocument, ...]:
        rows, documents = symbol_rows(self._layout.project_id, path, file_id, self._next_symbol + 1, symbols)
        self._next_symbol += len(symbols)
        self._execute_many(INSERT_SYMBOL, rows)
        return documents

    # helpers

    def _begin(self) -> None:
        if not self._in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")
            self._in_transaction = True

    def _text_writer(self) -> TextWriter:
        if self._text is None:
            generation = self._meta.generation + 1
            previous = None
            if self._has_text:
                previous = self._layout.text(self._epoch, self._meta.generation)
            self._has_text = True
            self._text = TextWriter(self._layout.text(self._epoch, generation), previous)
        return self._text

    def _execute(self, statement: str, arguments: tuple[object, ...]) -> None:
        self._connection.execute(statement, arguments)
        self._rows += 1

    def _execute_many(self, statement: str, rows: Sequence[tuple[object, ...]]) -> None:
        if rows:
            self._connection.executemany(statement, rows)
            self._rows += len(rows)

    def _count(self, *, files: int = 0, symbols: int = 0, size: int = 0) -> None:
        self._meta = msgspec.structs.replace(
            self._meta,
            file_count=self._meta.file_count + files,
            symbol_count=self._meta.symbol_count + symbols,
            source_bytes=self._meta.source_bytes + size,
        )


@contextmanager
def open_writer(layout: ProjectLayout, *, fresh: bool, on_step: Callable[[Step], None] | None = None) -> Iterator[IndexWriter]:
    """Gives a writer for an index whose lock the caller holds; what is not published by the end is dropped.

    `fresh` starts a new epoch beside the current one. Raises PermissionDenied where the store cannot be written (disk full,
    read-only), IndexDamaged where the current epoch cannot be read; the published index stays as it is.
    """
    with write_guard(layout):
        writer = IndexWriter(layout, fresh=fresh, on_step=on_step)
        try:
            yield writer
        finally:
            writer.abandon()


@contextmanager
def write_guard(layout: ProjectLayout) -> Iterator[None]:
    """Turns a refusing disk into PermissionDenied and a broken database into IndexDamaged."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise not_writable(layout.root, refusal(error, layout.root) if is_refusal(error) else OSError(0, str(error))) from error
    except sqlite3.DatabaseError as error:
        raise IndexDamaged(f"the index cannot be read ({error}). {REBUILD}") from error
    except OSError as error:
        raise not_writable(layout.root, error) from error


def _previous_meta(layout: ProjectLayout) -> IndexMeta | None:
    """The generation number must grow over a rebuild, where the old index can still tell it."""
    try:
        current = require_compatible(layout)
        connection = connect_to_facts(layout.facts(current.epoch)).connection
    except (CodeCompassError, sqlite3.Error):
        return None
    try:
        return read_meta(FactsReader(connection))
    except (CodeCompassError, sqlite3.Error):
        return None
    finally:
        connection.close()


def _next_id(connection: sqlite3.Connection, table: Literal["files", "symbols"]) -> int:
    return int(connection.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0])


def _meta_rows(meta: IndexMeta) -> list[tuple[str, str]]:
    return [(name, str(getattr(meta, name))) for name in meta.__struct_fields__]

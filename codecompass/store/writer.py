"""Writes files, symbols and imports to an index; `publication.py` makes them visible.

Only a writer changes an index: its caller holds the project's writer lock.
"""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec
from msgspec import Struct

from codecompass.languages.imports import path_tails
from codecompass.languages.words import split_identifier
from codecompass.scan.path_roles import GENERATED_RANK, role_of
from codecompass.scan.walk import ScannedFile, SkippedFile
from codecompass.store.forks import ForkSource
from codecompass.store.import_edges import INSERT_LANGUAGE, ImportEdges
from codecompass.store.layout import ProjectLayout
from codecompass.store.manifest import ManifestEntry, StoredManifest
from codecompass.store.overlay import SharedRows
from codecompass.store.publication import EpochWriter, Step, write_guard
from codecompass.store.snapshot import IndexMeta
from codecompass.store.text_writer import INSERT_SYMBOL, FileDocument, symbol_rows
from codecompass.worker.messages import FileSymbols, FileText


class WriteCounts(Struct, frozen=True):
    """What a writer has written since it was opened: measures the cost of an update without a clock."""

    files_written: int = 0
    files_removed: int = 0
    symbols_written: int = 0
    rows_written: int = 0
    documents_written: int = 0


class IndexWriter:
    """Writes one file after the other. Not thread-safe. Call `abandon` at the end, also after a publication."""

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
        """Starts a new epoch beside the current one if `fresh`, otherwise continues the current one. Call it in a `write_guard`.

        A new epoch is empty, or a fork of `source`; with `parks` the epoch that it replaces is parked. `checkpoint` is called
        while another process writes the source, and may raise. Raises PermissionDenied if the store cannot be written (disk full,
        read-only), IndexDamaged if the current epoch cannot be read, NotForkable if `source` cannot be forked; the published
        index is not changed.
        """
        self._layout = layout
        self._n_files = self._n_removed = self._n_symbols = 0
        self.epoch = EpochWriter(layout, fresh=fresh, source=source, parks=parks, on_step=on_step, checkpoint=checkpoint)
        connection = self.epoch.connection
        try:
            self.manifest = StoredManifest(connection, is_empty=fresh and source is None)
            self.quarantined: frozenset[bytes] = frozenset(
                row[0] for row in connection.execute("SELECT content_hash FROM quarantine")
            )
            self._next_file = int(connection.execute("SELECT coalesce(max(id), 0) FROM files").fetchone()[0])
            self._rows = SharedRows(connection)
            self._next_symbol = self._rows.next_id("symbols")
            self._edges = ImportEdges(connection, self._rows)
        except BaseException:
            connection.close()
            raise

    @property
    def meta(self) -> IndexMeta:
        """The last published description, or an empty one in a new epoch."""
        return self.epoch.meta

    @property
    def counts(self) -> WriteCounts:
        """What has been written so far, published or not."""
        return WriteCounts(
            files_written=self._n_files,
            files_removed=self._n_removed,
            symbols_written=self._n_symbols,
            rows_written=self.epoch.rows_written + self._edges.rows_written,
            documents_written=self.epoch.documents_written,
        )

    def write_text(self, file: FileText) -> None:
        """Writes a file as a worker read it: new, edited, unchanged (only its times are updated), skipped or vanished."""
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
        """Writes the symbols of a parsed file. Ignored unless its text was written with the same content hash."""
        entry = self.manifest.get(file.path)
        if entry is None or entry.is_final or entry.content_hash != file.content_hash:
            return
        if file.reason and file.reason == entry.reason:
            return
        self.epoch.begin()
        rows, documents = symbol_rows(file.path, entry.id, self._next_symbol + 1, file.symbols)
        languages = [
            (entry.id, 0, row_id, symbol.language)
            for row_id, symbol in enumerate(file.symbols, self._next_symbol + 1)
            if symbol.language
        ]
        self._next_symbol += len(file.symbols)
        self.epoch.execute_many(INSERT_SYMBOL, rows)
        if languages:
            self.epoch.execute_many(INSERT_LANGUAGE, languages)
        self._edges.add(entry.id, file.path, entry.language, file.imports)
        if file.uses is None:
            self.epoch.execute("INSERT INTO unread_uses VALUES (?)", (entry.id,))
        elif file.uses:
            self.epoch.execute("INSERT INTO main.uses VALUES (?, ?)", (entry.id, file.uses))
        self.epoch.execute(
            "UPDATE files SET symbol_count = ?, is_parsed = 1, reason = ? WHERE id = ?",
            (len(file.symbols), file.reason, entry.id),
        )
        if documents:
            self.epoch.text().add(FileDocument(entry.id, entry.language, "", symbols=documents))
        self._n_symbols += len(file.symbols)
        self.epoch.count(symbols=len(file.symbols))
        self.manifest[file.path] = msgspec.structs.replace(
            entry, symbol_count=len(file.symbols), is_parsed=True, reason=file.reason
        )

    def write_uses(self, path: str, content_hash: bytes, uses: bytes) -> None:
        """Writes the uses of a file that were still to be read. Ignored unless they are, and the content is this one."""
        entry = self.manifest.get(path)
        if entry is None or entry.content_hash != content_hash:
            return
        self.epoch.begin()
        was_unread = self.epoch.connection.execute("DELETE FROM unread_uses WHERE file_id = ?", (entry.id,)).rowcount
        if was_unread and uses:
            self.epoch.execute("INSERT INTO main.uses VALUES (?, ?)", (entry.id, uses))

    def touch(self, files: Iterable[ScannedFile]) -> None:
        """Writes the stamps of files whose content is the indexed one."""
        rows = []
        for file in files:
            entry = self.manifest[file.path]
            rows.append((file.mtime_ns, file.ctime_ns, file.inode, entry.id))
            self.manifest[file.path] = msgspec.structs.replace(
                entry, mtime_ns=file.mtime_ns, ctime_ns=file.ctime_ns, inode=file.inode
            )
        if rows:
            self.epoch.begin()
            self.epoch.execute_many("UPDATE files SET mtime_ns = ?, ctime_ns = ?, inode = ? WHERE id = ?", rows)

    def skip(self, item: SkippedFile) -> None:
        """Records a file that the scan skipped."""
        self._write_skipped(FileText(item.path, "skipped", item.reason, size=item.size))

    def remove(self, path: str) -> None:
        """Removes a file. Ignores unknown paths."""
        entry = self.manifest.pop(path)
        if entry is None:
            return
        self.epoch.begin()
        self._remove_content(path, entry)
        self.epoch.execute("DELETE FROM files WHERE id = ?", (entry.id,))
        self._n_removed += 1

    def quarantine(self, path: str, cause: str) -> None:
        """Records that parsing the content of `path` killed a worker: its text stays searchable, and it is never parsed again."""
        entry = self.manifest.get(path)
        if entry is None:
            return
        self.epoch.begin()
        self.epoch.execute("INSERT OR REPLACE INTO quarantine VALUES (?, ?, ?)", (entry.content_hash, cause, path))
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
        on_published: Callable[[], None] = lambda: None,
    ) -> IndexMeta:
        """Makes everything written so far durable and visible at once; returns the description of the new generation.

        Without changes to files, only the description may change (another branch name), and the generation number stays. The
        writer can be used afterwards. `checkpoint` is called while imports are resolved, which takes time, and may raise; then
        the writer must be abandoned. `on_published` is called once readers see everything, before what was replaced is removed.
        Raises PermissionDenied if the system refuses to write; then nothing is published.
        """
        meta = self.meta
        is_described = (completeness, ref, commit, rules_fingerprint) == (
            meta.completeness,
            meta.ref,
            meta.commit,
            meta.rules_fingerprint,
        )
        if not self.epoch.in_transaction and is_described and not self.epoch.is_change:
            on_published()
            return meta
        with write_guard(self._layout):
            self.epoch.begin()
            self.epoch.rows_written += self._edges.resolve_all(self.manifest, checkpoint)
            self.epoch.publish(completeness=completeness, ref=ref, commit=commit, rules_fingerprint=rules_fingerprint, now=now)
        on_published()
        self.epoch.clean_up()
        return self.meta

    def abandon(self) -> None:
        """Drops what was not published and closes everything. Also the normal end of a writer."""
        self.manifest.close()
        self.epoch.abandon()

    def _write_indexed(self, entry: ManifestEntry | None, file: FileText) -> None:
        self.epoch.begin()
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
            file.blob_id,
            file.line_count,
            len(file.chunks),
            0,
            int(is_parsed),
            file.encoding,
            file.long_lines,
        )
        rank = max(role_of(file.path).rank, GENERATED_RANK) if file.is_generated else role_of(file.path).rank
        file_id = self._write_row(file.path, entry, row, rank)
        self._edges.write_roots(file_id, file.roots)
        if entry is None or entry.status != "indexed":
            tails = [(tail, file_id) for tail in path_tails(file.path)]
            self.epoch.execute_many("INSERT OR IGNORE INTO main.path_tails VALUES (?, ?)", tails)
            self._edges.path_added(file.path)
        words = " ".join(split_identifier(file.path))
        self.epoch.text().add(FileDocument(file_id, file.language, words, chunks=file.chunks))
        self._n_files += 1
        self.epoch.count(files=1, size=file.size)
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
            blob_id=file.blob_id,
            long_lines=file.long_lines,
        )

    def _write_skipped(self, file: FileText) -> None:
        self.epoch.begin()
        entry = self.manifest.get(file.path)
        stat = (file.size, file.mtime_ns, file.ctime_ns, file.inode)
        row = ("skipped", file.reason, "", *stat, file.content_hash, file.blob_id, 0, 0, 0, 1, "", 0)
        file_id = self._write_row(file.path, entry, row, role_of(file.path).rank)
        self.manifest[file.path] = ManifestEntry(
            file_id, "skipped", file.reason, "", *stat, file.content_hash, 0, is_parsed=True, blob_id=file.blob_id
        )

    def _write_row(self, path: str, entry: ManifestEntry | None, row: tuple[object, ...], rank: int) -> int:
        """Writes the manifest row of a file, after removing the data of its earlier content. Returns its id."""
        if entry is None:
            self._next_file += 1
            self.epoch.execute(f"INSERT INTO files VALUES (?, ?{', ?' * len(row)}, ?)", (self._next_file, path, *row, rank))
            return self._next_file
        self._remove_content(path, entry, keeps_path=row[0] == "indexed")
        self.epoch.execute(
            "UPDATE files SET status = ?, reason = ?, language = ?, size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, "
            "content_hash = ?, blob_id = ?, line_count = ?, chunk_count = ?, symbol_count = ?, is_parsed = ?, "
            "encoding = ?, long_lines = ?, role_rank = ? WHERE id = ?",
            (*row, rank, entry.id),
        )
        return entry.id

    def _touch(self, entry: ManifestEntry, file: FileText) -> None:
        known = (file.size, file.mtime_ns, file.ctime_ns, file.inode, file.blob_id)
        if known == (entry.size, entry.mtime_ns, entry.ctime_ns, entry.inode, entry.blob_id):
            return
        self.epoch.begin()
        self.epoch.execute(
            "UPDATE files SET size = ?, mtime_ns = ?, ctime_ns = ?, inode = ?, blob_id = ? WHERE id = ?", (*known, entry.id)
        )
        self.manifest[file.path] = msgspec.structs.replace(
            entry, size=file.size, mtime_ns=file.mtime_ns, ctime_ns=file.ctime_ns, inode=file.inode, blob_id=file.blob_id
        )

    def _remove_content(self, path: str, entry: ManifestEntry, *, keeps_path: bool = False) -> None:
        if entry.status != "indexed":
            return
        self.epoch.text().remove(entry.id)
        self._rows.remove_file(entry.id, path, keeps_path=keeps_path)
        self.epoch.rows_written += 1
        self._edges.file_removed(entry.id)
        if not keeps_path:
            self._edges.path_removed(path)
        self.epoch.count(files=-1, symbols=-entry.symbol_count, size=-entry.size)

"""Builds the tantivy index of one generation, and the rows and documents of symbols. `text_reader.py` reads it.

tantivy aborts the process if an allocation fails, so a limit on the address space is checked first.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import tantivy
from msgspec import Struct

from codecompass.errors import PermissionDenied
from codecompass.identity import id_prefix_at
from codecompass.languages.records import DOCUMENT_KINDS, Chunk, Symbol
from codecompass.languages.words import split_identifier
from codecompass.store.databases import address_space_limit
from codecompass.store.schema import (
    CHUNK_RECORD,
    FILE_RECORD,
    NAMES,
    SYMBOL_RECORD,
    WORDS,
    name_analyzer,
    text_schema,
    word_analyzer,
)
from codecompass.store.snapshot import pack_chunk_key
from codecompass.store.text_reader import DamageGuard
from codecompass.units import MIB

HEAP_BYTES: Final = 64 * MIB
"""The heap of tantivy's writer: 32 MB makes more segments, 512 MB costs memory, the time is the same (measured 2026-11-20)."""

NOT_LINKED: Final = frozenset({"meta.json", ".managed.json", ".tantivy-writer.lock", ".tantivy-meta.lock"})
"""Files of a generation that change in place (copied), or are locks (created again): they are never hard-linked."""


class SymbolDocument(Struct, frozen=True):
    """The texts by which ranked search finds a symbol. `words` are the parts of its name and of the name of its scope."""

    symbol_id: int
    name: str
    words: str
    signature: str
    doc: str


class FileDocument(Struct, frozen=True):
    """Everything that is added to the text index for one file."""

    file_id: int
    language: str
    path_words: str
    chunks: tuple[Chunk, ...] = ()
    symbols: tuple[SymbolDocument, ...] = ()


class TextWriter:
    """Builds one generation in its own directory. Call exactly one of `commit` and `abandon` at the end.

    Both release tantivy's writer, whose lock would otherwise outlive the Python object. Not thread-safe.
    """

    def __init__(self, directory: Path, previous: Path | None) -> None:
        """Starts from the generation in `previous` (its immutable segments are hard-linked), or from nothing.

        Raises PermissionDenied if the process's limit on memory is too low.
        """
        require_address_space()
        self._directory = directory
        directory.mkdir(parents=True)
        if previous is not None:
            link_segments(previous, directory)
        with DamageGuard(directory):
            self._schema = text_schema()
            index = tantivy.Index(self._schema, str(directory), reuse=True)
            index.register_tokenizer(WORDS, word_analyzer())
            index.register_tokenizer(NAMES, name_analyzer())
            self._writer = index.writer(HEAP_BYTES, num_threads=1)
        self.documents_written = 0

    def add(self, file: FileDocument) -> None:
        """Adds the chunks and symbols of a file, and its path with the chunks. Does not remove earlier documents of the file."""
        chunk_count = len(file.chunks)
        if file.chunks or not file.symbols:
            self._add(FILE_RECORD, file, file.file_id, file_words=file.path_words)
        for chunk in file.chunks:
            key = pack_chunk_key(file.file_id, chunk.line_start, chunk.line_end)
            words = {"parts": chunk.parts, "names": chunk.names, "pairs": chunk.pairs, "path_words": file.path_words}
            self._add(CHUNK_RECORD, file, key, body=chunk.text, **words)
        for symbol in file.symbols:
            self._add(
                SYMBOL_RECORD,
                file,
                symbol.symbol_id,
                name=symbol.name.lower(),
                name_words=symbol.words,
                signature=symbol.signature,
                doc=symbol.doc,
            )
        self.documents_written += chunk_count + len(file.symbols)

    def remove(self, file_id: int) -> None:
        """Removes every document of a file that was added before this call."""
        # By query: deleting by term finds nothing in a numeric field (tantivy-py 0.27).
        self._writer.delete_documents_by_query(tantivy.Query.term_query(self._schema, "file_id", file_id))

    def commit(self) -> None:
        """Makes the generation durable and readable, and releases the writer. Raises OSError if the disk is full or fails."""
        try:
            self._writer.commit()
        except ValueError as error:
            self.abandon()
            raise OSError(str(error)) from error
        self._writer.wait_merging_threads()

    def abandon(self) -> None:
        """Drops everything added since the start and releases the writer. Safe to call after a failed `commit`."""
        for release in (self._writer.rollback, self._writer.wait_merging_threads):
            try:
                release()
            except (ValueError, RuntimeError):
                # The indexing thread has died, for example because the disk is full, or the writer is already released.
                pass

    def _add(self, record: str, file: FileDocument, key: int, **texts: str) -> None:
        document = tantivy.Document()
        document.add_text("record", record)
        document.add_unsigned("file_id", file.file_id)
        document.add_unsigned("key", key)
        document.add_text("language", file.language)
        for field, text in texts.items():
            if text:
                document.add_text(field, text)
        try:
            self._writer.add_document(document)
        except ValueError as error:
            raise OSError(str(error)) from error


def link_segments(previous: Path, directory: Path) -> None:
    """Hard-links the files that never change and copies the others; copies all if linking is impossible."""
    for entry in os.scandir(previous):
        target = directory / entry.name
        if entry.name in NOT_LINKED:
            if entry.name.endswith(".json"):
                shutil.copyfile(entry.path, target)
            continue
        try:
            os.link(entry.path, target)
        except OSError:
            shutil.copyfile(entry.path, target)


NEEDED_BYTES: Final = 832 * MIB
"""The address space that building an index needs: the program, the writer's heap, merges, and what the C library reserves for
each thread. 834 MB for 145 files and for 4,805 (measured 2026-11-22); most of it is never touched. It is compared with the limit,
not with the rest of it, because the memory that the process already has may be part of it."""


def require_address_space() -> None:
    """Raises PermissionDenied if the limit is below NEEDED_BYTES, but not if there is none or it is unknown."""
    limit = address_space_limit()
    if limit is not None and limit < NEEDED_BYTES:
        raise PermissionDenied(
            f"the limit on this process's memory ({limit // MIB} MiB of address space, ulimit -v) is too small to build an index:"
            f" {NEEDED_BYTES // MIB} MiB are needed. Raise it, or index in a process without it.",
            limit_bytes=limit,
            needed_bytes=NEEDED_BYTES,
        )


INSERT_SYMBOL: Final = "INSERT INTO main.symbols VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"

SEARCHED_KINDS_EXCLUDED: Final = DOCUMENT_KINDS | {"impl", "test", "use"}
"""Kinds that repeat the name of another symbol, are sentences about it, or belong to documents: found by name, but not ranked as
definitions. Otherwise most of the searched text of many repositories would be titles of tests, headings and keys."""


def symbol_rows(
    path: str, file_id: int, first: int, symbols: Sequence[Symbol]
) -> tuple[list[tuple[object, ...]], tuple[SymbolDocument, ...]]:
    """Returns the rows for `INSERT_SYMBOL`, numbered from `first` in the order of `symbols`, and the documents of ranked ones."""
    rows: list[tuple[object, ...]] = []
    documents = []
    ordinals: dict[tuple[str, int], int] = {}
    scopes: dict[str, list[str]] = {}
    for row_id, symbol in enumerate(symbols, first):
        place = (symbol.name, symbol.line_start)
        ordinal = ordinals[place] = ordinals.get(place, -1) + 1
        parent_name = _scope_name(symbols, symbol)
        rows.append(
            (
                row_id,
                file_id,
                first + symbol.parent if symbol.parent >= 0 else None,
                symbol.name,
                symbol.kind,
                symbol.qualified_name,
                symbol.line_start,
                symbol.line_end,
                ordinal,
                symbol.signature,
                symbol.visibility,
                symbol.doc,
                id_prefix_at(path, symbol.kind, symbol.line_start, symbol.name, ordinal),
            )
        )
        if symbol.kind not in SEARCHED_KINDS_EXCLUDED:
            scope = scopes.get(parent_name)
            if scope is None:
                scope = scopes[parent_name] = split_identifier(parent_name)
            words = " ".join((*split_identifier(symbol.name), *scope))
            documents.append(SymbolDocument(row_id, symbol.name, words, symbol.signature, symbol.doc))
    return rows, tuple(documents)


def _scope_name(symbols: Sequence[Symbol], symbol: Symbol) -> str:
    """Returns the name of the scope around a symbol, skipping tests; empty if there is none."""
    parent = symbol.parent
    while parent >= 0 and symbols[parent].kind == "test":
        parent = symbols[parent].parent
    return symbols[parent].name if parent >= 0 else ""

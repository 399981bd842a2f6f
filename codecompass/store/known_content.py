"""Reuses the symbols of a content that another epoch holds, so that a file that was moved, merged or reverted is not parsed.

Rows of the same path are taken unchanged. Rows of another path are taken only if nothing depends on the path but the targets of
imports, which are always resolved again, and the module at the start of qualified names, which is replaced.
"""

import sqlite3
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.errors import CodeCompassError
from codecompass.languages.moved_names import moved_name
from codecompass.languages.records import MAX_QUALIFIED_NAME, Import, Symbol
from codecompass.store.forks import ForkSource
from codecompass.store.integrity import IntactFacts
from codecompass.store.overlay import connect_to_facts
from codecompass.worker.messages import FileSymbols, FileText

MAX_SOURCES: Final = 8

_FIXED_NAMES: Final = frozenset({"doc.go", "package-info.java"})
"""Files whose symbols depend on their names too."""


class _Place(Struct, frozen=True):
    connection: sqlite3.Connection
    file_id: int
    path: str
    language: str
    content_hash: bytes
    encoding: str
    long_lines: int


class KnownContent:
    """The contents of some epochs by git's blob ids. Close it before a writer ends: it keeps logs from being moved."""

    def __init__(self, sources: Iterable[ForkSource], wanted: Collection[bytes]) -> None:
        """Finds the contents of `wanted` (blob ids), in about 1 us per file of an epoch. Ignores unreadable epochs."""
        self._connections: list[sqlite3.Connection] = []
        self._places: dict[bytes, list[_Place]] = {}
        for _, source in zip(range(MAX_SOURCES), sources, strict=False):
            with suppress(sqlite3.Error, CodeCompassError, OSError):
                IntactFacts(source.layout).require(source.epoch, is_writer=True)
                connection = connect_to_facts(source.layout.facts(source.epoch)).connection
                self._connections.append(connection)
                connection.execute("BEGIN")
                rows = connection.execute(
                    "SELECT blob_id, id, path, language, content_hash, encoding, long_lines FROM files "
                    "WHERE status = 'indexed' AND is_parsed AND reason = '' AND symbol_count > 0"
                )
                for blob_id, *place in rows:
                    if blob_id in wanted:
                        self._places.setdefault(blob_id, []).append(_Place(connection, *place))

    def has(self, path: str, blob_id: bytes) -> bool:
        """Returns whether the symbols of this content at this path are probably known."""
        return any(_fits(place, path) for place in self._places.get(blob_id, ()))

    def symbols(self, text: FileText) -> FileSymbols | None:
        """Returns the result that parsing the file would have, None if it is not known or cannot be read."""
        places = [place for place in self._places.get(text.blob_id, ()) if _is_same(place, text)]
        if not places:
            return None
        place = min(places, key=lambda place: place.path != text.path)
        try:
            return _read(place, text)
        except (sqlite3.DatabaseError, UnicodeError, msgspec.MsgspecError):
            self._places.pop(text.blob_id)
            return None

    def close(self) -> None:
        """Closes all databases."""
        while self._connections:
            self._connections.pop().close()


def _fits(place: _Place, path: str) -> bool:
    if place.path == path:
        return True
    old, new = PurePosixPath(place.path), PurePosixPath(path)
    # All suffixes count: `.d.ts` is a different kind of file from `.ts`.
    return old.suffixes == new.suffixes and not {old.name, new.name} & _FIXED_NAMES


def _is_same(place: _Place, text: FileText) -> bool:
    read = (text.content_hash, text.language, text.encoding, text.long_lines)
    return (place.content_hash, place.language, place.encoding, place.long_lines) == read and _fits(place, text.path)


def _read(place: _Place, text: FileText) -> FileSymbols | None:
    execute = place.connection.execute
    rows = execute(
        "SELECT id, parent_id, name, kind, qualified_name, line_start, line_end, signature, visibility, doc FROM symbols "
        "WHERE file_id = ? ORDER BY id",
        (place.file_id,),
    ).fetchall()
    written_in = execute("SELECT is_import, row_id, language FROM row_languages WHERE file_id = ?", (place.file_id,)).fetchall()
    languages = {(is_import, row_id): language for is_import, row_id, language in written_in}
    numbers = {row[0]: number for number, row in enumerate(rows)}
    moved = [moved_name(languages.get((0, row[0]), place.language), place.path, text.path, row[4]) for row in rows]
    if any(name is None or len(name) > MAX_QUALIFIED_NAME for name in moved):
        return None
    symbols = tuple(
        Symbol(
            name=name,
            kind=kind,
            qualified_name=qualified_name or "",
            line_start=line_start,
            line_end=line_end,
            signature=signature,
            visibility=visibility,
            parent=numbers.get(parent_id, -1),
            doc=doc,
            language=languages.get((0, row_id), ""),
        )
        for (row_id, parent_id, name, kind, _, line_start, line_end, signature, visibility, doc), qualified_name in zip(
            rows, moved, strict=True
        )
    )
    imports = execute(
        "SELECT line_start, line_end, spec, name, alias, kind, id FROM imports WHERE file_id = ? ORDER BY id", (place.file_id,)
    ).fetchall()
    uses = execute("SELECT names FROM uses WHERE file_id = ?", (place.file_id,)).fetchone()
    is_unread = execute("SELECT 1 FROM unread_uses WHERE file_id = ?", (place.file_id,)).fetchone() is not None
    return FileSymbols(
        text.path,
        text.content_hash,
        symbols,
        tuple(msgspec.structs.replace(Import(*row), language=languages.get((1, row_id), "")) for *row, row_id in imports),
        None if is_unread else b"" if uses is None else uses[0],
    )

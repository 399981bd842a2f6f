"""The vectors of one project by the hash of their texts, and the places of these texts in files. Holds no text.

A database beside the epochs (`vectors.db`), because an epoch is dropped when the schema changes and vectors are expensive.
sqlite-vec compares with all vectors, exactly, inside SQL (ADR 0025); apsw brings an SQLite that can load it. No other module
opens this file, because two copies of SQLite in one process must not share a file. It is not memory-mapped, which would not be
faster, so that a failing disk causes an error and not a SIGBUS.

    texts     hash of a text -> vector (same id in `vectors`), or refused by the endpoint
    files     path, and the content hash that the file had when its texts were read
    places    which texts a file has, and on which lines

A place is valid only for the content that it was read from: readers compare the content hash with that of their snapshot.
"""

import fcntl
import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import Struct

from codecompass.store.layout import FILE_MODE, ProjectLayout
from codecompass.store.schema import PARSER_VERSION

if TYPE_CHECKING:
    import apsw

FORMAT: Final = 1

PAGE_BYTES: Final = 65_536
"""SQLite's largest page: sqlite-vec stores vectors in blocks of 1,024, which would be chains of small pages."""

BUSY_MILLISECONDS: Final = 5_000
MAX_NEAREST: Final = 1_000

_TABLES: Final = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE texts (id INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, is_refused INTEGER NOT NULL);
CREATE TABLE files (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    content_hash BLOB NOT NULL,
    is_whole INTEGER NOT NULL      -- 0: some of its texts have no vector yet
);
CREATE TABLE places (
    file_id INTEGER NOT NULL,
    text_id INTEGER NOT NULL,
    line_start INTEGER NOT NULL,
    line_end INTEGER NOT NULL,
    kind TEXT NOT NULL             -- of the definition, '' for a chunk
);
CREATE INDEX places_file ON places (file_id);
CREATE INDEX places_text ON places (text_id);
"""


class VectorsMissing(Exception):
    """The project has no vectors of this vector space, or no index."""


class VectorsUnusable(Exception):
    """The database of vectors cannot be opened, read or written."""


class VectorsNotInstalled(VectorsUnusable):
    """A library that vectors need is missing."""


class VectorSpace(Struct, frozen=True, kw_only=True):
    """Vectors can only be compared within one space. If `reading`, which identifies how texts are made, differs, all files are
    read again."""

    model: str
    dimensions: int
    reading: str


class TextPlace(Struct, frozen=True):
    """A text by its hash, and its lines (1-based, inclusive). `kind` is the kind of a definition, empty for a chunk."""

    hash: bytes
    line_start: int
    line_end: int
    kind: str


class FileTexts(Struct, frozen=True):
    """A file whose texts have been read, and all of their places."""

    path: str
    content_hash: bytes
    places: tuple[TextPlace, ...]


class NearPlace(Struct, frozen=True):
    """A place whose text is near a vector, in a file with this content. `similarity` is the cosine, at most 1."""

    path: str
    content_hash: bytes
    line_start: int
    line_end: int
    kind: str
    similarity: float


class VectorCounts(Struct, frozen=True):
    """How many texts of the tree have a vector, and the error that ended the last attempt to make more, empty if it succeeded."""

    texts: int = 0
    last_error: str = ""


class VectorStore:
    """A connection to the vectors of a project. For one thread at a time; must be closed."""

    def __init__(self, connection: "apsw.Connection") -> None:
        self._connection = connection

    def close(self) -> None:
        """Closes the connection."""
        self._connection.close()

    # reading

    def counts(self) -> VectorCounts:
        """Returns how many texts have vectors, and the last error."""
        with _guard():
            return VectorCounts(self._number("SELECT count(DISTINCT text_id) FROM places"), self._meta().get("last_error", ""))

    def has_any(self) -> bool:
        """Returns whether there is a vector to compare with."""
        with _guard():
            return bool(self._number("SELECT EXISTS (SELECT 1 FROM places)"))

    def files(self) -> dict[str, bytes]:
        """Returns the content hash of each file by path; empty if some of its texts have no vectors yet."""
        with _guard():
            return dict(self._connection.execute("SELECT path, CASE WHEN is_whole THEN content_hash ELSE x'' END FROM files"))

    def missing(self, hashes: Collection[bytes]) -> set[bytes]:
        """Returns the hashes of texts that have no vector and were not refused."""
        with _guard():
            return {each for each in hashes if not self._number("SELECT count(*) FROM texts WHERE hash = ?", each)}

    def place_count(self, *, besides: Collection[str] = ()) -> int:
        """Returns the number of places in all files except `besides`."""
        with _guard():
            return self._number(
                "SELECT count(*) FROM places p JOIN files f ON f.id = p.file_id "
                "WHERE f.path NOT IN (SELECT value FROM json_each(?))",
                _json(besides),
            )

    def nearest(
        self,
        vector: bytes,
        limit: int,
        *,
        paths: Collection[str] | None = None,
        kinds: Collection[str] | None = None,
    ) -> list[NearPlace]:
        """Returns the places of the `limit` nearest texts, nearest first; ties by path and line.

        With `paths` or `kinds`, only places in these files and of these kinds count.
        """
        conditions, values = [], []
        for column, chosen in (("f.path", paths), ("p.kind", kinds)):
            if chosen is not None:
                conditions.append(f"{column} IN (SELECT value FROM json_each(?))")
                values.append(_json(chosen))
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        passing = f"places p JOIN files f ON f.id = p.file_id{where}" if conditions else "places p"
        # Texts that no file has any more are kept in case they come back; they must not count for the limit.
        statement = (
            "WITH near AS MATERIALIZED (SELECT rowid AS id, distance FROM vectors WHERE embedding MATCH ? AND k = ? "
            f"AND rowid IN (SELECT p.text_id FROM {passing})) "
            "SELECT f.path, f.content_hash, p.line_start, p.line_end, p.kind, 1.0 - near.distance "
            f"FROM near CROSS JOIN places p ON p.text_id = near.id JOIN files f ON f.id = p.file_id{where}"
        )
        with _guard():
            rows = self._connection.execute(statement, (vector, min(limit, MAX_NEAREST), *values, *values))
            found = [NearPlace(*row) for row in rows]
        found.sort(key=lambda place: (-place.similarity, place.path, place.line_start, place.line_end))
        return found

    # writing

    def add(self, vectors: Iterable[tuple[bytes, bytes]], refused: Iterable[bytes] = ()) -> None:
        """Writes (hash of the text, vector) pairs, and the hashes of texts that the endpoint refused."""
        with _guard(), self._connection:
            for text_hash, vector in vectors:
                text_id = self._new_text(text_hash, is_refused=False)
                if text_id is not None:
                    self._connection.execute("INSERT INTO vectors (rowid, embedding) VALUES (?, ?)", (text_id, vector))
            for text_hash in refused:
                self._new_text(text_hash, is_refused=True)

    def put_files(self, files: Iterable[FileTexts], *, is_whole: bool = True) -> None:
        """Replaces the places of files. Texts without a vector are omitted; with `is_whole` these are only the refused ones."""
        with _guard(), self._connection:
            for file in files:
                self._remove([file.path])
                self._connection.execute(
                    "INSERT INTO files (path, content_hash, is_whole) VALUES (?, ?, ?)", (file.path, file.content_hash, is_whole)
                )
                file_id = self._connection.last_insert_rowid()
                self._connection.executemany(
                    "INSERT INTO places (file_id, text_id, line_start, line_end, kind) "
                    "SELECT ?, id, ?, ?, ? FROM texts WHERE hash = ? AND NOT is_refused",
                    [(file_id, place.line_start, place.line_end, place.kind, place.hash) for place in file.places],
                )

    def remove_files(self, paths: Collection[str]) -> None:
        """Removes files that are gone. Their vectors stay until `trim` deletes them."""
        with _guard(), self._connection:
            self._remove(paths)

    def trim(self, max_texts: int) -> None:
        """Deletes texts that no file has any more, oldest first, while there are more than `max_texts` in all."""
        with _guard(), self._connection:
            n_over = self._number("SELECT count(*) FROM texts") - max_texts
            if n_over <= 0:
                return
            ids = [
                row[0]
                for row in self._connection.execute(
                    "SELECT id FROM texts WHERE id NOT IN (SELECT text_id FROM places) ORDER BY id LIMIT ?", (n_over,)
                )
            ]
            self._connection.executemany("DELETE FROM vectors WHERE rowid = ?", [(each,) for each in ids])
            self._connection.executemany("DELETE FROM texts WHERE id = ?", [(each,) for each in ids])

    def note_error(self, error: str) -> None:
        """Writes the error that ended the last attempt to make vectors, empty if it succeeded."""
        with _guard(), self._connection:
            self._connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('last_error', ?)", (error,))

    def use(self, space: VectorSpace) -> None:
        """Creates the tables for `space`. Deletes the vectors of another space; if only `reading` differs, the files and
        places."""
        with _guard(), self._connection:
            wanted = _description(space)
            if self.is_of(space):
                if self._meta().get("reading") != wanted["reading"]:
                    self._connection.execute("DELETE FROM places; DELETE FROM files")
            else:
                for name in ("vectors", "places", "files", "texts", "meta"):
                    self._connection.execute(f"DROP TABLE IF EXISTS {name}")
                self._connection.execute(_TABLES)
                self._connection.execute(
                    f"CREATE VIRTUAL TABLE vectors USING vec0(embedding float[{space.dimensions}] distance_metric=cosine)"
                )
            self._connection.executemany("INSERT OR REPLACE INTO meta (key, value) VALUES (?, ?)", wanted.items())

    def is_of(self, space: VectorSpace) -> bool:
        """Returns whether the vectors can be compared with those of `space`."""
        with _guard():
            if not self._number("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'"):
                return False
            meta, wanted = self._meta(), _description(space)
        return all(meta.get(key) == wanted[key] for key in ("format", "model", "dimensions"))

    def _meta(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT key, value FROM meta"))

    def _number(self, statement: str, *values: object) -> int:
        return int(next(iter(self._connection.execute(statement, values)))[0])

    def _new_text(self, text_hash: bytes, *, is_refused: bool) -> int | None:
        self._connection.execute("INSERT OR IGNORE INTO texts (hash, is_refused) VALUES (?, ?)", (text_hash, is_refused))
        return self._connection.last_insert_rowid() if self._connection.changes() else None

    def _remove(self, paths: Collection[str]) -> None:
        for path in paths:
            self._connection.execute("DELETE FROM places WHERE file_id = (SELECT id FROM files WHERE path = ?)", (path,))
            self._connection.execute("DELETE FROM files WHERE path = ?", (path,))


def _json(values: Collection[str]) -> str:
    return msgspec.json.encode(sorted(values)).decode()


def _description(space: VectorSpace) -> Mapping[str, str]:
    return {
        "format": str(FORMAT),
        "model": space.model,
        "dimensions": str(space.dimensions),
        "reading": f"{space.reading} {PARSER_VERSION}",
    }


@contextmanager
def vectors_for_reading(layout: ProjectLayout, space: VectorSpace) -> Iterator[VectorStore]:
    """Yields the vectors of a project. Raises VectorsMissing if there are none of this space, VectorsUnusable."""
    if not layout.vectors.exists():
        raise VectorsMissing
    store = _opened(layout.vectors, is_writing=False)
    try:
        if not store.is_of(space):
            raise VectorsMissing
        yield store
    finally:
        store.close()


@contextmanager
def vectors_for_writing(layout: ProjectLayout, space: VectorSpace) -> Iterator[VectorStore]:
    """Yields the vectors of a project, created if missing and created again if damaged. Raises VectorsUnusable.

    Raises VectorsMissing if the project has no index, so that a removal is not undone.
    """
    if not layout.current.exists():
        raise VectorsMissing
    try:
        store = _opened(layout.vectors, is_writing=True)
        store.use(space)
    except VectorsNotInstalled:
        raise
    except VectorsUnusable as error:
        if not _is_damage(error.__cause__):
            raise
        remove_vectors(layout)
        store = _opened(layout.vectors, is_writing=True)
        store.use(space)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def embedding_turn(layout: ProjectLayout) -> Iterator[bool]:
    """Yields whether this process may make vectors for a project: only one at a time may, so that no text is sent twice.

    The lock ends with the process. Raises VectorsUnusable if the directory cannot be written.
    """
    try:
        descriptor = os.open(layout.vectors_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except FileNotFoundError:
        yield False  # the project was removed meanwhile
        return
    except OSError as error:
        raise VectorsUnusable(error.strerror or "cannot be written") from error
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            is_ours = True
        except OSError:
            is_ours = False
        yield is_ours
    finally:
        os.close(descriptor)


def remove_vectors(layout: ProjectLayout) -> None:
    """Deletes the vectors of a project."""
    for suffix in ("", "-wal", "-shm"):
        with suppress(OSError):
            layout.vectors.with_name(layout.vectors.name + suffix).unlink(missing_ok=True)


def _opened(path: Path, *, is_writing: bool) -> VectorStore:
    try:
        import apsw
        import sqlite_vec
    except ImportError as error:
        raise VectorsNotInstalled(f"{error.name} is not installed") from error
    flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE if is_writing else apsw.SQLITE_OPEN_READONLY
    with _guard():
        if is_writing and not path.exists():
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, FILE_MODE))
        connection = apsw.Connection(str(path), flags=flags)
        try:
            connection.set_busy_timeout(BUSY_MILLISECONDS)
            connection.enable_load_extension(True)
            connection.load_extension(sqlite_vec.loadable_path())
            connection.enable_load_extension(False)
            if is_writing:
                connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
                connection.execute("PRAGMA journal_mode = WAL")
        except BaseException:
            connection.close()
            raise
    return VectorStore(connection)


@contextmanager
def _guard() -> Iterator[None]:
    """Turns errors of SQLite and the system into VectorsUnusable."""
    import apsw

    try:
        yield
    except (apsw.Error, OSError, UnicodeError) as error:
        raise VectorsUnusable(type(error).__name__) from error


def _is_damage(error: BaseException | None) -> bool:
    import apsw

    return isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.SQLError)

"""The vectors of one project: by the hash of the text that each was made of, and where in which content of a file such a text is.

A database of its own beside the epochs (`vectors.db`), because an epoch ends where the schema changes and vectors are dear.
It holds no text. sqlite-vec compares exactly, with all vectors, inside SQL (ADR 0025); apsw brings an SQLite that can load it.
No other module opens this file: two copies of SQLite in one process must not share one. It is not mapped, which would not be
faster, so that a damaged disk is an error and not a fault.

    texts     hash of a text -> vector (same id in `vectors`), or refused: the endpoint does not take it
    files     path, content of the file when its texts were read
    places    which texts a file has, and on which lines

A place counts only for the content that it was read from: readers compare it with that of their snapshot.
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
"""The largest page: the vectors of a table lie in pieces of 1,024, which small pages chain together."""

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
    """There is no file of vectors, or none of this model."""


class VectorsUnusable(Exception):
    """The file of vectors cannot be opened, read or written."""


class VectorsNotInstalled(VectorsUnusable):
    """A library is missing."""


class VectorSpace(Struct, frozen=True, kw_only=True):
    """Vectors can be compared only within one space. `reading` names what texts are made by: another one reads all files anew."""

    model: str
    dimensions: int
    reading: str


class TextPlace(Struct, frozen=True):
    """A text by its hash, and its lines (1-based, inclusive). `kind` is that of a definition, empty for a chunk."""

    hash: bytes
    line_start: int
    line_end: int
    kind: str


class ReadFile(Struct, frozen=True):
    """A file whose texts have been read, and all of their places."""

    path: str
    content_hash: bytes
    places: tuple[TextPlace, ...]


class NearPlace(Struct, frozen=True):
    """A place whose text is near to a vector, in the file with this content. `similarity` is the cosine, at most 1."""

    path: str
    content_hash: bytes
    line_start: int
    line_end: int
    kind: str
    similarity: float


class VectorCounts(Struct, frozen=True):
    """What a file of vectors holds: texts with a vector that are in the tree, and what ended the last attempt to make more."""

    texts: int = 0
    last_error: str = ""


class VectorStore:
    """One connection. Use it from one thread at a time, and close it."""

    def __init__(self, connection: "apsw.Connection") -> None:
        self._connection = connection

    def close(self) -> None:
        """Closes the file."""
        self._connection.close()

    # reading

    def counts(self) -> VectorCounts:
        """Returns how many texts have vectors."""
        with _guard():
            return VectorCounts(self._number("SELECT count(DISTINCT text_id) FROM places"), self._meta().get("last_error", ""))

    def has_any(self) -> bool:
        """Returns whether there is a vector to compare with."""
        with _guard():
            return bool(self._number("SELECT EXISTS (SELECT 1 FROM places)"))

    def files(self) -> dict[str, bytes]:
        """Returns the content hash of each file by path, an empty one where not all of its texts have vectors."""
        with _guard():
            return dict(self._connection.execute("SELECT path, CASE WHEN is_whole THEN content_hash ELSE x'' END FROM files"))

    def missing(self, hashes: Collection[bytes]) -> set[bytes]:
        """Returns which texts have neither a vector nor been refused."""
        with _guard():
            return {each for each in hashes if not self._number("SELECT count(*) FROM texts WHERE hash = ?", each)}

    def place_count(self, *, besides: Collection[str] = ()) -> int:
        """Returns how many places there are in all files but those `besides`."""
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
        # Texts that no file has any more are kept for when they come back; they must not take the place of others here.
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
        """Writes vectors by the hashes of their texts, and the hashes of texts that the endpoint does not take."""
        with _guard(), self._connection:
            for text_hash, vector in vectors:
                text_id = self._new_text(text_hash, is_refused=False)
                if text_id is not None:
                    self._connection.execute("INSERT INTO vectors (rowid, embedding) VALUES (?, ?)", (text_id, vector))
            for text_hash in refused:
                self._new_text(text_hash, is_refused=True)

    def put_files(self, files: Iterable[ReadFile], *, is_whole: bool = True) -> None:
        """Writes which texts files have, in place of what was known of them. Texts without a vector are left out; with `is_whole`
        these are the ones that were refused."""
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
        """Forgets files that are gone. Their vectors stay, as long as there is room (see `trim`)."""
        with _guard(), self._connection:
            self._remove(paths)

    def trim(self, max_texts: int) -> None:
        """Deletes vectors of texts that no file has any more, where there are more than `max_texts` in all; the oldest first."""
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
        """Writes what ended the last attempt to make vectors, empty where it succeeded."""
        with _guard(), self._connection:
            self._connection.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('last_error', ?)", (error,))

    def use(self, space: VectorSpace) -> None:
        """Makes the tables for `space`. Vectors of another one are deleted; with another reading, the files are read anew."""
        with _guard(), self._connection:
            tables = self._number("SELECT count(*) FROM sqlite_schema WHERE name = 'meta'")
            meta = self._meta() if tables else {}
            wanted = _description(space)
            if tables and all(meta.get(key) == wanted[key] for key in ("format", "model", "dimensions")):
                if meta.get("reading") != wanted["reading"]:
                    self._connection.execute("DELETE FROM places; DELETE FROM files")
            else:
                for name in ("vectors", "places", "files", "texts", "meta") if tables else ():
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
    """Gives the vectors of a project. Raises VectorsMissing where there are none of this space, VectorsUnusable."""
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
    """Gives the vectors of a project that has an index; makes the file, anew where it is damaged. Raises VectorsUnusable.

    VectorsMissing where the project has no index: a removal must not be undone.
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
    """Gives whether this process may make vectors for a project: one at a time does, so that no text is sent twice.

    The lock ends with the process. Raises VectorsUnusable where the directory cannot be written.
    """
    try:
        descriptor = os.open(layout.vectors_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, FILE_MODE)
    except FileNotFoundError:
        yield False  # removed meanwhile
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
    """Turns the errors of SQLite and the system into VectorsUnusable."""
    import apsw

    try:
        yield
    except (apsw.Error, OSError, UnicodeError) as error:
        raise VectorsUnusable(type(error).__name__) from error


def _is_damage(error: BaseException | None) -> bool:
    import apsw

    return isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.SQLError)

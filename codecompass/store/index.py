"""The reader's side of one index: opens it, checks that this program can read it, takes snapshots, reads its description.

A snapshot is one SQLite read transaction together with the text index of the generation that the transaction names, so an answer
never mixes two generations. Nothing here writes; `writer.py` does, and publishes in a single transaction or rename. From its
first snapshot until it is closed, an index holds the readers' lock, so that no process deletes it.
"""

import os
import sqlite3
import stat
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from codecompass.errors import REBUILD, CodeCompassError, IndexDamaged, IndexNotReady
from codecompass.store.databases import ReadConnection, log_path
from codecompass.store.epochs import Compatibility, Current, compatibility, require_compatible
from codecompass.store.facts import FactsReader
from codecompass.store.file_table import TableCache
from codecompass.store.integrity import IntactFacts, IntactText
from codecompass.store.layout import ProjectLayout, not_readable
from codecompass.store.lock import LockHeld, holds_reading, lock_for_reading
from codecompass.store.overlay import connect_to_facts
from codecompass.store.snapshot import IndexMeta, Snapshot, read_meta
from codecompass.store.text_reader import TextReader

if TYPE_CHECKING:
    from codecompass.store.mapped_files import MappedFiles

OPEN_ATTEMPTS: Final = 20
"""A generation can be replaced between reading its number and opening it; then the next attempt sees a newer one."""

MAX_IDLE_CONNECTIONS: Final = 4


class _Epoch(Struct, frozen=True):
    """Identifies an epoch by its name and its facts.db, because after a deletion a new epoch can have the same name."""

    name: str
    device: int
    inode: int


class _Text(Struct, frozen=True):
    """The open text index of a generation, with its file table."""

    epoch: _Epoch
    generation: int
    reader: TextReader
    tables: TableCache
    intact: IntactText


class _Connection(Struct, frozen=True):
    epoch: _Epoch
    opened: ReadConnection

    @property
    def connection(self) -> sqlite3.Connection:
        return self.opened.connection


class WorkspaceIndex:
    """The index in `layout`, for reading. Thread-safe; keeps a few connections and the newest text generation open."""

    def __init__(self, layout: ProjectLayout, project_id: str, mapped_files: "MappedFiles | None" = None) -> None:
        """With `mapped_files`, all reads after a fault in a file of this index raise IndexDamaged."""
        self.layout = layout
        self.project_id = project_id
        self._mapped_files = mapped_files
        self._lock = threading.Lock()
        self._idle: list[_Connection] = []
        self._intact = IntactFacts(layout)
        self._text: _Text | None = None
        self._reading: int | None = None
        self._let_go: Callable[[], object] = _nothing
        # In case the index is never closed: Python 3.13 warns about open connections.
        weakref.finalize(self, _close_all, self._idle)

    def compatibility(self) -> Compatibility:
        """Returns whether there is an index and whether this program can read it. Reads one small file."""
        return compatibility(self.layout)

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        """Yields the newest published generation.

        Raises IndexNotReady, IndexIncompatible or StoreNewer as `require_compatible` does, IndexDamaged if files are damaged,
        PermissionDenied if read permission is missing.
        """
        held, text, snapshot = self._begin()
        try:
            yield snapshot
        except Exception as error:
            # Damaged files can cause any kind of error.
            damage = self._damage(held, text)
            if damage is not None:
                raise damage from error
            raise
        finally:
            self._release(held)
        # Checked again afterwards: the files are mapped, so damage that happened meanwhile may have been read.
        damage = self._damage(held, text)
        if damage is not None:
            raise damage
        if not held.opened.is_settled:
            raise IndexNotReady("the index was written while it was read without a lock. Call again.")

    def _damage(self, held: _Connection, text: _Text) -> IndexDamaged | None:
        """Returns the error for the files that were read, None if they are intact."""
        if self._has_faults(held.epoch.name):
            return _faulty(self.layout)
        try:
            text.intact.require()
            self._intact.require(held.epoch.name)
        except IndexDamaged as error:
            return error
        except FileNotFoundError:
            return None  # another epoch replaced it meanwhile; its open files stay readable
        except OSError as error:
            raise not_readable(self.layout.root, error) from error
        return None

    @property
    def has_faults(self) -> bool:
        """Whether a mapped file of the current epoch had a fault, so that the index must be rebuilt."""
        current = compatibility(self.layout).current
        return current is not None and self._has_faults(current.epoch)

    def _has_faults(self, epoch: str) -> bool:
        return self._mapped_files is not None and self._mapped_files.n_faults(self.layout.facts(epoch).parent) > 0

    def close(self) -> None:
        """Closes the connections and files that are kept open. Snapshots in use stay valid."""
        with self._lock:
            self._text = None
            self._intact = IntactFacts(self.layout)
            self._reading = None
            self._let_go()
            _close_all(self._idle)

    def release_lock(self) -> None:
        """Lets the index be removed, until the next snapshot, although files are kept open: that snapshot checks again whether
        they are those of the index. No snapshot may be in use."""
        with self._lock:
            self._reading = None
            self._let_go()

    def _begin(self) -> tuple[_Connection, _Text, Snapshot]:
        self._hold()
        failure: Exception | None = None
        for _ in range(OPEN_ATTEMPTS):
            current = require_compatible(self.layout)
            if self._has_faults(current.epoch):
                raise _faulty(self.layout)
            held: _Connection | None = None
            try:
                self._intact.require(current.epoch)
                held = self._connect(current)
                return held, *self._snapshot(held)
            except (FileNotFoundError, sqlite3.OperationalError, IndexDamaged) as error:
                # If the generation was replaced while it was opened, the next attempt finds the new one. If the index is damaged,
                # every attempt fails.
                failure = error
                if held is not None:
                    held.connection.close()
            except OSError as error:
                if held is not None:
                    held.connection.close()
                raise not_readable(self.layout.root, error) from error
            except BaseException:
                if held is not None:
                    held.connection.close()
                raise
        if isinstance(failure, IndexDamaged):
            raise failure
        raise IndexDamaged(
            f"the index at {self.layout.root} cannot be opened ({failure}). {REBUILD}",
            path=str(self.layout.root),
        ) from failure

    def _hold(self) -> None:
        with self._lock:
            if self._reading is not None:
                if holds_reading(self.layout, self._reading):
                    return
                self._let_go()
            try:
                self._reading = lock_for_reading(self.layout)
            except LockHeld as error:
                raise IndexNotReady("the index is being removed. Call again.") from error
            if self._reading is not None:
                # Releases the lock even if the index is never closed.
                self._let_go = weakref.finalize(self, os.close, self._reading)

    def _connect(self, current: Current) -> _Connection:
        path = self.layout.facts(current.epoch)
        status = path.stat()
        epoch = _Epoch(current.epoch, status.st_dev, status.st_ino)
        with self._lock:
            while self._idle:
                held = self._idle.pop()
                if held.epoch == epoch:
                    return held
                held.connection.close()
        return _Connection(epoch, connect_to_facts(path))

    def _snapshot(self, held: _Connection) -> tuple[_Text, Snapshot]:
        held.connection.execute("BEGIN")
        meta = read_meta(FactsReader(held.connection))
        text = self._open_text(held.epoch, meta.generation, FactsReader(held.connection))
        facts = FactsReader(held.connection, text.tables.rows(meta.published_at))
        return text, Snapshot(self.project_id, meta.generation, facts, text.reader, meta, text.tables)

    def _open_text(self, epoch: _Epoch, generation: int, facts: FactsReader) -> _Text:
        with self._lock:
            text = self._text
        if text is not None and (text.epoch, text.generation) == (epoch, generation):
            text.intact.require_lately()
            return text
        directory = self.layout.text(epoch.name, generation)
        if not directory.exists():
            raise FileNotFoundError(directory)
        # Checked before tantivy opens it, because tantivy must not read damaged files.
        intact = IntactText(directory, facts.text_files())
        text = _Text(epoch, generation, TextReader(directory), TableCache(), intact)
        with self._lock:
            self._text = text
        return text

    def _release(self, held: _Connection) -> None:
        try:
            held.connection.rollback()
        except sqlite3.Error:
            held.connection.close()
            return
        with self._lock:
            if len(self._idle) < MAX_IDLE_CONNECTIONS and held.opened.stamp is None:
                self._idle.append(held)
                return
        held.connection.close()


class IndexInspection(Struct, frozen=True):
    """The state of an index, read without opening its text index."""

    found: Compatibility
    meta: IndexMeta | None
    """None if there is no readable index."""
    modified_ns: tuple[int, ...]
    """Modification times of its files: if they are equal, nothing has changed."""


def inspect_index(layout: ProjectLayout, before: IndexInspection | None = None) -> IndexInspection:
    """Returns the state of the index in `layout`; `before` if its files are unchanged, at the cost of a few stat() calls.

    Never raises.
    """
    if before is not None and before.modified_ns == _modification_times(layout, before.found):
        return before
    found = compatibility(layout)
    # The times are read before the description, so that the next inspection finds a change that happens in between.
    modified_ns = _modification_times(layout, found)
    return IndexInspection(found, _meta(layout, found), modified_ns)


def files_stamp(layout: ProjectLayout) -> tuple[int, int, int] | None:
    """Returns the modification times of the files of an index, which are equal if it has not changed; None without an index that
    this program can read. Opens no database. Never raises."""
    try:
        # What is no file may keep its reader waiting.
        is_file = stat.S_ISREG(layout.current.stat().st_mode)
    except OSError:
        return None
    if not is_file:
        return None
    found = compatibility(layout)
    if found.status != "compatible" or found.current is None:
        return None
    facts = layout.facts(found.current.epoch)
    return _modified_ns(layout.current), _modified_ns(facts), _modified_ns(log_path(facts))


def _close_all(idle: list[_Connection]) -> None:
    while idle:
        idle.pop().connection.close()


def _nothing() -> None:
    """Does nothing: the finalizer while no lock is held."""


def _faulty(layout: ProjectLayout) -> IndexDamaged:
    return IndexDamaged(
        f"a file of the index at {layout.root} was cut short or cannot be read. {REBUILD}",
        path=str(layout.root),
    )


def _modification_times(layout: ProjectLayout, found: Compatibility) -> tuple[int, ...]:
    paths = [layout.current]
    if found.current is not None:
        facts = layout.facts(found.current.epoch)
        paths += [facts, log_path(facts)]
    return tuple(_modified_ns(path) for path in paths)


def _modified_ns(path: Path) -> int:
    try:
        status = path.stat()
    except OSError:
        return 0
    # Readers create an empty log, which is the same as none.
    return status.st_mtime_ns if status.st_size else 0


def _meta(layout: ProjectLayout, found: Compatibility) -> IndexMeta | None:
    if found.status != "compatible" or found.current is None:
        return None
    try:
        connection = connect_to_facts(layout.facts(found.current.epoch)).connection
    except (sqlite3.Error, CodeCompassError):
        return None
    try:
        return read_meta(FactsReader(connection))
    except (sqlite3.Error, CodeCompassError):
        return None
    finally:
        connection.close()

"""The manifest: what the index knows of the files on disk, how a scan differs from it, and its database table."""

import sqlite3
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, Protocol

import msgspec
from msgspec import Struct

from codecompass.errors import Cancelled
from codecompass.scan.walk import ScannedFile, ScanResult, SkippedFile, is_below_any
from codecompass.store.facts import FactsReader, facts_guard, path_range

if TYPE_CHECKING:
    from codecompass.scan.git_index import GitBlobs
    from codecompass.scan.partial import PartialScan
    from codecompass.worker.messages import FileTask

STAT_REASONS: Final = frozenset(
    {"secret", "special_file", "symlink", "symlink_outside_root", "path_not_utf8", "path_too_long", "too_large"}
)
"""Reasons for skipping a file that the scan finds; the others come from the file's content."""


NO_GRAMMAR: Final = "no_grammar"
"""The reason of a file without symbols because the grammar of its language could not be loaded: the library is missing, or memory
or descriptors were short. Only the content and the program decide the other reasons, so that a later parse would end alike."""


class ManifestEntry(Struct, frozen=True):
    """The columns of a manifest row that are needed to find changes."""

    id: int
    status: str
    reason: str
    language: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    content_hash: bytes
    symbol_count: int
    is_parsed: bool
    blob_id: bytes = b""
    """Git's blob id of the content; empty if only a part of it was read."""
    long_lines: int = 0
    """Lines whose text is left out."""

    @property
    def is_final(self) -> bool:
        """Whether its symbols are what parsing its content gives."""
        return self.is_parsed and self.reason != NO_GRAMMAR


class ChangeSet(Struct, frozen=True):
    """What a job has to do; each list is sorted by path."""

    tasks: "tuple[FileTask, ...]"
    """Files to read."""
    skipped: tuple[SkippedFile, ...]
    """Files to record as skipped."""
    removed: tuple[str, ...]
    """Paths to remove from the index."""
    bytes_to_read: int

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to do."""
        return not (self.tasks or self.skipped or self.removed)


NOTHING: Final = ChangeSet(tasks=(), skipped=(), removed=(), bytes_to_read=0)


def is_as_scanned(facts: FactsReader, scan: ScanResult) -> bool:
    """Returns whether a scan has found what is in the index and nothing else: then `find_changes` finds nothing, in three times
    the time. False if it may find something."""
    known, left_out = facts.stamps((*STAT_REASONS, "unreadable"))
    return (
        {(each.path, each.size, each.reason) for each in scan.skipped} == left_out
        and len(known) == len(scan.files)
        and all((each.path, each.size, each.mtime_ns, each.ctime_ns, each.inode) in known for each in scan.files)
    )


class KnownPaths(Protocol):
    """A manifest that can be read in parts."""

    def get(self, path: str, /) -> ManifestEntry | None:
        """Returns the entry of a path, None if it has none."""

    def paths_in(self, directory: str) -> Collection[str]:
        """Returns the paths directly in `directory` ('' for the root)."""

    def paths_below(self, directory: str) -> Collection[str]:
        """Returns the paths anywhere below `directory`."""


def find_changes(
    manifest: Mapping[str, ManifestEntry],
    scan: ScanResult,
    *,
    rules_changed: bool,
    suspects: AbstractSet[str] = frozenset(),
    tries_grammars: bool = False,
) -> ChangeSet:
    """Returns how a scan differs from the manifest, by size, modification and change time and inode.

    A file whose time is not trusted (0) counts as changed, and so do `suspects`, the files that the watcher reported. With
    `rules_changed`, files that were skipped for their content or lack lines are read again, because the limits may have changed.
    Files below a directory that cannot be read now do not count as removed. With `tries_grammars`, files whose grammar could not
    be loaded are parsed again.
    """
    return _compare(
        manifest.get,
        manifest,
        scan.files,
        scan.skipped,
        rules_changed=rules_changed,
        suspects=suspects,
        tries_grammars=tries_grammars,
    )


def find_partial_changes(manifest: KnownPaths, scan: "PartialScan", *, suspects: AbstractSet[str] = frozenset()) -> ChangeSet:
    """Returns the same as `find_changes` for a job, for the paths that a partial scan covers."""
    candidates: set[str] = set()
    for directory in scan.listed:
        # A row for the directory itself means that it could not be read before.
        candidates.add(directory)
        candidates.update(manifest.paths_in(directory))
    for directory in scan.gone:
        candidates.add(directory)
        candidates.update(manifest.paths_below(directory))
    known = sorted(path for path in candidates if manifest.get(path) is not None)
    return _compare(manifest.get, known, scan.files, scan.skipped, rules_changed=False, suspects=suspects, tries_grammars=True)


class KnownFiles(Struct, frozen=True):
    """`changes` is what remains to be done, `known` are the files that only need new stamps.

    Their content, according to git, is the indexed one. A fork of another project's index has the stamps of that project's files;
    checking out a branch again rewrites its files.
    """

    changes: ChangeSet
    known: tuple[ScannedFile, ...]


def blobs_of(files: Iterable[ScannedFile], blobs: "GitBlobs") -> dict[str, bytes]:
    """Returns git's blob id of each file's content, by path; empty if git does not know it for certain."""
    return {
        file.path: blobs.known(file.path, size=file.size, mtime_ns=file.mtime_ns, ctime_ns=file.ctime_ns, inode=file.inode)
        for file in files
    }


def without_known(
    manifest: Mapping[str, ManifestEntry], changes: ChangeSet, files: Iterable[ScannedFile], blobs: Mapping[str, bytes]
) -> KnownFiles:
    """Separates the files of `changes` whose content the manifest has. `files` are those of the scan, `blobs` their blob ids."""
    if not changes.tasks:
        return KnownFiles(changes, ())
    asked = {task.path for task in changes.tasks}
    known = tuple(file for file in files if file.path in asked and _is_known(manifest.get(file.path), file, blobs))
    names = {file.path for file in known}
    left = tuple(task for task in changes.tasks if task.path not in names)
    size = sum(task.size for task in left)
    return KnownFiles(msgspec.structs.replace(changes, tasks=left, bytes_to_read=size), known)


def _is_known(entry: ManifestEntry | None, file: ScannedFile, blobs: Mapping[str, bytes]) -> bool:
    return (
        entry is not None
        and entry.is_final
        and bool(entry.blob_id)
        and entry.blob_id == blobs.get(file.path)
        # If git converts line ends between blob and file, the size differs.
        and entry.size == file.size
        and not (entry.status == "skipped" and entry.reason in STAT_REASONS)
    )


def _compare(
    entry_of: Callable[[str], ManifestEntry | None],
    known: Iterable[str],
    files: Iterable[ScannedFile],
    skipped: Sequence[SkippedFile],
    *,
    rules_changed: bool,
    suspects: AbstractSet[str],
    tries_grammars: bool,
) -> ChangeSet:
    from codecompass.worker.messages import FileTask

    tasks: list[FileTask] = []
    size = 0
    present: set[str] = set()
    for file in files:
        present.add(file.path)
        entry = entry_of(file.path)
        if entry is None:
            tasks.append(FileTask(file.path, size=file.size))
        elif not _is_same(entry, file) or file.path in suspects or (rules_changed and _is_limited(entry)):
            known_hash = b"" if _is_limited(entry) else entry.content_hash
            tasks.append(FileTask(file.path, known_hash, needs_symbols=not entry.is_final, size=file.size))
        elif not (entry.is_final if tries_grammars else entry.is_parsed):
            tasks.append(FileTask(file.path, entry.content_hash, needs_symbols=True, size=file.size))
        else:
            continue
        size += file.size
    present.update(item.path for item in skipped)
    unreadable = frozenset(item.path for item in skipped if item.reason == "unreadable")
    return ChangeSet(
        tasks=tuple(tasks),
        skipped=tuple(_newly_skipped(entry_of, skipped)),
        removed=tuple(path for path in known if path not in present and not is_below_any(path, unreadable)),
        bytes_to_read=size,
    )


def _is_limited(entry: ManifestEntry) -> bool:
    """Whether the limits of a text left something out of a file."""
    return entry.status == "skipped" or entry.long_lines > 0


def _is_same(entry: ManifestEntry, file: ScannedFile) -> bool:
    if entry.status == "skipped" and entry.reason in STAT_REASONS:
        return False
    return (
        entry.mtime_ns == file.mtime_ns
        and entry.size == file.size
        and entry.ctime_ns == file.ctime_ns
        and entry.inode == file.inode
    )


def _newly_skipped(entry_of: Callable[[str], ManifestEntry | None], skipped: Iterable[SkippedFile]) -> Iterable[SkippedFile]:
    for item in skipped:
        entry = entry_of(item.path)
        if entry is None or entry.status != "skipped" or entry.reason != item.reason or entry.size != item.size:
            yield item


_COLUMNS: Final = (
    "path, id, status, reason, language, size, mtime_ns, ctime_ns, inode, content_hash, symbol_count, is_parsed, blob_id, "
    "long_lines"
)


class StoredManifest(Mapping[str, ManifestEntry]):
    """The manifest entries by path, read from the table as needed. Raises IndexDamaged if it cannot be read.

    Raises Cancelled once it is closed: the scan of a cancelled job goes on in its thread until the file system answers, and the
    process crashes if a connection is closed while another thread uses it.
    """

    def __init__(self, connection: sqlite3.Connection, *, is_empty: bool = False) -> None:
        """Reads nothing yet. `is_empty` says that the table has no rows, and no database index on paths yet."""
        self._connection = connection
        self._in_use = threading.Lock()
        self._is_closed = False
        self._asked: dict[str, ManifestEntry | None] = {}
        self._whole: dict[str, ManifestEntry] | None = {} if is_empty else None

    def close(self) -> None:
        """Ends all reading, and waits for a thread that reads the table. The connection stays open."""
        with self._in_use:
            self._is_closed = True

    @contextmanager
    def _reading(self) -> Iterator[None]:
        with self._in_use, facts_guard():
            if self._is_closed:
                raise Cancelled("the job that read this index has ended")
            yield

    def whole(self) -> dict[str, ManifestEntry]:
        """Returns all entries, with the changes made so far."""
        if self._whole is None:
            with self._reading():
                self._whole = dict(map(_entry, self._connection.execute(f"SELECT {_COLUMNS} FROM files")))
            self._asked.clear()
        return self._whole

    def get(self, path: str, default: ManifestEntry | None = None) -> ManifestEntry | None:  # type: ignore[override]
        """Returns the entry of a path, `default` if it has none."""
        if self._whole is not None:
            return self._whole.get(path, default)
        if path not in self._asked:
            with self._reading():
                row = self._connection.execute(f"SELECT {_COLUMNS} FROM files WHERE path = ?", (path,)).fetchone()
            self._asked[path] = None if row is None else _entry(row)[1]
        entry = self._asked[path]
        return default if entry is None else entry

    def __getitem__(self, path: str) -> ManifestEntry:
        entry = self.get(path)
        if entry is None:
            raise KeyError(path)
        return entry

    def __setitem__(self, path: str, entry: ManifestEntry) -> None:
        if self._whole is None:
            self._asked[path] = entry
        else:
            self._whole[path] = entry

    def __iter__(self) -> Iterator[str]:
        return iter(self.whole())

    def __len__(self) -> int:
        return len(self.whole())

    def pop(self, path: str) -> ManifestEntry | None:
        """Removes the entry of a path and returns it, None if it has none."""
        entry = self.get(path)
        if self._whole is None:
            self._asked[path] = None
        elif entry is not None:
            del self._whole[path]
        return entry

    def paths_in(self, directory: str) -> list[str]:
        """Returns the paths directly in `directory` ('' for the root), sorted."""
        return self._level(directory)[0]

    def subdirectories(self, directory: str) -> set[str]:
        """Returns the names of the directories directly in `directory` that have files below them."""
        return self._level(directory)[1]

    def paths_below(self, directory: str) -> list[str]:
        """Returns the paths anywhere below `directory`, sorted."""
        with self._reading():
            rows = self._connection.execute(
                "SELECT path FROM files WHERE path >= ? AND path < ? ORDER BY path", path_range(directory)
            )
            return [row[0] for row in rows]

    def paths_of(self, inodes: Collection[int]) -> list[str]:
        """Returns every path with one of these inode numbers, sorted. Reads the whole table, unless there are no inodes."""
        if not inodes:
            return []
        with self._reading():
            rows = self._connection.execute("SELECT path, inode FROM files ORDER BY path")
            return [path for path, inode in rows if inode in inodes]

    def _level(self, directory: str) -> tuple[list[str], set[str]]:
        """Returns paths and directory names. Skips the content of subdirectories, so that the cost depends only on this level."""
        paths: list[str] = []
        names: set[str] = set()
        position, end = path_range(directory)
        start = len(position)
        with self._reading():
            while True:
                rows = self._connection.execute(
                    "SELECT path FROM files WHERE path >= ? AND path < ? ORDER BY path", (position, end)
                )
                for (path,) in rows:
                    slash = path.find("/", start)
                    if slash >= 0:
                        names.add(path[start:slash])
                        position = path_range(path[:slash])[1]
                        break
                    paths.append(path)
                else:
                    return paths, names


def _entry(row: tuple) -> tuple[str, ManifestEntry]:  # type: ignore[type-arg]
    # The columns have the order of the fields.
    return row[0], ManifestEntry(*row[1:-3], bool(row[-3]), *row[-2:])  # type: ignore[call-arg]

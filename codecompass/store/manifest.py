"""What the index believes of the files on disk, and how it differs from what a scan has just found. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Final, Protocol

from msgspec import Struct

from codecompass.store.intake import FileTask
from codecompass.store.scan.partial import PartialScan
from codecompass.store.scan.walk import ScannedFile, ScanResult, SkippedFile, is_below_any

STAT_REASONS: Final = frozenset(
    {"secret", "special_file", "symlink", "symlink_outside_root", "path_not_utf8", "path_too_long", "too_large"}
)
"""Reasons that a scan gives by itself; the others come from a file's content."""


class ManifestEntry(Struct, frozen=True):
    """One row of the manifest, as far as finding changes needs it."""

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


class Changes(Struct, frozen=True):
    """What a run has to do: files to read, files to note as skipped, paths to forget. Each by path."""

    tasks: tuple[FileTask, ...]
    skipped: tuple[SkippedFile, ...]
    removed: tuple[str, ...]
    bytes_to_read: int

    @property
    def is_empty(self) -> bool:
        """Whether the index describes the tree already."""
        return not (self.tasks or self.skipped or self.removed)


class KnownPaths(Protocol):
    """A manifest that can be asked for a part of it."""

    def get(self, path: str, /) -> ManifestEntry | None:
        """Returns the entry of a path, None where it has none."""

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
) -> Changes:
    """Compares by size, modification and change time and inode; a file whose time is not trusted (0) counts as changed, and
    so do `suspects`, of which somebody has seen that they were written.

    `rules_changed`: files that were skipped for their content are read again, since the limits may have moved. What lies
    below a directory that cannot be read just now is not taken for removed: nobody knows.
    """
    return _compare(manifest.get, manifest, scan.files, scan.skipped, rules_changed=rules_changed, suspects=suspects)


def find_partial_changes(manifest: KnownPaths, scan: PartialScan, *, suspects: AbstractSet[str] = frozenset()) -> Changes:
    """As `find_changes`, for the paths that a partial scan answers for."""
    candidates: set[str] = set()
    for directory in scan.listed:
        # A row of the directory itself says that it could not be read once.
        candidates.add(directory)
        candidates.update(manifest.paths_in(directory))
    for directory in scan.gone:
        candidates.add(directory)
        candidates.update(manifest.paths_below(directory))
    known = sorted(path for path in candidates if manifest.get(path) is not None)
    return _compare(manifest.get, known, scan.files, scan.skipped, rules_changed=False, suspects=suspects)


def _compare(
    entry_of: Callable[[str], ManifestEntry | None],
    known: Iterable[str],
    files: Iterable[ScannedFile],
    skipped: Sequence[SkippedFile],
    *,
    rules_changed: bool,
    suspects: AbstractSet[str],
) -> Changes:
    tasks: list[FileTask] = []
    size = 0
    present: set[str] = set()
    for file in files:
        present.add(file.path)
        entry = entry_of(file.path)
        if entry is None:
            tasks.append(FileTask(file.path, size=file.size))
        elif not _is_same(entry, file) or file.path in suspects or (rules_changed and entry.status == "skipped"):
            known_hash = entry.content_hash if entry.status == "indexed" else b""
            tasks.append(FileTask(file.path, known_hash, needs_symbols=not entry.is_parsed, size=file.size))
        elif not entry.is_parsed:
            tasks.append(FileTask(file.path, entry.content_hash, needs_symbols=True, size=file.size))
        else:
            continue
        size += file.size
    present.update(item.path for item in skipped)
    unreadable = frozenset(item.path for item in skipped if item.reason == "unreadable")
    return Changes(
        tasks=tuple(tasks),
        skipped=tuple(_newly_skipped(entry_of, skipped)),
        removed=tuple(path for path in known if path not in present and not is_below_any(path, unreadable)),
        bytes_to_read=size,
    )


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

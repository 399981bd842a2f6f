"""What the index believes of the files on disk, and how it differs from what a scan has just found. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from codecompass.store.intake import FileTask
from codecompass.store.scan.walk import ScannedFile, ScanResult, SkippedFile

STAT_REASONS: Final = frozenset({"secret", "special_file", "symlink", "symlink_outside_root", "path_not_utf8", "too_large"})
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
    new_or_edited: int

    @property
    def is_empty(self) -> bool:
        """Whether the index describes the tree already."""
        return not (self.tasks or self.skipped or self.removed)


def find_changes(manifest: Mapping[str, ManifestEntry], scan: ScanResult, *, rules_changed: bool) -> Changes:
    """Compares by size, modification and change time and inode; a file whose time is not trusted (0) counts as changed.

    `rules_changed`: files that were skipped for their content are read again, since the limits may have moved.
    """
    tasks: list[FileTask] = []
    size = new_or_edited = 0
    for file in scan.files:
        entry = manifest.get(file.path)
        if entry is None:
            tasks.append(FileTask(file.path, size=file.size))
        elif not _is_same(entry, file) or (rules_changed and entry.status == "skipped"):
            known = entry.content_hash if entry.status == "indexed" else b""
            tasks.append(FileTask(file.path, known, needs_symbols=not entry.is_parsed, size=file.size))
        elif not entry.is_parsed:
            tasks.append(FileTask(file.path, entry.content_hash, needs_symbols=True, size=file.size))
            size += file.size
            continue
        else:
            continue
        new_or_edited += 1
        size += file.size
    present = {file.path for file in scan.files}
    present.update(item.path for item in scan.skipped)
    return Changes(
        tasks=tuple(tasks),
        skipped=tuple(_newly_skipped(manifest, scan.skipped)),
        removed=tuple(path for path in manifest if path not in present),
        bytes_to_read=size,
        new_or_edited=new_or_edited,
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


def _newly_skipped(manifest: Mapping[str, ManifestEntry], skipped: Iterable[SkippedFile]) -> Iterable[SkippedFile]:
    for item in skipped:
        entry = manifest.get(item.path)
        if entry is None or entry.status != "skipped" or entry.reason != item.reason or entry.size != item.size:
            yield item

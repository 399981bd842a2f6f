"""Finds files whose stamps differ from the manifest but whose content, according to git, is the indexed one.

A fork of another project's index has the stamps of that project's files; checking out a branch again rewrites its files.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from codecompass.scan.git_index import GitBlobs
from codecompass.scan.walk import ScannedFile
from codecompass.store.manifest import STAT_REASONS, Changes, ManifestEntry


class KnownFiles(Struct, frozen=True):
    """`changes` is what remains to be done, `known` are the files that only need new stamps."""

    changes: Changes
    known: tuple[ScannedFile, ...]


def blobs_of(files: Iterable[ScannedFile], blobs: GitBlobs) -> dict[str, bytes]:
    """Returns git's blob id of each file's content, by path; empty if git does not know it for certain."""
    return {
        file.path: blobs.known(file.path, size=file.size, mtime_ns=file.mtime_ns, ctime_ns=file.ctime_ns, inode=file.inode)
        for file in files
    }


def without_known(
    manifest: Mapping[str, ManifestEntry], changes: Changes, files: Iterable[ScannedFile], blobs: Mapping[str, bytes]
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
        and entry.is_parsed
        and bool(entry.blob_id)
        and entry.blob_id == blobs.get(file.path)
        # If git converts line ends between blob and file, the size differs.
        and entry.size == file.size
        and not (entry.status == "skipped" and entry.reason in STAT_REASONS)
    )

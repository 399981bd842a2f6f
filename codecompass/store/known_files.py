"""Files whose stamps are not those that an index has noted, but whose content git knows to be the one that it holds.

A fork of another project's index has the stamps of that project's files; a branch that is checked out again writes files anew.
"""

from collections.abc import Iterable, Mapping

import msgspec
from msgspec import Struct

from codecompass.scan.git_index import GitBlobs
from codecompass.scan.walk import ScannedFile
from codecompass.store.manifest import STAT_REASONS, Changes, ManifestEntry


class KnownFiles(Struct, frozen=True):
    """`changes` is what remains to be done, `known` are the files that need new stamps alone."""

    changes: Changes
    known: tuple[ScannedFile, ...]


def blobs_of(files: Iterable[ScannedFile], blobs: GitBlobs) -> dict[str, bytes]:
    """Returns git's id of the content of each file by its path; empty where git does not know it for certain."""
    return {
        file.path: blobs.known(file.path, size=file.size, mtime_ns=file.mtime_ns, ctime_ns=file.ctime_ns, inode=file.inode)
        for file in files
    }


def without_known(
    manifest: Mapping[str, ManifestEntry], changes: Changes, files: Iterable[ScannedFile], blobs: Mapping[str, bytes]
) -> KnownFiles:
    """Takes out of `changes` what the manifest has with the same content. `files` are those of the scan, `blobs` their ids."""
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
        # A conversion of line ends between blob and file changes the size.
        and entry.size == file.size
        and not (entry.status == "skipped" and entry.reason in STAT_REASONS)
    )

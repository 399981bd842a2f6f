"""A store of segments in a directory that workers and servers share: of one machine, or of a file server.

    <root>/<prefix>/<repo_id>/<generation>/<digest>     an object, a file

A file is written under another name and renamed, so that it is there as a whole or not at all.
"""

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from codecompass.cluster.stores.segment_store import (
    CHECKED,
    UNFINISHED,
    ObjectMissing,
    StoreUnavailable,
    checked_key,
    checked_part,
)
from codecompass.store.layout import DIRECTORY_MODE, FILE_MODE, sync_directory
from codecompass.units import MIB

BLOCK_BYTES: Final = 1 * MIB


class DirectoryStore:
    """A store in a directory that workers and servers share, of this machine or of a file server."""

    def __init__(self, root: Path, prefix: str) -> None:
        """`root` must exist when objects are read or written: an empty directory where a file server is not mounted has no
        directory of this prefix, and is not taken for a store without objects."""
        self._root = root
        self._top = root / prefix

    @property
    def address(self) -> str:
        """See `SegmentStore`."""
        return str(self._root)

    def put(self, key: str, path: Path) -> None:
        """See `SegmentStore`. Raises OSError if the file cannot be read."""
        target = self._path(key)
        # A file that is missing here would look like a store that is away.
        path.stat()
        with self._available():
            if not self._root.is_dir():
                raise FileNotFoundError(self._root)
            target.parent.mkdir(mode=DIRECTORY_MODE, parents=True, exist_ok=True)
            unfinished = target.with_name(f"{UNFINISHED}{secrets.token_hex(8)}")
            try:
                _copy(path, unfinished)
                unfinished.replace(target)
            finally:
                with suppress(FileNotFoundError):
                    unfinished.unlink()
            sync_directory(target.parent)

    def blocks(self, key: str) -> Iterator[bytes]:
        """See `SegmentStore`."""
        path = self._path(key)
        with self._available():
            try:
                file = path.open("rb", buffering=0)
            except FileNotFoundError:
                self._require_top()
                raise ObjectMissing(key) from None
            with file:
                while block := file.read(BLOCK_BYTES):
                    yield block

    def size(self, key: str) -> int | None:
        """See `SegmentStore`."""
        path = self._path(key)
        with self._available():
            try:
                return path.stat().st_size
            except FileNotFoundError:
                return None

    def written_at(self, key: str) -> float | None:
        """See `SegmentStore`."""
        path = self._path(key)
        with self._available():
            try:
                return path.stat().st_mtime
            except FileNotFoundError:
                return None

    def keys(self, repo_id: str) -> list[str]:
        """See `SegmentStore`. Files that were left unfinished are among them, so that they are removed with the others."""
        with self._available():
            generations = self._names(self._top / checked_part(repo_id))
            return [
                f"{repo_id}/{generation}/{name}"
                for generation in generations
                for name in self._names(self._top / repo_id / generation)
            ]

    def remove(self, key: str) -> None:
        """See `SegmentStore`. Directories that are empty then are removed too."""
        repo_id, generation, name = key.split("/")
        directory = self._top / checked_part(repo_id) / checked_part(generation)
        if not name.startswith(UNFINISHED):
            checked_part(name)
        with self._available():
            with suppress(FileNotFoundError):
                (directory / name).unlink()
            for each in (directory, directory.parent):
                with suppress(OSError):  # it is not empty, or somebody else has removed it
                    each.rmdir()

    def repositories(self) -> list[str]:
        """See `SegmentStore`."""
        with self._available():
            return [name for name in self._names(self._top) if name != CHECKED]

    def free(self) -> tuple[int, int]:
        """See `SegmentStore`."""
        with self._available():
            usage = shutil.disk_usage(self._root)
        return usage.free, usage.total

    def _names(self, directory: Path) -> list[str]:
        try:
            return sorted(os.listdir(directory))
        except FileNotFoundError:
            if not self._root.is_dir():
                raise
            return []

    def _path(self, key: str) -> Path:
        return self._top / checked_key(key)

    def _require_top(self) -> None:
        if not self._top.is_dir():
            raise FileNotFoundError(self._top)

    @contextmanager
    def _available(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise StoreUnavailable(
                f"the store of segments at {self._root} cannot be used ({error.strerror or error}). Whoever runs this server can "
                "check that the directory is mounted and has free space; workers and servers go on by themselves."
            ) from error


def _copy(source: Path, target: Path) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    with open(descriptor, "wb", buffering=0) as out, source.open("rb", buffering=0) as file:
        while block := file.read(BLOCK_BYTES):
            left = memoryview(block)
            while left:
                # A disk that is nearly full takes a part.
                left = left[out.write(left) :]
        os.fsync(out.fileno())

"""The store of segments: finished files of indexes, which workers write once and servers fetch.

    <root>/<prefix>/<repo_id>/<generation>/<digest>     an object in a shared directory

An object is there as a whole or not at all, and never changes. Nothing refers to it before the document of its repository names
a generation, and only the holder of the repository's lease removes objects, so nobody has to lock anything here.
"""

import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Protocol

from codecompass.cluster.engine import EngineUnavailable
from codecompass.cluster.schema import FORMAT
from codecompass.errors import InvalidInput
from codecompass.settings import ClusterSettings
from codecompass.store.layout import DIRECTORY_MODE, FILE_MODE, sync_directory
from codecompass.units import MIB

BLOCK_BYTES: Final = 1 * MIB

UNFINISHED: Final = ".new-"
"""The beginning of the names of files that are being written."""

_PART: Final = re.compile(r"[A-Za-z0-9_-]{1,200}")


class StoreUnavailable(EngineUnavailable):
    """The store of segments cannot be read or written at the moment."""


class ObjectMissing(Exception):
    """The store answers, and has no object of this key."""


class SegmentStore(Protocol):
    """Objects by their keys, `repo_id/generation/digest`. Blocking; threads may share one. All methods raise StoreUnavailable."""

    def put(self, key: str, path: Path) -> None:
        """Stores the content of a file, as a whole or not at all, in place of what the key had."""

    def blocks(self, key: str) -> Iterator[bytes]:
        """Yields the content of an object. Raises ObjectMissing."""

    def size(self, key: str) -> int | None:
        """Returns the size of an object in bytes; None if there is none."""

    def keys(self, repo_id: str) -> list[str]:
        """Returns the keys of all objects of a repository, sorted."""

    def remove(self, key: str) -> None:
        """Removes an object, if it is there."""

    def repositories(self) -> list[str]:
        """Returns the ids of the repositories that have objects, sorted."""


class DirectoryStore:
    """A store in a directory that workers and servers share, of this machine or of a file server."""

    def __init__(self, root: Path, prefix: str) -> None:
        """`root` must exist when objects are read or written: an empty directory where a file server is not mounted has no
        directory of this prefix, and is not taken for a store without objects."""
        self._root = root
        self._top = root / prefix

    def put(self, key: str, path: Path) -> None:
        """See `SegmentStore`. The object is durable when this returns."""
        target = self._path(key)
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

    def keys(self, repo_id: str) -> list[str]:
        """See `SegmentStore`. Files that were left unfinished are among them, so that they are removed with the others."""
        with self._available():
            generations = self._names(self._top / _part(repo_id))
            return [
                f"{repo_id}/{generation}/{name}"
                for generation in generations
                for name in self._names(self._top / repo_id / generation)
            ]

    def remove(self, key: str) -> None:
        """See `SegmentStore`. Directories that are empty then are removed too."""
        repo_id, generation, name = key.split("/")
        directory = self._top / _part(repo_id) / _part(generation)
        if not name.startswith(UNFINISHED):
            _part(name)
        with self._available():
            with suppress(FileNotFoundError):
                (directory / name).unlink()
            for each in (directory, directory.parent):
                with suppress(OSError):  # it is not empty, or somebody else has removed it
                    each.rmdir()

    def repositories(self) -> list[str]:
        """See `SegmentStore`."""
        with self._available():
            return self._names(self._top)

    def _names(self, directory: Path) -> list[str]:
        try:
            return sorted(os.listdir(directory))
        except FileNotFoundError:
            if not self._root.is_dir():
                raise
            return []

    def _path(self, key: str) -> Path:
        repo_id, generation, name = key.split("/")
        return self._top / _part(repo_id) / _part(generation) / _part(name)

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


def open_store(settings: ClusterSettings) -> SegmentStore:
    """Returns the store that the settings name. Raises InvalidInput if they name none."""
    if not settings.segments:
        raise InvalidInput(
            "no store of segments. Set cluster.segments (CODECOMPASS_CLUSTER_SEGMENTS) to the directory that workers and servers "
            "share.",
            field="cluster.segments",
        )
    root = Path(settings.segments)
    if not root.is_absolute():
        raise InvalidInput("cluster.segments must be the absolute path of a directory.", field="cluster.segments")
    return DirectoryStore(root, f"{settings.prefix}-v{FORMAT}")


def _part(name: str) -> str:
    """Returns a part of a key that cannot lead out of its directory. Raises ValueError for any other."""
    if _PART.fullmatch(name) is None:
        raise ValueError(f"{name!r} is no part of a key")
    return name


def _copy(source: Path, target: Path) -> None:
    descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, FILE_MODE)
    with open(descriptor, "wb", buffering=0) as out, source.open("rb", buffering=0) as file:
        while block := file.read(BLOCK_BYTES):
            left = memoryview(block)
            while left:
                # A disk that is nearly full takes a part.
                left = left[out.write(left) :]
        os.fsync(out.fileno())

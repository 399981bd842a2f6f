"""A cache of generations' facts on this machine's disk: files assembled from the engine's blocks, bounded in bytes.

Nothing in it is state: all of it can be deleted at any moment and is fetched again. A generation differs little from the previous
one, so most of its blocks are copied from files that are already in the cache.
"""

import base64
import hashlib
import os
import shutil
import threading
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import msgspec

from codecompass.cluster.engine import Engine, JsonObject
from codecompass.cluster.manifests import BlockFile, Manifest, damaged
from codecompass.store.layout import make_private_directory
from codecompass.units import GIB, KIB

BLOCK_BYTES: Final = 64 * KIB
BLOCKS_AT_ONCE: Final = 64
"""Blocks fetched in one request: 4 MiB, about 1.5 MiB compressed."""

DEFAULT_CACHE_BYTES: Final = 8 * GIB


def block_key(block: bytes) -> bytes:
    """Returns the key of a block: the SHA-256 of its content."""
    return hashlib.sha256(block).digest()


def block_id(repo_id: str, key: bytes) -> str:
    """Returns the id of a block's document. Repositories share no blocks, so the holder of a repository's lease may sweep its."""
    return f"{repo_id}-{key.hex()}"


def block_document(repo_id: str, block: bytes) -> bytes:
    """Returns the JSON document that the engine stores for a block."""
    return msgspec.json.encode({"repo_id": repo_id, "data": base64.b64encode(zlib.compress(block, 6)).decode()})


def read_blocks(path: Path) -> Iterator[bytes]:
    """Yields the blocks of a file, in order."""
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            yield block


class FactsCache:
    """A cache directory of one process. Thread-safe."""

    def __init__(self, engine: Engine, directory: Path, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        """Empties the directory, because files of a killed process may be incomplete."""
        self._engine = engine
        self._directory = directory
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._making: dict[str, threading.Lock] = {}
        self._held: dict[str, int] = {}
        self._kept: dict[str, Manifest] = {}
        """Manifests of the generations on disk, the least recently used first."""
        shutil.rmtree(directory, ignore_errors=True)
        make_private_directory(directory)

    @contextmanager
    def files_of(self, manifest: Manifest) -> Iterator[Path]:
        """Yields the directory with the files of a generation, which are fetched if necessary and not evicted meanwhile.

        Raises EngineUnavailable, IndexDamaged if a block is missing or corrupt, OSError if the disk is full.
        """
        generation = manifest.generation
        with self._lock:
            making = self._making.setdefault(generation, threading.Lock())
            self._held[generation] = self._held.get(generation, 0) + 1
        try:
            with making:
                if generation not in self._kept:
                    self._make(manifest)
            with self._lock:
                self._kept[generation] = self._kept.pop(generation, manifest)
            yield self._directory / generation
        finally:
            with self._lock:
                self._held[generation] -= 1
                if not self._held[generation]:
                    del self._held[generation]
                    self._making.pop(generation, None)
            self._shrink()

    def close(self) -> None:
        """Deletes the directory."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _make(self, manifest: Manifest) -> None:
        target = self._directory / manifest.generation
        begun = self._directory / f"{manifest.generation}.new"
        shutil.rmtree(begun, ignore_errors=True)
        begun.mkdir(mode=0o700)
        try:
            here = self._blocks_here(manifest.repo_id)
            for file in manifest.files:
                self._write(manifest, file, begun / file.name, here)
            begun.rename(target)
        except BaseException:
            shutil.rmtree(begun, ignore_errors=True)
            raise
        with self._lock:
            self._kept[manifest.generation] = manifest

    def _blocks_here(self, repo_id: str) -> dict[bytes, tuple[Path, int]]:
        """Returns the files and offsets of blocks of the repository's last two cached generations, by their keys."""
        with self._lock:
            others = [each for each in self._kept.values() if each.repo_id == repo_id][-2:]
        return {
            key: (self._directory / other.generation / file.name, number * BLOCK_BYTES)
            for other in others
            for file in other.files
            for number, key in enumerate(file.blocks)
        }

    def _write(self, manifest: Manifest, file: BlockFile, path: Path, here: dict[bytes, tuple[Path, int]]) -> None:
        with path.open("wb") as out:
            for start in range(0, len(file.blocks), BLOCKS_AT_ONCE):
                keys = file.blocks[start : start + BLOCKS_AT_ONCE]
                found = {key: block for key in set(keys) if key in here and (block := _read(*here[key], key)) is not None}
                found |= self._fetch(manifest, (key for key in dict.fromkeys(keys) if key not in found))
                for key in keys:
                    out.write(found[key])
        if path.stat().st_size != file.size:
            raise damaged(manifest.generation, f"{file.name} has another size")
        os.chmod(path, 0o600)

    def _fetch(self, manifest: Manifest, keys: Iterable[bytes]) -> dict[bytes, bytes]:
        wanted = {block_id(manifest.repo_id, key): key for key in keys}
        said = self._engine.get_many(self._engine.names.blocks, list(wanted))
        if len(said) < len(wanted):
            raise damaged(manifest.generation, f"{len(wanted) - len(said)} blocks are gone")
        return {key: _block(manifest, key, said[name]) for name, key in wanted.items()}

    def _shrink(self) -> None:
        with self._lock:
            total = sum(each.facts_bytes for each in self._kept.values())
            gone = []
            for generation, manifest in list(self._kept.items()):
                if total <= self._max_bytes:
                    break
                if generation not in self._held:
                    del self._kept[generation]
                    total -= manifest.facts_bytes
                    gone.append(generation)
            for generation in gone:
                # Under the lock, or another thread would use the directory while it is deleted.
                shutil.rmtree(self._directory / generation, ignore_errors=True)


def _read(path: Path, offset: int, key: bytes) -> bytes | None:
    """Returns a block of a file on disk, or None if its content has changed or cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            block = file.read(BLOCK_BYTES)
    except OSError:
        return None
    return block if block_key(block) == key else None


def _block(manifest: Manifest, key: bytes, source: JsonObject) -> bytes:
    try:
        block = zlib.decompressobj().decompress(base64.b64decode(source["data"]), BLOCK_BYTES)
    except (KeyError, ValueError, zlib.error) as error:
        raise damaged(manifest.generation, error) from error
    if block_key(block) != key:
        raise damaged(manifest.generation, "a block is not what its name says")
    return block

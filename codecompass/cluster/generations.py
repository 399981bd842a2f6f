"""Opens generations for reading: a `Snapshot` is made of the manifest, the text in the engine and facts cached on disk; or, of a
generation in the store of segments, of copies of all its files (`segment_cache.py`).

The cache consists of files assembled from the engine's blocks, bounded in bytes. Nothing in it is state: all of it can be deleted
at any moment and is fetched again. A generation differs little from the previous one, so most of its blocks are copied from files
that are already in the cache.
"""

import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Final

import trio
from msgspec import Struct

from codecompass.cluster.engine import Engine
from codecompass.cluster.engine_text import EngineText
from codecompass.cluster.manifests import (
    BLOCK_BYTES,
    FACTS_FILE,
    TERMS_FILE,
    BlockFile,
    Manifest,
    block_id,
    block_key,
    damaged,
    unpack_block,
    unpacked,
)
from codecompass.cluster.schema import JsonObject
from codecompass.cluster.scoring import EngineRarities
from codecompass.cluster.segment_cache import SegmentCache
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.errors import CodeCompassError, IndexIncompatible, IndexNotReady
from codecompass.store.databases import ReadConnection
from codecompass.store.facts import FactsReader
from codecompass.store.file_table import TableCache
from codecompass.store.layout import make_private_directory
from codecompass.store.mapped_files import MappedFiles
from codecompass.store.overlay import connect_to_facts
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.store.snapshot import Snapshot
from codecompass.store.term_counts import TermCounts
from codecompass.store.word_summary import WordSummary
from codecompass.units import GIB

BLOCKS_AT_ONCE: Final = 64
"""Blocks fetched in one request: 4 MiB, about 1.5 MiB compressed."""

DEFAULT_CACHE_BYTES: Final = 8 * GIB

KEPT_MANIFESTS: Final = 256
"""Manifests and file tables kept in memory, the most recently used."""

KEPT_LISTS: Final = 4_096
"""Manifests of segments kept in memory, a list of some 20 files each."""

MANIFESTS_AT_ONCE: Final = 500

SEGMENTS: Final = "segments"
"""The directory of copies of segments, in that of the facts cache."""

KEPT_OPEN: Final = 64
"""Generations whose databases are kept open between questions; each takes two to four file descriptors."""


class Generations:
    """Reads the generations of all repositories. Thread-safe."""

    def __init__(
        self,
        engine: Engine,
        directory: Path,
        max_bytes: int = DEFAULT_CACHE_BYTES,
        store: SegmentStore | None = None,
        mapped_files: MappedFiles | None = None,
    ) -> None:
        """`directory` is for both caches, each of up to `max_bytes`, and is emptied. `store` is None where there are no segments;
        `mapped_files` counts the faults in `directory`."""
        self._engine = engine
        self.cache: Final = FactsCache(engine, directory, max_bytes)
        self._segments = None if store is None else SegmentCache(store, directory / SEGMENTS, max_bytes, mapped_files)
        self._rarities = EngineRarities(engine)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Manifest, TableCache]] = OrderedDict()
        self._segmented: OrderedDict[str, Manifest] = OrderedDict()

    def close(self) -> None:
        """Deletes both caches."""
        if self._segments is not None:
            self._segments.close()
        self.cache.close()

    def manifest(self, generation: str) -> Manifest:
        """Returns the manifest of a generation.

        Raises IndexNotReady if it was removed (long after it was replaced), IndexIncompatible, IndexDamaged, EngineUnavailable.
        """
        return self.manifests((generation,))[generation]

    def manifests(self, generations: Sequence[str]) -> Mapping[str, Manifest]:
        """Returns the manifests of generations, read with few requests. Raises the same errors as `manifest`."""
        with self._lock:
            found = {name: kept for name in generations if (kept := self._known(name)) is not None}
        missing = [name for name in generations if name not in found]
        for start in range(0, len(missing), MANIFESTS_AT_ONCE):
            batch = missing[start : start + MANIFESTS_AT_ONCE]
            said = self._engine.get_many(self._engine.names.manifests, batch)
            for name in batch:
                found[name] = self._keep(name, said.get(name))
        return found

    def summaries(self, generations: Mapping[str, str], is_over: Callable[[], bool]) -> dict[str, WordSummary]:
        """Returns the word summaries of generations in segments, by the keys of `generations`. Those that cannot be had, or not
        before `is_over`, are left out. Raises EngineUnavailable and what `manifest` raises."""
        manifests = self.manifests(list(generations.values()))
        found: dict[str, WordSummary] = {}
        for key, generation in generations.items():
            if is_over():
                break
            # What is not known is asked, and says then what is wrong.
            with suppress(CodeCompassError, OSError):
                found[key] = self._segment_cache().words(manifests[generation])
        return found

    def is_here(self, generation: str) -> bool:
        """Whether a question about a generation in segments need not wait for its files. False if that is not known."""
        with self._lock:
            manifest = self._segmented.get(generation)
        return manifest is not None and self._segment_cache().is_here(manifest)

    def fetch(self, generation: str) -> None:
        """Fetches the files of a generation in segments. Raises what `snapshot` raises."""
        self._segment_cache().fetch(self.manifest(generation))

    def discard(self, generation: str) -> bool:
        """Forgets the local copy of a generation in which damage was found. Returns whether there was one: then it is fetched
        again when it is read."""
        return self._segments is not None and self._segments.discard(generation)

    @contextmanager
    def snapshot(self, generation: str, *, is_exact: bool = True) -> Iterator[Snapshot]:
        """Yields a snapshot of a generation, which is not thread-safe; `is_exact` as for `EngineText`. Raises what `manifest` and
        `FactsCache.opened` raise."""
        manifest = self.manifest(generation)
        if manifest.segments:
            with self._segment_cache().opened(manifest) as (segments, facts):
                yield Snapshot(
                    project_id=manifest.project_id,
                    generation=manifest.meta.generation,
                    facts=FactsReader(facts.connection),
                    text=segments.text,
                    meta=manifest.meta,
                    tables=segments.tables,
                )
            return
        with self._lock:
            tables = self._kept.setdefault(generation, (manifest, TableCache()))[1]
        with self.cache.opened(manifest) as databases:
            yield Snapshot(
                project_id=manifest.project_id,
                generation=manifest.meta.generation,
                facts=FactsReader(databases.facts.connection),
                text=EngineText(self._engine, manifest, databases.counts, self._rarities, is_exact=is_exact),
                meta=manifest.meta,
                tables=tables,
            )

    def _segment_cache(self) -> SegmentCache:
        if self._segments is None:
            raise IndexNotReady(
                "this repository is published in the store of segments, and this server is not told where that is. Whoever runs "
                "it can set cluster.segments as the workers have it."
            )
        return self._segments

    def _known(self, generation: str) -> Manifest | None:
        """Returns a manifest that is kept. Called with the lock."""
        if (segmented := self._segmented.get(generation)) is not None:
            self._segmented.move_to_end(generation)
            return segmented
        if (kept := self._kept.get(generation)) is not None:
            self._kept.move_to_end(generation)
            return kept[0]
        return None

    def _keep(self, generation: str, found: JsonObject | None) -> Manifest:
        if found is None:
            raise IndexNotReady("this generation was replaced. Ask again.")
        manifest = unpacked(generation, found["data"])
        if manifest.schema_version != SCHEMA_VERSION:
            raise IndexIncompatible(
                f"this repository was indexed by another version of the program (format {manifest.schema_version}, this reads "
                f"{SCHEMA_VERSION}). It is indexed anew when the workers are of this version; ask whoever runs them."
            )
        with self._lock:
            if manifest.segments:
                self._segmented[generation] = manifest
                while len(self._segmented) > KEPT_LISTS:
                    self._segmented.popitem(last=False)
                return manifest
            kept = self._kept.setdefault(generation, (manifest, TableCache()))
            while len(self._kept) > KEPT_MANIFESTS:
                self._kept.popitem(last=False)
            return kept[0]


@asynccontextmanager
async def open_generations(
    engine: Engine,
    directory: Path,
    max_bytes: int = DEFAULT_CACHE_BYTES,
    store: SegmentStore | None = None,
    mapped_files: MappedFiles | None = None,
) -> AsyncIterator[Generations]:
    """Yields a `Generations`; its caches are deleted at the end. The arguments are those of `Generations`."""
    generations = await trio.to_thread.run_sync(Generations, engine, directory, max_bytes, store, mapped_files)
    try:
        yield generations
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(generations.close)


class Databases(Struct, frozen=True):
    """The open databases of a generation. For one thread at a time."""

    facts: ReadConnection
    counts: TermCounts

    def close(self) -> None:
        """Closes both."""
        self.facts.connection.close()
        self.counts.close()


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
        self._idle: list[tuple[str, Databases]] = []
        """Open databases that no question uses, with their generations, the last used one last. Opening them takes a fifth of
        the computing time of a search."""
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

    @contextmanager
    def opened(self, manifest: Manifest) -> Iterator[Databases]:
        """Yields the databases of a generation, open for reading. Raises what `files_of` raises, and IndexDamaged."""
        with self.files_of(manifest) as directory:
            databases = self._idle_of(manifest.generation)
            if databases is None:
                databases = _open(directory)
            try:
                yield databases
            except BaseException:
                databases.close()
                raise
            self._keep_idle(manifest.generation, databases)

    def close(self) -> None:
        """Closes the databases that no question uses, and deletes the directory."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, databases in idle:
            databases.close()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _idle_of(self, generation: str) -> Databases | None:
        with self._lock:
            places = [place for place, (name, _) in enumerate(self._idle) if name == generation]
            return self._idle.pop(places[-1])[1] if places else None

    def _keep_idle(self, generation: str, databases: Databases) -> None:
        with self._lock:
            self._idle.append((generation, databases))
            surplus = self._idle[:-KEPT_OPEN]
            del self._idle[: len(surplus)]
        for _, each in surplus:
            each.close()

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
        return {key: unpack_block(manifest, key, said[name]) for name, key in wanted.items()}

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
            closed = [databases for generation, databases in self._idle if generation in gone]
            self._idle = [each for each in self._idle if each[0] not in gone]
            for databases in closed:
                databases.close()
            for generation in gone:
                # Under the lock, or another thread would use the directory while it is deleted.
                shutil.rmtree(self._directory / generation, ignore_errors=True)


def _open(directory: Path) -> Databases:
    facts = connect_to_facts(directory / FACTS_FILE)
    try:
        return Databases(facts, TermCounts(directory / TERMS_FILE))
    except BaseException:
        facts.connection.close()
        raise


def _read(path: Path, offset: int, key: bytes) -> bytes | None:
    """Returns a block of a file on disk, or None if its content has changed or cannot be read."""
    try:
        with path.open("rb") as file:
            file.seek(offset)
            block = file.read(BLOCK_BYTES)
    except OSError:
        return None
    return block if block_key(block) == key else None

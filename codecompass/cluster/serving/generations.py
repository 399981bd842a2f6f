"""Opens generations for reading: a `Snapshot` is made of the manifest in the engine and of copies of its files
(`segment_cache.py`)."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Final

import trio

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.repositories.manifests import ManifestReader
from codecompass.cluster.serving.segment_cache import SegmentCache
from codecompass.cluster.serving.summaries import SummaryCache
from codecompass.cluster.stores.segment_store import SegmentStore
from codecompass.errors import CodeCompassError
from codecompass.store.facts import FactsReader
from codecompass.store.mapped_files import MappedFiles
from codecompass.store.snapshot import Snapshot
from codecompass.transport.http.exposition import Family
from codecompass.units import GIB

DEFAULT_CACHE_BYTES: Final = 8 * GIB

SEGMENTS: Final = "segments"
SUMMARIES: Final = "summaries"
"""The directories of copies and of summaries."""


class Generations:
    """The generations that a server reads. Thread-safe; get one from `open_generations`."""

    def __init__(
        self,
        engine: Engine,
        store: SegmentStore,
        directory: Path,
        max_bytes: int = DEFAULT_CACHE_BYTES,
        mapped_files: MappedFiles | None = None,
    ) -> None:
        """`directory` is for this server alone: for copies of up to `max_bytes`, which are deleted at the beginning and the end,
        and for summaries, which are kept. `mapped_files` counts the faults in it."""
        self._manifests = ManifestReader(engine)
        self._cache = SegmentCache(store, directory / SEGMENTS, max_bytes, mapped_files)
        self.summaries: Final = SummaryCache(store, directory / SUMMARIES)

    def close(self) -> None:
        """Deletes the copies."""
        self._cache.close()

    def fetch_summaries(self, generations: Sequence[str]) -> list[str]:
        """Reads the word summaries of generations into `summaries`, and returns the generations of which that failed."""
        try:
            manifests = self._manifests.readable(generations)
        except CodeCompassError:
            return list(generations)
        return [*(each for each in generations if each not in manifests), *self.summaries.fetch(list(manifests.values()))]

    def is_here(self, generation: str) -> bool:
        """Whether a question about a generation need not wait for its files. False if that is not known."""
        manifest = self._manifests.known(generation)
        return manifest is not None and self._cache.is_here(manifest)

    def fetch(self, generation: str) -> None:
        """Fetches the files of a generation. Raises what `snapshot` raises."""
        self._cache.fetch(self._manifests.manifest(generation))

    def metrics(self) -> tuple[Family, ...]:
        """Returns what the copies take and how they were used, for `/metrics`."""
        return self._cache.metrics()

    def discard(self, generation: str) -> bool:
        """Forgets the local copy of a generation in which damage was found. Returns whether there was one: then it is fetched
        again when it is read."""
        return self._cache.discard(generation)

    @contextmanager
    def history(self, generation: str) -> Iterator[Path | None]:
        """Yields the repository with the history of a generation; None if none was published. Raises the same errors as
        `snapshot`."""
        with self._cache.history(self._manifests.manifest(generation)) as found:
            yield found

    @contextmanager
    def snapshot(self, generation: str) -> Iterator[Snapshot]:
        """Yields a snapshot of a generation, which is not thread-safe. Raises what `ManifestReader.manifest` and
        `SegmentCache.opened` raise."""
        manifest = self._manifests.manifest(generation)
        with self._cache.opened(manifest) as (segments, facts):
            yield Snapshot(
                project_id=manifest.project_id,
                generation=manifest.meta.generation,
                facts=FactsReader(facts.connection),
                text=segments.text,
                meta=manifest.meta,
                tables=segments.tables,
            )


@asynccontextmanager
async def open_generations(
    engine: Engine,
    store: SegmentStore,
    directory: Path,
    max_bytes: int = DEFAULT_CACHE_BYTES,
    mapped_files: MappedFiles | None = None,
) -> AsyncIterator[Generations]:
    """Yields a `Generations`; its copies are deleted at the end. The arguments are those of `Generations`."""
    generations = await trio.to_thread.run_sync(Generations, engine, store, directory, max_bytes, mapped_files)
    try:
        yield generations
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(generations.close)

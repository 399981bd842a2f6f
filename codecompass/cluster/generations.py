"""Opens generations for reading: a `Snapshot` is made of the manifest, the text in the engine and the facts cached here."""

import threading
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from codecompass.cluster.engine import Engine
from codecompass.cluster.engine_text import EngineText
from codecompass.cluster.facts_cache import DEFAULT_CACHE_BYTES, FactsCache
from codecompass.cluster.manifests import Manifest, unpacked
from codecompass.cluster.publishing import FACTS_FILE, TERMS_FILE
from codecompass.cluster.rarities import EngineRarities
from codecompass.errors import IndexIncompatible, IndexNotReady
from codecompass.store.facts import FactsReader
from codecompass.store.file_table import TableCache
from codecompass.store.index import connect_to_facts
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.store.snapshot import Snapshot
from codecompass.store.term_counts import TermCounts

KEPT_MANIFESTS: Final = 256
"""Manifests and file tables kept in memory, the most recently used."""


class Generations:
    """Reads the generations of all repositories. Thread-safe."""

    def __init__(self, engine: Engine, directory: Path, max_bytes: int = DEFAULT_CACHE_BYTES) -> None:
        """`directory` is for the facts cache, and is emptied."""
        self._engine = engine
        self.cache: Final = FactsCache(engine, directory, max_bytes)
        self._rarities = EngineRarities(engine)
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, tuple[Manifest, TableCache]] = OrderedDict()

    def close(self) -> None:
        """Deletes the facts cache."""
        self.cache.close()

    def manifest(self, generation: str) -> Manifest:
        """Returns the manifest of a generation.

        Raises IndexNotReady if it was removed (long after it was replaced), IndexIncompatible, IndexDamaged, EngineUnavailable.
        """
        return self._kept_or_read(generation)[0]

    @contextmanager
    def snapshot(self, generation: str) -> Iterator[Snapshot]:
        """Yields a snapshot of a generation, which is not thread-safe. Raises what `manifest` and `FactsCache.files_of` raise."""
        manifest, tables = self._kept_or_read(generation)
        with self.cache.files_of(manifest) as directory:
            opened = connect_to_facts(directory / FACTS_FILE)
            counts = TermCounts(directory / TERMS_FILE)
            try:
                yield Snapshot(
                    project_id=manifest.project_id,
                    generation=manifest.meta.generation,
                    facts=FactsReader(opened.connection),
                    text=EngineText(self._engine, manifest, counts, self._rarities),
                    meta=manifest.meta,
                    tables=tables,
                )
            finally:
                counts.close()
                opened.connection.close()

    def _kept_or_read(self, generation: str) -> tuple[Manifest, TableCache]:
        with self._lock:
            kept = self._kept.get(generation)
            if kept is not None:
                self._kept.move_to_end(generation)
                return kept
        found = self._engine.get_many(self._engine.names.manifests, [generation]).get(generation)
        if found is None:
            raise IndexNotReady("this generation was replaced. Ask again.")
        manifest = unpacked(generation, found["data"])
        if manifest.schema_version != SCHEMA_VERSION:
            raise IndexIncompatible(
                f"this repository was indexed by another version of the program (format {manifest.schema_version}, this reads "
                f"{SCHEMA_VERSION}). It is indexed anew when the workers are of this version; ask whoever runs them."
            )
        with self._lock:
            kept = self._kept.setdefault(generation, (manifest, TableCache()))
            while len(self._kept) > KEPT_MANIFESTS:
                self._kept.popitem(last=False)
            return kept

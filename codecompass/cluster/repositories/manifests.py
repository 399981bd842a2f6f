"""Manifests: what one generation of a repository consists of, and how the engine stores that.

    manifest = the list of the files of an index, which are objects in the store of segments (`stores/segment_store.py`)

A manifest is written before anything refers to it, and never changed.
"""

import base64
import threading
import zlib
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.cluster.engine.client import Engine
from codecompass.cluster.engine.schema import JsonObject
from codecompass.errors import IndexDamaged, IndexIncompatible, IndexNotReady
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.store.snapshot import IndexMeta
from codecompass.units import MIB

MAX_MANIFEST_BYTES: Final = 16 * MIB
"""Size when decompressed. An index has tens of files, of some 100 bytes each."""

KEPT_MANIFESTS: Final = 16_384
"""Manifests kept in memory, the most recently used: a list of some 20 files each."""

MANIFESTS_AT_ONCE: Final = 500

FACTS_FILE: Final = "facts.db"

BASE_FILE: Final = "base.db"


class SegmentFile(Struct, frozen=True, array_like=True):
    """A file of the generation."""

    name: str
    """Its path in the directory of the generation."""
    size: int
    """In bytes."""
    digest: bytes
    """The first 16 bytes of the BLAKE3 of its content."""
    key: str
    """Of the object, which an earlier generation may have written."""


class Manifest(Struct, frozen=True, kw_only=True):
    """One generation."""

    generation: str
    """Its random name, also the id of the manifest's document."""
    repo_id: str
    project_id: str
    """The ids of symbols are derived from it."""
    made_at: float
    """Seconds since 1970."""
    meta: IndexMeta
    schema_version: int
    """Of the program that made the facts, like `parser_version`."""
    parser_version: int
    segments: tuple[SegmentFile, ...]
    """All files."""

    def packed(self) -> bytes:
        """Returns the JSON document that the engine stores for the manifest."""
        data = zlib.compress(msgspec.msgpack.encode(self))
        fields = {"repo_id": self.repo_id, "made_at": self.made_at, "data": base64.b64encode(data).decode()}
        return msgspec.json.encode(fields)


def unpacked(generation: str, data: str) -> Manifest:
    """Returns the manifest whose document has `data` in the field of that name. Raises IndexDamaged."""
    try:
        unpacker = zlib.decompressobj()
        raw = unpacker.decompress(base64.b64decode(data), MAX_MANIFEST_BYTES)
        manifest = msgspec.msgpack.decode(raw, type=Manifest)
    except (ValueError, zlib.error, msgspec.MsgspecError) as error:
        raise damaged(generation, error) from error
    if manifest.generation != generation:
        raise damaged(generation, ValueError("it is that of another generation"))
    return manifest


def damaged(generation: str, cause: object) -> IndexDamaged:
    """Returns the error for a generation that cannot be read."""
    return IndexDamaged(
        f"generation {generation} of this repository is damaged ({cause}). Whoever runs the workers can have it built anew: "
        "codecompass cluster changed --rebuild NAME"
    )


class ManifestReader:
    """Reads manifests from the engine and keeps the most recently used. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Manifest] = OrderedDict()

    def manifest(self, generation: str) -> Manifest:
        """Returns the manifest of a generation.

        Raises IndexNotReady if it was removed (long after it was replaced), IndexIncompatible, IndexDamaged, EngineUnavailable.
        """
        return self.manifests((generation,))[generation]

    def manifests(self, generations: Sequence[str]) -> Mapping[str, Manifest]:
        """Returns the manifests of generations, read with few requests. Raises the same errors as `manifest`."""
        found = {name: kept for name in generations if (kept := self.known(name)) is not None}
        missing = [name for name in generations if name not in found]
        for start in range(0, len(missing), MANIFESTS_AT_ONCE):
            batch = missing[start : start + MANIFESTS_AT_ONCE]
            said = self._engine.get_many(self._engine.names.manifests, batch)
            for name in batch:
                found[name] = self._keep(name, said.get(name))
        return found

    def readable(self, generations: Sequence[str]) -> Mapping[str, Manifest]:
        """Returns the manifests of those generations that this version can read and that were not removed, with few requests.
        Raises EngineUnavailable."""
        try:
            return self.manifests(generations)
        except (IndexNotReady, IndexIncompatible, IndexDamaged):
            # One of them is none of these; they are few.
            found = {}
            for each in generations:
                with suppress(IndexNotReady, IndexIncompatible, IndexDamaged):
                    found[each] = self.manifest(each)
            return found

    def known(self, generation: str) -> Manifest | None:
        """Returns a manifest that is kept, or None."""
        with self._lock:
            if (kept := self._kept.get(generation)) is not None:
                self._kept.move_to_end(generation)
            return kept

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
            self._kept[generation] = manifest
            while len(self._kept) > KEPT_MANIFESTS:
                self._kept.popitem(last=False)
        return manifest

"""Manifests: what one generation of a repository consists of, and how the engine stores that.

    manifest = the list of the files of an index, which are objects in the store of segments (`stores/segment_store.py`)

A manifest is written before anything refers to it, and never changed.
"""

import base64
import zlib
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.errors import IndexDamaged
from codecompass.store.snapshot import IndexMeta
from codecompass.units import MIB

MAX_MANIFEST_BYTES: Final = 16 * MIB
"""Size when decompressed. An index has tens of files, of some 100 bytes each."""

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

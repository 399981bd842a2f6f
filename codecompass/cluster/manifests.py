"""Manifests and blocks: what one generation of a repository consists of, and how the engine stores it.

A manifest is written before anything refers to it, and never changed.

manifest = pieces of text (documents, less those of files that later pieces replaced) + files of facts, as blocks + averages
         | segments: all files of the index, in the store of segments
"""

import base64
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.cluster.schema import SCORED, JsonObject
from codecompass.errors import IndexDamaged
from codecompass.store.snapshot import IndexMeta
from codecompass.units import KIB

MAX_MANIFEST_BYTES: Final = 256 << 20
"""Size when decompressed: the block list of 16 GB of facts."""

BLOCK_BYTES: Final = 64 * KIB

FACTS_FILE: Final = "facts.db"

BASE_FILE: Final = "base.db"

TERMS_FILE: Final = "terms.db"


class Piece(Struct, frozen=True, array_like=True):
    """The documents that one publication wrote."""

    id: str
    dead: tuple[int, ...] = ()
    """Sorted ids of the files in it that later pieces replaced or removed."""
    documents: int = 0
    """How many were written, those of dead files included; 0 if unknown."""


class BlockFile(Struct, frozen=True, array_like=True):
    """A file of the generation, cut into blocks of BLOCK_BYTES."""

    name: str
    size: int
    """In bytes."""
    blocks: tuple[bytes, ...]
    """Keys of the blocks in order: the SHA-256 of their contents."""


class Averages(Struct, frozen=True):
    """The totals that BM25 needs: documents of all kinds, chunks among them, and tokens in each field of SCORED."""

    documents: int
    chunks: int
    tokens: tuple[int, ...]

    def mean(self, field: str) -> float:
        """Returns the mean number of tokens of a field over all documents, including those without it, as tantivy does."""
        return self.tokens[SCORED.index(field)] / max(1, self.documents)


class SegmentFile(Struct, frozen=True, array_like=True):
    """A file of the generation that lies in the store of segments."""

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
    pieces: tuple[Piece, ...]
    """In the order in which they were written."""
    files: tuple[BlockFile, ...]
    averages: Averages
    meta: IndexMeta
    schema_version: int
    """Of the program that made the facts, like `parser_version`."""
    parser_version: int
    segments: tuple[SegmentFile, ...] = ()
    """All files, if the generation was published as segments: then it has no pieces and no blocks."""

    @property
    def facts_bytes(self) -> int:
        """Size of the files on disk."""
        return sum(file.size for file in self.files)

    def packed(self) -> bytes:
        """Returns the JSON document that the engine stores for the manifest."""
        data = zlib.compress(msgspec.msgpack.encode(self))
        fields = {
            "repo_id": self.repo_id,
            "made_at": self.made_at,
            "data": base64.b64encode(data).decode(),
            "pieces": {piece.id: piece.dead for piece in self.pieces},
            "n_chunks": self.averages.chunks,
        }
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
        f"generation {generation} of this repository is damaged in the search engine ({cause}). Whoever runs it can have it "
        "built anew: codecompass cluster changed --rebuild NAME"
    )


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


def unpack_block(manifest: Manifest, key: bytes, source: JsonObject) -> bytes:
    try:
        block = zlib.decompressobj().decompress(base64.b64decode(source["data"]), BLOCK_BYTES)
    except (KeyError, ValueError, zlib.error) as error:
        raise damaged(manifest.generation, error) from error
    if block_key(block) != key:
        raise damaged(manifest.generation, "a block is not what its name says")
    return block

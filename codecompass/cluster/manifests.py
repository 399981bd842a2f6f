"""What one generation of a repository consists of. A manifest is written once, before anything names it, and never changes.

manifest = pieces of text (documents, less those of files that later pieces replaced) + files of facts, as blocks + averages
"""

import base64
import zlib
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.cluster.schema import SCORED
from codecompass.errors import IndexDamaged
from codecompass.store.snapshot import IndexMeta

FORMAT: Final = 1
MAX_MANIFEST_BYTES: Final = 256 << 20
"""Unpacked. The block list of 16 GB of facts."""


class Piece(Struct, frozen=True, array_like=True):
    """The documents that one publication wrote. `dead` are files in it that later pieces replaced or removed, in order."""

    id: str
    dead: tuple[int, ...] = ()
    documents: int = 0
    """How many were written, the dead ones included; 0 where it is not known."""


class BlockFile(Struct, frozen=True, array_like=True):
    """A file of the generation, cut into blocks of BLOCK_BYTES; `blocks` are their keys, SHA-256 of their contents."""

    name: str
    size: int
    blocks: tuple[bytes, ...]


class Averages(Struct, frozen=True):
    """What BM25 needs besides the words: how many documents of all kinds, chunks, and tokens in each field of SCORED."""

    documents: int
    chunks: int
    tokens: tuple[int, ...]

    def mean(self, field: str) -> float:
        """Returns the tokens of a field over all documents, as tantivy counts: those without the field are among them."""
        return self.tokens[SCORED.index(field)] / max(1, self.documents)


class Manifest(Struct, frozen=True, kw_only=True):
    """One generation. `parser_version` and `schema_version` are those of the program that made its facts."""

    generation: str
    repo_id: str
    project_id: str
    """For the ids of symbols."""
    made_at: float
    """Seconds since 1970."""
    pieces: tuple[Piece, ...]
    files: tuple[BlockFile, ...]
    averages: Averages
    meta: IndexMeta
    schema_version: int
    parser_version: int

    @property
    def facts_bytes(self) -> int:
        """What the files take on disk."""
        return sum(file.size for file in self.files)

    def packed(self) -> bytes:
        """Returns the manifest as the JSON document of the engine."""
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
    """Reverses `Manifest.packed`; `data` is the field of that name. Raises IndexDamaged."""
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

"""What travels between the server and a worker: frames of a 4-byte little-endian length and a msgpack body.

For each file of a batch the worker answers, in order, one `FileText` and then, where the file is to be parsed, one
`FileSymbols`. The first leaves before the parse begins: when a parse kills the worker, the text and the content hash are
already here. Paths are bytes (file names need not be UTF-8).
"""

import struct
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.imports import ModuleRoot
from codecompass.languages.records import Chunk, Import, Symbol


class FileTask(Struct, frozen=True, array_like=True):
    """One file to read; `size` in bytes is what the scan saw. `known_hash` is the content hash in the index, empty if new.

    A file whose content still has the known hash is answered without text, and without symbols unless `needs_symbols`.
    """

    path: str
    known_hash: bytes = b""
    needs_symbols: bool = False
    size: int = 0


class FileText(Struct, frozen=True, array_like=True, tag="text"):
    """A file as it was read. Sizes in bytes, times in nanoseconds as `fstat` gave them before reading.

    `status` is `indexed`, `unchanged` (the hash is the known one), `skipped` (with `reason`) or `vanished`. `has_symbols`
    says that the language has symbols, `will_parse` that a `FileSymbols` follows.
    """

    path: str
    status: str
    reason: str = ""
    language: str = ""
    size: int = 0
    mtime_ns: int = 0
    ctime_ns: int = 0
    inode: int = 0
    content_hash: bytes = b""
    line_count: int = 0
    chunks: tuple[Chunk, ...] = ()
    roots: tuple[ModuleRoot, ...] = ()
    has_symbols: bool = False
    will_parse: bool = False


class FileSymbols(Struct, frozen=True, array_like=True, tag="symbols"):
    """What the parse of a file gave. `reason` tells why there is nothing: `no_grammar`, `quarantined`, `parse_failed`."""

    path: str
    content_hash: bytes
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    reason: str = ""


LENGTH: Final = struct.Struct("<I")

MAX_FRAME_BYTES: Final = 1 << 30
"""A frame holds one file's text; anything near this is a broken pipe, not a file."""


class Batch(Struct, frozen=True, array_like=True):
    """Files of one workspace. `parse` False leaves the symbols for a later batch; `quarantined` are hashes never parsed."""

    root: bytes
    tasks: tuple[FileTask, ...]
    parse: bool
    max_file_bytes: int
    max_line_characters: int
    parse_cpu_seconds: float
    quarantined: tuple[bytes, ...] = ()


Answer = FileText | FileSymbols

_batch_decoder: Final = msgspec.msgpack.Decoder(Batch)
_answer_decoder: Final[msgspec.msgpack.Decoder[Answer]] = msgspec.msgpack.Decoder(Answer)
_encoder: Final = msgspec.msgpack.Encoder()


def encode_frame(message: Batch | Answer) -> bytes:
    """Returns a whole frame."""
    body = _encoder.encode(message)
    return LENGTH.pack(len(body)) + body


def decode_batch(body: bytes) -> Batch:
    """Returns the batch in a frame's body. Raises msgspec.DecodeError."""
    return _batch_decoder.decode(body)


def decode_answer(body: bytes | memoryview) -> Answer:
    """Returns the answer in a frame's body. Raises msgspec.DecodeError."""
    return _answer_decoder.decode(body)


def decode_answers(output: bytes) -> Iterator[Answer]:
    """Yields the answers in all that a worker has written. Raises msgspec.DecodeError, struct.error where it is cut."""
    offset = 0
    while offset < len(output):
        (length,) = LENGTH.unpack_from(output, offset)
        offset += LENGTH.size
        yield decode_answer(memoryview(output)[offset : offset + length])
        offset += length

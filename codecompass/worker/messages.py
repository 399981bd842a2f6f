"""Messages between the server and a worker: frames of a 4-byte little-endian length and a msgpack body.

The server sends a `Batch` to have files read and parsed, or a `Probe` to learn which files hold certain texts. For each file of a
batch the worker sends, in order, one `FileText` and then, if the file is parsed, one `FileSymbols`. The first is sent before the
parse begins, so that the server has the text and the content hash if the parse kills the worker. A probe is answered by one
`Probed`, a `Highlight` by one `Highlighted` for each of its texts, a `ReadMarkdown` by one `MarkdownPieces`.
"""

import struct
from collections.abc import Iterator
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.identity import ObjectFormat
from codecompass.languages.imports.module_root import ModuleRoot
from codecompass.languages.records import Chunk, Import, Symbol


class FileTask(Struct, frozen=True, array_like=True):
    """One file to read. `size` in bytes is from the scan; `known_hash` is the content hash in the index, empty if new.

    If the content still has the known hash, the answer has no text, and no symbols unless `needs_symbols`. `content` is the whole
    file if it comes from a commit instead of the working tree. If only uses of names are to be read, `symbols` are those of the
    content with the known hash.
    """

    path: str
    known_hash: bytes = b""
    needs_symbols: bool = False
    size: int = 0
    content: bytes | None = None
    symbols: tuple[Symbol, ...] | None = None


class FileText(Struct, frozen=True, array_like=True, tag="text"):
    """A file as it was read.

    - `status`: `indexed`, `unchanged` (the hash is the known one), `skipped` (with `reason`) or `vanished`.
    - `language`: empty for text in no known language.
    - `size`, `mtime_ns`, `ctime_ns`, `inode`: from `fstat` before reading, in bytes and nanoseconds; `mtime_ns` is 0 where it is
      unreliable. All but `size` are 0 if the task contained the content.
    - `content_hash`: of the whole content; of a binary file only of its beginning.
    - `blob_id`: git's id of the whole content; empty if only a part was read.
    - `line_count`, `chunks`: of the text; no chunks when unchanged.
    - `roots`: what the file says about module names, if it is a configuration file.
    - `encoding`: Python's name of it, empty for UTF-8; `long_lines`: lines that were too long, whose text is left out.
    - `is_generated`: whether it says that a program wrote it (see `scan/generated.py`).
    - `has_symbols`: whether the language has symbols; `will_parse`: whether a `FileSymbols` follows.
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
    blob_id: bytes = b""
    encoding: str = ""
    long_lines: int = 0
    is_generated: bool = False


class FileSymbols(Struct, frozen=True, array_like=True, tag="symbols"):
    """The result of parsing a file. `reason` says why it is empty: `no_grammar`, `quarantined` or `parse_failed`.

    `uses` are the places where it uses names (see `languages.packed_uses`); None if they are still to be read.
    """

    path: str
    content_hash: bytes
    symbols: tuple[Symbol, ...] = ()
    imports: tuple[Import, ...] = ()
    uses: bytes | None = b""
    reason: str = ""


LENGTH: Final = struct.Struct("<I")

MAX_FRAME_BYTES: Final = 1 << 30
"""A frame holds the text of one file, so a length near this means corrupt data."""


class Batch(Struct, frozen=True, array_like=True, tag="batch"):
    """Files of one workspace to read and, with `parse`, to parse.

    - `root`: the workspace's root, as bytes on disk; the paths of `tasks` are relative to it.
    - `max_file_bytes`: larger files are skipped; `max_line_characters`: longer lines are left out.
    - `parse_cpu_seconds`: CPU time after which the parse of one file ends the worker.
    - `quarantined`: content hashes that are never parsed.
    - `object_format`: the hash algorithm of git's ids in this workspace.
    - `defers_uses`: the uses of names are not read, where the symbols suffice to read them later.
    """

    root: bytes
    tasks: tuple[FileTask, ...]
    parse: bool
    max_file_bytes: int
    max_line_characters: int
    parse_cpu_seconds: float
    quarantined: tuple[bytes, ...] = ()
    object_format: ObjectFormat = "sha1"
    defers_uses: bool = False


# How a file holds a text, in a `Probed`. Here and not in `probing.py`, so that the server can read them without the parsers.

ABSENT: Final = 0
IN_ANOTHER_CASE: Final = 1
"""Or, for a word, somewhere: words are compared without case."""
AS_WRITTEN: Final = 2
AS_A_WORD: Final = 3
"""As written, with no letter, digit or underscore around it."""
AS_A_DEFINITION: Final = 4
"""As a word, in a line that looks like a definition of it."""


class Probe(Struct, frozen=True, array_like=True, tag="probe"):
    """Files to search for texts, without reading anything else of them.

    - `root`, `max_file_bytes`, `max_line_characters`: as in a `Batch`.
    - `names`: texts to look for as they are written; `words`: texts to look for in any case.
    - `cpu_seconds`: CPU time after which one file ends the worker.
    """

    root: bytes
    paths: tuple[str, ...]
    names: tuple[str, ...]
    words: tuple[str, ...]
    max_file_bytes: int
    max_line_characters: int
    cpu_seconds: float


class Probed(Struct, frozen=True, array_like=True, tag="probed"):
    """For each file of a `Probe`, in order, one byte for each name, then for each word: how the file holds it, from ABSENT up.

    Empty for a file that cannot be read or is no text.
    """

    files: tuple[bytes, ...]


class CodeText(Struct, frozen=True, array_like=True):
    """Code to show in colour: UTF-8 in which surrogates may stand alone, with line feeds between the lines."""

    text: bytes
    language: str


class Highlight(Struct, frozen=True, array_like=True, tag="highlight"):
    """Texts to classify the tokens of.

    - `wanted`: a regular expression for what is marked, encoded as the texts are; empty for nothing.
    - `cpu_seconds`: CPU time after which all texts together end the worker.
    """

    texts: tuple[CodeText, ...]
    wanted: bytes
    cpu_seconds: float


class Span(Struct, frozen=True, array_like=True, gc=False):
    """Neighbouring characters of a line that are shown alike: how many, their CSS class (may be empty), and whether `wanted`
    matches them."""

    length: int
    kind: str
    is_wanted: bool = False


class Highlighted(Struct, frozen=True, array_like=True, tag="highlighted"):
    """The spans of each line of one text. They cover the lines."""

    lines: tuple[tuple[Span, ...], ...]


class ReadMarkdown(Struct, frozen=True, array_like=True, tag="read_markdown"):
    """A text in Markdown, in UTF-8. Needing more than `cpu_seconds` of CPU time ends the worker."""

    text: bytes
    cpu_seconds: float


class Piece(Struct, frozen=True, array_like=True, gc=False):
    """A piece of a document: an element that begins or ends, or text (see `worker.markdown`).

    - `kind`: the name of an element that begins, with a slash before it of one that ends; empty for text.
    - `text`: the text itself, the target of a link or an image, the first number of a list, the alignment of a cell.
    - `line`: the line (1-based) at which a block begins; 0 for one within a block that begins there too, and for all else.
    """

    kind: str
    text: str = ""
    line: int = 0


class MarkdownPieces(Struct, frozen=True, array_like=True, tag="markdown_pieces"):
    """A document in Markdown, in order; every element that begins ends, within the one around it. `is_too_large`: there would be
    too many pieces, so there are none."""

    pieces: tuple[Piece, ...]
    is_too_large: bool = False


Answer = FileText | FileSymbols
Order = Batch | Probe | Highlight | ReadMarkdown
Reply = Answer | Probed | Highlighted | MarkdownPieces

_order_decoder: Final[msgspec.msgpack.Decoder[Order]] = msgspec.msgpack.Decoder(Order)
_answer_decoder: Final[msgspec.msgpack.Decoder[Answer]] = msgspec.msgpack.Decoder(Answer)
_probed_decoder: Final = msgspec.msgpack.Decoder(Probed)
_highlighted_decoder: Final = msgspec.msgpack.Decoder(Highlighted)
_markdown_decoder: Final = msgspec.msgpack.Decoder(MarkdownPieces)
_encoder: Final = msgspec.msgpack.Encoder()


def encode_frame(message: Order | Reply) -> bytes:
    """Returns the frame of a message: length and body."""
    body = _encoder.encode(message)
    return LENGTH.pack(len(body)) + body


def decode_order(body: bytes) -> Order:
    """Returns the order in a frame's body. Raises msgspec.DecodeError."""
    return _order_decoder.decode(body)


def decode_probed(body: bytes | memoryview) -> Probed:
    """Returns the answer to a probe in a frame's body. Raises msgspec.DecodeError."""
    return _probed_decoder.decode(body)


def decode_highlighted(body: bytes | memoryview) -> Highlighted:
    """Returns the answer about one text in a frame's body. Raises msgspec.DecodeError."""
    return _highlighted_decoder.decode(body)


def decode_markdown(body: bytes | memoryview) -> MarkdownPieces:
    """Returns the answer about a text in Markdown in a frame's body. Raises msgspec.DecodeError."""
    return _markdown_decoder.decode(body)


def decode_answer(body: bytes | memoryview) -> Answer:
    """Returns the answer in a frame's body. Raises msgspec.DecodeError."""
    return _answer_decoder.decode(body)


def decode_answers(output: bytes) -> Iterator[Answer]:
    """Yields the answers in the output of a worker. Raises msgspec.DecodeError or struct.error if it is incomplete."""
    offset = 0
    while offset < len(output):
        (length,) = LENGTH.unpack_from(output, offset)
        offset += LENGTH.size
        yield decode_answer(memoryview(output)[offset : offset + length])
        offset += length

"""What is asked about one file, and what its reader answers: the values between the workers and the writer."""

from msgspec import Struct

from codecompass.store.imports import ModuleRoot
from codecompass.store.records import Chunk, Import, Symbol


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

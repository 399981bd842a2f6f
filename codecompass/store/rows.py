"""Rows of the facts, as Structs: files, symbols, imports."""

from msgspec import Struct

from codecompass.languages.records import SymbolKind, Visibility


class FileRow(Struct, frozen=True):
    """A file of the manifest. `reason` says why it was skipped, or why it has no symbols; sizes in bytes."""

    id: int
    path: str
    status: str
    reason: str
    language: str
    size: int
    mtime_ns: int
    ctime_ns: int
    inode: int
    content_hash: bytes
    line_count: int
    chunk_count: int
    symbol_count: int
    is_parsed: bool


class IndexedFile(Struct, frozen=True):
    """What a ranked answer needs of an indexed file."""

    id: int
    path: str
    language: str
    line_count: int


class SymbolRow(Struct, frozen=True):
    """A definition with the path and language of its file. `parent_kind` is None at the top of a file."""

    id: int
    file_id: int
    path: str
    language: str
    parent_id: int | None
    name: str
    kind: SymbolKind
    qualified_name: str
    line_start: int
    line_end: int
    ordinal: int
    signature: str
    visibility: Visibility
    doc: str
    parent_kind: SymbolKind | None = None


class ImportRow(Struct, frozen=True):
    """An import of a file. `target` is a path of the repository (a directory ends in `/`), empty where it leads outside."""

    file_id: int
    path: str
    line_start: int
    line_end: int
    spec: str
    name: str
    alias: str
    kind: str
    target: str


class FileOrder(Struct, frozen=True, gc=False):
    """A file in the order of hits: by the rank of its role (see `path_roles.py`), then by path."""

    rank: int
    file_id: int

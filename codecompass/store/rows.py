"""Rows of the facts, as Structs: files, symbols, imports."""

from msgspec import Struct

from codecompass.languages.records import SymbolKind, Visibility


class FileRow(Struct, frozen=True):
    """A file of the manifest."""

    id: int
    path: str
    status: str
    """`indexed` or `skipped`."""
    reason: str
    """Why it was skipped, or why it has no symbols; empty if neither."""
    language: str
    size: int
    mtime_ns: int
    """0 where it was written too recently to be trusted."""
    ctime_ns: int
    inode: int
    content_hash: bytes
    line_count: int
    chunk_count: int
    symbol_count: int
    blob_id: bytes
    """Git's id of the content, whether or not git knows it; empty where only a part of it was read."""
    is_parsed: bool


class FileContent(Struct, frozen=True):
    """What tells whether two generations hold the same of a file: its symbols too have the same row ids then."""

    path: str
    language: str
    content_hash: bytes
    is_parsed: bool
    symbol_count: int
    first_symbol: int
    """The row id of its first symbol, 0 where it has none."""


class IndexedFile(Struct, frozen=True):
    """An indexed file, as far as queries need it."""

    id: int
    path: str
    language: str
    line_count: int


class DefinitionSpan(Struct, frozen=True):
    """The lines of a definition (1-based, inclusive), and what it takes to compare it with others of its file."""

    id: int
    parent_id: int | None
    kind: SymbolKind
    name: str
    qualified_name: str
    line_start: int
    line_end: int


class SymbolRow(Struct, frozen=True):
    """A definition with the path and language of its file. Lines are 1-based and inclusive."""

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
    """Its number, from 0, among symbols of the same name on the same line."""
    signature: str
    visibility: Visibility
    doc: str
    parent_kind: SymbolKind | None = None
    """None at the top level of a file."""


class ImportRow(Struct, frozen=True):
    """An import of a file. Lines are 1-based and inclusive."""

    file_id: int
    path: str
    line_start: int
    line_end: int
    spec: str
    """The module as it is written."""
    name: str
    alias: str
    kind: str
    target: str
    """The path that it leads to (a directory ends in `/`), empty where that is outside the repository or unknown."""


class PackageRow(Struct, frozen=True):
    """A package that a manifest of the workspace names: the manifest's path, and the name as imports write it."""

    path: str
    prefix: str


class FileOrder(Struct, frozen=True, gc=False):
    """A file in the order of hits: by the rank of its role (see `path_roles.py`), then by path."""

    rank: int
    file_id: int

"""The rows of the facts as Structs: files, symbols, imports, and the files of the text index."""

from collections.abc import Iterable

from msgspec import Struct

from codecompass.languages.records import Symbol, SymbolKind, Visibility


class FileRow(Struct, frozen=True):
    """A file of the manifest."""

    id: int
    path: str
    status: str
    """`indexed` or `skipped`."""
    reason: str
    """Why it was skipped, or why it was not parsed; empty if neither."""
    language: str
    size: int
    mtime_ns: int
    """0 if the file was written too recently for its time to be trusted."""
    ctime_ns: int
    inode: int
    content_hash: bytes
    line_count: int
    chunk_count: int
    symbol_count: int
    blob_id: bytes
    """Git's blob id of the content, whether or not git has the blob; empty if only a part of the file was read."""
    encoding: str
    """Python's name of it; empty for UTF-8."""
    long_lines: int
    """Lines whose text is left out because they are too long."""
    is_parsed: bool


class FileContent(Struct, frozen=True):
    """Identifies what a generation holds of a file: if two are equal, the symbols have the same row ids too."""

    path: str
    language: str
    content_hash: bytes
    is_parsed: bool
    symbol_count: int
    first_symbol: int
    """The row id of its first symbol, 0 if it has none."""


class IndexedFile(Struct, frozen=True, gc=False):
    """The columns of an indexed file that queries need."""

    id: int
    path: str
    language: str
    """That of the file, or of the code in it that is meant."""
    line_count: int
    role_rank: int = 0
    """That of its role (see `path_roles.role_of_file`)."""


class DefinitionSpan(Struct, frozen=True, gc=False):
    """The lines of a definition (1-based, inclusive), and what is needed to compare it with other definitions of its file."""

    line_start: int
    id: int
    line_end: int
    parent_id: int | None
    kind: SymbolKind
    name: str
    qualified_name: str


class SymbolRow(Struct, frozen=True, gc=False):
    """A definition with the path of its file. Lines are 1-based and inclusive."""

    id: int
    file_id: int
    path: str
    language: str
    """That of its code: a script in a page is not in the language of the page."""
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
    file_language: str = ""
    """The language of its file."""
    role_rank: int = 0
    """That of the role of its file (see `path_roles.role_of_file`)."""


class ImportRow(Struct, frozen=True):
    """An import of a file. Lines are 1-based and inclusive."""

    file_id: int
    path: str
    line_start: int
    line_end: int
    spec: str
    """The module as the source writes it."""
    name: str
    alias: str
    kind: str
    target: str
    """The path that it resolves to (a directory ends in `/`); empty if that is outside the repository or unknown."""
    language: str = ""
    """That of its code."""


class PackageRow(Struct, frozen=True):
    """A package that a manifest (`go.mod`, `package.json`) declares: the manifest's path, and the name used in imports."""

    path: str
    prefix: str


class FileOrder(Struct, frozen=True, gc=False):
    """A file in the order of hits: by the rank of its role (see `path_roles.py`), then by path."""

    rank: int
    file_id: int


class TextFile(Struct, frozen=True):
    """A file of a generation's text index, with the stamp and checksum that it had when it was published."""

    name: str
    size: int
    mtime_ns: int
    inode: int
    digest: bytes

    @property
    def stamp(self) -> tuple[int, int, int]:
        """The stamp that it had when it was published (see `stamp_of`)."""
        return self.size, self.mtime_ns, self.inode


def as_parsed(rows: Iterable[SymbolRow]) -> tuple[Symbol, ...]:
    """Returns the definitions of a file as the parser gave them, in that order, but without documentation: for reading uses."""
    ordered = sorted(rows, key=lambda row: row.id)
    numbers = {row.id: number for number, row in enumerate(ordered)}
    return tuple(
        Symbol(
            name=row.name,
            kind=row.kind,
            qualified_name=row.qualified_name,
            line_start=row.line_start,
            line_end=row.line_end,
            signature=row.signature,
            parent=-1 if row.parent_id is None else numbers.get(row.parent_id, -1),
        )
        for row in ordered
    )

"""The data that answers a question: one complete generation of an index, independent of the store that holds it.

    Snapshot = facts (files, symbols, imports) + text (a `TextIndex`: ranked search and the candidates of a scan) + description

`index.py` makes those of the local store, whose text index is tantivy's.
"""

import sys
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal, Protocol

import msgspec
from msgspec import Struct

from codecompass.errors import REBUILD, IndexDamaged
from codecompass.languages.records import Chunk
from codecompass.store.facts import FactsReader
from codecompass.store.file_table import FileTable, TableCache
from codecompass.store.rows import FileOrder
from codecompass.store.text_queries import Filter, Narrowing, WordQuery

LINE_BITS: Final = 24
LENGTH_BITS: Final = 12
FILE_SHIFT: Final = LINE_BITS + LENGTH_BITS
MAX_CHUNK_LINES: Final = (1 << LENGTH_BITS) - 1
MAX_LINE: Final = (1 << LINE_BITS) - 1

ALL_CHUNKS: Final = sys.maxsize


class IndexMeta(Struct, frozen=True, kw_only=True):
    """The description of a generation, as it was published."""

    generation: int
    completeness: Literal["partial", "complete"]
    """`partial` until all files have been parsed: text can be searched, symbols are missing."""
    ref: str
    """The branch that was checked out, empty if there is none."""
    commit: str
    published_at: float
    """Seconds since 1970."""
    file_count: int
    symbol_count: int
    source_bytes: int
    rules_fingerprint: str
    """Identifies the rules by which files were chosen. If the current ones differ, the whole tree must be scanned again."""


def read_meta(facts: FactsReader) -> IndexMeta:
    """Returns the table `meta` as a Struct. Raises IndexDamaged if entries are missing or invalid."""
    try:
        return msgspec.convert(facts.meta(), IndexMeta, strict=False)
    except msgspec.ValidationError as error:
        raise IndexDamaged(f"the index has no valid description ({error}). {REBUILD}") from error


class ChunkHit(Struct, frozen=True, gc=False):
    """A chunk and its BM25 score. Lines are 1-based and inclusive. `address` locates it in its text index, None if unknown."""

    file_id: int
    line_start: int
    line_end: int
    score: float
    address: object = None


class SymbolHit(Struct, frozen=True, gc=False):
    """A symbol (its row id in the facts) and its BM25 score."""

    symbol_id: int
    score: float


class FileHit(Struct, frozen=True, gc=False):
    """A file found by the words of its path, and its BM25 score."""

    file_id: int
    score: float


class Passage(Struct, frozen=True, gc=False):
    """A piece of a file, from its first line (1-based)."""

    file_id: int
    line_start: int
    text: str


def pack_chunk_key(file_id: int, line_start: int, line_end: int) -> int:
    """Returns file and lines of a chunk packed into the field `key`: 28 bits of file, 24 of first line, 12 of line count."""
    return (file_id << FILE_SHIFT) | (line_start << LENGTH_BITS) | (line_end - line_start + 1)


def unpack_chunk_key(key: int, score: float, address: object = None) -> ChunkHit:
    """Returns the hit with the file and lines of a key from `pack_chunk_key`."""
    line_start = (key >> LENGTH_BITS) & MAX_LINE
    length = key & MAX_CHUNK_LINES
    return ChunkHit(key >> FILE_SHIFT, line_start, line_start + length - 1, score, address)


class WeighedSearch(Struct, frozen=True):
    """The arguments of `weighed_chunks`: the chunks whose words have the largest sums of `worth`, at least `least`, and of which
    they have at least `least_words`."""

    worth: Mapping[str, float]
    limit: int
    least: float
    where: Filter
    least_words: int = 1


class ChunkCandidates(Protocol):
    """The candidates of a scan, numbered by file and line. Their texts are read on demand, from the same generation."""

    file_ids: frozenset[int]

    def __len__(self) -> int: ...

    def of(self, file_id: int) -> range:
        """Returns the numbers of the candidates in a file, in line order."""

    def place(self, number: int) -> ChunkHit:
        """Returns the file and lines of a candidate, with a score of 0."""

    def passages(self, numbers: Iterable[int]) -> Iterator[Passage]:
        """Yields the texts of candidates, in the order of `numbers`."""


class KeyedCandidates:
    """The part of `ChunkCandidates` that needs only their keys: which files they are in, and where.

    There may be 50,000 of them. They are kept as plain numbers, because so many objects would trigger the garbage collector,
    which would take longer than everything else.
    """

    def __init__(self, keys: Sequence[int]) -> None:
        """`keys` are sorted (see `pack_chunk_key`)."""
        self._keys = keys
        self.file_ids = frozenset({key >> FILE_SHIFT for key in keys})

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, file_id: int) -> range:
        """See `ChunkCandidates`."""
        first = bisect_left(self._keys, file_id << FILE_SHIFT)
        return range(first, bisect_left(self._keys, (file_id + 1) << FILE_SHIFT, first))

    def place(self, number: int) -> ChunkHit:
        """See `ChunkCandidates`."""
        return unpack_chunk_key(self._keys[number], 0.0)


class TextIndex(Protocol):
    """The text of one generation. Hits are sorted best first, ties by file and line, so that equal indexes give equal pages."""

    def document_frequency(self, field: str, word: str) -> int:
        """Returns how many documents have `word` in `field` (deleted ones may count)."""

    def search_chunks(self, words: Sequence[WordQuery], limit: int, where: Filter = ...) -> list[ChunkHit]:
        """Returns the best chunks by BM25."""

    def weighed_chunks(self, search: WeighedSearch) -> list[ChunkHit]:
        """Returns the chunks with the largest sums; each word counts once."""

    def search_symbols(self, words: Sequence[WordQuery], limit: int, where: Filter = ...) -> list[SymbolHit]:
        """Returns the best symbols by name parts, signature and doc."""

    def search_files(self, words: Sequence[WordQuery], limit: int, where: Filter = ...) -> list[FileHit]:
        """Returns the best files by the words of their path (field `file_words`)."""

    def fuzzy_symbols(self, name: str, distance: int, limit: int) -> list[int]:
        """Returns the row ids of symbols whose whole lower-case name is within `distance` (1 or 2) edits of `name`."""

    def prefix_symbols(self, prefix: str, limit: int) -> list[int]:
        """Returns the row ids of symbols whose lower-case name begins with `prefix`."""

    def file_chunks(self, file_id: int, line_start: int = 1, line_end: int = MAX_LINE) -> tuple[Chunk, ...]:
        """Returns the chunks of a file that overlap the lines, in order; all its chunks together are its whole text."""

    def chunk_text(self, hit: ChunkHit) -> str:
        """Returns the text of a chunk that a search of this text index found."""

    def chunks_holding(self, narrowing: Narrowing, where: Filter = ..., most: int = ...) -> ChunkCandidates:
        """Returns the candidates of a scan: all chunks that can match, and some others. If they are more than `most`, some of
        them, but more than `most`."""


class Snapshot(Struct, frozen=True):
    """One complete generation. Valid inside the `with` block that yielded it, for one thread at a time."""

    project_id: str
    generation: int
    facts: FactsReader
    text: TextIndex
    meta: IndexMeta
    tables: TableCache

    def files(self) -> FileTable:
        """Returns the table of indexed files; the first call in a generation reads all of them."""
        return self.tables.table(self.facts)

    def in_order(self, file_ids: Collection[int]) -> Iterator[FileOrder]:
        """Yields files sorted by the rank of their role, then by path. Lazy."""
        return self.tables.in_order(self.facts, file_ids, self.meta.file_count)

    def paths_ending(self, suffix: str, limit: int) -> list[str]:
        """Returns indexed paths equal to `suffix` or ending in `/suffix`, case-insensitively, shortest first: in a tenth of the
        time once the table of files was read."""
        kept = self.tables.kept()
        return self.facts.paths_ending(suffix, limit) if kept is None or not suffix else kept.ending(suffix, limit)

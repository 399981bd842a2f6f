"""Reads the tantivy index of one generation: ranked hits, and the candidates of a scan. `text_writer.py` builds it.

Implements `snapshot.TextIndex`.
"""

import errno
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Final, cast

import tantivy

from codecompass import lazy
from codecompass.errors import REBUILD, IndexDamaged, PermissionDenied
from codecompass.languages.records import Chunk
from codecompass.store.databases import temporary_directory
from codecompass.store.odd_words import MAX_CHUNKS, OddWords, odd_words_of
from codecompass.store.schema import text_schema
from codecompass.store.snapshot import (
    ALL_CHUNKS,
    FILE_SHIFT,
    LENGTH_BITS,
    MAX_LINE,
    ChunkHit,
    FileHit,
    KeyedCandidates,
    Passage,
    SymbolHit,
    WeighedSearch,
    unpack_chunk_key,
)
from codecompass.store.text_queries import Filter, Narrowing, QueryBuilder, WordQuery
from codecompass.store.vocabulary import Vocabulary

_Found = tuple[int, float, tantivy.DocAddress]
"""The key, the score and the address of a document."""

_REFUSALS: Final = frozenset(
    {errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EPERM, errno.EROFS}
)
"""Errors for missing space, memory, file handles or permissions, after which the index is not damaged."""

_OS_ERROR: Final = lazy.pattern(r"\(os error (\d+)\)|\bOs \{ code: (\d+),")
"""How Rust formats an OS error, for people and for programmers."""


class DamageGuard:
    """A context manager that turns the errors of a damaged index into IndexDamaged, and refusals of the system into OSError.
    Threads may share one.

    tantivy reports all errors as ValueError, except panics: pyo3's PanicException derives from BaseException and cannot be
    imported, so it is recognised by its name.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> None:
        """Does nothing. A class is entered in a third of the time of a generator, and this is entered for each chunk."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None or error is None:
            return
        if (number := _refused_by_system(error)) is not None:
            raise OSError(number, os.strerror(number), str(self._directory)) from error
        if isinstance(error, (ValueError, OSError)) or kind.__name__ == "PanicException":
            raise IndexDamaged(
                f"the index at {self._directory} is damaged ({error}). {REBUILD}", path=str(self._directory)
            ) from error


def _refused_by_system(error: BaseException) -> int | None:
    if isinstance(error, OSError):
        number = error.errno
    else:
        found = _OS_ERROR.search(str(error)) if isinstance(error, ValueError) else None
        number = int(found[1] or found[2]) if found else None
    return number if number in _REFUSALS else None


class TextReader:
    """One generation, which does not change after it is opened. Thread-safe; keeps its files mapped until it is dropped."""

    def __init__(self, directory: Path) -> None:
        """Opens the generation in `directory`. Raises FileNotFoundError if it is gone, IndexDamaged if it is damaged."""
        if not (directory / "meta.json").exists():
            raise FileNotFoundError(directory)
        self._guard = DamageGuard(directory)
        with self._guard:
            self._searcher = _searcher(directory)
        self._queries = QueryBuilder(text_schema(), Vocabulary(self._searcher))
        self._odd: OddWords | None = None
        self._is_odd_known = False

    @property
    def document_count(self) -> int:
        """The number of documents of all kinds."""
        return self._searcher.num_docs

    def document_frequency(self, field: str, word: str) -> int:
        """Returns how many documents have `word` in `field` (deleted ones count until a merge)."""
        with self._guard:
            return self._searcher.doc_freq(field, word)

    def words_of(self, field: str) -> Sequence[tuple[str, int]]:
        """Returns all words of a field, each with how many documents have it, in no order that is promised."""
        with self._guard:
            return self._searcher.terms_with_prefix(field, "")

    def search_chunks(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[ChunkHit]:  # noqa: B008 (frozen)
        """Returns the best chunks, best first; ties by file and line, so that equal indexes give equal pages."""
        return _chunk_hits(self._search(words, limit, where))

    def weighed_chunks(self, search: WeighedSearch) -> list[ChunkHit]:
        """Returns the chunks with the largest sums, best first; each word counts once."""
        if not search.worth or search.limit < 1 or search.where.file_ids == ():
            return []
        found = self._keys(self._queries.weighed(search.worth, search.where, search.least_words), search.limit)
        return _chunk_hits([each for each in found if each[1] >= search.least])

    def search_symbols(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[SymbolHit]:  # noqa: B008 (frozen)
        """Returns the best symbols by name parts, signature and doc, best first."""
        hits = [SymbolHit(key, score) for key, score, _ in self._search(words, limit, where)]
        hits.sort(key=lambda hit: (-hit.score, hit.symbol_id))
        return hits

    def search_files(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[FileHit]:  # noqa: B008 (frozen)
        """Returns the best files by the words of their path (field `file_words`), best first."""
        hits = [FileHit(key, score) for key, score, _ in self._search(words, limit, where)]
        hits.sort(key=lambda hit: (-hit.score, hit.file_id))
        return hits

    def fuzzy_symbols(self, name: str, distance: int, limit: int) -> list[int]:
        """Returns the row ids of symbols whose whole lower-case name is within `distance` (1 or 2) edits of `name`."""
        return self._symbol_ids(self._queries.similar_names(name.lower(), distance), limit)

    def prefix_symbols(self, prefix: str, limit: int) -> list[int]:
        """Returns the row ids of symbols whose lower-case name begins with `prefix`."""
        return self._symbol_ids(self._queries.names_beginning(prefix.lower()), limit)

    def file_chunks(self, file_id: int, line_start: int = 1, line_end: int = MAX_LINE) -> tuple[Chunk, ...]:
        """Returns the chunks of a file that overlap the lines, in order; all its chunks together are its whole text."""
        found = sorted(self._addresses(self._queries.chunks_of_file(file_id)).items(), key=itemgetter(0))
        hits = (unpack_chunk_key(key, 0.0, address) for key, address in found)
        return tuple(
            Chunk(hit.line_start, hit.line_end, self.chunk_text(hit))
            for hit in hits
            if hit.line_start <= line_end and hit.line_end >= line_start
        )

    def chunk_text(self, hit: ChunkHit) -> str:
        """Returns the text of a chunk that a search of this reader found."""
        if hit.address is None:
            raise ValueError("a chunk without an address")
        with self._guard:
            text: str = self._searcher.doc(cast("tantivy.DocAddress", hit.address)).get_first("body") or ""
        return text

    def chunks_holding(
        self,
        narrowing: Narrowing,
        where: Filter = Filter(),  # noqa: B008 (frozen)
        most: int = ALL_CHUNKS,
    ) -> "TantivyCandidates":
        """See `TextIndex`."""
        odd = None if narrowing.pieces is None else self._odd_words()
        with self._guard:
            query = self._queries.narrowed(narrowing, where, self._searcher.num_docs, self._has_more, with_odd=odd is None)
            addresses = self._addresses(query, most)
            if odd is not None and (keys := odd.keys_with(narrowing.pieces or ())):
                own = self._addresses(self._queries.with_odd_words(where))
                addresses.update((key, own[key]) for key in keys if key in own)
            return TantivyCandidates(self._searcher, self._guard, addresses)

    def _odd_words(self) -> OddWords | None:
        """Returns the words that cannot be found by their letters, read by the first call; None if they are too many."""
        if not self._is_odd_known:
            # At worst two threads read the same words.
            addresses = self._addresses(self._queries.with_odd_words(Filter()), MAX_CHUNKS)
            if len(addresses) <= MAX_CHUNKS:
                held = TantivyCandidates(self._searcher, self._guard, addresses)
                texts = (passage.text for passage in held.passages(range(len(held))))
                self._odd = odd_words_of(zip(sorted(addresses), texts, strict=True))
            self._is_odd_known = True
        return self._odd

    def _has_more(self, query: tantivy.Query, number: int) -> bool:
        return len(self._searcher.search(query, number + 1, count=False).hits) > number

    def _search(self, words: Sequence[WordQuery], limit: int, where: Filter) -> list[_Found]:
        if not words or limit < 1 or where.file_ids == ():
            return []
        return self._keys(self._queries.ranked(words, where), limit)

    def _keys(self, query: tantivy.Query, limit: int) -> list[_Found]:
        # tantivy reserves memory for `limit` hits even if the index has fewer documents, and rejects a limit of 0.
        limit = max(1, min(limit, self._searcher.num_docs))
        with self._guard:
            hits = self._searcher.search(query, limit, count=False).hits
            keys = self._searcher.fast_field_values("key", [address for _, address in hits])
        return [(int(key), float(score), address) for (score, address), key in zip(hits, keys, strict=True) if key is not None]

    def _symbol_ids(self, query: tantivy.Query, limit: int) -> list[int]:
        return sorted(key for key, _, _ in self._keys(query, limit))

    def _addresses(self, query: tantivy.Query, most: int = ALL_CHUNKS) -> dict[int, tantivy.DocAddress]:
        """Returns the address of every document that a query finds, by key, in no order; of more than `most` one more than
        these."""
        limit = max(1, min(self._searcher.num_docs, most + 1))
        with self._guard:
            addresses = [address for _, address in self._searcher.search(query, limit, count=False).hits]
            keys: list[int] = self._searcher.fast_field_values("key", addresses)  # type: ignore[assignment]  # none is missing
        return dict(zip(keys, addresses, strict=True))


def _chunk_hits(found: Sequence[_Found]) -> list[ChunkHit]:
    """Returns what was found, best first; ties by file and line, which is the order of their keys."""
    by_score = sorted(found, key=itemgetter(0))
    by_score.sort(key=itemgetter(1), reverse=True)  # stable: places of one score stay in the order of their keys
    return [unpack_chunk_key(*each) for each in by_score]


def _searcher(directory: Path) -> tantivy.Searcher:
    """Opens the index in `directory`, even if that is read-only, although tantivy writes a lock file before it reads."""
    try:
        return _searcher_at(directory)
    except ValueError as error:
        if "lockfile" not in str(error).lower():
            raise
        failure = error
    try:
        # The files are mapped when they are opened, so the links can be deleted then. They go through a descriptor, because such
        # short links take no extra space on any file system.
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with temporary_directory() as links:
                for name in os.listdir(descriptor):
                    if not name.endswith(".lock"):
                        (links / name).symlink_to(_through(descriptor, directory) / name)
                return _searcher_at(links)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise PermissionDenied(
            f"the index at {directory} cannot be opened ({failure}), and there is no other place for tantivy's lock file "
            f"({error}). Make the directory writable, or set TMPDIR to one that is.",
            path=str(directory),
            suggested_action="make the directory writable, or set TMPDIR to one that is",
        ) from error


def _searcher_at(directory: Path) -> tantivy.Searcher:
    index = tantivy.Index.open(str(directory))
    # The default reader would reload when another process commits.
    index.config_reader("Manual")
    return index.searcher()


def _through(descriptor: int, directory: Path) -> Path:
    through = Path(f"/proc/self/fd/{descriptor}")
    return through if sys.platform == "linux" and through.exists() else directory.resolve()


class TantivyCandidates(KeyedCandidates):
    """The candidates of a scan in tantivy's index, which implement `snapshot.ChunkCandidates`."""

    def __init__(self, searcher: tantivy.Searcher, guard: DamageGuard, addresses: Mapping[int, tantivy.DocAddress]) -> None:
        """`addresses` are those of the chunks, by key."""
        super().__init__(sorted(addresses))
        self._searcher = searcher
        self._guard = guard
        self._addresses = addresses

    def passages(self, numbers: Iterable[int]) -> Iterator[Passage]:
        """See `ChunkCandidates`."""
        # One guard around the loop is correct, because errors of the consumer are not raised inside the generator.
        with self._guard:
            for number in numbers:
                key = self._keys[number]
                text = self._searcher.doc(self._addresses[key]).get_first("body")
                yield Passage(key >> FILE_SHIFT, key >> LENGTH_BITS & MAX_LINE, text or "")

"""The text index of one generation: documents in, ranked hits out. The only module that talks to tantivy.

Everything user-typed becomes Query objects built from our own tokens; tantivy's query parser is never used (it fails on
half of what people type, or matches everything). A damaged index surfaces as IndexDamaged, whatever form it takes below.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import tantivy
from msgspec import Struct

from codecompass.errors import IndexDamaged
from codecompass.store.records import Chunk
from codecompass.store.schema import CHUNK_RECORD, FILE_RECORD, SYMBOL_RECORD, text_schema
from codecompass.store.words import LONG_WORD_MARK
from codecompass.units import MIB

HEAP_BYTES: Final = 64 * MIB
"""Writer heap: 32 MB gives more segments, 512 MB costs memory, the time is the same (measured 2026-11-20)."""

LINE_BITS: Final = 24
LENGTH_BITS: Final = 12
MAX_CHUNK_LINES: Final = (1 << LENGTH_BITS) - 1
MAX_LINE: Final = (1 << LINE_BITS) - 1

MAX_FILE_CHUNKS: Final = 100_000
"""More than a file under the size cap can have."""

MAX_TOKEN_BYTES: Final = 40
"""The index's tokenizer drops tokens of this length and more."""

NOT_LINKED: Final = frozenset({"meta.json", ".managed.json", ".tantivy-writer.lock", ".tantivy-meta.lock"})
"""Files of a generation that change in place (or are locks) and so are copied, or made anew, never hard-linked."""


class FieldBoost(Struct, frozen=True):
    """A text field and the factor of its score."""

    field: str
    boost: float


class WordQuery(Struct, frozen=True):
    """One lower-case word searched in several fields; the best field counts, the others add `tie_breaker` of theirs.

    With `is_constant` it counts its `boost` wherever it stands, however often: a sum of such words says how many are there.
    """

    word: str
    fields: tuple[FieldBoost, ...]
    boost: float = 1.0
    is_required: bool = False
    tie_breaker: float = 0.1
    is_constant: bool = False


class Filter(Struct, frozen=True):
    """What a hit must satisfy apart from the words.

    No `languages` means all of them. `file_ids` None means all files; an empty tuple means none.
    """

    languages: tuple[str, ...] = ()
    file_ids: tuple[int, ...] | None = None


class TermPattern(Struct, frozen=True):
    """A token that a text must hold; an open end may go on with further letters or digits of the same token."""

    token: str
    is_start_open: bool = False
    is_end_open: bool = False


class ChunkHit(Struct, frozen=True):
    """A chunk and its BM25 score. Lines are 1-based and inclusive."""

    file_id: int
    line_start: int
    line_end: int
    score: float


class SymbolHit(Struct, frozen=True):
    """A symbol (its row id in the facts) and its BM25 score."""

    symbol_id: int
    score: float


class FileHit(Struct, frozen=True):
    """A file found by the words of its path, and its BM25 score."""

    file_id: int
    score: float


class SymbolDocument(Struct, frozen=True):
    """What of a symbol is searched by rank. `words` are the parts of its name and of the scopes around it."""

    symbol_id: int
    name: str
    words: str
    signature: str
    doc: str


class FileDocument(Struct, frozen=True):
    """Everything that one file puts into the text index."""

    file_id: int
    language: str
    path_words: str
    chunks: tuple[Chunk, ...] = ()
    symbols: tuple[SymbolDocument, ...] = ()


def index_tokens(text: str) -> list[str]:
    """Returns the tokens that the index makes of `text`, in order: lower case, without those of 40 bytes and more."""
    analyzer = (
        tantivy.TextAnalyzerBuilder(tantivy.Tokenizer.simple())
        .filter(tantivy.Filter.remove_long(MAX_TOKEN_BYTES))
        .filter(tantivy.Filter.lowercase())
        .build()
    )
    return analyzer.analyze(text)


@contextmanager
def damage_guard(directory: Path) -> Iterator[None]:
    """Turns the ways in which a damaged index shows itself into IndexDamaged.

    tantivy reports everything as ValueError, except where it panics: pyo3's PanicException derives from BaseException and
    cannot be imported, so it is known by its name.
    """
    try:
        yield
    except (ValueError, OSError) as error:
        raise IndexDamaged(damage_message(directory, error), path=str(directory)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise IndexDamaged(damage_message(directory, error), path=str(directory)) from error


def damage_message(directory: Path, error: BaseException) -> str:
    """Says what is damaged and what to do."""
    return f"the index at {directory} is damaged ({error}). Rebuild it with: codecompass index --force"


def pack_chunk_key(file_id: int, line_start: int, line_end: int) -> int:
    """Packs a chunk's place into the 64 bits of `key`: 28 bits of file, 24 of first line, 12 of length."""
    return (file_id << (LINE_BITS + LENGTH_BITS)) | (line_start << LENGTH_BITS) | (line_end - line_start + 1)


def unpack_chunk_key(key: int, score: float) -> ChunkHit:
    """Reverses `pack_chunk_key`."""
    line_start = (key >> LENGTH_BITS) & MAX_LINE
    length = key & MAX_CHUNK_LINES
    return ChunkHit(key >> (LINE_BITS + LENGTH_BITS), line_start, line_start + length - 1, score)


class TextReader:
    """One generation as it was when opened. Thread-safe; keeps its files mapped until it is dropped."""

    def __init__(self, directory: Path) -> None:
        """Opens the generation in `directory`. Raises FileNotFoundError where it is gone, IndexDamaged where it is broken."""
        if not (directory / "meta.json").exists():
            raise FileNotFoundError(directory)
        self._directory = directory
        self._schema = text_schema()
        with damage_guard(directory):
            index = tantivy.Index.open(str(directory))
            # The default reader would advance by itself when another process commits.
            index.config_reader("Manual")
            self._searcher = index.searcher()

    @property
    def document_count(self) -> int:
        """Documents of all kinds of record."""
        return self._searcher.num_docs

    def document_frequency(self, field: str, word: str) -> int:
        """Returns how many documents hold `word` in `field` (deleted ones count until a merge)."""
        with damage_guard(self._directory):
            return self._searcher.doc_freq(field, word)

    def search_chunks(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[ChunkHit]:  # noqa: B008 (frozen)
        """Returns the best chunks, best first; ties by file and line, so that equal indexes give equal pages."""
        hits = [unpack_chunk_key(key, score) for key, score in self._search(CHUNK_RECORD, words, limit, where)]
        hits.sort(key=lambda hit: (-hit.score, hit.file_id, hit.line_start))
        return hits

    def search_symbols(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[SymbolHit]:  # noqa: B008 (frozen)
        """Returns the best symbols by name parts, signature and doc, best first."""
        hits = [SymbolHit(key, score) for key, score in self._search(SYMBOL_RECORD, words, limit, where)]
        hits.sort(key=lambda hit: (-hit.score, hit.symbol_id))
        return hits

    def search_files(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[FileHit]:  # noqa: B008 (frozen)
        """Returns the best files by the words of their path (field `file_words`), best first."""
        hits = [FileHit(key, score) for key, score in self._search(FILE_RECORD, words, limit, where)]
        hits.sort(key=lambda hit: (-hit.score, hit.file_id))
        return hits

    def fuzzy_symbols(self, name: str, distance: int, limit: int) -> list[int]:
        """Returns row ids of symbols whose whole lower-case name is within `distance` (1 or 2) edits of `name`."""
        query = tantivy.Query.fuzzy_term_query(self._schema, "name", name.lower(), distance=distance)
        return self._symbol_ids(query, limit)

    def prefix_symbols(self, prefix: str, limit: int) -> list[int]:
        """Returns row ids of symbols whose lower-case name begins with `prefix`."""
        query = tantivy.Query.fuzzy_term_query(self._schema, "name", prefix.lower(), distance=0, prefix=True)
        return self._symbol_ids(query, limit)

    def file_chunks(self, file_id: int, line_start: int = 1, line_end: int = MAX_LINE) -> tuple[Chunk, ...]:
        """Returns the chunks of a file that touch the lines, in order; all together they are its text."""
        query = self._all_of(
            tantivy.Query.term_query(self._schema, "record", CHUNK_RECORD, index_option="basic"),
            tantivy.Query.term_query(self._schema, "file_id", file_id),
        )
        places = [place for place in self._places(query, MAX_FILE_CHUNKS) if place[0].line_start <= line_end]
        chunks = []
        for hit, address in places:
            if hit.line_end >= line_start:
                chunks.append(Chunk(hit.line_start, hit.line_end, self._body(address)))
        return tuple(chunks)

    def chunks_holding(self, terms: Sequence[TermPattern], where: Filter = Filter()) -> Iterator[tuple[ChunkHit, str]]:  # noqa: B008 (frozen)
        """Yields every chunk, with its text, that can hold text with all of `terms`, in file and line order.

        Candidates for a scan: a superset of the chunks in question, and without terms simply all chunks.
        """
        musts = [tantivy.Query.term_query(self._schema, "record", CHUNK_RECORD, index_option="basic")]
        musts += [self._term_pattern(term) for term in terms]
        musts += self._filters(where)
        with damage_guard(self._directory):
            places = self._places(self._all_of(*musts), MAX_LINE)
        for hit, address in places:
            yield hit, self._body(address)

    def _term_pattern(self, term: TermPattern) -> tantivy.Query:
        if term.is_start_open or term.is_end_open:
            # Tokens are letters and digits alone, so nothing in them needs to be escaped.
            pattern = (".*" if term.is_start_open else "") + term.token + (".*" if term.is_end_open else "")
            found = tantivy.Query.regex_query(self._schema, "body", pattern)
        else:
            found = tantivy.Query.term_query(self._schema, "body", term.token, index_option="basic")
            if len(term.token.encode()) < MAX_TOKEN_BYTES:
                return found
        # The index drops long tokens; the chunks that have some are marked.
        marked = tantivy.Query.term_query(self._schema, "parts", LONG_WORD_MARK, index_option="basic")
        return tantivy.Query.boolean_query([(tantivy.Occur.Should, found), (tantivy.Occur.Should, marked)])

    def _search(self, record: str, words: Sequence[WordQuery], limit: int, where: Filter) -> list[tuple[int, float]]:
        if not words or limit < 1 or where.file_ids == ():
            return []
        clauses = [
            (tantivy.Occur.Must, tantivy.Query.const_score_query(query, 0.0))
            for query in [
                tantivy.Query.term_query(self._schema, "record", record, index_option="basic"),
                *self._filters(where),
            ]
        ]
        optional = []
        for word in words:
            fields = [
                tantivy.Query.boost_query(
                    tantivy.Query.term_query(self._schema, item.field, word.word, index_option="freq"),
                    item.boost * word.boost,
                )
                for item in word.fields
            ]
            query = fields[0] if len(fields) == 1 else tantivy.Query.disjunction_max_query(fields, word.tie_breaker)
            if word.is_constant:
                query = tantivy.Query.const_score_query(query, word.boost)
            if word.is_required:
                clauses.append((tantivy.Occur.Must, query))
            else:
                optional.append((tantivy.Occur.Should, query))
        if optional:
            clauses.append((tantivy.Occur.Must, tantivy.Query.boolean_query(optional)))
        return self._keys(tantivy.Query.boolean_query(clauses), limit)

    def _filters(self, where: Filter) -> list[tantivy.Query]:
        filters = []
        if where.languages:
            filters.append(tantivy.Query.term_set_query(self._schema, "language", list(where.languages)))
        if where.file_ids is not None:
            filters.append(tantivy.Query.term_set_query(self._schema, "file_id", list(where.file_ids)))
        return filters

    @staticmethod
    def _all_of(*queries: tantivy.Query) -> tantivy.Query:
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])

    def _keys(self, query: tantivy.Query, limit: int) -> list[tuple[int, float]]:
        # tantivy reserves memory for `limit` hits whatever the index holds, and refuses a limit of 0.
        limit = max(1, min(limit, self._searcher.num_docs))
        with damage_guard(self._directory):
            hits = self._searcher.search(query, limit, count=False).hits
            keys = self._searcher.fast_field_values("key", [address for _, address in hits])
        return [(int(key), float(score)) for (score, _), key in zip(hits, keys, strict=True) if key is not None]

    def _symbol_ids(self, query: tantivy.Query, limit: int) -> list[int]:
        return sorted(key for key, _ in self._keys(query, limit))

    def _places(self, query: tantivy.Query, limit: int) -> list[tuple[ChunkHit, tantivy.DocAddress]]:
        limit = max(1, min(limit, self._searcher.num_docs))
        with damage_guard(self._directory):
            addresses = [address for _, address in self._searcher.search(query, limit, count=False).hits]
            keys = self._searcher.fast_field_values("key", addresses)
        places = [
            (unpack_chunk_key(int(key), 0.0), address) for address, key in zip(addresses, keys, strict=True) if key is not None
        ]
        places.sort(key=lambda place: (place[0].file_id, place[0].line_start))
        return places

    def _body(self, address: tantivy.DocAddress) -> str:
        with damage_guard(self._directory):
            text = self._searcher.doc(address).get_first("body")
        return "" if text is None else str(text)


class TextWriter:
    """Builds one generation in its own directory. Exactly one of `commit` and `abandon` ends it.

    Both release tantivy's writer: its lock outlives the Python object otherwise. Not thread-safe.
    """

    def __init__(self, directory: Path, previous: Path | None) -> None:
        """Starts from the generation in `previous` (its immutable segments are hard-linked), or from nothing."""
        self._directory = directory
        directory.mkdir(parents=True)
        if previous is not None:
            _link_segments(previous, directory)
        with damage_guard(directory):
            self._schema = text_schema()
            index = tantivy.Index(self._schema, str(directory), reuse=True)
            self._writer = index.writer(HEAP_BYTES, num_threads=1)
        self.documents_written = 0

    def add(self, file: FileDocument) -> None:
        """Adds the chunks and symbols of a file, and its path with the chunks. Does not remove what is there already."""
        chunk_count = len(file.chunks)
        if file.chunks or not file.symbols:
            self._add(FILE_RECORD, file, file.file_id, file_words=file.path_words)
        for chunk in file.chunks:
            key = pack_chunk_key(file.file_id, chunk.line_start, chunk.line_end)
            self._add(CHUNK_RECORD, file, key, body=chunk.text, parts=chunk.parts, path_words=file.path_words)
        for symbol in file.symbols:
            self._add(
                SYMBOL_RECORD,
                file,
                symbol.symbol_id,
                name=symbol.name.lower(),
                name_words=symbol.words,
                signature=symbol.signature,
                doc=symbol.doc,
            )
        self.documents_written += chunk_count + len(file.symbols)

    def remove(self, file_id: int) -> None:
        """Removes every document of a file that was there before this call."""
        # By query: deleting by term finds nothing where the field is a number (tantivy-py 0.27).
        self._writer.delete_documents_by_query(tantivy.Query.term_query(self._schema, "file_id", file_id))

    def commit(self) -> None:
        """Makes the generation durable and readable, and releases the writer. Raises OSError where the disk refuses."""
        try:
            self._writer.commit()
        except ValueError as error:
            self.abandon()
            raise OSError(str(error)) from error
        self._writer.wait_merging_threads()

    def abandon(self) -> None:
        """Drops what was added since the start and releases the writer. Safe to call after a failed `commit`."""
        for release in (self._writer.rollback, self._writer.wait_merging_threads):
            try:
                release()
            except (ValueError, RuntimeError):
                # The indexing thread has died, of a full disk for instance, or the writer is released already.
                pass

    def _add(self, record: str, file: FileDocument, key: int, **texts: str) -> None:
        document = tantivy.Document()
        document.add_text("record", record)
        document.add_unsigned("file_id", file.file_id)
        document.add_unsigned("key", key)
        document.add_text("language", file.language)
        for field, text in texts.items():
            if text:
                document.add_text(field, text)
        try:
            self._writer.add_document(document)
        except ValueError as error:
            raise OSError(str(error)) from error


def _link_segments(previous: Path, directory: Path) -> None:
    """Hard-links what never changes and copies what does; where linking is impossible (other file system), copies all."""
    for entry in os.scandir(previous):
        target = directory / entry.name
        if entry.name in NOT_LINKED:
            if entry.name.endswith(".json"):
                target.write_bytes(Path(entry.path).read_bytes())
            continue
        try:
            os.link(entry.path, target)
        except OSError:
            target.write_bytes(Path(entry.path).read_bytes())

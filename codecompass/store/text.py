"""The text index of one generation, for readers: ranked hits, and candidates for a scan. `text_writer.py` builds it."""

import errno
import os
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from types import TracebackType
from typing import Final, Literal

import tantivy
from msgspec import Struct

from codecompass.errors import REBUILD, IndexDamaged, PermissionDenied
from codecompass.languages.records import Chunk
from codecompass.languages.words import ASCII_MARK, CALL_MARK, NAME_MARK, ODD_WORD_MARK
from codecompass.store.databases import temporary_directory
from codecompass.store.schema import CHUNK_RECORD, FILE_RECORD, SYMBOL_RECORD, text_schema

TermField = Literal["body", "parts", "names", "calls"]


class TermPattern(Struct, frozen=True):
    """A lower-case token that a text must hold; an open end may go on with further characters of the same token.

    In `body` tokens are runs of letters and digits, in `parts` the parts of a camelCase run, in `names` identifiers with an
    underscore, in `calls` those that a parenthesis follows (see `words.TextWords`). Between `pieces` there may be further
    characters of ASCII that are of the token.
    """

    field: TermField
    pieces: tuple[str, ...]
    is_start_open: bool = False
    is_end_open: bool = False


Need = tuple[TermPattern, ...]
"""One of these must be there."""


class Narrowing(Struct, frozen=True):
    """A text is a candidate if it has all that one of `alternatives` needs, or a word that cannot be found by its letters.

    With `is_everything` every text is one. With `is_by_ascii` a token may end, although it is closed there, before a letter
    outside ASCII.
    """

    alternatives: tuple[tuple[Need, ...], ...] = ()
    is_everything: bool = True
    is_by_ascii: bool = False


LINE_BITS: Final = 24
LENGTH_BITS: Final = 12
FILE_SHIFT: Final = LINE_BITS + LENGTH_BITS
MAX_CHUNK_LINES: Final = (1 << LENGTH_BITS) - 1
MAX_LINE: Final = (1 << LINE_BITS) - 1

TOKEN_MARKS: Final[Mapping[TermField, str]] = {"body": "", "parts": "", "names": NAME_MARK, "calls": CALL_MARK}
BETWEEN_PIECES: Final[Mapping[TermField, str]] = {
    "body": "[a-z0-9]*",
    "parts": "[a-z0-9]*",
    "names": "[a-z0-9_]*",
    "calls": "[a-z0-9_]*",
}

LEAST_FEW: Final = 500
DOCUMENTS_PER_CANDIDATE: Final = 100
"""So many candidates (one for so many documents) are looked through in the time that it takes to find all the words that end
in a piece of one: 9 ms for 98,000 different words, 41 ms for 385,000."""


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

    No `languages` means all of them. `file_ids` None means all files; an empty tuple means none. `left_out` are all other
    indexed files, given where they are fewer: the text index takes 15 ms to look for 20,000 ids.
    """

    languages: tuple[str, ...] = ()
    file_ids: tuple[int, ...] | None = None
    left_out: tuple[int, ...] = ()


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


_REFUSALS: Final = frozenset(
    {errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EPERM, errno.EROFS}
)
"""What a system answers that has no room, no file handle or no right left: nothing is wrong with the index."""

_OS_ERROR: Final = re.compile(r"\(os error (\d+)\)")
"""How Rust writes it."""


class DamageGuard:
    """A block that turns the ways in which a damaged index shows itself into IndexDamaged, and what the system refuses into
    OSError. One serves any number of threads.

    tantivy reports everything as ValueError, except where it panics: pyo3's PanicException derives from BaseException and
    cannot be imported, so it is known by its name.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def __enter__(self) -> None:
        """Nothing to prepare: a class because it is entered for each chunk of a scan, three times as fast as a generator."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if kind is None or error is None:
            return
        if (number := _refused_by_system(error)) is not None:
            raise OSError(number, os.strerror(number), str(self._directory)) from error
        if isinstance(error, (ValueError, OSError)) or kind.__name__ == "PanicException":
            raise IndexDamaged(damage_message(self._directory, error), path=str(self._directory)) from error


def _refused_by_system(error: BaseException) -> int | None:
    if isinstance(error, OSError):
        number = error.errno
    else:
        found = _OS_ERROR.search(str(error)) if isinstance(error, ValueError) else None
        number = int(found[1]) if found else None
    return number if number in _REFUSALS else None


def damage_message(directory: Path, error: BaseException) -> str:
    """Says what is damaged and what to do."""
    return f"the index at {directory} is damaged ({error}). {REBUILD}"


def pack_chunk_key(file_id: int, line_start: int, line_end: int) -> int:
    """Packs a chunk's place into the 64 bits of `key`: 28 bits of file, 24 of first line, 12 of length."""
    return (file_id << FILE_SHIFT) | (line_start << LENGTH_BITS) | (line_end - line_start + 1)


def unpack_chunk_key(key: int, score: float) -> ChunkHit:
    """Reverses `pack_chunk_key`."""
    line_start = (key >> LENGTH_BITS) & MAX_LINE
    length = key & MAX_CHUNK_LINES
    return ChunkHit(key >> FILE_SHIFT, line_start, line_start + length - 1, score)


class TextReader:
    """One generation as it was when opened. Thread-safe; keeps its files mapped until it is dropped."""

    def __init__(self, directory: Path) -> None:
        """Opens the generation in `directory`. Raises FileNotFoundError where it is gone, IndexDamaged where it is broken."""
        if not (directory / "meta.json").exists():
            raise FileNotFoundError(directory)
        self._guard = DamageGuard(directory)
        self._schema = text_schema()
        with self._guard:
            self._searcher = _searcher(directory)

    @property
    def document_count(self) -> int:
        """Documents of all kinds of record."""
        return self._searcher.num_docs

    def document_frequency(self, field: str, word: str) -> int:
        """Returns how many documents hold `word` in `field` (deleted ones count until a merge)."""
        with self._guard:
            return self._searcher.doc_freq(field, word)

    def search_chunks(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[ChunkHit]:  # noqa: B008 (frozen)
        """Returns the best chunks, best first; ties by file and line, so that equal indexes give equal pages."""
        hits = [unpack_chunk_key(key, score) for key, score in self._search(CHUNK_RECORD, words, limit, where)]
        hits.sort(key=lambda hit: (-hit.score, hit.file_id, hit.line_start))
        return hits

    def weighed_chunks(
        self,
        worth: Mapping[str, float],
        limit: int,
        least: float,
        where: Filter = Filter(),  # noqa: B008 (frozen)
    ) -> "WeighedChunks":
        """Returns the chunks whose texts hold words of the most `worth` together, of `least` or more, best first; how often
        they hold them does not count."""
        if not worth or limit < 1 or where.file_ids == ():
            return WeighedChunks(self._searcher, self._guard, ())
        words = [
            (tantivy.Occur.Should, tantivy.Query.const_score_query(self._term("body", word), weight))
            for word, weight in worth.items()
        ]
        filters = [(tantivy.Occur.Must, tantivy.Query.const_score_query(query, 0.0)) for query in self._filters(where)]
        # Only chunks have a body, so nothing needs to say that chunks are meant.
        query = tantivy.Query.boolean_query([*filters, (tantivy.Occur.Must, tantivy.Query.boolean_query(words))])
        with self._guard:
            hits = self._searcher.search(query, max(1, min(limit, self._searcher.num_docs)), count=False).hits
            hits = [(score, address) for score, address in hits if score >= least]
            keys: list[int] = self._searcher.fast_field_values("key", [address for _, address in hits])  # type: ignore[assignment]  # none is missing
        found = [(unpack_chunk_key(key, score), address) for (score, address), key in zip(hits, keys, strict=True)]
        found.sort(key=lambda item: (-item[0].score, item[0].file_id, item[0].line_start))
        return WeighedChunks(self._searcher, self._guard, found)

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
        chunks = []
        for key, address in sorted(self._places(query).items(), key=itemgetter(0)):
            hit = unpack_chunk_key(key, 0.0)
            if hit.line_start <= line_end and hit.line_end >= line_start:
                chunks.append(Chunk(hit.line_start, hit.line_end, self._body(address)))
        return tuple(chunks)

    def chunks_holding(self, narrowing: Narrowing, where: Filter = Filter()) -> "HeldChunks":  # noqa: B008 (frozen)
        """Returns the candidates for a scan: a superset of the chunks in question."""
        musts = [tantivy.Query.term_query(self._schema, "record", CHUNK_RECORD, index_option="basic"), *self._filters(where)]
        with self._guard:
            if not narrowing.is_everything:
                choices = [self._all_needs(needs, narrowing.is_by_ascii) for needs in narrowing.alternatives]
                musts.append(self._any_of(self._term("names", ODD_WORD_MARK), *choices))
            return HeldChunks(self._searcher, self._guard, self._places(self._all_of(*musts)))

    def _all_needs(self, needs: Sequence[Need], is_by_ascii: bool) -> tantivy.Query:
        def queries(*, is_start_open: bool) -> list[tantivy.Query]:
            chosen = [need for need in needs if need[0].is_start_open == is_start_open]
            return [self._any_of(*(query for term in need for query in self._of_term(term, is_by_ascii))) for need in chosen]

        found = queries(is_start_open=False)
        if found and len(found) < len(needs):
            few = max(LEAST_FEW, self._searcher.num_docs // DOCUMENTS_PER_CANDIDATE)
            cheap = self._all_of(*found)
            if len(self._searcher.search(cheap, few + 1, count=False).hits) <= few:
                return cheap
        return self._all_of(*found, *queries(is_start_open=True))

    def _of_term(self, term: TermPattern, is_by_ascii: bool) -> list[tantivy.Query]:
        field = "names" if term.field == "calls" else term.field
        mark = TOKEN_MARKS[term.field]
        found = [self._of_token(field, mark, term)]
        if is_by_ascii and term.field != "parts":
            found.append(self._of_token("names", ASCII_MARK + mark, term))
        return found

    def _of_token(self, field: str, mark: str, term: TermPattern) -> tantivy.Query:
        if len(term.pieces) == 1 and not (term.is_start_open or term.is_end_open):
            return self._term(field, mark + term.pieces[0])
        # Pieces are letters, digits and underscores alone, so nothing in them needs to be escaped.
        pattern = (".*" if term.is_start_open else "") + BETWEEN_PIECES[term.field].join(term.pieces)
        return tantivy.Query.regex_query(self._schema, field, re.escape(mark) + pattern + (".*" if term.is_end_open else ""))

    def _term(self, field: str, token: str) -> tantivy.Query:
        return tantivy.Query.term_query(self._schema, field, token, index_option="basic")

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
        if where.left_out:
            others = tantivy.Query.term_set_query(self._schema, "file_id", list(where.left_out))
            every = (tantivy.Occur.Must, tantivy.Query.all_query())
            filters.append(tantivy.Query.boolean_query([every, (tantivy.Occur.MustNot, others)]))
        elif where.file_ids is not None:
            filters.append(tantivy.Query.term_set_query(self._schema, "file_id", list(where.file_ids)))
        return filters

    @staticmethod
    def _all_of(*queries: tantivy.Query) -> tantivy.Query:
        return tantivy.Query.boolean_query([(tantivy.Occur.Must, query) for query in queries])

    def _keys(self, query: tantivy.Query, limit: int) -> list[tuple[int, float]]:
        # tantivy reserves memory for `limit` hits whatever the index holds, and refuses a limit of 0.
        limit = max(1, min(limit, self._searcher.num_docs))
        with self._guard:
            hits = self._searcher.search(query, limit, count=False).hits
            keys = self._searcher.fast_field_values("key", [address for _, address in hits])
        return [(int(key), float(score)) for (score, _), key in zip(hits, keys, strict=True) if key is not None]

    def _symbol_ids(self, query: tantivy.Query, limit: int) -> list[int]:
        return sorted(key for key, _ in self._keys(query, limit))

    @staticmethod
    def _any_of(*queries: tantivy.Query) -> tantivy.Query:
        return (
            queries[0] if len(queries) == 1 else tantivy.Query.boolean_query([(tantivy.Occur.Should, each) for each in queries])
        )

    def _places(self, query: tantivy.Query) -> dict[int, tantivy.DocAddress]:
        """The key and the address of all that a query finds, in no order."""
        limit = max(1, self._searcher.num_docs)
        with self._guard:
            addresses = [address for _, address in self._searcher.search(query, limit, count=False).hits]
            keys: list[int] = self._searcher.fast_field_values("key", addresses)  # type: ignore[assignment]  # none is missing
        return dict(zip(keys, addresses, strict=True))

    def _body(self, address: tantivy.DocAddress) -> str:
        with self._guard:
            text: str = self._searcher.doc(address).get_first("body") or ""
        return text


def _searcher(directory: Path) -> tantivy.Searcher:
    """Opens the index in `directory`, also where nothing can be written: tantivy takes a lock file before it reads."""
    try:
        return _searcher_at(directory)
    except ValueError as error:
        if "lockfile" not in str(error).lower():
            raise
        failure = error
    try:
        # The files are mapped by the time that they are opened: what stands for them is needed no longer than that. Links are
        # short, by way of a descriptor, so that they take no room of their own in any file system.
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
    # The default reader would advance by itself when another process commits.
    index.config_reader("Manual")
    return index.searcher()


def _through(descriptor: int, directory: Path) -> Path:
    through = Path(f"/proc/self/fd/{descriptor}")
    return through if sys.platform == "linux" and through.exists() else directory.resolve()


class Passage(Struct, frozen=True, gc=False):
    """A piece of a file, from its first line (1-based)."""

    file_id: int
    line_start: int
    text: str


class HeldChunks:
    """Candidates for a scan, numbered by file and line. Their texts are read when they are asked for, from the generation that
    gave them.

    There may be 50,000 of them. They are plain numbers, because so many small containers would set off the garbage collector,
    which then takes longer than all the rest.
    """

    def __init__(self, searcher: tantivy.Searcher, guard: DamageGuard, addresses: Mapping[int, tantivy.DocAddress]) -> None:
        """`addresses` are those of the chunks by their keys."""
        self._searcher = searcher
        self._guard = guard
        self._addresses = addresses
        self._keys = sorted(addresses)

        self.file_ids = frozenset(key >> FILE_SHIFT for key in self._keys)

    def __len__(self) -> int:
        return len(self._keys)

    def of(self, file_id: int) -> range:
        """Returns the numbers of the candidates in a file, in line order."""
        first = bisect_left(self._keys, file_id << FILE_SHIFT)
        return range(first, bisect_left(self._keys, (file_id + 1) << FILE_SHIFT, first))

    def place(self, number: int) -> ChunkHit:
        """Returns where a candidate lies; a score it has not."""
        return unpack_chunk_key(self._keys[number], 0.0)

    def passages(self, numbers: Iterable[int]) -> Iterator[Passage]:
        """Yields the text of candidates, in the order of their numbers."""
        # One guard around all of them: what the consumer raises does not come in here.
        with self._guard:
            for number in numbers:
                key = self._keys[number]
                text = self._searcher.doc(self._addresses[key]).get_first("body")
                yield Passage(key >> FILE_SHIFT, key >> LENGTH_BITS & MAX_LINE, text or "")


class WeighedChunks:
    """Chunks in the order of what they are worth. Their texts are read when they are asked for."""

    def __init__(
        self, searcher: tantivy.Searcher, guard: DamageGuard, found: Sequence[tuple[ChunkHit, tantivy.DocAddress]]
    ) -> None:
        self._searcher = searcher
        self._guard = guard
        self._addresses = [address for _, address in found]
        self.hits = [hit for hit, _ in found]

    def text(self, number: int) -> str:
        """Returns the text of a chunk, counted from 0."""
        with self._guard:
            text: str = self._searcher.doc(self._addresses[number]).get_first("body") or ""
        return text

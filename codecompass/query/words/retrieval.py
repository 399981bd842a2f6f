"""Retrieves the candidates for a query: chunks by BM25, symbols by name, files by path. Defines the fields in which words are
searched and, for each intent, the weight of each signal.

The weights multiply features of 0..1 (see `ranking`). They were chosen on public relevance data over 25 repositories as round
figures on a flat optimum: halving or doubling any of them changes NDCG@10 by about .01 (measured 2026-11-21).
"""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.languages.records import DOCUMENT_KINDS
from codecompass.languages.unspaced import is_pair
from codecompass.query.filters import passes
from codecompass.query.search_hits import QueryIntent
from codecompass.query.words.asked_roles import NOTHING_ASKED, AskedRoles, asked_roles
from codecompass.query.words.lexicon import related_words
from codecompass.query.words.long_question import LongQuestion
from codecompass.query.words.query_words import (
    NONE_RELATED,
    QueryWord,
    WantedWords,
    could_name,
    identifiers,
    inflections,
    name_parts,
    query_words,
)
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.schema import CHUNK_RECORD
from codecompass.store.snapshot import ChunkHit, Snapshot
from codecompass.store.text_queries import FieldBoost, Filter, WordQuery

MAX_NAMESAKES: Final = 200
"""Definitions of one name that are read; more of them do not change a page."""

MAX_INFLECTIONS: Final = 40

MIN_COVERED_WORDS: Final = 3
"""Least words of a query for coverage to count: with BM25 alone, one frequent word can outweigh all others."""

MAX_NAMES: Final = 12
"""Names in a query that are looked up as symbols."""

MAX_WEIGHED_WORDS: Final = 200
MAX_TELLING_WORDS: Final = 20
"""Words of a long text whose rarity is looked up, and those that are searched for."""

ChunkKey = tuple[int, int]
"""A file id and the first line of a chunk in the file."""


class NamedSymbol(Struct, frozen=True, gc=False):
    """A symbol and its BM25 score (0 if it was found by its exact name alone)."""

    row: SymbolRow
    bm25: float


class FileCandidate(Struct, frozen=True, gc=False):
    """A file with its chunks, best first, its symbols, and the BM25 score of the words of its path."""

    file: IndexedFile
    chunks: tuple[ChunkHit, ...]
    symbols: tuple[NamedSymbol, ...]
    path_bm25: float


class Candidates(Struct, frozen=True):
    """The candidates, and the query as it was searched."""

    files: tuple[FileCandidate, ...]
    coverage: Mapping[ChunkKey, float]
    """For longer queries, the share (0..1) of the query's worth that each chunk has."""
    chunks: Mapping[ChunkKey, ChunkHit]
    """The chunks of the files and those with a share, for their texts."""
    wanted: WantedWords
    names: tuple[tuple[str, ...], ...]
    """The possible symbol names in the query, each split into parts."""
    asked: AskedRoles
    query: str
    name_weights: Mapping[tuple[str, ...], float] = {}
    """What the names of a long text count by their places; others count 1."""
    is_long: bool = False
    known: float = 1.0
    """For a long text, the share of its most telling words that the index has, by their worth."""


class Breadth(Struct, frozen=True, kw_only=True):
    """How many candidates of each kind are retrieved, at least; a large page retrieves more."""

    chunks: int = 300
    covering: int = 400
    """Chunks with most of the query's words, whatever their BM25 score."""
    symbols: int = 100
    files: int = 50
    compared: int = 15
    """Files, the best by their words, whose definitions compete."""


BREADTH: Final = Breadth()
"""More do not change the first page, fewer do: with half as many chunks NDCG@10 is .005 lower."""

BREADTH_FOR_MERGING: Final = Breadth(chunks=100, covering=300, symbols=75)
"""For each of several workspaces, of which only the first hits are shown: of 333 messages asked of 32 repositories as many find
their commit (`bench.quality.across`)."""


def breadth_for(n_merged: int) -> Breadth:
    """Returns the breadth for each of `n_merged` workspaces whose answers are merged, or for an answer that stands alone (0)."""
    return BREADTH if n_merged == 0 else BREADTH_FOR_MERGING


def find_candidates(
    snapshot: Snapshot,
    query: str,
    limit: int,
    where: Filter,
    inflection: float,
    *,
    lexicon: bool = False,
    breadth: Breadth = BREADTH,
    long: LongQuestion | None = None,
) -> Candidates:
    """Returns the candidates for `query`, files in the order of their ids; `limit` is that of the page.

    `inflection` is the weight of other forms of the words; 0 leaves them out. With `lexicon`, related words, which programmers
    use instead of those of the query, are searched too. `long` is what the query says if it is a
    long text.
    """
    if long is None:
        asked, known = asked_roles(query), 1.0
        words = tuple(QueryWord(word.text, word.weight * asked.weight(word.text)) for word in query_words(query))
    else:
        asked, query = NOTHING_ASKED, long.text
        words, known = telling_words(snapshot, long.words)
    text = snapshot.text
    worth = _worth(snapshot, words)
    searched = words + (_inflected(snapshot, query, words, inflection) if inflection else ())
    related = _related(snapshot, worth, searched) if lexicon else ()
    in_chunks, in_symbols = chunk_query(searched + related), symbol_query(searched, related)
    breadth = Breadth(
        chunks=max(breadth.chunks, 3 * limit),
        covering=breadth.covering,
        symbols=max(breadth.symbols, limit),
        files=max(breadth.files, limit),
        compared=breadth.compared,
    )
    chunks = text.search_chunks(in_chunks, breadth.chunks, where)
    symbols = _symbols(snapshot, query, in_symbols, breadth.symbols, where)
    paths = {hit.file_id: hit.score for hit in text.search_files(file_query(words), breadth.files, where)}
    chunks_by_file: dict[int, list[ChunkHit]] = {}
    for hit in chunks:
        chunks_by_file.setdefault(hit.file_id, []).append(hit)
    symbols_by_file: dict[int, list[NamedSymbol]] = {}
    for symbol in symbols:
        symbols_by_file.setdefault(symbol.row.file_id, []).append(symbol)
    indexed = snapshot.facts.indexed_files(sorted({*chunks_by_file, *symbols_by_file, *paths}))
    files = tuple(
        FileCandidate(
            file,
            tuple(chunks_by_file.get(file_id, ())),
            tuple(symbols_by_file.get(file_id, ())),
            paths.get(file_id, 0.0),
        )
        for file_id, file in sorted(indexed.items())
    )
    names = tuple(name_parts(name) for name in identifiers(query)[:MAX_NAMES])
    covering = _covering(snapshot, worth, breadth.covering, where)
    total = sum(worth.values())
    return Candidates(
        files=files,
        coverage={key: hit.score / total for key, hit in covering.items()},
        chunks={(hit.file_id, hit.line_start): hit for hit in chunks} | covering,
        wanted=WantedWords(worth, _compared(worth) if lexicon else NONE_RELATED),
        names=tuple(parts for parts in names if parts),
        asked=asked,
        query=query,
        name_weights={} if long is None else {name_parts(name): weight for name, weight in reversed(tuple(long.names.items()))},
        is_long=long is not None,
        known=known,
    )


def telling_words(snapshot: Snapshot, words: Sequence[QueryWord]) -> tuple[tuple[QueryWord, ...], float]:
    """Returns the words of a long text that say most: of the heaviest those that are rare in the index, too. And how much the
    index has of as many words that would say most if all were in it: 0..1."""
    words = words[:MAX_WEIGHED_WORDS]
    total = n_chunks(snapshot)
    valued = []
    for word in words:
        frequency = word_frequency(snapshot, word.text, total)
        valued.append((-word.weight * inverse_frequency(frequency, total), word.text, word, frequency > 0))
    valued.sort()
    best = valued[:MAX_TELLING_WORDS]
    known = sum(worth for worth, *_, is_there in best if is_there) / (sum(worth for worth, *_ in best) or 1.0)
    return tuple(word for *_, word, is_there in valued if is_there)[:MAX_TELLING_WORDS], known


def _inflected(snapshot: Snapshot, query: str, words: tuple[QueryWord, ...], weight: float) -> tuple[QueryWord, ...]:
    """Returns other forms of the query's prose words that occur in the index. Names have no other forms."""
    prose = set(query.split())
    known = {word.text for word in words}
    text = snapshot.text
    return tuple(
        QueryWord(form, weight)
        for word in words
        if word.text in prose
        for form in inflections(word.text)
        if form not in known and (text.document_frequency("body", form) or text.document_frequency("parts", form))
    )[:MAX_INFLECTIONS]


def _related(snapshot: Snapshot, worth: Mapping[str, float], words: tuple[QueryWord, ...]) -> tuple[QueryWord, ...]:
    """Returns the related words of the query's words that occur in the index; `words` are already searched.

    A related word that is rarer here than the word of the query counts no more than that word: it is a guess.
    """
    known = {word.text for word in words}
    weights: dict[str, float] = {}
    for word in words[: len(worth)]:
        for related in related_words(word.text)[:SEARCHED_RELATED]:
            if related.strength < LEAST_SEARCHED or related.word in known:
                continue
            value = _inverse_frequency(snapshot, related.word)
            if value is not None:
                rarity = min(1.0, worth[word.text] / (word.weight * value)) if value > 0.0 else 1.0
                weight = word.weight * SEARCHED_WEIGHT * related.strength * rarity
                weights[related.word] = max(weights.get(related.word, 0.0), weight)
    best = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:MAX_RELATED]
    return tuple(QueryWord(text, weight) for text, weight in best)


def _compared(worth: Mapping[str, float]) -> dict[str, list[tuple[int, float]]]:
    """Returns the related words that definitions are compared with: for each the numbers of the words that it stands for, with
    how well it does."""
    found: dict[str, list[tuple[int, float]]] = {}
    for number, word in enumerate(worth):
        for related in related_words(word)[:COMPARED_RELATED]:
            if related.strength >= LEAST_COMPARED and related.word not in worth:
                found.setdefault(related.word, []).append((number, COMPARED_WEIGHT * related.strength))
    return found


def _symbols(snapshot: Snapshot, query: str, words: Sequence[WordQuery], limit: int, where: Filter) -> list[NamedSymbol]:
    facts = snapshot.facts
    hits = snapshot.text.search_symbols(words, limit, where)
    rows = facts.symbols_by_id([hit.symbol_id for hit in hits])
    found = {hit.symbol_id: NamedSymbol(rows[hit.symbol_id], hit.score) for hit in hits if hit.symbol_id in rows}
    is_allowed = passes(where)
    names = [parts for parts in map(name_parts, identifiers(query)[:MAX_NAMES]) if parts]
    for name in names:
        if not could_name(name, len(names)):
            continue
        for row in facts.symbols_named(name[-1], MAX_NAMESAKES):
            if row.kind not in DOCUMENT_KINDS and is_allowed(row.file_id, row.file_language):
                found.setdefault(row.id, NamedSymbol(row, 0.0))
    return sorted(found.values(), key=lambda symbol: symbol.row.id)


def _is_covered(worth: Mapping[str, float]) -> bool:
    return len(worth) >= MIN_COVERED_WORDS and sum(worth.values()) > 0.0


def _covering(snapshot: Snapshot, worth: Mapping[str, float], limit: int, where: Filter) -> dict[ChunkKey, ChunkHit]:
    """Returns the chunks with most of the query; the score of each is the worth of the words in it."""
    if not _is_covered(worth):
        return {}
    hits = snapshot.text.search_chunks(coverage_query(worth), limit, where)
    return {(hit.file_id, hit.line_start): hit for hit in hits}


def _worth(snapshot: Snapshot, words: tuple[QueryWord, ...]) -> Mapping[str, float]:
    """Returns the inverse document frequency of each word over the chunks, times its weight."""
    return {word.text: word.weight * (_inverse_frequency(snapshot, word.text, at_least=0) or 0.0) for word in words}


def _inverse_frequency(snapshot: Snapshot, word: str, at_least: int = 1) -> float | None:
    """Returns the inverse document frequency of a word over the chunks, None if fewer chunks than `at_least` have it."""
    total = n_chunks(snapshot)
    frequency = word_frequency(snapshot, word, total)
    return inverse_frequency(frequency, total) if frequency >= at_least else None


def n_chunks(snapshot: Snapshot) -> int:
    """Returns how many chunks an index has, at least 1 (deleted ones count until a merge)."""
    return max(1, snapshot.text.document_frequency("record", CHUNK_RECORD))


def word_frequency(snapshot: Snapshot, word: str, total: int) -> int:
    """Returns how many of `total` chunks have a word, as a token or inside a name."""
    text = snapshot.text
    return min(total, max(text.document_frequency(item.field, word) for item in _text_fields(word)))


def inverse_frequency(frequency: int, total: int) -> float:
    """Returns the inverse document frequency, as in BM25, of a word that `frequency` of `total` chunks have."""
    frequency = min(frequency, total)
    return math.log1p((total - frequency + 0.5) / (frequency + 0.5))


SEARCHED_RELATED: Final = 8
LEAST_SEARCHED: Final = 0.2
SEARCHED_WEIGHT: Final = 0.3
MAX_RELATED: Final = 30
"""Related words that are searched: most of each word, their least strength, the factor for their strength, and most in all."""

COMPARED_RELATED: Final = 4
LEAST_COMPARED: Final = 0.3
COMPARED_WEIGHT: Final = 0.3
"""The same for those that the definitions of the best files are compared with, where each takes time."""

_CHUNK_FIELDS: Final = (FieldBoost("body", 1.0), FieldBoost("parts", 0.8), FieldBoost("path_words", 1.0))
_PAIR_FIELDS: Final = (FieldBoost("pairs", 1.0), FieldBoost("path_words", 1.0))
_SYMBOL_FIELDS: Final = (FieldBoost("name_words", 2.0), FieldBoost("signature", 0.25), FieldBoost("doc", 0.35))
_FILE_FIELDS: Final = (FieldBoost("file_words", 1.0),)
_CHUNK_TIE: Final = 0.5
_SYMBOL_TIE: Final = 1.0


class Weights(Struct, frozen=True, kw_only=True):
    """What each signal adds to the score of a file or a place in it."""

    text: float = 1.0
    """The value of the file's best chunk, over the best of all."""
    coverage: float = 0.3
    """How much of the query a chunk has; added to the chunk's value before it is compared with the best."""
    spread: float = 0.5
    """The values of the file's chunks together, over the most of any file."""
    path: float = 0.5
    """How much of the query the path has."""
    stem: float = 0.5
    """How much of the file's stem is in the query, squared."""
    definition: float = 0.6
    """How well the name of the file's best definition matches the words of the query."""
    exact: float = 0.8
    """Whether that definition has exactly a name in the query."""
    qualified: float = 0.8
    """Whether its qualified name ends in a qualified name in the query."""
    importers: float = 0.1
    """Scales the score of files that others import."""
    phrase: float = 0.0
    """How much of a message a chunk has; added like `coverage`."""
    inflection: float = 0.2
    """Weight of another form of a word: enough to find something if the word itself does not occur, too little to outrank it."""
    lexicon: float = 0.0
    """1 if related words are searched too, else 0."""
    best: float = 0.0
    """What the file with the best definition of all gains, in units of its score; with 0 definitions do not compete."""
    words: float = 0.0
    """How much of the query is anywhere in the file."""
    kind: float = 1.0
    """Exponent of the factor for symbol kinds."""
    role: float = 1.0
    """Exponent of the factor for files that are not product code."""
    diversity: float = 1.0
    """Exponent of the factor for the further places of a file."""


WEIGHTS: Final[Mapping[QueryIntent, Weights]] = {
    "natural_language": Weights(path=1.0, importers=0.2, best=1.0, words=1.0, lexicon=1.0),
    "symbol": Weights(exact=3.0, qualified=3.0),
    "path": Weights(path=3.0, stem=2.0),
    "error": Weights(text=2.0, path=0.2, stem=0.2, definition=0.2, exact=0.3, phrase=3.0),
}

LONG_TEXT: Final = Weights(path=1.0, importers=0.2, best=1.0, words=1.0, spread=0.15)
"""Weights for a long text: it brings its own synonyms, and large files have more of its many words."""

SIGNALS: Final = tuple(field.name for field in msgspec.structs.fields(Weights))
"""The names of all signals."""


def weights_for(intent: QueryIntent, without: Collection[str] = (), *, is_long: bool = False) -> Weights:
    """Returns the weights of an intent, or of a long text, with 0 for the signals in `without`, to measure what each
    contributes."""
    return msgspec.structs.replace(LONG_TEXT if is_long else WEIGHTS[intent], **dict.fromkeys(without, 0.0))


def _chunk_fields(word: str) -> tuple[FieldBoost, ...]:
    return _PAIR_FIELDS if is_pair(word) else _CHUNK_FIELDS


def _text_fields(word: str) -> tuple[FieldBoost, ...]:
    """Returns the fields of the text of a chunk that may have a word."""
    return _chunk_fields(word)[:-1]


def chunk_query(words: tuple[QueryWord, ...]) -> list[WordQuery]:
    """Returns the words as searched in chunks: as tokens, inside identifiers, in the path."""
    return [WordQuery(word.text, _chunk_fields(word.text), word.weight, tie_breaker=_CHUNK_TIE) for word in words]


def coverage_query(worth: Mapping[str, float]) -> list[WordQuery]:
    """Returns a query whose score for a chunk is the summed worth of the words in it."""
    return [WordQuery(word, _chunk_fields(word), boost, is_constant=True) for word, boost in worth.items()]


def symbol_query(words: tuple[QueryWord, ...], related: tuple[QueryWord, ...] = ()) -> list[WordQuery]:
    """Returns the words as searched in symbols: in the name and its scope, the signature, the documentation; related words, which
    are guesses, in the name alone: in the other fields they bring no symbol that comes first, and take most of the time."""
    asked = [WordQuery(word.text, _SYMBOL_FIELDS, word.weight, tie_breaker=_SYMBOL_TIE) for word in words]
    return asked + [WordQuery(word.text, _SYMBOL_FIELDS[:1], word.weight, tie_breaker=_SYMBOL_TIE) for word in related]


def file_query(words: tuple[QueryWord, ...]) -> list[WordQuery]:
    """Returns the words as searched in paths."""
    return [WordQuery(word.text, _FILE_FIELDS, word.weight) for word in words]

"""Implements `TextIndex` for one generation in the engine, with the same results as the embedded store.

A document is visible to a generation that lists its piece, unless its file is dead in that piece. The engine finds candidates,
which are scored here (`scoring.py`). Texts that come with a search are cached, because the answer shows some of them.
"""

from bisect import bisect_right, insort
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.cluster.engine import Engine
from codecompass.cluster.engine_queries import (
    BY_SCORE,
    KEYS_ONLY,
    any_of,
    batched_keys,
    constant_score,
    file_filters,
    narrowed_filters,
    record_filter,
    search_body,
    visible_filters,
)
from codecompass.cluster.manifests import Manifest, Piece
from codecompass.cluster.schema import K1, MAX_CANDIDATES, JsonObject, field_k1
from codecompass.cluster.scoring import Counts, EngineRarities, Scorer, rarity
from codecompass.errors import IndexNotReady
from codecompass.languages.chunk import MAX_LINES as LONGEST_CHUNK
from codecompass.languages.records import Chunk
from codecompass.store.schema import CHUNK_RECORD, index_tokens
from codecompass.store.snapshot import (
    ALL_CHUNKS,
    FILE_SHIFT,
    LENGTH_BITS,
    MAX_LINE,
    ChunkHit,
    FileHit,
    KeyedCandidates,
    Passage,
    Search,
    SymbolHit,
    WeighedSearch,
    unpack_chunk_key,
)
from codecompass.store.term_counts import TermCounts
from codecompass.store.text_queries import Filter, Narrowing, WordQuery

MORE_THAN_WANTED: Final = 1.1

AT_LEAST_MORE: Final = 20
"""The engine is asked for more documents than are wanted, because it ranks with other averages than those of the repository: the
factor, and the number added to it."""

NEARLY: Final = 1.0 - 1e-5
"""Factor for the least score of a search: the engine's scores have seven digits."""

TEXTS_AT_ONCE: Final = 200
"""Chunk texts fetched in one request: 300 kB."""

COPIES_ASKED: Final = 4
"""Attempts to find an up-to-date copy, each on another node. One of three may be behind."""

NO_PIECE: Final = Piece("")

NOTHING: Final[JsonObject] = {"match_none": {}}

TEXT: Final = ("text",)
"""The stored field with the text of a chunk."""

_BEHIND_ALL: Final = (1 << LENGTH_BITS) - 1

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "chunks": ("text", "parts", "pairs", "path_words"),
    "symbols": ("name_words", "signature", "doc"),
    "files": ("file_words",),
}
"""Stored fields that documents are scored by; `body` is made from `text`."""


class _Found(Struct, frozen=True):
    key: int
    score: float
    fields: JsonObject


class EngineText:
    """The text index of a generation. Not thread-safe, like the snapshot that it is part of."""

    def __init__(
        self, engine: Engine, manifest: Manifest, counts: TermCounts, rarities: EngineRarities, *, is_exact: bool = True
    ) -> None:
        """Without `is_exact` scores are the engine's: nearly the same, and no text has to be fetched for them."""
        self._engine = engine
        self._is_exact = is_exact
        self._manifest = manifest
        self._counts = counts
        self._rarities = rarities
        self._visible = visible_filters(manifest)
        self._texts = ChunkTexts()
        self._ahead: dict[bytes, JsonObject] = {}
        """Answers to searches that `expect_searches` has sent ahead, by their bodies, until they are used."""

    def document_frequency(self, field: str, word: str) -> int:
        """Returns the number of documents with `word` in `field`."""
        return self._counts.count(field, word)

    def expect_words(self, words: Iterable[str]) -> None:
        """See `TextIndex`."""
        self._counts.expect(words)

    # ranked search

    def expect_searches(self, searches: Iterable[Search | WeighedSearch]) -> None:
        """Sends all searches in one request, so that the engine works on them in parallel."""
        made = [each for each in searches if each.limit > 0 and each.where.file_ids != ()]
        ranked = [each for each in made if isinstance(each, Search) and each.words]
        scored = [each for each in ranked if not _are_constant(each.words)]
        self._rarities_of([word for each in scored for word in each.words])
        bodies = [
            self._ranked_body(each.words, each.limit, each.where, _FIELDS[each.of], is_constant=_are_constant(each.words))
            for each in ranked
        ]
        bodies += [self._weighed_body(each) for each in made if isinstance(each, WeighedSearch)]
        bodies = [body for body in bodies if body["query"] != NOTHING]
        if len(bodies) > 1:
            answers = self._asked(bodies)
            self._ahead |= {msgspec.json.encode(body): said for body, said in zip(bodies, answers, strict=True)}

    def search_chunks(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[ChunkHit]:  # noqa: B008 (frozen)
        """See `TextIndex`."""
        found = self._ranked(words, limit, where, _FIELDS["chunks"], is_constant=_are_constant(words))
        return _chunk_hits(found)[:limit]

    def weighed_chunks(self, search: WeighedSearch) -> list[ChunkHit]:
        """See `TextIndex`."""
        if search.limit < 1 or search.where.file_ids == ():
            return []
        found = self._found(self._weighed_body(search))
        return _chunk_hits([each for each in found if each.score >= search.least])

    def _weighed_body(self, search: WeighedSearch) -> JsonObject:
        known = {word: weight for word, weight in search.worth.items() if self._counts.count("body", word)}
        should = [constant_score({"term": {"body": word}}, weight) for word, weight in known.items()]
        if not should:
            return search_body(NOTHING, search.limit, (), "score")
        query = {
            "bool": {
                "filter": self._filters(search.where),
                "must": [{"bool": {"should": should, "minimum_should_match": search.least_words}}],
            }
        }
        return {**search_body(query, search.limit, (), "score"), "min_score": search.least * NEARLY}

    def search_symbols(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[SymbolHit]:  # noqa: B008 (frozen)
        """See `TextIndex`."""
        found = self._ranked(words, limit, where, _FIELDS["symbols"])
        hits = [SymbolHit(each.key, each.score) for each in found]
        hits.sort(key=lambda hit: (-hit.score, hit.symbol_id))
        return hits[:limit]

    def search_files(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[FileHit]:  # noqa: B008 (frozen)
        """See `TextIndex`."""
        found = self._ranked(words, limit, where, _FIELDS["files"])
        hits = [FileHit(each.key, each.score) for each in found]
        hits.sort(key=lambda hit: (-hit.score, hit.file_id))
        return hits[:limit]

    def fuzzy_symbols(self, name: str, distance: int, limit: int) -> list[int]:
        """See `TextIndex`."""
        similar = {"value": name.lower(), "fuzziness": distance, "max_expansions": 1024, "rewrite": "constant_score"}
        return self._symbol_ids({"fuzzy": {"name": similar}}, limit)

    def prefix_symbols(self, prefix: str, limit: int) -> list[int]:
        """See `TextIndex`."""
        return self._symbol_ids({"prefix": {"name": prefix.lower()}}, limit)

    # texts

    def file_chunks(self, file_id: int, line_start: int = 1, line_end: int = MAX_LINE) -> tuple[Chunk, ...]:
        """See `TextIndex`."""
        known = self._texts.between(file_id, line_start, line_end)
        if known is not None:
            return known
        least, behind = keys_with_lines(file_id, line_start, line_end)
        keys = self._read_chunks({"range": {"key": {"gte": least, "lt": behind}}})
        chunks = (_chunk(key, self._texts[key]) for key in sorted(keys))
        return tuple(chunk for chunk in chunks if chunk.line_end >= line_start)

    def _read_chunks(self, keys: JsonObject, limit: int = MAX_CANDIDATES, *, is_checked: bool = True) -> list[int]:
        """Reads the texts of the chunks that a query finds, and returns their keys; `is_checked` as in `_asked`."""
        query = {"bool": {"filter": [*self._visible, record_filter(CHUNK_RECORD), keys]}}
        return [each.key for each in self._found(search_body(query, limit, TEXT, "key"), is_checked=is_checked)]

    def chunk_text(self, hit: ChunkHit) -> str:
        """See `TextIndex`."""
        if not isinstance(hit.address, int):
            raise TypeError("a chunk without an address")
        return self._texts_of((hit.address,))[hit.address]

    def expect_texts(self, hits: Iterable[ChunkHit]) -> None:
        """See `TextIndex`."""
        self._texts_of(hit.address for hit in hits if isinstance(hit.address, int))

    def expect_lines(self, places: Iterable[tuple[int, int, int]]) -> None:
        """See `TextIndex`."""
        missing = [place for place in dict.fromkeys(places) if self._texts.between(*place) is None]
        if len(missing) > 1:
            ranges = [keys_with_lines(*place) for place in missing]
            self._read_chunks(any_of([{"range": {"key": {"gte": least, "lt": behind}}} for least, behind in ranges]))

    def chunks_holding(
        self,
        narrowing: Narrowing,
        where: Filter = Filter(),  # noqa: B008 (frozen)
        most: int = ALL_CHUNKS,
    ) -> "EngineCandidates":
        """See `TextIndex`."""
        filters = [*self._filters(where), record_filter(CHUNK_RECORD), *narrowed_filters(narrowing)]
        keys: list[int] = []
        body = {"query": {"bool": {"filter": filters}}, "size": MAX_CANDIDATES, "sort": ["key"], **KEYS_ONLY}
        while True:
            hits = self._asked([body])[0]["hits"]["hits"]
            keys += [hit["sort"][0] for hit in hits]
            if len(hits) < MAX_CANDIDATES or len(keys) > most:
                return EngineCandidates(self, keys)
            body["search_after"] = hits[-1]["sort"]

    def _texts_of(self, keys: Iterable[int]) -> dict[int, str]:
        """Returns the texts of chunks by their keys. Raises IndexNotReady if one is missing."""
        wanted = list(keys)
        # A copy that has all of them need not be checked.
        for is_checked in (False, True):
            for batch in batched_keys(self._texts.missing(wanted), TEXTS_AT_ONCE):
                self._read_chunks({"terms": {"key": batch}}, len(batch), is_checked=is_checked)
        if self._texts.missing(wanted):
            raise _gone()
        return {key: self._texts[key] for key in wanted}

    # queries

    def _ranked(
        self, words: Sequence[WordQuery], limit: int, where: Filter, fields: Sequence[str], *, is_constant: bool = False
    ) -> list[_Found]:
        """Returns the best documents, at least `limit` if there are so many, with exact scores."""
        if not words or limit < 1 or where.file_ids == ():
            return []
        found = self._found(self._ranked_body(words, limit, where, fields, is_constant=is_constant))
        if is_constant or not self._is_exact:
            return found
        scorer = Scorer(words, self._manifest.averages, self._counts.count)
        sought = frozenset(word.word for word in words)
        scored = [_Found(each.key, scorer.score(self._document(each, fields, sought)), {}) for each in found]
        scored.sort(key=lambda each: (-each.score, each.key))
        return scored[:limit]

    def _ranked_body(
        self, words: Sequence[WordQuery], limit: int, where: Filter, fields: Sequence[str], *, is_constant: bool
    ) -> JsonObject:
        if is_constant:
            return search_body(self._ranking(words, where, {}), limit, (), "score")
        ranking = self._ranking(words, where, self._rarities_of(words))
        if not self._is_exact:
            # Many of the texts of so few chunks are needed later. Reading them then takes another request: a tenth of the time.
            return search_body(ranking, limit, TEXT if "text" in fields else (), "score")
        return search_body(ranking, int(limit * MORE_THAN_WANTED) + AT_LEAST_MORE, fields, "about")

    def _rarities_of(self, words: Sequence[WordQuery]) -> dict[tuple[str, str], float]:
        """Returns the engine's inverse document frequencies of words."""
        fields = {item.field: None for word in words for item in word.fields}
        known = [word for word in words if any(self._counts.count(item.field, word.word) for item in word.fields)]
        return self._rarities.of(self._manifest.repo_id, fields, known) if known else {}

    def _document(self, found: _Found, fields: Sequence[str], sought: frozenset[str]) -> Counts:
        document = {}
        for field in fields:
            text = (found.fields.get(field) or ("",))[0]
            if field == "text":
                document["body"] = _counted(index_tokens(text), sought)
            else:
                document[field] = _counted(text.split(), sought)
        return document

    def _ranking(self, words: Sequence[WordQuery], where: Filter, theirs: Mapping[tuple[str, str], float]) -> JsonObject:
        """Returns the engine's query; `theirs` are the engine's inverse document frequencies."""
        must: list[JsonObject] = []
        should: list[JsonObject] = []
        for word in words:
            # Looking up a word that no document has would take as long as one that some have: half the time of a question.
            fields = [item for item in word.fields if self._counts.count(item.field, word.word)]
            clauses = [self._clause(item.field, item.boost, word, theirs) for item in fields]
            if not clauses:
                if word.is_required:
                    return NOTHING
                continue
            best = clauses[0] if len(clauses) == 1 else {"dis_max": {"queries": clauses, "tie_breaker": word.tie_breaker}}
            clause = constant_score(best, word.boost) if word.is_constant else best
            (must if word.is_required else should).append(clause)
        if should:
            must.append({"bool": {"should": should}})
        elif not all(word.is_required for word in words):
            return NOTHING
        return {"bool": {"filter": self._filters(where), "must": must}}

    def _clause(self, field: str, boost: float, word: WordQuery, theirs: Mapping[tuple[str, str], float]) -> JsonObject:
        weight = boost * word.boost
        if not word.is_constant:
            n_documents = self._manifest.averages.documents
            own = rarity(self._counts.count(field, word.word), n_documents)
            weight *= own / theirs.get((field, word.word), own) * (1.0 + K1) / (1.0 + field_k1(field))
        return {"term": {field: {"value": word.word, "boost": weight}}}

    def _filters(self, where: Filter) -> list[JsonObject]:
        filters = list(self._visible)
        if where.languages:
            filters.append({"terms": {"language": list(where.languages)}})
        if where.left_out:
            filters.append({"bool": {"must_not": file_filters(where.left_out)}})
        elif where.file_ids is not None:
            filters.append(any_of(file_filters(where.file_ids)))
        return filters

    def _symbol_ids(self, query: JsonObject, limit: int) -> list[int]:
        found = self._found(search_body({"bool": {"filter": [*self._visible, query]}}, limit, (), "key"))
        return sorted(each.key for each in found)

    def _found(self, body: JsonObject, *, is_checked: bool = True) -> list[_Found]:
        """Returns the documents that a search finds, with their scores if it sorts by score, and keeps texts that it fetches;
        `is_checked` as in `_asked`."""
        if body["query"] == NOTHING:
            return []
        said = self._ahead.pop(msgspec.json.encode(body), None) if self._ahead else None
        if said is None:
            said = self._asked([body], is_checked=is_checked)[0]
        has_score = body.get("sort") == BY_SCORE
        hits = said["hits"]["hits"]
        found = [_Found(hit["fields"]["key"][0], hit["sort"][0] if has_score else 0.0, hit["fields"]) for hit in hits]
        for each in found:
            if "text" in each.fields:
                self._texts.keep(each.key, each.fields["text"][0])
        return found

    def _asked(self, bodies: Sequence[JsonObject], *, is_checked: bool = True) -> list[JsonObject]:
        """Returns the answers of one copy of the shard that has the whole generation, or of any copy unless `is_checked`.

        A node that was paused, and does not know yet that others went on without it, answers from an outdated copy. So each
        request also counts the documents of the newest piece: a copy with all of these has all earlier ones too. Raises
        IndexNotReady if no copy has them.
        """
        if not is_checked:
            return self._engine.search_all(self._engine.names.text, bodies, routing=self._manifest.repo_id)
        newest = self._manifest.pieces[-1] if self._manifest.pieces else NO_PIECE
        count: JsonObject = {"query": {"term": {"piece": newest.id}}, "size": 0, "track_total_hits": True}
        for _ in range(COPIES_ASKED):
            counted, *answers = self._engine.search_all(
                self._engine.names.text, [count, *bodies], routing=self._manifest.repo_id, is_of_one_copy=True
            )
            if not newest.documents or counted["hits"]["total"]["value"] == newest.documents:
                return answers
        raise _gone()


def _chunk_hits(found: Sequence[_Found]) -> list[ChunkHit]:
    hits = [unpack_chunk_key(each.key, each.score, each.key) for each in found]
    return sorted(hits, key=lambda hit: (-hit.score, hit.file_id, hit.line_start))


def _gone() -> IndexNotReady:
    return IndexNotReady("a part of this generation is gone from the search engine: it was replaced long ago. Ask again.")


class EngineCandidates(KeyedCandidates):
    """Implements `ChunkCandidates`. Texts are fetched in batches as they are read."""

    def __init__(self, text: EngineText, keys: Sequence[int]) -> None:
        """`keys` are sorted."""
        super().__init__(keys)
        self._text = text

    def passages(self, numbers: Iterable[int]) -> Iterator[Passage]:
        """See `ChunkCandidates`."""
        remaining = iter(numbers)
        # The first batch is small, because it is often enough.
        size = TEXTS_AT_ONCE // 8
        while batch := list(islice(remaining, size)):
            texts = self._text._texts_of(self._keys[number] for number in batch)
            for number in batch:
                key = self._keys[number]
                yield Passage(key >> FILE_SHIFT, key >> LENGTH_BITS & MAX_LINE, texts[key])
            size = TEXTS_AT_ONCE


def _are_constant(words: Sequence[WordQuery]) -> bool:
    return all(word.is_constant for word in words)


def _counted(tokens: Sequence[str], sought: frozenset[str]) -> tuple[int, dict[str, int]]:
    return len(tokens), {word: tokens.count(word) for word in sought.intersection(tokens)}


class ChunkTexts:
    """Chunk texts by the keys of their chunks (`store.snapshot.pack_chunk_key`)."""

    def __init__(self) -> None:
        self._texts: dict[int, str] = {}
        self._keys: dict[int, list[int]] = {}
        """Sorted keys of the known chunks, by file."""

    def keep(self, key: int, text: str) -> None:
        """Adds a text. The text of a key never changes."""
        if key not in self._texts:
            insort(self._keys.setdefault(key >> FILE_SHIFT, []), key)
        self._texts[key] = text

    def __getitem__(self, key: int) -> str:
        """Returns a text. Raises KeyError if it is not cached."""
        return self._texts[key]

    def missing(self, keys: Iterable[int]) -> list[int]:
        """Returns the keys whose texts are not cached, without duplicates, in their order."""
        return [key for key in dict.fromkeys(keys) if key not in self._texts]

    def between(self, file_id: int, line_start: int, line_end: int) -> tuple[Chunk, ...] | None:
        """Returns the chunks that contain the lines, in order, or None if one of them is not cached."""
        found = []
        line = line_start
        for key in self._from(file_id, line_start):
            chunk = _chunk(key, self._texts[key])
            if not chunk.line_start <= line <= chunk.line_end:
                return None
            found.append(chunk)
            if chunk.line_end >= line_end:
                return tuple(found)
            line = chunk.line_end + 1
        return None

    def _from(self, file_id: int, line: int) -> Iterator[int]:
        """Iterates over the keys of a file's cached chunks, from the last that begins at `line` or before it."""
        keys = self._keys.get(file_id, [])
        at = bisect_right(keys, _first_key(file_id, line) | _BEHIND_ALL)
        return iter(keys[max(0, at - 1) :])


def keys_with_lines(file_id: int, line_start: int, line_end: int) -> tuple[int, int]:
    """Returns the range of keys, the end excluded, that chunks with these lines of a file can have. Chunks that end before the
    lines can be in it too."""
    first = max(1, line_start - LONGEST_CHUNK + 1)
    behind = _first_key(file_id, line_end + 1) if line_end < MAX_LINE else _first_key(file_id + 1, 0)
    return _first_key(file_id, first), behind


def _first_key(file_id: int, line: int) -> int:
    return (file_id << FILE_SHIFT) | (line << LENGTH_BITS)


def _chunk(key: int, text: str) -> Chunk:
    hit = unpack_chunk_key(key, 0.0)
    return Chunk(hit.line_start, hit.line_end, text)

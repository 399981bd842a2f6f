"""The text of one generation in the engine: a `TextIndex`, whose answers are those of the embedded store.

A document is visible to a generation that lists its piece, unless its file is among the piece's dead. A search asks the engine
for candidates and scores them here (`scoring.py`). Texts that came with a search are kept, as the answer is made of some of them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, Literal

import msgspec
from msgspec import Struct

from codecompass.cluster.chunk_texts import ChunkTexts, keys_with_lines
from codecompass.cluster.engine import Engine, JsonObject
from codecompass.cluster.manifests import Manifest, Piece
from codecompass.cluster.rarities import EngineRarities
from codecompass.cluster.schema import K1, MAX_CANDIDATES, field_k1
from codecompass.cluster.scoring import Counts, Scorer, rarity
from codecompass.errors import IndexNotReady
from codecompass.languages.records import Chunk
from codecompass.languages.words import ASCII_MARK, ODD_WORD_MARK
from codecompass.store.schema import CHUNK_RECORD, index_tokens
from codecompass.store.snapshot import (
    FILE_SHIFT,
    LENGTH_BITS,
    MAX_LINE,
    ChunkHit,
    FileHit,
    KeyedCandidates,
    Passage,
    Search,
    SymbolHit,
    unpack_chunk_key,
)
from codecompass.store.term_counts import TermCounts
from codecompass.store.text_queries import BETWEEN_PIECES, TOKEN_MARKS, Filter, Narrowing, Need, TermPattern, WordQuery

MORE_THAN_WANTED: Final = 1.1
AT_LEAST_MORE: Final = 20
"""Documents that the engine is asked for beyond those wanted: its averages are not those of the repository."""

MAX_IDS: Final = 60_000
"""Of one list in a filter; the engine takes 65,536."""

TEXTS_AT_ONCE: Final = 200
"""Chunks whose texts one request brings: 300 kB."""

COPIES_ASKED: Final = 4
"""Each by another node. One of three may be behind."""

NO_PIECE: Final = Piece("")

_RESERVED: Final = re.compile(r'[.?+*|(){}\[\]"\\#@&<>~^$-]')
"""Characters that mean something in the engine's regular expressions."""


Order = Literal["key", "score", "about"]

BY_SCORE: Final = ["_score", {"key": "asc"}]

_FIELDS: Final[Mapping[str, tuple[str, ...]]] = {
    "chunks": ("text", "parts", "path_words"),
    "symbols": ("name_words", "signature", "doc"),
    "files": ("file_words",),
}
"""What documents are scored by, as it is stored."""


class _Found(Struct, frozen=True):
    key: int
    score: float
    fields: JsonObject


class EngineText:
    """The text of a generation. For one thread at a time, like the snapshot that it is part of."""

    def __init__(self, engine: Engine, manifest: Manifest, counts: TermCounts, rarities: EngineRarities) -> None:
        self._engine = engine
        self._manifest = manifest
        self._counts = counts
        self._rarities = rarities
        self._visible = visible(manifest)
        self._texts = ChunkTexts()
        self._ahead: dict[bytes, JsonObject] = {}
        """Answers of the engine to searches that were announced, by their bodies, until they are asked for."""

    def document_frequency(self, field: str, word: str) -> int:
        """Returns how many documents hold `word` in `field`."""
        return self._counts.count(field, word)

    # ranked search

    def expect_searches(self, searches: Iterable[Search]) -> None:
        """See `TextIndex`: all of them are one request, and the engine works on them at the same time."""
        made = [each for each in searches if each.words and each.limit > 0 and each.where.file_ids != ()]
        scored = [each for each in made if not _are_constant(each.words)]
        self._rarities_of([word for each in scored for word in each.words])
        bodies = [
            self._ranked_body(each.words, each.limit, each.where, _FIELDS[each.of], is_constant=_are_constant(each.words))
            for each in made
        ]
        if len(bodies) > 1:
            answers = self._asked(bodies)
            self._ahead |= {msgspec.json.encode(body): said for body, said in zip(bodies, answers, strict=True)}

    def search_chunks(self, words: Sequence[WordQuery], limit: int, where: Filter = Filter()) -> list[ChunkHit]:  # noqa: B008 (frozen)
        """See `TextIndex`."""
        found = self._ranked(words, limit, where, _FIELDS["chunks"], is_constant=_are_constant(words))
        hits = [unpack_chunk_key(each.key, each.score, each.key) for each in found]
        hits.sort(key=lambda hit: (-hit.score, hit.file_id, hit.line_start))
        return hits[:limit]

    def weighed_chunks(
        self,
        worth: Mapping[str, float],
        limit: int,
        least: float,
        where: Filter = Filter(),  # noqa: B008 (frozen)
    ) -> list[ChunkHit]:
        """See `TextIndex`."""
        if not worth or limit < 1 or where.file_ids == ():
            return []
        should = [_constant({"term": {"body": word}}, weight) for word, weight in worth.items()]
        found = self._search({"bool": {"filter": self._filters(where), "must": [{"bool": {"should": should}}]}}, limit)
        hits = [unpack_chunk_key(each.key, each.score, each.key) for each in found if each.score >= least]
        hits.sort(key=lambda hit: (-hit.score, hit.file_id, hit.line_start))
        return hits

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
        keys: JsonObject = {"range": {"key": {"gte": least, "lt": behind}}}
        found = self._search(
            {"bool": {"filter": [*self._visible, _record(CHUNK_RECORD), keys]}}, MAX_CANDIDATES, ("text",), order="key"
        )
        chunks = []
        for each in sorted(found, key=lambda each: each.key):
            text = each.fields["text"][0]
            self._texts.keep(each.key, text)
            hit = unpack_chunk_key(each.key, 0.0)
            if hit.line_end >= line_start:
                chunks.append(Chunk(hit.line_start, hit.line_end, text))
        return tuple(chunks)

    def chunk_text(self, hit: ChunkHit) -> str:
        """See `TextIndex`."""
        if not isinstance(hit.address, int):
            raise TypeError("a chunk without an address")
        return self._texts_of((hit.address,))[hit.address]

    def expect_texts(self, hits: Iterable[ChunkHit]) -> None:
        """See `TextIndex`."""
        self._texts_of(hit.address for hit in hits if isinstance(hit.address, int))

    def chunks_holding(self, narrowing: Narrowing, where: Filter = Filter()) -> "EngineCandidates":  # noqa: B008 (frozen)
        """See `TextIndex`."""
        filters = [*self._filters(where), _record(CHUNK_RECORD), *narrowed(narrowing)]
        keys: list[int] = []
        body = {"query": {"bool": {"filter": filters}}, "size": MAX_CANDIDATES, "sort": ["key"], **_KEYS_ONLY}
        while True:
            hits = self._asked([body])[0]["hits"]["hits"]
            keys += [hit["sort"][0] for hit in hits]
            if len(hits) < MAX_CANDIDATES:
                return EngineCandidates(self, keys)
            body["search_after"] = hits[-1]["sort"]

    def _texts_of(self, keys: Iterable[int]) -> dict[int, str]:
        """The texts of chunks by their keys. Raises IndexNotReady where one is gone."""
        wanted = list(keys)
        missing = self._texts.missing(wanted)
        for batch in batched_keys(missing, TEXTS_AT_ONCE):
            query = {"bool": {"filter": [*self._visible, _record(CHUNK_RECORD), {"terms": {"key": batch}}]}}
            for each in self._search(query, len(batch), ("text",), order="key"):
                self._texts.keep(each.key, each.fields["text"][0])
        if self._texts.missing(missing):
            raise _gone()
        return {key: self._texts[key] for key in wanted}

    # queries

    def _ranked(
        self, words: Sequence[WordQuery], limit: int, where: Filter, fields: Sequence[str], *, is_constant: bool = False
    ) -> list[_Found]:
        """Returns `limit` documents or some more, with their exact scores, in no order."""
        if not words or limit < 1 or where.file_ids == ():
            return []
        found = self._found(self._ranked_body(words, limit, where, fields, is_constant=is_constant))
        if is_constant:
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
            return _body(self._ranking(words, where, {}), limit, (), "score")
        wanted = int(limit * MORE_THAN_WANTED) + AT_LEAST_MORE
        return _body(self._ranking(words, where, self._rarities_of(words)), wanted, fields, "about")

    def _rarities_of(self, words: Sequence[WordQuery]) -> dict[tuple[str, str], float]:
        """How rare words are to the engine."""
        if not words:
            return {}
        return self._rarities.of(self._manifest.repo_id, {item.field: None for word in words for item in word.fields}, words)

    def _document(self, found: _Found, fields: Sequence[str], sought: frozenset[str]) -> Counts:
        document = {}
        for field in fields:
            text = (found.fields.get(field) or ("",))[0]
            if field == "text":
                self._texts.keep(found.key, text)
                document["body"] = _counted(index_tokens(text), sought)
            else:
                document[field] = _counted(text.split(), sought)
        return document

    def _ranking(self, words: Sequence[WordQuery], where: Filter, theirs: Mapping[tuple[str, str], float]) -> JsonObject:
        """The engine's query; `theirs` is how rare each word is to the engine."""
        must: list[JsonObject] = []
        should: list[JsonObject] = []
        for word in words:
            clauses = [self._clause(item.field, item.boost, word, theirs) for item in word.fields]
            best = clauses[0] if len(clauses) == 1 else {"dis_max": {"queries": clauses, "tie_breaker": word.tie_breaker}}
            clause = _constant(best, word.boost) if word.is_constant else best
            (must if word.is_required else should).append(clause)
        if should:
            must.append({"bool": {"should": should}})
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
            filters.append({"bool": {"must_not": _files(where.left_out)}})
        elif where.file_ids is not None:
            filters.append(_any_of(_files(where.file_ids)))
        return filters

    def _symbol_ids(self, query: JsonObject, limit: int) -> list[int]:
        found = self._search({"bool": {"filter": [*self._visible, query]}}, limit, order="key")
        return sorted(each.key for each in found)

    def _search(self, query: JsonObject, limit: int, fields: Sequence[str] = (), *, order: Order = "score") -> list[_Found]:
        """Returns the documents of a query, see `_body`."""
        return self._found(_body(query, limit, fields, order))

    def _found(self, body: JsonObject) -> list[_Found]:
        """Returns the documents of a search, with their scores where they are sorted by them."""
        said = self._ahead.pop(msgspec.json.encode(body), None) if self._ahead else None
        if said is None:
            said = self._asked([body])[0]
        has_score = body.get("sort") == BY_SCORE
        hits = said["hits"]["hits"]
        return [_Found(hit["fields"]["key"][0], hit["sort"][0] if has_score else 0.0, hit["fields"]) for hit in hits]

    def _asked(self, bodies: Sequence[JsonObject]) -> list[JsonObject]:
        """Returns the answers of one copy of the shard, which has the whole generation.

        A node that stood still, and does not know yet that others went on without it, answers from the copy that it had. So each
        request counts the documents of the newest piece too: a copy that has these has all before them. Raises IndexNotReady.
        """
        newest = self._manifest.pieces[-1] if self._manifest.pieces else NO_PIECE
        count: JsonObject = {"query": {"term": {"piece": newest.id}}, "size": 0, "track_total_hits": True}
        for _ in range(COPIES_ASKED):
            counted, *answers = self._engine.search_all(
                self._engine.names.text, [count, *bodies], routing=self._manifest.repo_id, is_of_one_copy=True
            )
            if not newest.documents or counted["hits"]["total"]["value"] == newest.documents:
                return answers
        raise _gone()


def _gone() -> IndexNotReady:
    return IndexNotReady("a part of this generation is gone from the search engine: it was replaced long ago. Ask again.")


def _body(query: JsonObject, limit: int, fields: Sequence[str], order: Order) -> JsonObject:
    """A search for documents by their keys, or by score and key. `about` leaves the order to the engine, which then passes over
    documents that cannot be among the best, and gives no scores."""
    body: JsonObject = {
        "query": query,
        "size": min(limit, MAX_CANDIDATES),
        "_source": False,
        "track_total_hits": False,
        # Without the stored fields not even the id of a document is read: a tenth of the time.
        "stored_fields": list(fields) or "_none_",
        "docvalue_fields": ["key"],
    }
    if order != "about":
        body["sort"] = BY_SCORE if order == "score" else ["key"]
    return body


_KEYS_ONLY: Final[JsonObject] = {"_source": False, "track_total_hits": False, "stored_fields": "_none_"}


class EngineCandidates(KeyedCandidates):
    """See `ChunkCandidates`. Texts are fetched some hundred at a time, as they are read."""

    def __init__(self, text: EngineText, keys: Sequence[int]) -> None:
        """`keys` in order."""
        super().__init__(keys)
        self._text = text

    def passages(self, numbers: Iterable[int]) -> Iterator[Passage]:
        """See `ChunkCandidates`."""
        remaining = iter(numbers)
        # The first few are often enough.
        size = TEXTS_AT_ONCE // 8
        while batch := list(islice(remaining, size)):
            texts = self._text._texts_of(self._keys[number] for number in batch)
            for number in batch:
                key = self._keys[number]
                yield Passage(key >> FILE_SHIFT, key >> LENGTH_BITS & MAX_LINE, texts[key])
            size = TEXTS_AT_ONCE


def visible(manifest: Manifest) -> list[JsonObject]:
    """Returns the filter for the documents of a generation."""
    whole = [piece.id for piece in manifest.pieces if not piece.dead]
    choices: list[JsonObject] = [{"terms": {"piece": whole}}] if whole else []
    choices += [
        {"bool": {"filter": {"term": {"piece": piece.id}}, "must_not": _files(piece.dead)}}
        for piece in manifest.pieces
        if piece.dead
    ]
    return [_any_of(choices)]


def narrowed(narrowing: Narrowing) -> list[JsonObject]:
    """Returns the filter for the chunks that are candidates of a scan; none where all are."""
    if narrowing.is_everything:
        return []
    choices = [_all_needs(needs, narrowing.is_by_ascii) for needs in narrowing.alternatives]
    return [_any_of([{"term": {"names": ODD_WORD_MARK}}, *choices])]


def batched_keys(keys: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yields the keys, `size` at a time."""
    for start in range(0, len(keys), size):
        yield list(keys[start : start + size])


def _are_constant(words: Sequence[WordQuery]) -> bool:
    return all(word.is_constant for word in words)


def _files(ids: Sequence[int]) -> list[JsonObject]:
    return [{"terms": {"file_id": batch}} for batch in batched_keys(ids, MAX_IDS)]


def _record(record: str) -> JsonObject:
    return {"term": {"record": record}}


def _constant(query: JsonObject, boost: float) -> JsonObject:
    return {"constant_score": {"filter": query, "boost": boost}}


def _counted(tokens: Sequence[str], sought: frozenset[str]) -> tuple[int, dict[str, int]]:
    return len(tokens), {word: tokens.count(word) for word in sought.intersection(tokens)}


def _any_of(choices: Sequence[JsonObject]) -> JsonObject:
    return choices[0] if len(choices) == 1 else {"bool": {"should": list(choices), "minimum_should_match": 1}}


def _all_needs(needs: Sequence[Need], is_by_ascii: bool) -> JsonObject:
    return {"bool": {"filter": [_any_of([query for term in need for query in _of_term(term, is_by_ascii)]) for need in needs]}}


def _of_term(term: TermPattern, is_by_ascii: bool) -> list[JsonObject]:
    field = "names" if term.field == "calls" else term.field
    mark = TOKEN_MARKS[term.field]
    found = [_of_token(field, mark, term)]
    if is_by_ascii and term.field != "parts":
        found.append(_of_token("names", ASCII_MARK + mark, term))
    return found


def _of_token(field: str, mark: str, term: TermPattern) -> JsonObject:
    if len(term.pieces) == 1 and not (term.is_start_open or term.is_end_open):
        return {"term": {field: mark + term.pieces[0]}}
    # Pieces are letters, digits and underscores alone, so nothing in them needs to be escaped.
    pattern = (".*" if term.is_start_open else "") + BETWEEN_PIECES[term.field].join(term.pieces)
    escaped = _RESERVED.sub(r"\\\g<0>", mark)
    return {
        "regexp": {field: {"value": escaped + pattern + (".*" if term.is_end_open else ""), "max_determinized_states": 100_000}}
    }

"""Queries over many repositories at once, which select those that a question is then put to in full.

The facts of a repository are not read, because there may be thousands: rarities of words, word counts and the best chunks all
come from the engine.
"""

import threading
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from codecompass.cluster.engine import Engine
from codecompass.cluster.engine_queries import narrowed_filters
from codecompass.cluster.schema import JsonObject
from codecompass.cluster.scoring import EngineRarities
from codecompass.protocol.replies import SearchEvidence
from codecompass.query.merging import SAMPLED_CHUNKS, evidence_of
from codecompass.query.query_words import query_words
from codecompass.query.retrieval import coverage_query
from codecompass.store.schema import CHUNK_RECORD, SYMBOL_RECORD
from codecompass.store.text_queries import Narrowing

SAMPLED_REPOSITORIES: Final = 8
"""Repositories whose best chunks are compared: twice as many as are then searched in full. With 16, two
more of 893 questions to 30 repositories find their file (measured 2026-11-25), in twice the time."""

MAX_REPOSITORIES: Final = 10_000
MANIFESTS_AT_ONCE: Final = 500
MAX_PIECES_IN_FILTER: Final = 60_000

_FIELDS: Final = ("body", "parts")


class _Part(Struct, frozen=True):
    """The part of a manifest that is needed here: the pieces, each with its dead files, and the number of chunks."""

    pieces: Mapping[str, frozenset[int]]
    n_chunks: int


class Across:
    """Queries over many generations at once. Thread-safe."""

    def __init__(self, engine: Engine, rarities: EngineRarities) -> None:
        self._engine = engine
        self._rarities = rarities
        self._lock = threading.Lock()
        self._parts: OrderedDict[str, _Part] = OrderedDict()

    def sample(self, generations: Mapping[str, str], query: str) -> dict[str, SearchEvidence]:
        """Returns samples of the SAMPLED_REPOSITORIES that match the words of `query` best, by repository. `generations` are
        those to search, by repository. Raises EngineUnavailable."""
        parts = self._of(generations)
        words = query_words(query)
        if not parts or not words:
            return {}
        rare = self._rarities.of(next(iter(parts)), _FIELDS, coverage_query({word.text: 1.0 for word in words}))
        worth = {
            word.text: word.weight * min((rare[field, word.text] for field in _FIELDS if (field, word.text) in rare), default=1.0)
            for word in words
        }
        should = [
            {"constant_score": {"filter": _has(item.word, [each.field for each in item.fields]), "boost": item.boost}}
            for item in coverage_query(worth)
        ]
        names = self._with_most(parts, should)
        if not names:
            return {}
        # One query for each of these repositories, in its own shard. In one query for all of them every shard would look for the
        # best chunks of every repository, and count the words in all.
        counts: JsonObject = {f"w{number}": {"filter": _has(word.text, _FIELDS)} for number, word in enumerate(words)}
        bodies = [
            {
                "query": {"bool": {"filter": _pieces({name: parts[name]}, CHUNK_RECORD), "must": [{"bool": {"should": should}}]}},
                # Twice as many, because files of some may be dead.
                "size": 2 * SAMPLED_CHUNKS,
                "_source": False,
                "stored_fields": ["text"],
                "docvalue_fields": ["piece", "file_id"],
                "track_total_hits": False,
                "aggs": counts,
            }
            for name in names
        ]
        found = {}
        for name, said in zip(names, self._engine.search_all(self._engine.names.text, bodies, routing=names), strict=True):
            frequencies = {word.text: said["aggregations"][f"w{number}"]["doc_count"] for number, word in enumerate(words)}
            best = _texts(parts[name], said["hits"]["hits"])
            found[name] = evidence_of(query, frequencies, parts[name].n_chunks, best[:SAMPLED_CHUNKS])
        return found

    def _with_most(self, parts: Mapping[str, _Part], should: Sequence[JsonObject]) -> list[str]:
        """Returns the repositories whose best chunk scores highest, the best first."""
        body = {
            "query": {"bool": {"filter": _pieces(parts, CHUNK_RECORD), "must": [{"bool": {"should": should}}]}},
            "size": SAMPLED_REPOSITORIES,
            "track_total_hits": False,
            "_source": False,
            "stored_fields": "_none_",
            "docvalue_fields": ["repo_id"],
            "collapse": {"field": "repo_id"},
        }
        said = self._engine.search(self._engine.names.text, body)
        return [hit["fields"]["repo_id"][0] for hit in said["hits"]["hits"]]

    def defining(self, generations: Mapping[str, str], names: Sequence[str]) -> set[str]:
        """Returns the repositories that define one of these names, ignoring case. Raises EngineUnavailable."""
        return self._repositories(generations, SYMBOL_RECORD, {"terms": {"name": [name.lower() for name in names]}})

    def holding(self, generations: Mapping[str, str], narrowing: Narrowing) -> set[str]:
        """Returns the repositories with chunks that an exact scan would read. Raises EngineUnavailable."""
        return self._repositories(generations, CHUNK_RECORD, {"bool": {"filter": narrowed_filters(narrowing)}})

    def _repositories(self, generations: Mapping[str, str], record: str, query: JsonObject) -> set[str]:
        parts = self._of(generations)
        if not parts:
            return set()
        body = {
            "query": {"bool": {"filter": [*_pieces(parts, record), query]}},
            "size": 0,
            "track_total_hits": False,
            "aggs": {"repositories": {"terms": {"field": "repo_id", "size": MAX_REPOSITORIES}}},
        }
        said = self._engine.search(self._engine.names.text, body)
        return {each["key"] for each in said["aggregations"]["repositories"]["buckets"]}

    def _of(self, generations: Mapping[str, str]) -> dict[str, _Part]:
        """Returns the parts of the generations, by repository. Generations that no longer exist are left out."""
        with self._lock:
            found = {repo_id: self._parts[name] for repo_id, name in generations.items() if name in self._parts}
        missing = [repo_id for repo_id in generations if repo_id not in found]
        for start in range(0, len(missing), MANIFESTS_AT_ONCE):
            batch = missing[start : start + MANIFESTS_AT_ONCE]
            names = [generations[repo_id] for repo_id in batch]
            said = self._engine.get_many(self._engine.names.manifests, names, ("pieces", "n_chunks"))
            for repo_id, name in zip(batch, names, strict=True):
                if name in said:
                    pieces = {piece: frozenset(dead) for piece, dead in said[name]["pieces"].items()}
                    found[repo_id] = _Part(pieces, said[name]["n_chunks"])
        with self._lock:
            for repo_id, part in found.items():
                self._parts[generations[repo_id]] = part
                self._parts.move_to_end(generations[repo_id])
            while len(self._parts) > MAX_REPOSITORIES:
                self._parts.popitem(last=False)
        return found


def _pieces(parts: Mapping[str, _Part], record: str) -> list[JsonObject]:
    """Returns the filter for the documents of all these generations. It does not exclude dead files."""
    pieces = [piece for part in parts.values() for piece in part.pieces]
    batches = [pieces[start : start + MAX_PIECES_IN_FILTER] for start in range(0, len(pieces), MAX_PIECES_IN_FILTER)]
    return [{"term": {"record": record}}, {"bool": {"should": [{"terms": {"piece": batch}} for batch in batches]}}]


def _has(word: str, fields: Sequence[str]) -> JsonObject:
    return {"bool": {"should": [{"term": {field: word}} for field in fields]}}


def _texts(part: _Part, hits: Sequence[Mapping[str, Any]]) -> list[tuple[float, str]]:
    """Returns the scores and texts of the hits whose files are not dead."""
    return [
        (hit["_score"], hit["fields"]["text"][0])
        for hit in hits
        if hit["fields"]["file_id"][0] not in part.pieces.get(hit["fields"]["piece"][0], frozenset())
    ]

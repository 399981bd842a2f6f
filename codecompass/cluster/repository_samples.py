"""Queries over many repositories at once, which select those that a question is then put to in full.

The facts of a repository are not read, because there may be thousands: rarities of words, word counts and the best chunks all
come from the engine.
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import Any, Final

from msgspec import Struct

from codecompass.cluster.engine import Engine
from codecompass.cluster.engine_queries import any_of, constant_score, narrowed_filters
from codecompass.cluster.schema import JsonObject
from codecompass.cluster.scoring import EngineRarities
from codecompass.cluster.trigrams import with_trigrams
from codecompass.languages.words import split_identifier
from codecompass.protocol.replies import SearchEvidence
from codecompass.query.file_listing import path_texts
from codecompass.query.merging import SAMPLED_CHUNKS, evidence_of
from codecompass.query.names.name_lookup import NameLikeness, likeness_to, sought_names
from codecompass.query.words.long_question import asked_words
from codecompass.query.words.query_words import name_parts
from codecompass.query.words.retrieval import coverage_query
from codecompass.store.schema import CHUNK_RECORD, FILE_RECORD, SYMBOL_RECORD
from codecompass.store.text_queries import Narrowing

SAMPLED_REPOSITORIES: Final = 8
"""Repositories whose best chunks are compared: twice as many as are then searched in full. With 16, two
more of 893 questions to 30 repositories find their file (measured 2026-11-25), in twice the time."""

MAX_REPOSITORIES: Final = 10_000
SAME_WORDS: Final = 4.0
ALIKE: Final = 2.0
MOST_WORDS: Final = 1.0
"""Scores of names with the same words, of names with typing errors or longer ones, and of names with most of the words."""

MANIFESTS_AT_ONCE: Final = 500
MAX_PIECES_IN_FILTER: Final = 60_000

_FIELDS: Final = ("body", "parts", "pairs")

_NAME: Final = re.compile(r"[\w$]+")
"""A name among any punctuation."""


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
        words = asked_words(query)
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
        names = self._with_most(parts, CHUNK_RECORD, should)
        if not names:
            return {}
        # One query for each of these repositories, in its own shard. In one query for all of them every shard would look for the
        # best chunks of every repository, and count the words in all.
        counts: JsonObject = {f"w{number}": {"filter": _has(word.text, _FIELDS)} for number, word in enumerate(words)}
        bodies = [
            {
                "query": {"bool": {"filter": _pieces({name: parts[name]}, CHUNK_RECORD), "must": [{"bool": {"should": should}}]}},
                # Twice as many, because files of some may be dead, and a message may be in a later one.
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
            found[name] = evidence_of(query, frequencies, parts[name].n_chunks, best)
        return found

    def _with_most(self, parts: Mapping[str, _Part], record: str, should: Sequence[JsonObject]) -> list[str]:
        """Returns the SAMPLED_REPOSITORIES whose best record scores highest, the best first."""
        body = {
            "query": {"bool": {"filter": _pieces(parts, record), "must": [{"bool": {"should": should}}]}},
            "size": SAMPLED_REPOSITORIES,
            "track_total_hits": False,
            "_source": False,
            "stored_fields": "_none_",
            "docvalue_fields": ["repo_id"],
            "collapse": {"field": "repo_id"},
        }
        said = self._engine.search(self._engine.names.text, body)
        return [hit["fields"]["repo_id"][0] for hit in said["hits"]["hits"]]

    def defining(self, generations: Mapping[str, str], text: str) -> Collection[str]:
        """Returns the repositories that can define the name that `text` is or contains, ignoring case. Of a qualified name, the
        part before the last is in the scope or in a path, if that is so anywhere. Raises EngineUnavailable."""
        names = sought_names(text)
        named = _named(names)
        found = self._repositories(generations, SYMBOL_RECORD, named)
        owner = name_parts(names[-1])[-2:-1]
        words = [word for part in owner for word in split_identifier(part)] if len(names) == 1 else []
        if len(found) <= SAMPLED_REPOSITORIES or not words:
            return found
        in_scope = {"bool": {"filter": [named, *({"term": {"name_words": word}} for word in words)]}}
        in_path = {"bool": {"filter": [{"term": {"file_words": word}} for word in words]}}
        with_owner = self._repositories(generations, SYMBOL_RECORD, in_scope)
        with_owner |= found & self._repositories(generations, FILE_RECORD, in_path)
        return with_owner or found

    def resembling(self, generations: Mapping[str, str], text: str) -> Collection[str]:
        """Returns a few repositories, those with definitions named most like the name in `text`. Raises EngineUnavailable."""
        known, similar = self._of(generations), _similar(likeness_to(text))
        return self._with_most(known, SYMBOL_RECORD, similar) if known and similar else ()

    def listing(self, generations: Mapping[str, str], query: str) -> Collection[str] | None:
        """Returns the repositories whose files a query in mode `files` can list, None if that is not known; if no path has the
        words, those whose paths have most of them. Raises EngineUnavailable, InvalidInput for a glob that is too large."""
        readings = path_texts(query)
        for alternatives in readings:
            choices = [with_trigrams("path_trigrams", texts) for texts in alternatives]
            if not all(choices):
                return None
            found = self._repositories(generations, FILE_RECORD, any_of([{"bool": {"filter": each}} for each in choices]))
            if found:
                return found
        words = [constant_score({"term": {"file_words": word}}, 1.0) for texts in readings[-1] for word in texts]
        known = self._of(generations)
        return self._with_most(known, FILE_RECORD, words) if known and words else ()

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


def _named(names: Sequence[str]) -> JsonObject:
    """Returns the query for definitions with one of the names, or with its last part."""
    lasts = [name_parts(name)[-1:] for name in names] + [_NAME.findall(name)[-1:] for name in names]
    return {"terms": {"name": list(dict.fromkeys(name.lower() for name in (*names, *chain.from_iterable(lasts))))}}


def _similar(likeness: NameLikeness) -> list[JsonObject]:
    """Returns the queries for names like one that was typed, in the order in which `find_named` prefers these."""
    found: list[JsonObject] = []
    words: list[JsonObject] = [{"terms": {"name_words": list(variants)}} for variants in likeness.words]
    if words:
        found.append(constant_score({"bool": {"filter": words}}, SAME_WORDS))
    if likeness.bare:
        fuzzy = {"value": likeness.bare, "fuzziness": likeness.n_errors, "max_expansions": 1024, "rewrite": "constant_score"}
        found.append(
            constant_score({"bool": {"should": [{"fuzzy": {"name": fuzzy}}, {"prefix": {"name": likeness.bare}}]}}, ALIKE)
        )
    if len(words) > 1:
        found.append(constant_score({"bool": {"should": words, "minimum_should_match": -(-len(words) // 2)}}, MOST_WORDS))
    return found


def _has(word: str, fields: Sequence[str]) -> JsonObject:
    return {"bool": {"should": [{"term": {field: word}} for field in fields]}}


def _texts(part: _Part, hits: Sequence[Mapping[str, Any]]) -> list[tuple[float, str]]:
    """Returns the scores and texts of the hits whose files are not dead."""
    return [
        (hit["_score"], hit["fields"]["text"][0])
        for hit in hits
        if hit["fields"]["file_id"][0] not in part.pieces.get(hit["fields"]["piece"][0], frozenset())
    ]

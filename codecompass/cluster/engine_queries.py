"""Builds the search requests to the engine: filters for the visible documents of a generation and the candidates of a scan.

Pure: nothing is sent from here.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from codecompass.cluster.manifests import Manifest
from codecompass.cluster.schema import MAX_CANDIDATES, JsonObject
from codecompass.cluster.trigrams import with_trigrams
from codecompass.languages.words import ASCII_MARK, ODD_WORD_MARK
from codecompass.store.text_queries import BETWEEN_PIECES, TOKEN_MARKS, Narrowing, Need, TermPattern

MAX_IDS: Final = 60_000
"""Ids in one list of a filter; the engine's limit is 65,536."""

_RESERVED: Final = re.compile(r'[.?+*|(){}\[\]"\\#@&<>~^$-]')
"""Special characters of the engine's regular expressions."""

_ODD_WORD: Final[JsonObject] = {"term": {"names": ODD_WORD_MARK}}

Order = Literal["key", "score", "about"]

BY_SCORE: Final = ["_score", {"key": "asc"}]

KEYS_ONLY: Final[JsonObject] = {"_source": False, "track_total_hits": False, "stored_fields": "_none_"}


def search_body(query: JsonObject, limit: int, fields: Sequence[str], order: Order) -> JsonObject:
    """Returns a search that sorts by key, or by score and then key. With `about` the engine sorts as it does by default, which
    lets it skip documents that cannot be among the best, and gives no scores."""
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


def visible_filters(manifest: Manifest) -> list[JsonObject]:
    """Returns the filter for the documents of a generation."""
    whole = [piece.id for piece in manifest.pieces if not piece.dead]
    choices: list[JsonObject] = [{"terms": {"piece": whole}}] if whole else []
    choices += [
        {"bool": {"filter": {"term": {"piece": piece.id}}, "must_not": file_filters(piece.dead)}}
        for piece in manifest.pieces
        if piece.dead
    ]
    return [any_of(choices)]


def narrowed_filters(narrowing: Narrowing) -> list[JsonObject]:
    """Returns the filters for the chunks that are candidates of a scan, empty if all are."""
    if narrowing.is_everything:
        return []
    choices = [_all_needs(needs, narrowing.is_by_ascii) for needs in narrowing.alternatives]
    if narrowing.may_be_one_long_word or not choices:
        choices.append(_ODD_WORD)
    return [any_of(choices)]


def batched_keys(keys: Sequence[int], size: int) -> Iterator[list[int]]:
    """Yields the keys, `size` at a time."""
    for start in range(0, len(keys), size):
        yield list(keys[start : start + size])


def file_filters(ids: Sequence[int]) -> list[JsonObject]:
    """Returns filters for the documents of files, to be combined by `any_of` or excluded together."""
    return [{"terms": {"file_id": batch}} for batch in batched_keys(ids, MAX_IDS)]


def record_filter(record: str) -> JsonObject:
    """Returns the filter for documents of one kind, see `store/schema.py`."""
    return {"term": {"record": record}}


def constant_score(query: JsonObject, boost: float) -> JsonObject:
    """Returns a query that finds what `query` finds, all with the score `boost`."""
    return {"constant_score": {"filter": query, "boost": boost}}


def any_of(choices: Sequence[JsonObject]) -> JsonObject:
    """Returns a query that finds what any of `choices` finds."""
    return choices[0] if len(choices) == 1 else {"bool": {"should": list(choices), "minimum_should_match": 1}}


def _all_needs(needs: Sequence[Need], is_by_ascii: bool) -> JsonObject:
    return {"bool": {"filter": [_need(need, is_by_ascii) for need in needs]}}


def _need(need: Need, is_by_ascii: bool) -> JsonObject:
    found = [query for term in need for query in _of_term(term, is_by_ascii)]
    return any_of([*found, *({"bool": {"filter": [_ODD_WORD, *with_trigrams("odd_trigrams", term.pieces)]}} for term in need)])


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

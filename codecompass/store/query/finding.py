"""Finds the places that answer a search: retrieve, rank, give each its boundaries, drop duplicates. Shapes nothing."""

from collections.abc import Callable
from typing import Final

import msgspec

from codecompass.protocol.decode import well_formed
from codecompass.protocol.requests import SearchCode
from codecompass.store.index import Snapshot
from codecompass.store.query import plan
from codecompass.store.query.candidates import retrieve
from codecompass.store.query.file_listing import list_files
from codecompass.store.query.filters import filter_warnings, index_filter, symbol_kinds
from codecompass.store.query.hits import Hits, never
from codecompass.store.query.intent import classify, unquoted
from codecompass.store.query.path_lane import named_files
from codecompass.store.query.phrase import phrase_shares
from codecompass.store.query.places import refine
from codecompass.store.query.pointed import pointed_places
from codecompass.store.query.ranking import MAX_IMPORTERS, NO_PHRASES, rank, with_importers
from codecompass.store.query.scan import scan
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import Shown

WEIGHED_FILES: Final = 40
"""Files, the best by their text, for which it is counted how many import them."""


def find(
    snapshot: Snapshot,
    request: SearchCode,
    limit: int,
    settings: QuerySettings = QuerySettings(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = never,
    *,
    page: int | None = None,
) -> Hits:
    """Returns the first `limit` hits for a request, unshaped; as they would be ranked for a page of `page` (default: `limit`)."""
    page = page or limit
    if request.mode == "files":
        return list_files(snapshot, request, limit)
    where = index_filter(snapshot, request.language, request.path)
    kinds = symbol_kinds(request.kind)
    if request.mode != "auto":
        hits = scan(snapshot, request, limit, where, kinds, settings, is_expired)
        if hits.shown:
            return hits
        why = filter_warnings(snapshot, where, request.language, request.path, request.kind)
        return msgspec.structs.replace(hits, warnings=(*hits.warnings, *why))
    text = well_formed(request.query)
    intent = classify(text)
    query = unquoted(text)
    weights = plan.weights_for(intent, settings.without_signals)
    found = retrieve(snapshot, query, page, where, weights.inflection)
    ranked = rank(found, weights, kinds, phrase_shares(snapshot, found, query) if weights.phrase else NO_PHRASES)
    best_paths = list(dict.fromkeys(place.place.path for place in ranked))[: max(WEIGHED_FILES, page)]
    ranked = with_importers(ranked, snapshot.facts.importer_counts(best_paths, MAX_IMPORTERS), weights.importers)
    if kinds is None:
        pointed = pointed_places(snapshot, query, intent, ranked, where)
        ranked = sorted(pointed + ranked, key=lambda place: -place.score) if pointed else ranked
    if intent == "path" and kinds is None:
        ranked = named_files(snapshot, query, where, page, above=ranked[0].score if ranked else 0.0) + ranked
    shown: list[Shown] = []
    seen: set[tuple[int, int, int]] = set()
    duplicates = 0
    for candidate in ranked:
        if len(shown) == limit:
            break
        place = refine(snapshot, candidate, found.wanted, kinds)
        if place is None:
            continue
        key = (place.place.id, place.line_start, place.line_end)
        if key in seen:
            duplicates += 1
            continue
        seen.add(key)
        shown.append(Shown(place=place))
    return Hits(
        shown=tuple(shown),
        intent=intent,
        total=len(ranked) - duplicates,
        duplicates=duplicates,
        warnings=() if shown else filter_warnings(snapshot, where, request.language, request.path, request.kind),
    )

"""Finds the places that answer a search: retrieve, rank, give each its boundaries, drop duplicates. Shapes nothing."""

from collections.abc import Callable, Sequence
from typing import Final

from codecompass.protocol.decode import well_formed
from codecompass.protocol.requests import SearchCode
from codecompass.store.index import Snapshot
from codecompass.store.query import plan
from codecompass.store.query.candidates import retrieve
from codecompass.store.query.filters import index_filter, symbol_kinds, unknown_language
from codecompass.store.query.guesses import frames
from codecompass.store.query.hits import Hits, never
from codecompass.store.query.intent import classify, unquoted
from codecompass.store.query.messages import find_messages, message_places
from codecompass.store.query.path_lane import named_files
from codecompass.store.query.places import refine
from codecompass.store.query.pointed import pointed_places
from codecompass.store.query.ranking import MAX_IMPORTERS, NO_PHRASES, RankedPlace, rank, with_importers
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
    where = index_filter(snapshot.facts, request.language, request.path)
    kinds = symbol_kinds(request.kind)
    if request.mode != "auto":
        return scan(snapshot, request, limit, where, kinds, settings, is_expired)
    text = well_formed(request.query)
    intent = classify(text)
    query = unquoted(text)
    weights = plan.weights_for(intent, settings.without_signals)
    found = retrieve(snapshot, query, page, where, weights.inflection)
    messages = [] if "phrase" in settings.without_signals else find_messages(snapshot, query, where)
    phrases = {(item.file_id, item.chunk_start): item.share for item in reversed(messages)} if weights.phrase else NO_PHRASES
    ranked = rank(found, weights, kinds, phrases)
    best_paths = list(dict.fromkeys(place.place.path for place in ranked))[: max(WEIGHED_FILES, page)]
    ranked = with_importers(ranked, snapshot.facts.importer_counts(best_paths, MAX_IMPORTERS), weights.importers)
    best = ranked[0].score if ranked else 0.0
    if kinds is None:
        pointed = pointed_places(snapshot, query, intent, ranked, where)
        ranked = sorted(pointed + ranked, key=lambda place: -place.score) if pointed else ranked
    # A trace says where it comes from better than the message above it; a single place beside a message does not.
    above = best if len(frames(query)) > 1 else ranked[0].score if ranked else 0.0
    quoted = message_places(snapshot, messages, kinds, above)
    ranked = sorted(quoted + ranked, key=lambda place: -place.score) if quoted else ranked
    if intent == "path" and kinds is None:
        ranked = named_files(snapshot, query, where, page, above=ranked[0].score if ranked else 0.0) + ranked
    shown: list[Shown] = []
    seen: set[tuple[int, int, int]] = set()
    duplicates = 0
    for candidate in ranked:
        if len(shown) == limit:
            break
        place = candidate if candidate.focus else refine(snapshot, candidate, found.wanted, kinds)
        if place is None:
            continue
        key = (place.place.id, place.line_start, place.line_end)
        if key in seen or (candidate not in quoted and _is_around(place, quoted)):
            duplicates += 1
            continue
        seen.add(key)
        shown.append(Shown(place=place))
    return Hits(
        shown=tuple(shown),
        intent=intent,
        total=len(ranked) - duplicates,
        duplicates=duplicates,
        warnings=() if shown else unknown_language(snapshot.facts, request.language),
    )


def _is_around(place: RankedPlace, quoted: Sequence[RankedPlace]) -> bool:
    """Whether a place that is no definition is there for a line that is shown as that of a message already."""
    return place.type == "snippet" and any(
        place.place.id == other.place.id and other.line_start <= place.focus <= other.line_end for other in quoted
    )

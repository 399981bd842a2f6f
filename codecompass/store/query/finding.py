"""Finds the places that answer a search: retrieve, rank, give each its boundaries, drop duplicates. Shapes nothing."""

from collections.abc import Callable
from typing import Final

from codecompass.protocol.decode import well_formed
from codecompass.protocol.requests import SearchCode
from codecompass.store.index import Snapshot
from codecompass.store.query import plan
from codecompass.store.query.asked_lines import asked_lines
from codecompass.store.query.candidates import retrieve
from codecompass.store.query.filters import index_filter, symbol_kinds, unknown_language
from codecompass.store.query.handles import is_handle, outdated, symbol_of_handle
from codecompass.store.query.hits import Hits, never
from codecompass.store.query.intent import QueryIntent, classify, unquoted
from codecompass.store.query.known_words import listed, missing_names, unknown_words
from codecompass.store.query.path_lane import named_files
from codecompass.store.query.phrase import phrase_shares
from codecompass.store.query.places import refine
from codecompass.store.query.pointed import definition_place, pointed_places
from codecompass.store.query.ranking import MAX_IMPORTERS, NO_PHRASES, rank, with_importers
from codecompass.store.query.scan import scan
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import Shown

SURE_SCORE: Final = 20.0
"""Of a definition that was asked for by its `symbol_id`: that of an exact name at the first place of `locate_symbol`."""

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
    root: str = "",
) -> Hits:
    """Returns the first `limit` hits for a request, unshaped; as they would be ranked for a page of `page` (default: `limit`).

    A query that is a `symbol_id` finds that definition alone, one that is `path:line` the definitions around the line. `root`
    is that of the workspace, for absolute paths.
    """
    page = page or limit
    where = index_filter(snapshot.facts, request.language, request.path)
    kinds = symbol_kinds(request.kind)
    if request.mode != "auto":
        return scan(snapshot, request, limit, where, kinds, settings, is_expired)
    text = well_formed(request.query)
    known = symbol_of_handle(snapshot, text)
    if known is not None:
        return Hits(shown=(Shown(place=definition_place(known, SURE_SCORE)),), intent="symbol", total=1)
    intent = classify(text)
    query = unquoted(text)
    weights = plan.weights_for(intent, settings.without_signals)
    found = retrieve(snapshot, query, page, where, weights.inflection)
    ranked = rank(found, weights, kinds, phrase_shares(snapshot, found, query) if weights.phrase else NO_PHRASES)
    best_paths = list(dict.fromkeys(place.place.path for place in ranked))[: max(WEIGHED_FILES, page)]
    ranked = with_importers(ranked, snapshot.facts.importer_counts(best_paths, MAX_IMPORTERS), weights.importers)
    unknown = unknown_words(snapshot, query)
    if unknown:
        ranked = []
    if kinds is None:
        pointed = pointed_places(snapshot, query, intent, ranked, where)
        ranked = sorted(pointed + ranked, key=lambda place: -place.score) if pointed else ranked
    warnings: tuple[str, ...] = ()
    asked = asked_lines(query)
    if (intent == "path" or asked is not None) and kinds is None:
        named = named_files(snapshot, query, where, page, above=ranked[0].score if ranked else 0.0, root=root)
        if intent == "path" and not named:
            warnings = (f"no indexed file has the path {listed((query if asked is None else asked.path,))}",)
        # A line that is asked for by its place is the whole answer.
        ranked = named if named and asked is not None else named + ranked
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
        warnings=(*warnings, *_of_words(snapshot, request, query, intent, unknown, is_empty=not shown)),
    )


def _of_words(
    snapshot: Snapshot, request: SearchCode, query: str, intent: QueryIntent, unknown: tuple[str, ...], *, is_empty: bool
) -> tuple[str, ...]:
    """What has to be said of the words of a query: that there are none of them, or that an identifier is made up."""
    if is_empty and is_handle(query):
        return (outdated(query).message,)
    language = unknown_language(snapshot.facts, request.language) if is_empty else ()
    if language:
        return language
    if unknown:
        return (f"no word of the query occurs in the index: {listed(unknown)}",)
    missing = missing_names(snapshot, query) if intent in ("symbol", "natural_language") else ()
    return (f"nowhere in the index: {listed(missing)}",) if missing else ()

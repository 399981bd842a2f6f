"""Finds the places that answer a search: retrieve, rank, give each its boundaries, drop duplicates. Shapes nothing."""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from codecompass.protocol.decode import well_formed
from codecompass.protocol.requests import SearchCode
from codecompass.store.index import Snapshot
from codecompass.store.query import plan
from codecompass.store.query.asked_lines import asked_lines
from codecompass.store.query.candidates import retrieve
from codecompass.store.query.file_listing import list_files
from codecompass.store.query.filters import filter_warnings, index_filter, symbol_kinds
from codecompass.store.query.guesses import frames
from codecompass.store.query.handles import is_handle, outdated, symbol_of_handle
from codecompass.store.query.hits import Hits, never
from codecompass.store.query.intent import QueryIntent, classify, unquoted
from codecompass.store.query.known_words import listed, missing_names, unknown_words
from codecompass.store.query.messages import find_messages, message_places
from codecompass.store.query.path_lane import named_files
from codecompass.store.query.places import refine
from codecompass.store.query.pointed import definition_place, pointed_places
from codecompass.store.query.ranking import MAX_IMPORTERS, NO_PHRASES, RankedPlace, rank, with_importers
from codecompass.store.query.scan import scan
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import Shown
from codecompass.store.text import Filter

SURE_SCORE: Final = 20.0
"""Of a definition that was asked for by its `symbol_id`: that of an exact name at the first place of `locate_symbol`."""

OTHERS_BESIDE_A_MESSAGE: Final = 2
"""Places that a text answer shows beside those of a message that does not stand there character by character."""

TIME_WAS_UP: Final = "the time was up before everything was looked at; pass a larger timeout_ms, or fewer words"

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
    known = symbol_of_handle(snapshot, text)
    if known is not None:
        return Hits(shown=(Shown(place=definition_place(known, SURE_SCORE)),), intent="symbol", total=1)
    intent = classify(text)
    query = unquoted(text)
    weights = plan.weights_for(intent, settings.without_signals)
    found = retrieve(snapshot, query, page, where, weights.inflection)
    messages = [] if "phrase" in settings.without_signals else find_messages(snapshot, query, where, is_expired)
    # What comes now is quick, and without it there would be no answer at all.
    is_partial = is_expired()
    phrases = {(item.file_id, item.chunk_start): item.share for item in reversed(messages)} if weights.phrase else NO_PHRASES
    ranked = rank(found, weights, kinds, phrases)
    best_paths = list(dict.fromkeys(place.place.path for place in ranked))[: max(WEIGHED_FILES, page)]
    ranked = with_importers(ranked, snapshot.facts.importer_counts(best_paths, MAX_IMPORTERS), weights.importers)
    unknown = unknown_words(snapshot, query)
    if unknown:
        ranked = []
    best = ranked[0].score if ranked else 0.0
    if kinds is None:
        pointed = pointed_places(snapshot, query, intent, ranked, where)
        ranked = sorted(pointed + ranked, key=lambda place: -place.score) if pointed else ranked
    # A trace says where it comes from better than the message above it; a single place beside a message does not.
    above = best if len(frames(query)) > 1 else ranked[0].score if ranked else 0.0
    quoted = message_places(snapshot, messages, kinds, above)
    ranked = sorted(quoted + ranked, key=lambda place: -place.score) if quoted else ranked
    warnings: tuple[str, ...] = ()
    asked = asked_lines(query)
    if (intent == "path" or asked is not None) and kinds is None:
        named = named_files(snapshot, query, where, page, above=ranked[0].score if ranked else 0.0, root=root)
        if intent == "path" and not named:
            warnings = (f"no indexed file has the path {listed((query if asked is None else asked.path,))}",)
        # A line that is asked for by its place is the whole answer.
        ranked = named if named and asked is not None else named + ranked
    if request.limit is None and settings.answers == "text" and quoted:
        # Whoever pastes a message wants the line that it comes from; what else has its words is there to be asked for.
        exact = any(item.is_exact and item.is_sure for item in messages)
        limit = min(limit, len(quoted) + (0 if exact else OTHERS_BESIDE_A_MESSAGE))
    shown: list[Shown] = []
    seen: set[tuple[int, int, int]] = set()
    duplicates = 0
    for candidate in ranked:
        if len(shown) == limit:
            break
        if shown and not is_partial and is_expired():
            is_partial = True
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
        warnings=(
            *warnings,
            *_of_words(snapshot, request, query, intent, unknown, where, is_empty=not shown),
            *((TIME_WAS_UP,) if is_partial else ()),
        ),
        is_partial=is_partial,
    )


def _of_words(
    snapshot: Snapshot,
    request: SearchCode,
    query: str,
    intent: QueryIntent,
    unknown: tuple[str, ...],
    where: Filter,
    *,
    is_empty: bool,
) -> tuple[str, ...]:
    """What has to be said of the words of a query: that there are none of them, or that an identifier is made up."""
    if is_empty and is_handle(query):
        return (outdated(query).message,)
    filtered = filter_warnings(snapshot, where, request.language, request.path, request.kind) if is_empty else ()
    if filtered:
        return filtered
    if unknown:
        return (f"no word of the query occurs in the index: {listed(unknown)}",)
    missing = missing_names(snapshot, query) if intent in ("symbol", "natural_language") else ()
    return (f"nowhere in the index: {listed(missing)}",) if missing else ()


def _is_around(place: RankedPlace, quoted: Sequence[RankedPlace]) -> bool:
    """Whether a place that is no definition is there for a line that is shown as that of a message already."""
    return place.type == "snippet" and any(
        place.place.id == other.place.id and other.line_start <= place.focus <= other.line_end for other in quoted
    )

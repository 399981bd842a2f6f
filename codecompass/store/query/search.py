"""`search_code`: retrieve, rank, give each hit its boundaries, drop duplicates, shape."""

import re
from collections.abc import Callable
from typing import Final

import msgspec

from codecompass.protocol.decode import well_formed
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import NextAction, SearchCodeReply
from codecompass.protocol.requests import SearchCode
from codecompass.store.index import Snapshot
from codecompass.store.query import plan
from codecompass.store.query.answer import answer_metadata
from codecompass.store.query.candidates import retrieve
from codecompass.store.query.filters import index_filter, symbol_kinds, unknown_language
from codecompass.store.query.hits import Hits, never
from codecompass.store.query.intent import classify, unquoted
from codecompass.store.query.path_lane import named_files
from codecompass.store.query.phrase import phrase_shares
from codecompass.store.query.places import refine
from codecompass.store.query.ranking import MAX_IMPORTERS, NO_PHRASES, rank, with_importers
from codecompass.store.query.scan import scan
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import Shape, Shown, ranking_reasons, shape

_SPECIAL: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")

WEIGHED_FILES: Final = 40
"""Files, the best by their text, for which it is counted how many import them."""


def search_code(
    snapshot: Snapshot,
    request: SearchCode,
    state: AnswerState,
    settings: QuerySettings = QuerySettings(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = never,
) -> SearchCodeReply:
    """Returns the answer to `request`. `is_expired` is asked during scans, which then end with what they have.

    Raises InvalidInput for a regular expression that cannot be used; no other text is an error.
    """
    limit = request.limit or settings.default_limit
    hits = find(snapshot, request, limit, settings, is_expired)
    page = shape(
        snapshot,
        hits.shown,
        Shape(
            detail_level=request.detail_level,
            compact=request.compact,
            with_content=request.project_id is not None,
            max_bytes=settings.result_bytes(request.limit),
        ),
    )
    level = request.ranking_explain_level or settings.ranking_explain_level
    metadata = answer_metadata(snapshot, state, warnings=hits.warnings, is_truncated=page.is_cut, is_partial=hits.is_partial)
    return SearchCodeReply(
        results=page.results,
        query_intent=hits.intent,
        total_candidates=hits.total,
        suggested_next_actions=_next_actions(snapshot, request, hits, limit, is_expired, is_cut=page.is_cut),
        metadata=msgspec.structs.replace(
            metadata,
            safety_limit_applied=page.is_cut,
            suppressed_duplicate_count=hits.duplicates,
            ranking_reasons=ranking_reasons(hits.shown[: len(page.results)], level),
        ),
    )


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
    ranked = rank(found, weights, kinds, phrase_shares(snapshot, found, query) if weights.phrase else NO_PHRASES)
    best_paths = list(dict.fromkeys(place.place.path for place in ranked))[: max(WEIGHED_FILES, page)]
    ranked = with_importers(ranked, snapshot.facts.importer_counts(best_paths, MAX_IMPORTERS), weights.importers)
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
        warnings=() if shown else unknown_language(snapshot.facts, request.language),
    )


def _next_actions(
    snapshot: Snapshot, request: SearchCode, hits: Hits, limit: int, is_expired: Callable[[], bool], *, is_cut: bool
) -> tuple[NextAction, ...]:
    if is_cut:
        mode = "" if request.mode == "auto" else request.mode
        return (NextAction(tool="search_code", query=request.query, mode=mode, limit=limit // 2 + 1),)
    if hits.shown:
        return ()
    if request.mode != "auto" or request.kind or request.language or request.path:
        return (*_near_miss(snapshot, request, hits, is_expired), NextAction(tool="search_code", query=request.query))
    return (NextAction(tool="search_code", query=request.query, mode="literal"),)


def _near_miss(snapshot: Snapshot, request: SearchCode, hits: Hits, is_expired: Callable[[], bool]) -> tuple[NextAction, ...]:
    """The same literal or pattern whatever its case, where that would find something."""
    if request.mode == "auto" or hits.is_partial or "\n" in request.query:
        return ()
    pattern = "(?i)" + (_SPECIAL.sub(r"\\\g<0>", request.query) if request.mode == "literal" else request.query)
    without_case = msgspec.structs.replace(request, mode="regex", query=pattern)
    if not find(snapshot, without_case, 1, QuerySettings(max_matched_lines=1), is_expired).shown:
        return ()
    return (NextAction(tool="search_code", query=pattern, mode="regex"),)

"""`search_code`: find, shape, explain, propose what to do next."""

import itertools
import re
from collections.abc import Callable
from typing import Final

import msgspec

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import NextAction, SearchCodeReply
from codecompass.protocol.requests import SearchCode
from codecompass.store.index import Snapshot
from codecompass.store.query.answer import answer_metadata
from codecompass.store.query.excerpts import word_pattern
from codecompass.store.query.explain import explain_path
from codecompass.store.query.finding import find
from codecompass.store.query.hits import Hits, never
from codecompass.store.query.path_globs import relative_request
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import Shape, ranking_reasons, shape

NEAR_MISS_LOOKS: Final = 1_000
"""Pieces of text that are looked through for something to suggest."""

NEAR_MISS_LENGTH: Final = 1_000
"""Characters of what is looked for in another case: longer ones are pasted, and pasted as they are."""

_SPECIAL: Final = re.compile(r"[\\^$.|?*+()\[\]{}]")


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
    request = relative_request(request, state.workspace)
    hits = find(snapshot, request, limit, settings, is_expired, root=state.workspace)
    page = shape(
        snapshot,
        hits.shown,
        Shape(
            detail_level=request.detail_level,
            compact=request.compact,
            with_content=request.project_id is not None,
            answers=settings.answers,
            pattern=word_pattern(request.query) if settings.answers == "text" and request.mode == "auto" else None,
            with_docs=request.docs,
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
            why_not=explain_path(snapshot, request, request.why_not, settings, is_expired) if request.why_not else None,
        ),
    )


def _next_actions(
    snapshot: Snapshot, request: SearchCode, hits: Hits, limit: int, is_expired: Callable[[], bool], *, is_cut: bool
) -> tuple[NextAction, ...]:
    if is_cut:
        mode = "" if request.mode == "auto" else request.mode
        return (NextAction(tool="search_code", query=request.query, mode=mode, limit=limit // 2 + 1),)
    if hits.shown or request.mode == "files":
        return ()
    if request.mode != "auto" or request.kind or request.language or request.path:
        return (*_near_miss(snapshot, request, hits, is_expired), NextAction(tool="search_code", query=request.query))
    return (NextAction(tool="search_code", query=request.query, mode="literal"),)


def _near_miss(snapshot: Snapshot, request: SearchCode, hits: Hits, is_expired: Callable[[], bool]) -> tuple[NextAction, ...]:
    """The same literal or pattern whatever its case, where that would find something."""
    if request.mode in ("auto", "files") or hits.is_partial or "\n" in request.query or len(request.query) > NEAR_MISS_LENGTH:
        return ()
    pattern = "(?i)" + (_SPECIAL.sub(r"\\\g<0>", request.query) if request.mode == "literal" else request.query)
    without_case = msgspec.structs.replace(request, mode="regex", query=pattern)
    looks = itertools.count()
    enough = lambda: next(looks) >= NEAR_MISS_LOOKS or is_expired()  # noqa: E731
    if not find(snapshot, without_case, 1, QuerySettings(max_matched_lines=1), enough).shown:
        return ()
    return (NextAction(tool="search_code", query=pattern, mode="regex"),)

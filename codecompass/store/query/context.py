"""`get_code_context`: the best code for a question, as much as fits into a number of tokens."""

from collections.abc import Sequence
from typing import Final

import msgspec

from codecompass.errors import InvalidMaxTokens
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import CodeContextReply, ContextItem
from codecompass.protocol.requests import GetCodeContext, SearchCode
from codecompass.store.index import Snapshot
from codecompass.store.query.answer import answer_metadata
from codecompass.store.query.budget import estimate_tokens
from codecompass.store.query.finding import find
from codecompass.store.query.ranking import RankedPlace
from codecompass.store.query.settings import QuerySettings
from codecompass.store.query.shaping import result_handle, stable_handle, symbol_handle
from codecompass.store.query.source import excerpt, lines_of

CANDIDATES: Final = 50
BODY_LINES: Final = 80
BODY_CHARACTERS: Final = 6_000
SUGGESTION: Final = "Use locate_symbol for specific symbols, or increase max_tokens"
SEPARATOR: Final = b","
LEAST_BUDGET: Final = 100
"""Below this no answer is possible, whatever the workspace is called."""

USEFUL_TOKENS: Final = 500
"""What a refused request is told to ask for besides: three or four signatures."""


def get_code_context(
    snapshot: Snapshot,
    request: GetCodeContext,
    state: AnswerState,
    settings: QuerySettings = QuerySettings(),  # noqa: B008 (frozen)
) -> CodeContextReply:
    """Returns signatures (`breadth`) or bodies (`depth`), best first; an item that does not fit makes room for the next.

    The whole encoded answer stays within `max_tokens` as `budget` counts them. Where not one item fits whole, the best that
    fits is named by its place alone.

    Raises InvalidMaxTokens where the budget is below that of an answer without items, with this `minimum`.
    """
    search = SearchCode(query=request.query, language=request.language)
    hits = find(snapshot, search, CANDIDATES, settings)
    candidates = [_item(snapshot, shown.place, with_body=request.strategy == "depth") for shown in hits.shown]
    # Room for the largest envelope: that of an answer that left something out, and of no fewer than three digits.
    widest = max(request.max_tokens, LEAST_BUDGET)
    envelope = estimate_tokens(encode(_reply(snapshot, request, state, (), len(candidates), widest)))
    if request.max_tokens < envelope:
        raise InvalidMaxTokens(
            f"max_tokens must be at least {envelope} here, which an answer takes without any code, not {request.max_tokens}. "
            f"Call again with {envelope + USEFUL_TOKENS} or more, or use locate_symbol.",
            field="max_tokens",
            value=request.max_tokens,
            constraint=f"a whole number of {envelope} or more",
            minimum=envelope,
        )
    free = request.max_tokens - envelope
    kept = _fitting(candidates, free)
    is_brief = bool(candidates) and not kept
    if is_brief:
        kept = _fitting([_brief(item) for item in candidates], free)[:1]
    used = envelope + sum(_cost(item) for item in kept)
    return _reply(snapshot, request, state, tuple(kept), len(candidates), used, is_brief=is_brief)


def _fitting(items: Sequence[ContextItem], free: int) -> list[ContextItem]:
    kept = []
    for item in items:
        cost = _cost(item)
        if cost <= free:
            kept.append(item)
            free -= cost
    return kept


def _cost(item: ContextItem) -> int:
    return estimate_tokens(encode(item) + SEPARATOR)


def _brief(item: ContextItem) -> ContextItem:
    return msgspec.structs.replace(item, qualified_name="", signature="", language="", symbol_stable_id="", body="")


def _reply(
    snapshot: Snapshot,
    request: GetCodeContext,
    state: AnswerState,
    items: tuple[ContextItem, ...],
    total: int,
    tokens: int,
    *,
    is_brief: bool = False,
) -> CodeContextReply:
    is_cut = is_brief or len(items) < total
    metadata = msgspec.structs.replace(
        answer_metadata(snapshot, state, is_partial=is_cut),
        strategy=request.strategy,
        total_candidates=total,
        returned=len(items),
        remaining_candidates=total - len(items),
        suggestion=SUGGESTION if is_cut else "",
    )
    return CodeContextReply(context_items=items, estimated_tokens=tokens, truncated=is_cut, metadata=metadata)


def _item(snapshot: Snapshot, place: RankedPlace, *, with_body: bool) -> ContextItem:
    row = place.symbol
    named = row or place.enclosing
    body = ""
    if with_body:
        lines = lines_of(snapshot, place.place.id, place.line_start, min(place.line_end, place.line_start + BODY_LINES))
        body = excerpt(lines, place.place.language, BODY_LINES, BODY_CHARACTERS)
    return ContextItem(
        path=place.place.path,
        line_start=place.line_start,
        line_end=place.line_end,
        kind=named.kind if named else "",
        name=named.name if named else "",
        qualified_name=named.qualified_name if named else "",
        signature=row.signature if row else "",
        language=place.place.language,
        symbol_id=symbol_handle(snapshot, row) if row else "",
        symbol_stable_id=stable_handle(row) if row else "",
        result_id="" if row else result_handle(snapshot, place),
        score=place.final_score,
        body=body,
    )

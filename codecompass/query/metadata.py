"""The `metadata` of an answer: the given state, the snapshot, additions of the query; marks files that changed since."""

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import Final, TypeVar

import msgspec
from msgspec import Struct

from codecompass import hints
from codecompass.errors import CodeCompassError, SymbolNotFound
from codecompass.formatting import count
from codecompass.protocol.metadata import PROTOCOL_VERSION, AnswerState, Completeness, Metadata
from codecompass.protocol.replies import (
    CallGraphReply,
    CodeContextReply,
    ContextItem,
    ElsewhereUse,
    FindReferencesReply,
    GraphNode,
    LocateSymbolReply,
    Reference,
    RelatedType,
    Result,
    SearchCodeReply,
    TypeHierarchyReply,
)
from codecompass.store.snapshot import Snapshot


def answer_metadata(
    snapshot: Snapshot | None,
    state: AnswerState,
    *,
    warnings: Sequence[str] = (),
    is_truncated: bool = False,
    is_partial: bool = False,
    is_of_content: bool = True,
) -> Metadata:
    """Returns the metadata that all answers share; `snapshot` is None for a workspace without a readable index.

    An answer is `partial` if the index lacks symbols or is not known to be fresh. With `is_of_content` False, for answers about
    the index itself, freshness does not count.
    """
    completeness: Completeness = "truncated" if is_truncated else "complete"
    if (
        is_partial
        or state.is_partial
        or (is_of_content and state.freshness_status != "fresh")
        or snapshot is None
        or snapshot.meta.completeness == "partial"
    ):
        completeness = "partial"
    return Metadata(
        codecompass_protocol_version=PROTOCOL_VERSION,
        freshness_status=state.freshness_status,
        indexing_status=state.indexing_status,
        result_completeness=completeness,
        ref=state.ref,
        commit=state.commit,
        schema_status=state.schema_status,
        workspace=state.workspace,
        project_id=state.project_id,
        schema_name=state.schema_name,
        generation=snapshot.generation if snapshot else 0,
        warnings=(*state.warnings, *warnings),
        hint=state.hint,
    )


@contextmanager
def errors_with_metadata(snapshot: Snapshot, state: AnswerState) -> Iterator[None]:
    """Adds to an error in the block the metadata that an answer from this snapshot would have."""
    try:
        yield
    except CodeCompassError as error:
        unparsed = text_only_warnings(snapshot) if isinstance(error, SymbolNotFound) else ()
        error.metadata = answer_metadata(snapshot, state, warnings=unparsed, is_partial=bool(unparsed))
        raise


def text_only_warnings(snapshot: Snapshot) -> tuple[str, ...]:
    """Returns the warning about a name that no definition has, if files lack their symbols. Reads 22,000 rows in 2 ms."""
    reasons = snapshot.facts.text_only_by_reason()
    if not reasons:
        return ()
    n_files = sum(number for _, number in reasons)
    causes = ", ".join(f"{number:,} {reason}" for reason, number in reasons)
    files = count(n_files, "file")
    return (f"{files} could not be parsed and may define it ({causes}). search_code finds the name in their text",)


ReplyT = TypeVar("ReplyT", bound=Struct)
ContextReplyT = TypeVar("ContextReplyT", bound=CodeContextReply)

NAMED_FILES: Final = 5
"""Changed files that a warning names; it counts the others."""

CHANGED_SOMEWHERE: Final = (
    "files have changed since the index was built, and are not in this answer yet. Call again, or read what you have just written"
)
"""The warning if it is unknown which files changed."""

HEAD_HAS_MOVED: Final = "another branch or commit has been checked out since the index was built. Call again to be told its name"


def stale_warning(paths: Sequence[str]) -> str:
    """Returns the warning of an answer that lacks the newest content of `paths` (sorted, at least one)."""
    named = ", ".join(paths[:NAMED_FILES])
    more = f", and {len(paths) - NAMED_FILES:,} more" if len(paths) > NAMED_FILES else ""
    one = len(paths) == 1
    return (
        f"{len(paths):,} {'file has' if one else 'files have'} changed since the index was built, and this answer knows "
        f"{'it' if one else 'them'} as {'it was' if one else 'they were'} before: {named}{more}. Call again, or read "
        f"{'it' if one else 'them'}"
    )


def cannot_update(error: CodeCompassError, *, has_index: bool = True) -> str:
    """Returns the warning of an answer that could not be brought up to date because the index cannot be written, or of one about
    an index that cannot be made."""
    cause = error.data.get("cause") or error.message
    what = "the index cannot be brought up to date" if has_index else "no index can be made"
    remedy = error.data.get("suggested_action") or "free disk space or make it writable"
    return f"{what}: it cannot be written ({cause}). {hints.ASK}{remedy}"


def mark_stale(reply: ReplyT, changed: Collection[str], *, max_tokens: int | None = None) -> ReplyT:
    """Returns the reply with the hits in `changed` files marked. Items are dropped to stay within `max_tokens`."""
    match reply:
        case SearchCodeReply() | LocateSymbolReply():
            return msgspec.structs.replace(reply, results=_marked(reply.results, changed))
        case FindReferencesReply():
            return msgspec.structs.replace(
                reply, references=_marked(reply.references, changed), elsewhere=_marked(reply.elsewhere, changed)
            )
        case CallGraphReply():
            return msgspec.structs.replace(reply, nodes=_marked(reply.nodes, changed))
        case TypeHierarchyReply():
            return msgspec.structs.replace(reply, symbols=_marked(reply.symbols, changed))
        case CodeContextReply():
            return _marked_context(reply, changed, max_tokens)
    return reply


PlaceT = TypeVar("PlaceT", Result, Reference, ElsewhereUse, GraphNode, RelatedType)


def _marked(places: Sequence[PlaceT], changed: Collection[str]) -> tuple[PlaceT, ...]:
    return tuple(msgspec.structs.replace(place, stale=True) if place.path in changed else place for place in places)


def _marked_context(reply: ContextReplyT, changed: Collection[str], max_tokens: int | None) -> ContextReplyT:
    from codecompass.query.token_budget import item_tokens

    items: list[ContextItem] = []
    tokens = reply.estimated_tokens
    for item in reply.context_items:
        if item.path not in changed:
            items.append(item)
            continue
        marked = msgspec.structs.replace(item, stale=True)
        cost = item_tokens(marked) - item_tokens(item)
        if max_tokens is not None and tokens + cost > max_tokens:
            # Its tokens are free again.
            tokens -= item_tokens(item)
            continue
        tokens += cost
        items.append(marked)
    metadata = reply.metadata
    if len(items) < len(reply.context_items):
        metadata = msgspec.structs.replace(
            metadata,
            returned=len(items),
            remaining_candidates=metadata.remaining_candidates + len(reply.context_items) - len(items),
        )
    is_cut = reply.truncated or len(items) < len(reply.context_items)
    return msgspec.structs.replace(
        reply, context_items=tuple(items), estimated_tokens=tokens, truncated=is_cut, metadata=metadata
    )

"""The `metadata` of an answer: the state that was passed in, the snapshot that was read, what the query adds."""

from collections.abc import Sequence

from codecompass.protocol.metadata import PROTOCOL_VERSION, AnswerState, Completeness, Metadata
from codecompass.store.index import Snapshot


def answer_metadata(
    snapshot: Snapshot,
    state: AnswerState,
    *,
    warnings: Sequence[str] = (),
    is_truncated: bool = False,
    is_partial: bool = False,
    is_of_content: bool = True,
) -> Metadata:
    """Returns the block that all answers share.

    An index that still lacks symbols, or that is not shown to hold the tree as it is, makes every answer `partial`; one that
    is of the index itself, and not of what it holds, is not for the latter (`is_of_content` False).
    """
    completeness: Completeness = "truncated" if is_truncated else "complete"
    if (
        is_partial
        or state.is_partial
        or (is_of_content and state.freshness_status != "fresh")
        or snapshot.meta.completeness == "partial"
    ):
        completeness = "partial"
    return Metadata(
        codecompass_protocol_version=PROTOCOL_VERSION,
        freshness_status=state.freshness_status,
        indexing_status=state.indexing_status,
        result_completeness=completeness,
        ref=state.ref,
        schema_status=state.schema_status,
        workspace=state.workspace,
        project_id=state.project_id,
        schema_name=state.schema_name,
        generation=snapshot.generation,
        warnings=(*state.warnings, *warnings),
        hint=state.hint,
    )

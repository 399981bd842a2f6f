"""Answers that another server merges with its own: what that server sends with its call, and how it decodes the answer.

    PartRequest, beside the arguments  -> search_code, locate_symbol, find_references of several projects: a PartsReply
                                       -> anything else: the reply itself, in the requested form

Merging hits of several projects (`query/merging.py`) needs the evidence of every project, so each project has its own reply, and
nothing is cut or sorted before. Decoded replies are checked, because the other server may have a defect.
"""

import math
from typing import Annotated, Final, TypeVar

import msgspec
from msgspec import Meta, Struct

from codecompass.errors import ErrorBody
from codecompass.protocol.difference_replies import DiffContextReply
from codecompass.protocol.replies import (
    CallGraphReply,
    CodeContextReply,
    FileOutlineReply,
    FindReferencesReply,
    ImportedSymbol,
    LocateSymbolReply,
    PartsReply,
    RelatedSymbolsReply,
    Reply,
    SearchCodeReply,
    SearchEvidence,
    SymbolHierarchyReply,
    TypeHierarchyReply,
)
from codecompass.protocol.requests import AnyRequest, FindReferences, GetSymbolHierarchy
from codecompass.protocol.state_replies import HealthReply, IndexStatusReply, ListRefsReply
from codecompass.settings import AnswerForm

MAX_SECONDS: Final = 60.0
MAX_LEFT_OUT: Final = 2_000

Id = Annotated[str, Meta(max_length=100)]
DecodedT = TypeVar("DecodedT", bound=Struct)


class PartRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The parameters that a merging server sends with its call."""

    is_page: bool = False
    """Whether it wants one merged answer, to pass it on, and not the parts."""
    answers: AnswerForm = "json"
    """The form for which replies are made."""
    seconds: Annotated[float, Meta(ge=0.0, le=MAX_SECONDS)] = 0.0
    """How long it waits, 0 if unknown."""
    leave_out: Annotated[tuple[Id, ...], Meta(max_length=MAX_LEFT_OUT)] = ()
    """Ids of projects, or of repositories that projects are checkouts of, to exclude."""
    imported: ImportedSymbol | None = None
    """The definition whose uses are wanted, if it is in none of these projects."""


class WrongReply(Exception):
    """Another server sent something that is not an answer to the request. The text says why, and quotes nothing of it."""


_REPLIES: Final[dict[str, type[Struct]]] = {
    "search_code": SearchCodeReply,
    "locate_symbol": LocateSymbolReply,
    "find_references": FindReferencesReply,
    "get_file_outline": FileOutlineReply,
    "get_symbol_hierarchy": SymbolHierarchyReply,
    "get_call_graph": CallGraphReply,
    "find_related_symbols": RelatedSymbolsReply,
    "get_code_context": CodeContextReply,
    "diff_context": DiffContextReply,
    "index_status": IndexStatusReply,
    "list_refs": ListRefsReply,
    "health_check": HealthReply,
}
"""The reply of each read-only tool."""


class _Failed(Struct, frozen=True):
    error: ErrorBody


def decode_reply(request: AnyRequest, content: bytes) -> Reply:
    """Returns the reply to `request`, of a read-only tool, from its JSON. Raises WrongReply."""
    kind = _REPLIES[request.tool]
    if isinstance(request, GetSymbolHierarchy) and request.relation != "nesting":
        kind = TypeHierarchyReply
    if isinstance(request, FindReferences) and request.relation in ("subtypes", "supertypes"):
        kind = TypeHierarchyReply
    elif isinstance(request, FindReferences) and request.relation != "uses":
        kind = CallGraphReply
    reply: Reply = _decoded(content, kind)  # type: ignore[assignment]
    if isinstance(reply, SearchCodeReply | LocateSymbolReply):
        n_results = len(reply.results)
        if any(not 0 <= reason.result_index < n_results for reason in reply.metadata.ranking_reasons):
            raise WrongReply("a reason is of no result")
        if isinstance(reply, SearchCodeReply) and reply.evidence is not None:
            _check(reply.evidence, n_results)
    return reply


def decode_error(content: bytes) -> ErrorBody:
    """Returns the error of a failed call from its JSON. Raises WrongReply."""
    return _decoded(content, _Failed).error


def decode_parts(content: bytes) -> PartsReply:
    """Returns the parts from their JSON, with their replies not decoded yet. Raises WrongReply."""
    return _decoded(content, PartsReply)


def _decoded(content: bytes, kind: type[DecodedT]) -> DecodedT:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise WrongReply(f"no {kind.__name__}") from error


def _check(evidence: SearchEvidence, n_results: int) -> None:
    """Raises WrongReply unless hits can be merged by this evidence: complete, and finite numbers in their ranges."""
    weights = (word.weight for word in evidence.words)
    numbers = (number for hit in evidence.hits for number in (hit.score, *hit.has))
    is_whole = len(evidence.hits) >= n_results and all(len(hit.has) == len(evidence.words) for hit in evidence.hits)
    is_possible = all(0 <= word.frequency <= evidence.n_texts for word in evidence.words)
    if not is_whole or not is_possible or not all(math.isfinite(each) and each >= 0.0 for each in (*weights, *numbers)):
        raise WrongReply("the evidence does not fit its results")

"""Answers that another server merges with its own: what that server says with its call, and how it reads what it gets.

    PartRequest, beside the arguments  -> search_code, locate_symbol, find_references of several projects: a PartsReply
                                       -> anything else: the reply itself, in the form that was asked for

The rule that puts hits of several projects into one order (`query/merging.py`) needs what each of all projects has of the
question. So each answers by itself, and nothing is cut or sorted before. What was read is checked: the other server may have a
defect.
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
from codecompass.protocol.requests import AnyRequest, GetSymbolHierarchy
from codecompass.protocol.state_replies import HealthReply, IndexStatusReply, ListRefsReply
from codecompass.settings import AnswerForm

MAX_SECONDS: Final = 60.0
MAX_LEFT_OUT: Final = 2_000

Id = Annotated[str, Meta(max_length=100)]
DecodedT = TypeVar("DecodedT", bound=Struct)


class PartRequest(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a server that merges says with its call.

    With `is_page` it wants one answer all the same, to pass it on. `answers` is the form that replies are made for; `seconds` how
    long it waits, 0 where it does not say. `leave_out` are ids of projects, or of repositories that projects are checkouts of,
    which need not be asked. `imported` is the definition whose uses are asked for, where that is in none of these projects.
    """

    is_page: bool = False
    answers: AnswerForm = "json"
    seconds: Annotated[float, Meta(ge=0.0, le=MAX_SECONDS)] = 0.0
    leave_out: Annotated[tuple[Id, ...], Meta(max_length=MAX_LEFT_OUT)] = ()
    imported: ImportedSymbol | None = None


class WrongReply(Exception):
    """What another server has sent is no answer to the request. The text says why, and repeats nothing of it."""


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
"""What each tool answers that changes nothing."""


class _Failed(Struct, frozen=True):
    error: ErrorBody


def decode_reply(request: AnyRequest, content: bytes) -> Reply:
    """Returns the reply to `request`, of a tool that changes nothing, from its JSON. Raises WrongReply."""
    kind = _REPLIES[request.tool]
    if isinstance(request, GetSymbolHierarchy) and request.relation != "nesting":
        kind = TypeHierarchyReply
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
    """Returns the parts from their JSON; the replies in them are not decoded yet. Raises WrongReply."""
    return _decoded(content, PartsReply)


def _decoded(content: bytes, kind: type[DecodedT]) -> DecodedT:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        raise WrongReply(f"no {kind.__name__}") from error


def _check(evidence: SearchEvidence, n_results: int) -> None:
    """Raises WrongReply unless shares of words and scores can be computed from it."""
    weights = (word.weight for word in evidence.words)
    numbers = (number for hit in evidence.hits for number in (hit.score, *hit.has))
    is_whole = len(evidence.hits) >= n_results and all(len(hit.has) == len(evidence.words) for hit in evidence.hits)
    is_possible = all(0 <= word.frequency <= evidence.n_texts for word in evidence.words)
    if not is_whole or not is_possible or not all(math.isfinite(each) and each >= 0.0 for each in (*weights, *numbers)):
        raise WrongReply("the evidence does not fit its results")

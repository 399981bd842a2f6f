"""What `find_references` answers for a `relation` other than `uses`: the type hierarchy or the call graph of the definition.

A server that lists few tools so answers these questions too; the replies are those of the tools that exist for them.
"""

from collections.abc import Callable
from typing import Final, assert_never

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import CallGraphReply, FindReferencesReply, SymbolHierarchyReply, TypeHierarchyReply
from codecompass.protocol.requests import FindReferences, GetCallGraph, GetSymbolHierarchy
from codecompass.query.call_graph import get_call_graph
from codecompass.query.hierarchy import get_symbol_hierarchy
from codecompass.query.options import QueryOptions, no_deadline
from codecompass.query.references import find_references
from codecompass.store.snapshot import Snapshot

MAX_GRAPH: Final = 500
"""Symbols in a call graph."""

RelationReply = FindReferencesReply | TypeHierarchyReply | SymbolHierarchyReply | CallGraphReply


def find_relation(
    snapshot: Snapshot,
    request: FindReferences,
    state: AnswerState,
    is_expired: Callable[[], bool] = no_deadline,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
) -> RelationReply:
    """Returns the uses of a definition, or what the request's relation asks for. Raises the same errors as `find_references`."""
    match request.relation:
        case "uses":
            return find_references(snapshot, request, state, is_expired, options)
        case "subtypes" | "supertypes":
            types = GetSymbolHierarchy(symbol_name=request.symbol_name, path=request.path, relation=request.relation)
            return get_symbol_hierarchy(snapshot, types, state, is_expired)
        case "callers" | "callees" | "impact":
            graph = GetCallGraph(
                symbol_name=request.symbol_name,
                path=request.path,
                direction=request.relation,
                include_tests=request.include_tests,
                limit=min(request.limit, MAX_GRAPH),
            )
            return get_call_graph(snapshot, graph, state, is_expired)
        case _:
            assert_never(request.relation)

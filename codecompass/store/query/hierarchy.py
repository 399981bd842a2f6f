"""`get_symbol_hierarchy`: what encloses a symbol, or what it encloses."""

from typing import Final

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import HierarchyNode, SymbolHierarchyReply
from codecompass.protocol.requests import GetSymbolHierarchy
from codecompass.store.facts import SymbolRow
from codecompass.store.index import Snapshot
from codecompass.store.query.anchors import the_symbol
from codecompass.store.query.answer import answer_metadata
from codecompass.store.query.shaping import stable_handle, symbol_handle
from codecompass.store.query.tokens import name_parts

MAX_NODES: Final = 500
MAX_DEPTH: Final = 50
SAME_NAME_LIMIT: Final = 500
DIRECTORY_LIMIT: Final = 5000

_METHODS_OUTSIDE: Final = frozenset({"go", "cpp"})
"""Languages whose methods are written beside their type, not in it."""

_EXTENDED_KINDS: Final = frozenset({"class", "struct", "enum", "trait", "interface", "type"})


def get_symbol_hierarchy(snapshot: Snapshot, request: GetSymbolHierarchy, state: AnswerState) -> SymbolHierarchyReply:
    """Returns the chain outwards, or the tree inwards.

    `impl` and extension blocks count as inside their type, and so do methods that stand outside it (Go, C++).

    Raises SymbolNotFound or AmbiguousSymbol.
    """
    anchor = the_symbol(snapshot, request.symbol_name, request.path)
    if request.direction == "ancestors":
        nodes = tuple(_node(snapshot, row, depth, ()) for depth, row in enumerate(_ancestors(snapshot, anchor)))
        return SymbolHierarchyReply(
            hierarchy=nodes,
            direction=request.direction,
            chain_length=len(nodes),
            metadata=answer_metadata(snapshot, state),
        )
    seen: set[int] = set()
    root = _descendants(snapshot, anchor, 0, seen)
    is_cut = len(seen) >= MAX_NODES
    warnings = (f"only the first {MAX_NODES} symbols are shown",) if is_cut else ()
    return SymbolHierarchyReply(
        hierarchy=(root,),
        direction=request.direction,
        chain_length=len(seen),
        metadata=answer_metadata(snapshot, state, warnings=warnings, is_truncated=is_cut),
    )


def _ancestors(snapshot: Snapshot, anchor: SymbolRow) -> list[SymbolRow]:
    chain = [anchor]
    seen = {anchor.id}
    while (parent_id := chain[-1].parent_id) is not None and parent_id not in seen:
        parent = snapshot.facts.symbols_by_id([parent_id]).get(parent_id)
        if parent is None:
            break
        seen.add(parent_id)
        chain.append(parent)
    return chain


def _descendants(snapshot: Snapshot, row: SymbolRow, depth: int, seen: set[int]) -> HierarchyNode:
    seen.add(row.id)
    inside = snapshot.facts.children(row.id)
    if depth == 0 and row.kind in _EXTENDED_KINDS:
        inside += _extensions(snapshot, row)
    children = [
        _descendants(snapshot, child, depth + 1, seen)
        for child in inside
        if child.id not in seen and len(seen) < MAX_NODES and depth < MAX_DEPTH
    ]
    return _node(snapshot, row, depth, tuple(children))


def _extensions(snapshot: Snapshot, row: SymbolRow) -> list[SymbolRow]:
    """The `impl` and extension blocks of a type, and the methods that stand outside it, in its directory."""
    directory = row.path.rpartition("/")[0]
    blocks = [
        other
        for other in snapshot.facts.symbols_named(row.name, SAME_NAME_LIMIT)
        if other.kind == "impl"
        and other.name == row.name
        and other.language == row.language
        and other.path.rpartition("/")[0] == directory
    ]
    if row.language not in _METHODS_OUTSIDE:
        return blocks
    scope = name_parts(row.qualified_name)
    return blocks + [
        other
        for other in snapshot.facts.top_level_symbols_in(directory, DIRECTORY_LIMIT)
        if other.kind in ("method", "fn") and name_parts(other.qualified_name)[:-1] == scope
    ]


def _node(snapshot: Snapshot, row: SymbolRow, depth: int, children: tuple[HierarchyNode, ...]) -> HierarchyNode:
    return HierarchyNode(
        symbol_id=symbol_handle(snapshot, row),
        symbol_stable_id=stable_handle(row),
        name=row.name,
        kind=row.kind,
        qualified_name=row.qualified_name,
        path=row.path,
        line_start=row.line_start,
        line_end=row.line_end,
        signature=row.signature,
        depth=depth,
        children=children,
    )

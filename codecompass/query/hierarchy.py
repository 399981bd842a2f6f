"""`get_symbol_hierarchy`: the definitions around a symbol, or those inside it."""

from collections.abc import Callable
from typing import Final

from codecompass.protocol.encode import encoded_size
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import HierarchyNode, SymbolHierarchyReply, TypeHierarchyReply
from codecompass.protocol.requests import GetSymbolHierarchy
from codecompass.query.exact_names import symbol_handle
from codecompass.query.metadata import answer_metadata
from codecompass.query.name_lookup import resolve_symbol
from codecompass.query.options import MAX_HIERARCHY_BYTES, no_deadline
from codecompass.query.query_words import name_parts
from codecompass.query.shaping import stable_handle
from codecompass.query.type_hierarchy import type_hierarchy
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_DEPTH: Final = 50
MAX_BLOCKS: Final = 500
"""Definitions with the name of a type that are read to find its `impl` and extension blocks."""

DIRECTORY_LIMIT: Final = 5000
CHILDREN_BYTES: Final = len(',"children":[],')

_METHODS_OUTSIDE: Final = frozenset({"go", "cpp"})
"""Languages whose methods are defined outside their type."""

_EXTENDED_KINDS: Final = frozenset({"class", "struct", "enum", "trait", "interface", "type"})


def get_symbol_hierarchy(
    snapshot: Snapshot,
    request: GetSymbolHierarchy,
    state: AnswerState,
    is_expired: Callable[[], bool] = no_deadline,
) -> SymbolHierarchyReply | TypeHierarchyReply:
    """Returns the chain outwards, or the tree inwards; or the types that a type inherits from, or that inherit from it.

    `impl` and extension blocks count as nested in their type, and so do methods defined outside it (Go, C++).

    Raises SymbolNotFound or AmbiguousSymbol.
    """
    anchor = resolve_symbol(snapshot, request.symbol_name, request.path, is_expired)
    if request.relation != "nesting":
        return type_hierarchy(snapshot, anchor, request.relation, state, is_expired)
    if request.direction == "ancestors":
        nodes = tuple(_node(snapshot, row, depth, ()) for depth, row in enumerate(_ancestors(snapshot, anchor)))
        return SymbolHierarchyReply(
            hierarchy=nodes,
            direction=request.direction,
            chain_length=len(nodes),
            metadata=answer_metadata(snapshot, state),
        )
    tree = _Tree(snapshot, anchor, is_expired)
    warnings = (f"only the upper {tree.size} symbols are shown; ask for one of them to see more",) if tree.is_cut else ()
    return SymbolHierarchyReply(
        hierarchy=(tree.root(),),
        direction=request.direction,
        chain_length=tree.size,
        metadata=answer_metadata(snapshot, state, warnings=warnings, is_truncated=tree.is_cut),
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


class _Tree:
    """The definitions inside a symbol, collected level by level, so that the deepest are left out if not all fit."""

    def __init__(self, snapshot: Snapshot, anchor: SymbolRow, is_expired: Callable[[], bool]) -> None:
        self._snapshot = snapshot
        self._anchor = anchor
        self._is_expired = is_expired
        self._inside: dict[int, list[SymbolRow]] = {}
        self.size = 1
        self.is_cut = False
        self._gather()

    def root(self) -> HierarchyNode:
        """Returns the symbol with the definitions that fit nested in it."""
        return self._nested(self._anchor, 0)

    def _gather(self) -> None:
        seen = {self._anchor.id}
        free = MAX_HIERARCHY_BYTES - encoded_size(_node(self._snapshot, self._anchor, 0, ()))
        level = [self._anchor]
        for depth in range(1, MAX_DEPTH + 1):
            below = []
            for parent in level:
                if self._is_expired():
                    self.is_cut = True
                    return
                for row in self._members(parent, depth):
                    if row.id in seen:
                        continue
                    free -= encoded_size(_node(self._snapshot, row, depth, ())) + CHILDREN_BYTES
                    if free < 0:
                        self.is_cut = True
                        return
                    seen.add(row.id)
                    self.size += 1
                    self._inside.setdefault(parent.id, []).append(row)
                    below.append(row)
            level = below

    def _members(self, parent: SymbolRow, depth: int) -> list[SymbolRow]:
        inside = self._snapshot.facts.children(parent.id)
        return inside + _extensions(self._snapshot, parent) if depth == 1 and parent.kind in _EXTENDED_KINDS else inside

    def _nested(self, row: SymbolRow, depth: int) -> HierarchyNode:
        children = tuple(self._nested(child, depth + 1) for child in self._inside.get(row.id, ()))
        return _node(self._snapshot, row, depth, children)


def _extensions(snapshot: Snapshot, row: SymbolRow) -> list[SymbolRow]:
    """Returns the `impl` and extension blocks of a type, and methods defined outside it, in the same directory."""
    directory = row.path.rpartition("/")[0]
    blocks = [
        other
        for other in snapshot.facts.symbols_named(row.name, MAX_BLOCKS)
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

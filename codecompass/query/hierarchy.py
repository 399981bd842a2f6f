"""`get_symbol_hierarchy`: the definitions around a symbol, or those inside it; or the supertypes or subtypes of a type.

Direct subtypes are found by the heads of types, and where interfaces are implemented implicitly by their methods.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass.languages import described
from codecompass.protocol.encode import encoded_size
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import HierarchyNode, RelatedType, SymbolHierarchyReply, TypeHierarchyReply
from codecompass.protocol.requests import Confidence, GetSymbolHierarchy, Relation
from codecompass.query.asked_definitions import if_several
from codecompass.query.metadata import answer_metadata
from codecompass.query.names.exact_names import symbol_handle
from codecompass.query.options import MAX_HIERARCHY_BYTES, no_deadline
from codecompass.query.shaping import stable_handle
from codecompass.query.uses.chosen_symbol import ChosenSymbols, choose_symbols, left_out_by_path
from codecompass.query.uses.declared_types import base_names
from codecompass.query.uses.definitions import TYPE_KINDS, FileNames, enclosing, entity, is_member
from codecompass.query.uses.found_uses import Uses
from codecompass.query.uses.structural_types import (
    MAX_OVERRIDING,
    has_structural_interfaces,
    interface_methods,
    with_the_methods_of,
)
from codecompass.query.uses.symbol_places import SymbolPlaces
from codecompass.query.uses.type_members import MAX_SUPERTYPES
from codecompass.query.words.query_words import name_parts
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_DEPTH: Final = 50
MAX_BLOCKS: Final = 500
"""Definitions with the name of a type that are read to find its `impl` and extension blocks."""

DIRECTORY_LIMIT: Final = 5000
CHILDREN_BYTES: Final = len(',"children":[],')

_EXTENDED_KINDS: Final = frozenset({"class", "struct", "enum", "trait", "interface", "type"})

MAX_TYPES: Final = 500
MAX_INHERITANCE_DEPTH: Final = 20


def get_symbol_hierarchy(
    snapshot: Snapshot,
    request: GetSymbolHierarchy,
    state: AnswerState,
    is_expired: Callable[[], bool] = no_deadline,
) -> SymbolHierarchyReply | TypeHierarchyReply:
    """Returns the chain outwards, or the tree inwards; or the types that a type inherits from, or that inherit from it.

    `impl` and extension blocks count as nested in their type, and so do methods defined outside it (Go, C++).

    Raises SymbolNotFound or AmbiguousSymbol for too many definitions.
    """
    chosen = choose_symbols(snapshot, request.symbol_name, request.path, state.workspace, is_expired)
    if request.relation != "nesting":
        return type_hierarchy(snapshot, chosen, request.relation, state, is_expired)
    definitions = if_several(snapshot, chosen.symbols)
    if request.direction == "ancestors":
        nodes = tuple(
            _node(snapshot, row, depth, ()) for anchor in chosen.rows for depth, row in enumerate(_ancestors(snapshot, anchor))
        )
        return SymbolHierarchyReply(
            definitions=definitions,
            hierarchy=nodes,
            direction=request.direction,
            chain_length=len(nodes),
            metadata=answer_metadata(snapshot, state, warnings=chosen.warnings),
        )
    tree = _Tree(snapshot, chosen, is_expired)
    warnings = (f"only the upper {tree.size} symbols are shown; ask for one of them to see more",) if tree.is_cut else ()
    return SymbolHierarchyReply(
        definitions=definitions,
        hierarchy=tree.roots(),
        direction=request.direction,
        chain_length=tree.size,
        metadata=answer_metadata(snapshot, state, warnings=(*chosen.warnings, *warnings), is_truncated=tree.is_cut),
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

    def __init__(self, snapshot: Snapshot, chosen: ChosenSymbols, is_expired: Callable[[], bool]) -> None:
        self._snapshot = snapshot
        self._symbols = {symbol.row.id: symbol for symbol in chosen.symbols}
        self._keeps = chosen.keeps
        self._is_expired = is_expired
        self._inside: dict[int, list[SymbolRow]] = {}
        self.size = len(self._symbols)
        self.is_cut = False
        self._gather()

    def roots(self) -> tuple[HierarchyNode, ...]:
        """Returns each symbol with the definitions that fit nested in it."""
        return tuple(self._nested(symbol.row, 0) for symbol in self._symbols.values())

    def _gather(self) -> None:
        seen = {row.id for symbol in self._symbols.values() for row in (symbol.row, *_own_kind(symbol))}
        level = [symbol.row for symbol in self._symbols.values()]
        free = MAX_HIERARCHY_BYTES - sum(encoded_size(_node(self._snapshot, row, 0, ())) for row in level)
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
        if depth == 1:
            inside = inside + [
                row for part in _own_kind(self._symbols[parent.id]) for row in self._snapshot.facts.children(part.id)
            ]
        if depth == 1 and parent.kind in _EXTENDED_KINDS:
            inside = inside + _extensions(self._snapshot, parent)
        return [row for row in inside if self._keeps(row)]

    def _nested(self, row: SymbolRow, depth: int) -> HierarchyNode:
        children = tuple(self._nested(child, depth + 1) for child in self._inside.get(row.id, ()))
        return _node(self._snapshot, row, depth, children)


def _own_kind(symbol: SymbolPlaces) -> list[SymbolRow]:
    """Returns the other parts of a type; constructors are among its members."""
    return [row for row in symbol.rows[1:] if symbol.row.kind in TYPE_KINDS and row.kind in TYPE_KINDS]


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
    if not described(row.language).members.are_defined_at_top_level:
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


def type_hierarchy(
    snapshot: Snapshot, chosen: ChosenSymbols, relation: Relation, state: AnswerState, is_expired: Callable[[], bool]
) -> TypeHierarchyReply:
    """Returns supertypes or subtypes, transitively, each once; those of one type directly after it. Of several definitions only
    types are asked about, if there are any."""
    uses = Uses(snapshot, is_expired)
    symbols = [symbol for symbol in chosen.symbols if symbol.row.kind in TYPE_KINDS] or list(chosen.symbols)
    shown: list[RelatedType] = []
    free = MAX_HIERARCHY_BYTES
    n_found = n_kept = 0
    is_cut = False
    for symbol in symbols:
        tree = TypeTree(uses, relation, is_expired)
        below = [each for row in (symbol.row, *_own_kind(symbol)) for each in tree.below(row)]
        kept = [
            each for each in below if chosen.file_ids is None or (isinstance(each.type, SymbolRow) and chosen.keeps(each.type))
        ]
        n_found, n_kept, is_cut = n_found + len(below), n_kept + len(kept), is_cut or tree.is_cut
        fitting = _fitting([_related(each) for each in kept], free)
        free -= sum(encoded_size(each) + 1 for each in fitting)
        shown += [_related(RelatedRow(symbol.row, 0)), *fitting]
    warnings = (*chosen.warnings, *left_out_by_path(n_found - n_kept, n_found, relation))
    n_shown = len(shown) - len(symbols)
    if n_shown < n_kept:
        warnings += (f"{n_shown} of {n_kept} {relation} are shown; pass path, or ask for one of them",)
    return TypeHierarchyReply(
        relation=relation,
        definitions=if_several(snapshot, symbols),
        symbols=tuple(shown),
        total=n_kept,
        metadata=answer_metadata(snapshot, state, warnings=warnings, is_truncated=is_cut or n_shown < n_kept),
    )


def _fitting(types: Sequence[RelatedType], free: int) -> list[RelatedType]:
    """Returns the first types that fit into `free` bytes."""
    kept: list[RelatedType] = []
    for each in types:
        free -= encoded_size(each) + 1
        if free < 0:
            break
        kept.append(each)
    return kept


class RelatedRow(Struct, frozen=True):
    """A type of a tree. `type` is the written name of a type that is defined outside the repository."""

    type: SymbolRow | str
    depth: int
    confidence: Confidence = "exact"


class TypeTree:
    """The types around a type in one direction, each once, after the first type that leads there."""

    def __init__(self, uses: Uses, relation: Relation, is_expired: Callable[[], bool]) -> None:
        self._uses = uses
        self._relation = relation
        self._is_expired = is_expired
        self._seen: set[int] = set()
        self.is_cut = False

    def below(self, type_: SymbolRow, depth: int = 1) -> Iterator[RelatedRow]:
        """Yields the types related to a type, each followed by those related to it unless it is only possible."""
        self._seen.add(type_.id)
        if depth > MAX_INHERITANCE_DEPTH or len(self._seen) > MAX_TYPES or self._is_expired():
            self.is_cut = True
            return
        if self._relation == "subtypes":
            related = [RelatedRow(found.type, depth, found.confidence) for found in direct_subtypes(self._uses, type_)]
        else:
            rows = [thing for thing in self._uses.binder.members.supertypes(type_) if isinstance(thing, SymbolRow)]
            known = {row.name for row in rows}
            yield from (RelatedRow(name, depth) for name in base_names(type_) if _last_part(name) not in known)
            related = [RelatedRow(row, depth) for row in rows]
        for found in related:
            if isinstance(found.type, SymbolRow) and found.type.id not in self._seen:
                yield found
                if found.confidence != "possible":
                    yield from self.below(found.type, depth + 1)


def _last_part(name: str) -> str:
    return name.replace("::", ".").rpartition(".")[2]


def _related(related: RelatedRow) -> RelatedType:
    type_ = related.type
    if isinstance(type_, str):
        path, line, name, qualified, kind = "", 0, _last_part(type_), type_, ""
    else:
        path, line, name, qualified, kind = type_.path, type_.line_start, type_.name, type_.qualified_name, type_.kind
    return RelatedType(
        path=path,
        line_start=line,
        name=name,
        qualified_name=qualified,
        kind=kind,
        depth=related.depth,
        confidence=related.confidence,
    )


class Subtype(Struct, frozen=True):
    """A type that inherits from another."""

    type: SymbolRow
    confidence: Confidence


def direct_subtypes(uses: Uses, type_: SymbolRow) -> list[Subtype]:
    """Returns the types that inherit directly from `type_`, by path and line."""
    if has_structural_interfaces(type_) and type_.kind == "interface":
        return [Subtype(row, "exact") for row in with_the_methods_of(uses.binder, type_)]
    found: dict[int, Subtype] = {}
    for names, heads in uses.heads(type_):
        for use in heads:
            binding = uses.binder.bind(type_.name, use, names)
            if binding.certainty == "elsewhere" or entity(type_) not in map(entity, binding.symbols):
                continue
            around = [row for row in enclosing(names, use.line) if row.kind in TYPE_KINDS]
            subtype = around[-1] if around else _below_attribute(names, use.line)
            if subtype is not None and subtype.kind == "impl":
                subtype = uses.binder.members.implementing(subtype)
            if subtype is not None and (subtype.id not in found or binding.certainty == "exact"):
                found[subtype.id] = Subtype(subtype, binding.certainty)
    return sorted(found.values(), key=lambda each: (each.type.path, each.type.line_start, each.type.id))


def overriding(uses: Uses, method: SymbolRow) -> list[SymbolRow]:
    """Returns the methods that override a method or implement it, in all direct and indirect subtypes of its type."""
    definitions, members = uses.binder.definitions, uses.binder.members
    if not is_member(method) or method.kind in TYPE_KINDS:
        return []
    namesakes = [row for row in definitions.named(method.name) if entity(row) != entity(method) and is_member(row)]
    owners = {entity(type_) for type_ in members.of_member(method)}
    if not namesakes or not owners:
        return []
    if has_structural_interfaces(method):
        interfaces = [type_ for type_ in members.of_member(method) if type_.kind == "interface"]
        below = {entity(row) for type_ in interfaces for row in with_the_methods_of(uses.binder, type_)}
        return [row for row in namesakes if any(entity(type_) in below for type_ in members.of_member(row))]
    found = []
    for row in namesakes[:MAX_OVERRIDING]:
        pending = list(members.of_member(row))
        seen: set[int] = set()
        while pending and len(seen) < MAX_SUPERTYPES:
            type_ = pending.pop()
            if type_.id in seen:
                continue
            seen.add(type_.id)
            above = [thing for thing in members.supertypes(type_) if isinstance(thing, SymbolRow)]
            if any(entity(thing) in owners for thing in above):
                found.append(row)
                break
            pending += above
    return found


MAX_ATTRIBUTE_LINES: Final = 30


def _below_attribute(names: FileNames, line: int) -> SymbolRow | None:
    """Returns the type to which an attribute that names its supertypes (`#[derive(..)]`), on a line above it, belongs."""
    if not names.traits.members.attributes_inherit:
        return None
    below = [row for row in names.symbols if line < row.line_start <= line + MAX_ATTRIBUTE_LINES]
    first = min(below, key=lambda row: row.line_start, default=None)
    return first if first is not None and first.kind in TYPE_KINDS else None


def overridden(uses: Uses, method: SymbolRow) -> list[SymbolRow]:
    """Returns the methods of direct and indirect supertypes that a method overrides or implements, nearest first."""
    members = uses.binder.members
    if not is_member(method) or method.kind in TYPE_KINDS:
        return []
    if has_structural_interfaces(method):
        return interface_methods(uses.binder, method)
    found: dict[int, SymbolRow] = {}
    pending, seen = list(members.of_member(method)), {type_.id for type_ in members.of_member(method)}
    while pending and len(seen) < MAX_SUPERTYPES:
        type_ = pending.pop(0)
        for above in members.supertypes(type_):
            if isinstance(above, SymbolRow) and above.id not in seen:
                seen.add(above.id)
                pending.append(above)
                found.update((row.id, row) for row in members.named(above, method.name) if entity(row) != entity(method))
    return list(found.values())

"""The supertypes or subtypes of a type, transitively."""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import RelatedType, TypeHierarchyReply
from codecompass.protocol.requests import Confidence, Relation
from codecompass.query.metadata import answer_metadata
from codecompass.query.references import Uses
from codecompass.query.subtypes import direct_subtypes
from codecompass.query.written_types import base_names
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_TYPES: Final = 500
MAX_DEPTH: Final = 20


def type_hierarchy(
    snapshot: Snapshot, type_: SymbolRow, relation: Relation, state: AnswerState, is_expired: Callable[[], bool]
) -> TypeHierarchyReply:
    """Returns supertypes or subtypes, transitively, each once; those of one type directly after it."""
    tree = TypeTree(Uses(snapshot, is_expired), relation, is_expired)
    found = [_related(RelatedRow(type_, 0)), *map(_related, tree.below(type_))]
    return TypeHierarchyReply(
        relation=relation,
        symbols=tuple(found),
        total=len(found) - 1,
        metadata=answer_metadata(snapshot, state, is_truncated=tree.is_cut),
    )


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
        if depth > MAX_DEPTH or len(self._seen) > MAX_TYPES or self._is_expired():
            self.is_cut = True
            return
        if self._relation == "subtypes":
            related = [RelatedRow(found.type, depth, found.confidence) for found in direct_subtypes(self._uses, type_)]
        else:
            rows = [thing for thing in self._uses.binder.types.supertypes(type_) if isinstance(thing, SymbolRow)]
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

"""The types that a type inherits from, and those that inherit from it."""

from collections.abc import Callable, Iterator
from typing import Final

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import RelatedType, TypeHierarchyReply
from codecompass.protocol.requests import Relation
from codecompass.query.metadata import answer_metadata
from codecompass.query.references import Uses
from codecompass.query.subtypes import direct_subtypes
from codecompass.query.written_types import base_names
from codecompass.store.index import Snapshot
from codecompass.store.rows import SymbolRow

MAX_TYPES: Final = 500
MAX_DEPTH: Final = 20


def type_hierarchy(
    snapshot: Snapshot, type_: SymbolRow, relation: Relation, state: AnswerState, is_expired: Callable[[], bool]
) -> TypeHierarchyReply:
    """Returns supertypes or subtypes, transitive, each once; those of one type directly behind it."""
    tree = TypeTree(Uses(snapshot, is_expired), relation, is_expired)
    found = [_related(type_, 0), *(_related(related, depth) for related, depth in tree.below(type_))]
    return TypeHierarchyReply(
        relation=relation,
        symbols=tuple(found),
        total=len(found) - 1,
        metadata=answer_metadata(snapshot, state, is_truncated=tree.is_cut),
    )


class TypeTree:
    """The types around a type in one direction, each once, near the first type that leads there."""

    def __init__(self, uses: Uses, relation: Relation, is_expired: Callable[[], bool]) -> None:
        self._uses = uses
        self._relation = relation
        self._is_expired = is_expired
        self._seen: set[int] = set()
        self.is_cut = False

    def below(self, type_: SymbolRow, depth: int = 1) -> Iterator[tuple[SymbolRow | str, int]]:
        """Yields what is related to a type, with its depth, and behind each what is related to that.

        A type that is defined outside of the repository is the name by which it is called.
        """
        self._seen.add(type_.id)
        if depth > MAX_DEPTH or len(self._seen) > MAX_TYPES or self._is_expired():
            self.is_cut = True
            return
        if self._relation == "subtypes":
            rows = direct_subtypes(self._uses, type_)
        else:
            rows = [thing for thing in self._uses.binder.types.supertypes(type_) if isinstance(thing, SymbolRow)]
            known = {row.name for row in rows}
            yield from ((name, depth) for name in base_names(type_) if _last_part(name) not in known)
        for row in rows:
            if row.id not in self._seen:
                yield row, depth
                yield from self.below(row, depth + 1)


def _last_part(name: str) -> str:
    return name.replace("::", ".").rpartition(".")[2]


def _related(type_: SymbolRow | str, depth: int) -> RelatedType:
    if isinstance(type_, str):
        return RelatedType(
            path="", line_start=0, name=_last_part(type_), qualified_name=type_, kind="", depth=depth, confidence="exact"
        )
    return RelatedType(
        path=type_.path,
        line_start=type_.line_start,
        name=type_.name,
        qualified_name=type_.qualified_name,
        kind=type_.kind,
        depth=depth,
        confidence="exact",
    )

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
    tree = _Tree(Uses(snapshot, is_expired), relation, is_expired)
    found = [_related(type_, 0), *tree.below(type_, 1)]
    return TypeHierarchyReply(
        relation=relation,
        symbols=tuple(found),
        total=len(found) - 1,
        metadata=answer_metadata(snapshot, state, is_truncated=tree.is_cut),
    )


class _Tree:
    def __init__(self, uses: Uses, relation: Relation, is_expired: Callable[[], bool]) -> None:
        self._uses = uses
        self._relation = relation
        self._is_expired = is_expired
        self._seen: set[int] = set()
        self.is_cut = False

    def below(self, type_: SymbolRow, depth: int) -> Iterator[RelatedType]:
        """Yields what is related to a type, and behind each what is related to that."""
        self._seen.add(type_.id)
        if depth > MAX_DEPTH or len(self._seen) > MAX_TYPES or self._is_expired():
            self.is_cut = True
            return
        binder = self._uses.binder
        if self._relation == "subtypes":
            used = (
                (binder.names_of(file.id, file.path, file.language), uses)
                for file, uses in self._uses.named(type_.name, type_.language)
            )
            rows = direct_subtypes(binder, type_, used)
        else:
            things = binder.supertypes(type_)
            rows = [thing for thing in things if isinstance(thing, SymbolRow)]
            known = {row.name for row in rows}
            for name in base_names(type_):
                last = name.replace("::", ".").rpartition(".")[2]
                if last not in known:
                    yield RelatedType(
                        path="", line_start=0, name=last, qualified_name=name, kind="", depth=depth, confidence="exact"
                    )
        for row in rows:
            if row.id not in self._seen:
                yield _related(row, depth)
                yield from self.below(row, depth + 1)


def _related(row: SymbolRow, depth: int) -> RelatedType:
    return RelatedType(
        path=row.path,
        line_start=row.line_start,
        name=row.name,
        qualified_name=row.qualified_name,
        kind=row.kind,
        depth=depth,
        confidence="exact",
    )

"""`find_related_symbols`: what stands near a symbol, and what its file imports."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import RelatedAnchor, RelatedSymbol, RelatedSymbolsReply
from codecompass.protocol.requests import FindRelatedSymbols
from codecompass.store.facts import ImportRow, SymbolRow
from codecompass.store.index import Snapshot
from codecompass.store.query.anchors import the_symbol
from codecompass.store.query.answer import answer_metadata
from codecompass.store.query.handles import symbol_handle
from codecompass.store.query.hits import never
from codecompass.store.query.names import ordered
from codecompass.store.query.shaping import stable_handle

Relation = Literal["same_file", "same_module", "same_package", "imported"]

MAX_PER_RELATION: Final = 500
SAME_NAME_LIMIT: Final = 200
MAX_IMPORTS: Final = 200

_OUTER_DIRECTORIES: Final = frozenset({"src", "lib", "packages", "crates", "apps", "libs", "pkg", "internal", "cmd"})
"""First directories that hold packages and are none themselves."""


def find_related_symbols(
    snapshot: Snapshot,
    request: FindRelatedSymbols,
    state: AnswerState,
    is_expired: Callable[[], bool] = never,
) -> RelatedSymbolsReply:
    """Returns related symbols: of the same file, directory, package (as far as the scope goes), then imported ones.

    Within a relation they come by path and line. Raises SymbolNotFound or AmbiguousSymbol.
    """
    anchor = the_symbol(snapshot, request.symbol_name, request.path, is_expired)
    seen = {anchor.id}
    related: list[RelatedSymbol] = []
    is_partial = False
    for relation, rows in _relations(snapshot, anchor, request.scope):
        if related and is_expired():
            is_partial = True
            break
        fresh = [row for row in rows if row.id not in seen and row.kind not in ("use", "impl")]
        seen.update(row.id for row in fresh)
        related += [_related(snapshot, row, relation) for row in _by_place(fresh)]
    shown = tuple(related[: request.limit])
    return RelatedSymbolsReply(
        anchor=RelatedAnchor(
            symbol_id=symbol_handle(snapshot, anchor),
            symbol_stable_id=stable_handle(anchor),
            kind=anchor.kind,
            name=anchor.name,
            path=anchor.path,
            line_start=anchor.line_start,
        ),
        related=shown,
        scope_used=request.scope,
        total_found=len(related),
        metadata=answer_metadata(snapshot, state, is_truncated=len(shown) < len(related), is_partial=is_partial),
    )


def package_directory(path: str) -> str:
    """Returns the directory that is taken for the package of a file: the first that is more than a place for packages."""
    directories = path.split("/")[:-1]
    for count, directory in enumerate(directories, 1):
        if directory not in _OUTER_DIRECTORIES:
            return "/".join(directories[:count])
    return "/".join(directories)


def _relations(snapshot: Snapshot, anchor: SymbolRow, scope: str) -> Iterator[tuple[Relation, Iterable[SymbolRow]]]:
    yield "same_file", snapshot.facts.symbols_in_file(anchor.file_id)
    directory = anchor.path.rpartition("/")[0]
    if scope in ("module", "package"):
        rows = snapshot.facts.top_level_symbols_in(directory, MAX_PER_RELATION)
        yield "same_module", rows
    if scope == "package":
        yield "same_package", snapshot.facts.top_level_symbols_under(package_directory(anchor.path), MAX_PER_RELATION)
    yield "imported", _imported(snapshot, anchor)


def _imported(snapshot: Snapshot, anchor: SymbolRow) -> Iterator[SymbolRow]:
    """The definitions that the anchor's file imports by name, or by naming their module, from within the repository."""
    for row in snapshot.facts.imports_of(anchor.file_id)[:MAX_IMPORTS]:
        if row.target:
            yield from _definitions(snapshot, row)


def _definitions(snapshot: Snapshot, row: ImportRow) -> list[SymbolRow]:
    if row.name not in ("", "*", "default"):
        named = [
            found
            for found in snapshot.facts.symbols_named(row.name, SAME_NAME_LIMIT)
            if found.name == row.name and _is_in(found.path, row.target)
        ]
        if named:
            return ordered(named)[:1]
    if row.target.endswith("/"):
        return []
    file = snapshot.facts.file(row.target)
    if file is None:
        return []
    top = [found for found in snapshot.facts.symbols_in_file(file.id) if found.parent_id is None]
    return [found for found in top if found.visibility in ("", "public")]


def _is_in(path: str, target: str) -> bool:
    return path.startswith(target) if target.endswith("/") else path == target


def _by_place(rows: Iterable[SymbolRow]) -> list[SymbolRow]:
    return sorted(rows, key=lambda row: (row.path, row.line_start, row.ordinal, row.id))


def _related(snapshot: Snapshot, row: SymbolRow, relation: Relation) -> RelatedSymbol:
    return RelatedSymbol(
        symbol_id=symbol_handle(snapshot, row),
        symbol_stable_id=stable_handle(row),
        kind=row.kind,
        name=row.name,
        qualified_name=row.qualified_name,
        path=row.path,
        line_start=row.line_start,
        line_end=row.line_end,
        signature=row.signature,
        relation=relation,
        language=row.language,
    )

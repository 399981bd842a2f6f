"""`find_related_symbols`: what a symbol uses, what uses it, its tests, and its neighbours in file, module and package."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final, Literal

from msgspec.structs import replace

from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import RelatedAnchor, RelatedSymbol, RelatedSymbolsReply
from codecompass.protocol.requests import FindRelatedSymbols
from codecompass.query.asked_definitions import if_several
from codecompass.query.call_graph import ANY_USAGE, Neighbours
from codecompass.query.metadata import answer_metadata
from codecompass.query.names.exact_names import symbol_handle
from codecompass.query.options import no_deadline
from codecompass.query.shaping import stable_handle
from codecompass.query.uses.chosen_symbol import choose_symbols, left_out_by_path
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

Relation = Literal["uses", "used_by", "test", "same_file", "same_module", "same_package"]

MAX_PER_RELATION: Final = 500
_OUTER_DIRECTORIES: Final = frozenset({"src", "lib", "packages", "crates", "apps", "libs", "pkg", "internal", "cmd"})
"""Directories at the root that contain packages and are not packages themselves."""


def find_related_symbols(
    snapshot: Snapshot,
    request: FindRelatedSymbols,
    state: AnswerState,
    is_expired: Callable[[], bool] = no_deadline,
) -> RelatedSymbolsReply:
    """Returns related symbols, each once: what the symbol uses, what uses it, its tests, its neighbours within the scope.

    What it uses is in line order, all else by path and line. Raises SymbolNotFound or AmbiguousSymbol for too many definitions.
    """
    chosen = choose_symbols(snapshot, request.symbol_name, request.path, state.workspace, is_expired)
    neighbours = Neighbours(snapshot, is_expired)
    related: list[RelatedSymbol] = []
    is_partial = False
    n_left_out = n_found = 0
    share = max(1, request.limit // len(chosen.symbols))
    for position, anchor in enumerate(chosen.rows):
        own: list[RelatedSymbol] = []
        seen = {anchor.id}
        for relation, rows in _relations(snapshot, neighbours, anchor, request.scope):
            if (own or related) and is_expired():
                is_partial = True
                break
            fresh = [row for row in rows if row.id not in seen and row.kind not in ("use", "impl")]
            seen.update(row.id for row in fresh)
            n_left_out += sum(not chosen.keeps(row) for row in fresh)
            fresh = [row for row in fresh if chosen.keeps(row)]
            own += [_related(snapshot, row, relation) for row in (fresh if relation == "uses" else _by_place(fresh))]
        n_found += len(own)
        if len(chosen.symbols) > 1:
            own = [replace(each, definition=position) for each in own]
        related += own[:share]
    anchor = chosen.rows[0]
    return RelatedSymbolsReply(
        anchor=RelatedAnchor(
            symbol_id=symbol_handle(snapshot, anchor),
            symbol_stable_id=stable_handle(anchor),
            kind=anchor.kind,
            name=anchor.name,
            path=anchor.path,
            line_start=anchor.line_start,
        ),
        definitions=if_several(snapshot, chosen.symbols),
        related=tuple(related),
        scope_used=request.scope,
        total_found=n_found,
        metadata=answer_metadata(
            snapshot,
            state,
            warnings=(*chosen.warnings, *left_out_by_path(n_left_out, n_left_out + n_found, "related symbols")),
            is_truncated=len(related) < n_found,
            is_partial=is_partial,
        ),
    )


def package_directory(path: str) -> str:
    """Returns the directory that counts as the package of a file: the first one that is not only a container of packages."""
    directories = path.split("/")[:-1]
    for count, directory in enumerate(directories, 1):
        if directory not in _OUTER_DIRECTORIES:
            return "/".join(directories[:count])
    return "/".join(directories)


def _relations(
    snapshot: Snapshot, neighbours: Neighbours, anchor: SymbolRow, scope: str
) -> Iterator[tuple[Relation, Iterable[SymbolRow]]]:
    yield "uses", [step.neighbour for step in neighbours.callees(anchor, ANY_USAGE)]
    callers = [step.neighbour for step in neighbours.callers(anchor)]
    yield "used_by", [row for row in callers if not neighbours.uses.is_test(row)]
    yield "test", [row for row in callers if neighbours.uses.is_test(row)]
    yield "same_file", [row for row in snapshot.facts.symbols_in_file(anchor.file_id) if row.parent_id == anchor.parent_id]
    directory = anchor.path.rpartition("/")[0]
    if scope in ("module", "package"):
        rows = snapshot.facts.top_level_symbols_in(directory, MAX_PER_RELATION)
        yield "same_module", rows
    if scope == "package":
        yield "same_package", snapshot.facts.top_level_symbols_under(package_directory(anchor.path), MAX_PER_RELATION)


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

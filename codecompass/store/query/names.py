"""Definitions that have exactly a name, or its end, or are it but for case; and the order among definitions of one name."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.protocol.decode import well_formed
from codecompass.store.facts import SymbolRow
from codecompass.store.index import Snapshot
from codecompass.store.path_roles import PathReader
from codecompass.store.query.filters import has_kind
from codecompass.store.query.ranking import KIND_WEIGHT
from codecompass.store.query.tokens import name_parts
from codecompass.store.records import SymbolKind, Visibility
from codecompass.store.text import Filter

Reading = Literal["exact", "qualified", "frame", "case_insensitive", "words", "scope", "parts", "bare", "fuzzy", "similar"]
"""How a name was understood, the strictest first; `guessed_names` says what the looser ones mean."""

SAME_NAME_LIMIT: Final = 1000
"""Definitions of one name that are ordered; a name with more of them is no way to find any of them."""

DECLARING_LANGUAGES: Final = frozenset({"c", "cpp"})
"""Languages in which a name is declared without a body in one place and defined in another."""

DECLARATION_FILES: Final = (".d.ts", ".d.mts", ".d.cts", ".pyi")

_BODY_KINDS: Final[frozenset[SymbolKind]] = frozenset({"fn", "method", "class", "struct", "enum"})
_NO_DEFINITION: Final[frozenset[SymbolKind]] = frozenset({"impl", "use"})
_VISIBILITY_RANK: Final[Mapping[Visibility, int]] = {"private": 2, "protected": 1, "internal": 1}


class Named(Struct, frozen=True):
    """A definition and the reading that found it, the strictest there is."""

    row: SymbolRow
    reading: Reading


def find_exactly(snapshot: Snapshot, name: str) -> list[SymbolRow]:
    """Returns the definitions of exactly that name or qualified name; else, those that differ in case alone."""
    return [named.row for named in exactly(snapshot, well_formed(name).strip(), Filter(), None)]


def ordered(rows: Iterable[SymbolRow]) -> list[SymbolRow]:
    """Returns definitions before declarations and `impl` blocks, product code first, types before members, by path."""
    known = list(rows)
    with_body = {(row.name, row.kind) for row in known if row.line_end > row.line_start}
    paths = PathReader()
    return sorted(known, key=lambda row: _place_in_order(row, with_body, paths))


def without_declarations(rows: Sequence[SymbolRow]) -> list[SymbolRow]:
    """Returns the rows that define something, or all of them where none does."""
    with_body = {(row.name, row.kind) for row in rows if row.line_end > row.line_start}
    kept = [row for row in rows if row.kind not in _NO_DEFINITION and not _is_declaration(row, with_body)]
    return kept or list(rows)


def _place_in_order(row: SymbolRow, with_body: set[tuple[str, SymbolKind]], paths: PathReader) -> tuple[object, ...]:
    return (
        row.kind in _NO_DEFINITION,
        _is_declaration(row, with_body),
        paths.role(row.path).rank,
        -KIND_WEIGHT[row.kind],
        _VISIBILITY_RANK.get(row.visibility, 0),
        row.path.count("/"),
        row.path,
        row.line_start,
        row.ordinal,
    )


def _is_declaration(row: SymbolRow, with_body: set[tuple[str, SymbolKind]]) -> bool:
    """A file of declarations alone, or a one-line C or C++ thing of which a longer one of the same name is known."""
    return row.path.endswith(DECLARATION_FILES) or (
        row.language in DECLARING_LANGUAGES
        and row.kind in _BODY_KINDS
        and row.line_start == row.line_end
        and (row.name, row.kind) in with_body
    )


def exactly(snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None) -> list[Named]:
    """Returns the definitions with exactly that name, else those whose qualified name ends so, else those but for case."""
    whole = allowed(snapshot.facts.symbols_named(name, SAME_NAME_LIMIT), where, kinds)
    exact = [row for row in whole if row.name == name]
    if exact:
        return [Named(row, "exact") for row in ordered(exact)]
    parts = name_parts(name)
    if parts and parts != (name,):
        ends = allowed(snapshot.facts.symbols_named(parts[-1], SAME_NAME_LIMIT), where, kinds)
        if len(parts) == 1:
            same = [row for row in ends if row.name == parts[0]]
        else:
            same = [row for row in ends if _ends_with(row, parts)]
        if same:
            return [Named(row, "qualified") for row in ordered(same)]
        folded = tuple(part.lower() for part in parts)
        whole = whole or [row for row in ends if len(parts) == 1 or _ends_with(row, folded, fold=True)]
    return [Named(row, "case_insensitive") for row in ordered(whole)]


def _ends_with(row: SymbolRow, parts: tuple[str, ...], *, fold: bool = False) -> bool:
    """Whether a definition's qualified name ends in `parts`; what is missing at its front may be the file's path."""
    qualified = name_parts(row.qualified_name.lower() if fold else row.qualified_name)
    if qualified[-len(parts) :] == parts:
        return True
    path = name_parts((row.path.lower() if fold else row.path).rpartition(".")[0] or row.path)
    return any(parts[-count:] == qualified[-count:] and _is_tail(path, parts[:-count]) for count in range(1, len(parts)))


def _is_tail(path: tuple[str, ...], front: tuple[str, ...]) -> bool:
    # `handler.rs::run` splits into `handler`, `rs`, `run`: an extension may stand between.
    return path[-len(front) :] == front or (len(front) > 1 and path[-len(front) + 1 :] == front[:-1])


def allowed(rows: Iterable[SymbolRow], where: Filter, kinds: frozenset[SymbolKind] | None) -> list[SymbolRow]:
    """Returns the rows that a request's filters leave, in their order."""
    files = None if where.file_ids is None else frozenset(where.file_ids)
    return [
        row
        for row in rows
        if has_kind(row, kinds)
        and (not where.languages or row.language in where.languages)
        and (files is None or row.file_id in files)
    ]

"""Finds definitions by name, from the strictest reading of the name to the loosest, and orders them.

    exact            the name as written
    qualified        the qualified name or its end, with any language's separators; the file's path may stand before it
    case-insensitive the same, but for case
    parts            definitions whose name has all the words of the name asked for
    fuzzy            one or two typing errors away, or beginning with it

The first reading that finds anything answers; looser ones would only add noise behind it.
"""

from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.protocol.decode import well_formed
from codecompass.store.facts import SymbolRow
from codecompass.store.index import Snapshot
from codecompass.store.query.filters import has_kind
from codecompass.store.query.paths import PathReader
from codecompass.store.query.ranking import KIND_WEIGHT
from codecompass.store.query.tokens import name_parts, query_words
from codecompass.store.records import SymbolKind
from codecompass.store.text import FieldBoost, Filter, WordQuery
from codecompass.store.words import split_identifier

Reading = Literal["exact", "qualified", "case_insensitive", "parts", "fuzzy"]

SAME_NAME_LIMIT: Final = 1000
"""Definitions of one name that are ordered; a name with more of them is no way to find any of them."""

LOOSE_LIMIT: Final = 100
MAX_NAME_WORDS: Final = 12
MIN_FUZZY_LENGTH: Final = 3
TWO_ERRORS_FROM: Final = 6
"""Length from which two typing errors are forgiven instead of one."""

READING_SCORE: Final[dict[Reading, float]] = {
    "exact": 1.0,
    "qualified": 1.0,
    "case_insensitive": 0.8,
    "parts": 0.5,
    "fuzzy": 0.3,
}

DECLARING_LANGUAGES: Final = frozenset({"c", "cpp"})
"""Languages in which a name is declared without a body in one place and defined in another."""

DECLARATION_FILES: Final = (".d.ts", ".d.mts", ".d.cts", ".pyi")

_BODY_KINDS: Final[frozenset[SymbolKind]] = frozenset({"fn", "method", "class", "struct", "enum"})
_NO_DEFINITION: Final[frozenset[SymbolKind]] = frozenset({"impl", "use"})
_NAME_WORDS: Final = (FieldBoost("name_words", 1.0),)


class Named(Struct, frozen=True):
    """A definition and the reading that found it, the strictest there is."""

    row: SymbolRow
    reading: Reading


def find_named(snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None) -> list[Named]:
    """Returns the definitions that `name` may mean, the most likely first. Empty where nothing resembles it."""
    name = well_formed(name).strip()
    named = _exactly(snapshot, name, where, kinds) or _by_parts(snapshot, name, where, kinds)
    return named or _fuzzily(snapshot, name, where, kinds)


def find_exactly(snapshot: Snapshot, name: str) -> list[SymbolRow]:
    """Returns the definitions of exactly that name or qualified name; else, those that differ in case alone."""
    return [named.row for named in _exactly(snapshot, well_formed(name).strip(), Filter(), None)]


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
        row.visibility == "private",
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


def _exactly(snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None) -> list[Named]:
    whole = _allowed(snapshot.facts.symbols_named(name, SAME_NAME_LIMIT), where, kinds)
    exact = [row for row in whole if row.name == name]
    if exact:
        return [Named(row, "exact") for row in ordered(exact)]
    parts = name_parts(name)
    if parts and parts != (name,):
        ends = _allowed(snapshot.facts.symbols_named(parts[-1], SAME_NAME_LIMIT), where, kinds)
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


def _by_parts(snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None) -> list[Named]:
    words = list(dict.fromkeys(split_identifier(name)))[:MAX_NAME_WORDS]
    if not words:
        return []
    query = [WordQuery(word, _NAME_WORDS, is_required=True) for word in words]
    hits = snapshot.text.search_symbols(query, LOOSE_LIMIT, where)
    rows = _allowed(snapshot.facts.symbols_by_id([hit.symbol_id for hit in hits]).values(), where, kinds)
    wanted = set(words)

    def extra(row: SymbolRow) -> tuple[int, int]:
        own = split_identifier(row.name)
        return len(wanted.difference(own)), len(own)

    return [Named(row, "parts") for row in sorted(ordered(rows), key=extra)]


def _fuzzily(snapshot: Snapshot, name: str, where: Filter, kinds: frozenset[SymbolKind] | None) -> list[Named]:
    bare = (name_parts(name) or ("",))[-1].lower()
    if len(bare) < MIN_FUZZY_LENGTH or not query_words(bare):
        return []
    distance = 2 if len(bare) >= TWO_ERRORS_FROM else 1
    ids = snapshot.text.fuzzy_symbols(bare, distance, LOOSE_LIMIT) + snapshot.text.prefix_symbols(bare, LOOSE_LIMIT)
    rows = ordered(_allowed(snapshot.facts.symbols_by_id(ids).values(), where, kinds))
    rows.sort(key=lambda row: edit_distance(bare, row.name.lower(), cap=distance + 1))
    return [Named(row, "fuzzy") for row in rows]


def _allowed(rows: Iterable[SymbolRow], where: Filter, kinds: frozenset[SymbolKind] | None) -> list[SymbolRow]:
    files = None if where.file_ids is None else frozenset(where.file_ids)
    return [
        row
        for row in rows
        if has_kind(row, kinds)
        and (not where.languages or row.language in where.languages)
        and (files is None or row.file_id in files)
    ]


def edit_distance(left: str, right: str, cap: int) -> int:
    """Returns how many single-character edits (a swap of neighbours counts as one) lie between two words, at most `cap`."""
    if abs(len(left) - len(right)) >= cap:
        return cap
    before: list[int] = []
    previous = list(range(len(right) + 1))
    for row, character in enumerate(left, 1):
        current = [row]
        for column, other in enumerate(right, 1):
            cost = min(previous[column] + 1, current[-1] + 1, previous[column - 1] + (character != other))
            if row > 1 and column > 1 and character == right[column - 2] and left[row - 2] == other:
                cost = min(cost, before[column - 2] + 1)
            current.append(cost)
        before, previous = previous, current
    return min(previous[-1], cap)

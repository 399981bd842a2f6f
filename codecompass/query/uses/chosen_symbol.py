"""Which symbols a tool's `symbol_name` means, and what is left of its `path`.

The name decides: a name, a qualified name, a `symbol_id`, a place as answers print it (`src/x.py:10-20`, `src/x.py:10 fn run`),
or a declaration (`struct Session`, `fn run(x)`). A name of several symbols means all of them, up to a limit. `path` filters what
the tool returns. Only if several files define or declare the name does `path` choose among them as well; if it is the file of one
of them it filters nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Struct

from codecompass.errors import AmbiguousSymbol, SymbolNotFound
from codecompass.languages.records import FUNCTION_LIKE, SymbolKind
from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.protocol.kinds import KINDS_ON_INPUT, kinds_meant
from codecompass.query.filters import chosen_files, nothing_fits
from codecompass.query.messages.traces_and_signatures import declared_name
from codecompass.query.names.exact_names import find_exactly, is_handle, outdated, symbol_of_handle, without_declarations
from codecompass.query.names.name_lookup import find_named
from codecompass.query.names.named_locations import AskedLines, asked_lines, files_at, innermost
from codecompass.query.options import no_deadline
from codecompass.query.path_globs import WILDCARDS, relative_to_root
from codecompass.query.uses.symbol_places import SymbolPlaces, one_symbol_each, with_other_places
from codecompass.query.words.query_words import name_parts
from codecompass.store.rows import FileRow, SymbolRow
from codecompass.store.snapshot import Snapshot
from codecompass.store.text_queries import Filter

MAX_SYMBOLS: Final = 20
"""Unrelated definitions of one name that an answer is about; more are listed instead."""

SIMILAR_NAMES: Final = 5
SHOWN_NAME: Final = 100
"""Characters of a name in an error."""

SHOWN_PATH: Final = 200
NEAR_PLACES: Final = 2
"""Definitions that an error names for a place where there is none."""


class ChosenSymbols(Struct, frozen=True, kw_only=True):
    """The symbols that are meant, at least one, and the filter on what a tool returns about them."""

    symbols: tuple[SymbolPlaces, ...]
    file_ids: frozenset[int] | None = None
    """The files that may be returned; None for all."""
    warnings: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[SymbolRow, ...]:
        """The leading definition of each symbol."""
        return tuple(symbol.row for symbol in self.symbols)

    def keeps(self, row: SymbolRow) -> bool:
        """Whether a definition is in a file that may be returned."""
        return self.file_ids is None or row.file_id in self.file_ids


def choose_symbols(
    snapshot: Snapshot, name: str, path: str | None, root: str, is_expired: Callable[[], bool] = no_deadline
) -> ChosenSymbols:
    """Returns the symbols that `name` means, with the filter that `path` is.

    `root` is that of the workspace, for absolute paths. Similar names for an error are searched for until `is_expired`.

    Raises SymbolNotFound; AmbiguousSymbol if more than MAX_SYMBOLS have the name; InvalidInput for an invalid path.
    """
    named = _meant(snapshot, name, root, is_expired)
    if path is None:
        return ChosenSymbols(symbols=_symbols(snapshot, named, name))
    path, allowed, warnings = _filter(snapshot, path, root)
    if len({row.path for row in named}) > 1 and WILDCARDS.isdisjoint(path):
        its_own = [row for row in named if row.file_id in allowed and row.path.endswith(path.strip("/"))]
        if its_own:
            return ChosenSymbols(symbols=_symbols(snapshot, its_own, name))
    rows = without_declarations(named)
    inside = [row for row in rows if row.file_id in allowed] if len({row.path for row in rows}) > 1 else []
    return ChosenSymbols(symbols=_symbols(snapshot, inside or named, name), file_ids=allowed, warnings=warnings)


def symbols_at(snapshot: Snapshot, rows: Sequence[SymbolRow], lines: Iterable[int]) -> list[SymbolPlaces]:
    """Returns the definitions that begin at these lines of a file, one a line: the one that `choose_symbols` finds at that place.
    `rows` are the definitions of the file."""
    found: list[SymbolPlaces] = []
    for line in lines:
        chosen = _at(rows, AskedLines(rows[0].path, line, line))
        found += _symbols(snapshot, chosen, chosen[0].name) if chosen and chosen[0].line_start == line else ()
    return found


def resolve_symbol(snapshot: Snapshot, name: str, root: str, is_expired: Callable[[], bool] = no_deadline) -> SymbolRow:
    """Returns the one definition that `name` means. Raises the same errors as `choose_symbols`, and AmbiguousSymbol for
    several."""
    rows = choose_symbols(snapshot, name, None, root, is_expired).rows
    if len(rows) > 1:
        raise _ambiguous(rows, name)
    return rows[0]


def file_filter(snapshot: Snapshot, path: str, root: str) -> frozenset[int]:
    """Returns the ids of the files that `path` lets through. Raises InvalidInput for an invalid path."""
    return _filter(snapshot, path, root)[1]


def left_out_by_path(number: int, total: int, what: str) -> tuple[str, ...]:
    """Returns the warning that `path` leaves out `number` of the `total` things that a tool found; none if it leaves out none."""
    return (f"path leaves out {number:,} of {total:,} {what}",) if number else ()


def _filter(snapshot: Snapshot, path: str, root: str) -> tuple[str, frozenset[int], tuple[str, ...]]:
    """Returns a path relative to the root, the ids of the files that it lets through, and a warning if there are none.

    The end of a path (`auth/jwt.rs`) is taken where nothing at the root has that path.
    """
    files = snapshot.files()
    relative = relative_to_root(path.strip(), root)
    chosen = chosen_files(files, relative)
    if not any(chosen) and "," not in relative and not relative.startswith("!"):
        chosen = chosen_files(files, "**/" + relative.removeprefix("./").strip("/"))
    ids = frozenset(file_id for file_id, is_chosen in zip(files.ids, chosen, strict=True) if is_chosen)
    return relative.removeprefix("./"), ids, () if ids else (nothing_fits(files, relative, "path"),)


def _meant(snapshot: Snapshot, name: str, root: str, is_expired: Callable[[], bool]) -> list[SymbolRow]:
    """Returns the definitions that `name` means, at least one."""
    text = name.strip()
    asked = asked_lines(text)
    files = [] if asked is None else files_at(snapshot, asked.path, root)
    if asked is not None and files:
        found = [row for file in files for row in _at(snapshot.facts.symbols_in_file(file.id), asked)]
        if not found:
            raise _nothing_at(snapshot, files[0], asked.first, text)
        return found
    rows = find_exactly(snapshot, text)
    if rows:
        return rows
    if is_handle(text):
        known = symbol_of_handle(snapshot, text)
        if known is None:
            raise outdated(text)
        return [known]
    declared = _declared(snapshot, text)
    if declared:
        return declared
    raise _not_found(snapshot, text, is_expired)


def _at(rows: Sequence[SymbolRow], asked: AskedLines) -> list[SymbolRow]:
    """Returns the definition that a place means: the one that begins there and has its name, else the innermost around it."""
    last = (name_parts(asked.name) or ("",))[-1]
    named = [row for row in rows if last and row.name == last and row.kind != "use"]
    exact = [row for row in named if row.line_start == asked.first]
    if exact:
        return exact[:1]
    if named:  # the file has changed since the place was printed
        return [min(named, key=lambda row: (abs(row.line_start - asked.first), row.id))]
    found = innermost(list(rows), asked.first, asked.last, None)
    if found is None:
        found = next((row for row in rows if asked.first <= row.line_start <= asked.last and row.kind != "use"), None)
    return [] if found is None else [found]


def _declared(snapshot: Snapshot, text: str) -> list[SymbolRow]:
    """Returns the definitions of the name in a declaration; those of the kind that it states, if there are any."""
    word, _, rest = text.partition(" ")
    kinds: frozenset[SymbolKind] = kinds_meant(word) if word in KINDS_ON_INPUT else frozenset()
    rows: Iterable[SymbolRow] = find_exactly(snapshot, rest.strip()) if kinds else ()
    rows = list(rows) or [row for name in (declared_name(text),) if name for row in find_exactly(snapshot, name)]
    return [row for row in rows if row.kind in kinds] or list(rows)


def _symbols(snapshot: Snapshot, rows: Sequence[SymbolRow], name: str) -> tuple[SymbolPlaces, ...]:
    symbols = one_symbol_each(rows)
    if len(symbols) > MAX_SYMBOLS:
        raise _ambiguous([symbol.row for symbol in symbols], name)
    return tuple(
        msgspec.structs.replace(with_other_places(snapshot, symbol), meant=symbol.rows if _are_overloads(symbol.rows) else ())
        for symbol in symbols
    )


def _are_overloads(rows: Sequence[SymbolRow]) -> bool:
    """Whether rows are functions or fields of a language in which others of the same name are told apart from them."""
    return all(row.kind in _APART and (rules := lexical_rules(row.language)) is not None and rules.has_overloads for row in rows)


_APART: Final = FUNCTION_LIKE | {"field", "var", "const"}


def _ambiguous(rows: Sequence[SymbolRow], name: str) -> AmbiguousSymbol:
    first = f"{rows[0].path}:{rows[0].line_start}"
    return AmbiguousSymbol(
        f"{len(rows)} definitions are named {name[:SHOWN_NAME]}. Pass one of these places or a qualified name as symbol_name "
        f'(such as "{first[:SHOWN_PATH]}"), or path for those in some files.',
        candidate_count=len(rows),
        candidates=[
            {"path": row.path, "line": row.line_start, "kind": row.kind, "qualified_name": row.qualified_name}
            for row in rows[:MAX_SYMBOLS]
        ],
    )


def _nothing_at(snapshot: Snapshot, file: FileRow, line: int, text: str) -> SymbolNotFound:
    rows = sorted(snapshot.facts.symbols_in_file(file.id), key=lambda row: abs(row.line_start - line))
    near = [f"{file.path}:{row.line_start} {row.kind} {row.qualified_name}" for row in rows if row.kind != "use"][:NEAR_PLACES]
    hint = f" The nearest: {', '.join(near)}." if near else ""
    return SymbolNotFound(f"{file.path} defines nothing at line {line}.{hint}", name=text[:SHOWN_NAME], path=file.path)


def _not_found(snapshot: Snapshot, name: str, is_expired: Callable[[], bool]) -> SymbolNotFound:
    named = find_named(snapshot, name, Filter(), None, is_expired)
    similar = list(dict.fromkeys(each.row.name for each in named))[:SIMILAR_NAMES]
    hint = f" Similar names: {', '.join(similar)}." if similar else " Find it with search_code."
    return SymbolNotFound(f"no symbol is named {name[:SHOWN_NAME]}.{hint}", name=name[:SHOWN_NAME], similar_names=similar)

"""Which definitions of a name are one symbol: it may have several places.

Overloads, partial types, a type and its constructors, a declaration and its definition (a C prototype, a declaration file), and
what a test puts in the place of a function are the same symbol. The same name in another type, module or namespace is another
one, and so is a function of another file that only that file sees (`static` of C).
"""

from collections.abc import Iterable, Sequence
from typing import Final

from msgspec import Struct

from codecompass.languages import described
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE
from codecompass.query.names.exact_names import MAX_NAMESAKES, without_declarations
from codecompass.query.uses.definitions import entity, is_of_own_file
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

SymbolKey = tuple[str, str, str]
"""Family of the language, qualified name, and the path of a definition that only its own file sees."""

_SEPARATORS: Final = ":.#/\\"


class SymbolPlaces(Struct, frozen=True):
    """One symbol: the definition that leads, then its other places."""

    rows: tuple[SymbolRow, ...]
    meant: tuple[SymbolRow, ...] = ()
    """The overloads that are meant, if an id or a place has named them; empty for all."""

    @property
    def row(self) -> SymbolRow:
        """The definition that leads."""
        return self.rows[0]

    @property
    def keys(self) -> frozenset[SymbolKey]:
        """What its places have in common: one key, and one for constructors."""
        return frozenset(map(symbol_key, self.rows))


def symbol_key(row: SymbolRow) -> SymbolKey:
    """Returns what overloads, and a declaration and its definition, have in common and no other symbol has."""
    is_private = row.parent_kind is None and row.kind in FUNCTION_LIKE and is_of_own_file(row)
    return (*entity(row), row.path if is_private else "")


def one_symbol_each(rows: Sequence[SymbolRow]) -> list[SymbolPlaces]:
    """Returns the symbols that the rows of one name are places of, in the order in which the rows first name them.

    A declaration without a definition of the same qualified name belongs to the only symbol there is, if there is only one.
    """
    defining = without_declarations(rows)
    groups: dict[SymbolKey, list[SymbolRow]] = {}
    keys = {symbol_key(row) for row in defining}
    for row in defining:
        groups.setdefault(_key_among(row, keys), []).append(row)
    ids = {row.id for row in defining}
    for row in rows:
        key = _key_among(row, keys)
        if row.id not in ids and row.kind not in ("use", "test", "impl") and (key in groups or len(groups) == 1):
            groups[key if key in groups else next(iter(groups))].append(row)
    return [SymbolPlaces(tuple(sorted(each, key=_is_constructor))) for each in groups.values()]


def with_other_places(snapshot: Snapshot, symbol: SymbolPlaces) -> SymbolPlaces:
    """Returns a symbol that was chosen by one of its places with all of them."""
    known = {row.id for row in symbol.rows}
    keys = symbol.keys
    found = [
        row
        for row in snapshot.facts.symbols_named(symbol.row.name, MAX_NAMESAKES)
        if row.id not in known
        and row.name == symbol.row.name
        and row.kind not in ("use", "test", "impl")
        and symbol_key(row) in keys
    ]
    return SymbolPlaces((*symbol.rows, *found)) if found else symbol


def _key_among(row: SymbolRow, keys: Iterable[SymbolKey]) -> SymbolKey:
    """Returns the key of a row; for a constructor that of its type, if it is among the keys."""
    key = symbol_key(row)
    if not _is_constructor(row):
        return key
    of_type = (key[0], key[1].removesuffix(row.name).rstrip(_SEPARATORS), "")
    return of_type if of_type in keys else key


def _is_constructor(row: SymbolRow) -> bool:
    """Whether a row has the name of the type that it belongs to, or of the module that is made with it."""
    constructs_modules = described(row.language).members.constructs_modules
    if row.kind not in FUNCTION_LIKE and not constructs_modules:
        return False
    owner = entity(row)[1].removesuffix(row.name).rstrip(_SEPARATORS)
    is_member = row.parent_kind in CLASS_LIKE or row.kind == "method" or constructs_modules
    return is_member and owner != "" and owner.endswith(row.name) and not owner[: -len(row.name)][-1:].isalnum()

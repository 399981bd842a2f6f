"""The names by which other repositories import the definitions of a workspace: Python, Go and npm packages, crates."""

from collections.abc import Callable, Mapping
from typing import Final

from codecompass.languages.language import CLASS_LIKE
from codecompass.languages.lexis import LEXES
from codecompass.languages.path_modules import python_module
from codecompass.protocol.replies import ImportedSymbol
from codecompass.query.definitions import is_member, owner_name
from codecompass.store.rows import PackageRow, SymbolRow
from codecompass.store.snapshot import Snapshot


def separator(family: str) -> str:
    """Returns the separator between a package and its contents in an import."""
    return _SEPARATORS[family]


def imported_symbol(snapshot: Snapshot, symbol: SymbolRow) -> ImportedSymbol | None:
    """Returns how others import a definition; None if the language's packages have no names here, or no package contains it."""
    family = LEXES[symbol.language].family if symbol.language in LEXES else ""
    names_of = _PACKAGES.get(family)
    if names_of is None:
        return None
    own, others = names_of(snapshot, symbol)
    if not own:
        return None
    return ImportedSymbol(
        name=symbol.name,
        kind=symbol.kind,
        family=family,
        own=own,
        others=tuple(sorted(set(others) - set(own))),
        owner=owner_name(symbol) if is_member(symbol) and symbol.kind not in CLASS_LIKE else "",
    )


_Names = tuple[tuple[str, ...], tuple[str, ...]]


def _python(snapshot: Snapshot, symbol: SymbolRow) -> _Names:
    module = python_module(symbol.path)
    return ((module[0],), ()) if module and module[0].isidentifier() else ((), ())


def _go(snapshot: Snapshot, symbol: SymbolRow) -> _Names:
    own = _nearest(snapshot, "go", symbol.path)
    if own is None or not symbol.name[:1].isupper():
        return (), ()
    directory = symbol.path.rpartition("/")[0].removeprefix(_directory(own)).strip("/")
    return (f"{own.prefix}/{directory}" if directory else own.prefix,), ()


def _node(snapshot: Snapshot, symbol: SymbolRow) -> _Names:
    return _named_by_manifest(snapshot, "node", symbol)


def _cargo(snapshot: Snapshot, symbol: SymbolRow) -> _Names:
    return _named_by_manifest(snapshot, "cargo", symbol)


def _named_by_manifest(snapshot: Snapshot, ecosystem: str, symbol: SymbolRow) -> _Names:
    own = _nearest(snapshot, ecosystem, symbol.path)
    if own is None:
        return (), ()
    return (own.prefix,), tuple(row.prefix for row in snapshot.facts.packages(ecosystem, _MANIFESTS[ecosystem]))


def _nearest(snapshot: Snapshot, ecosystem: str, path: str) -> PackageRow | None:
    """Returns the package with the innermost manifest above a path."""
    around = [row for row in snapshot.facts.packages(ecosystem, _MANIFESTS[ecosystem]) if path.startswith(_directory(row))]
    return max(around, key=lambda row: len(_directory(row)), default=None)


def _directory(row: PackageRow) -> str:
    """Returns the directory of a manifest, with a trailing `/`; '' for the root."""
    directory = row.path.rpartition("/")[0]
    return directory + "/" if directory else ""


_PACKAGES: Final[Mapping[str, Callable[[Snapshot, SymbolRow], _Names]]] = {
    "python": _python,
    "go": _go,
    "ecmascript": _node,
    "rust": _cargo,
}
_MANIFESTS: Final[Mapping[str, str]] = {"go": "go.mod", "node": "package.json", "cargo": "Cargo.toml"}
"""The files that name packages; other configuration files only say where modules are found."""

_SEPARATORS: Final[Mapping[str, str]] = {"python": ".", "go": "/", "ecmascript": "/", "rust": "::"}

FAMILIES: Final = frozenset(_SEPARATORS)
"""Language families whose packages have names here."""

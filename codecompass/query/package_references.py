"""Uses of a definition of another repository, in files that import its package.

exact      its name is imported from its package, or it is used after the name of an imported package or module
likely     its name, or every name, is imported from another package of the same repository, which may re-export it
possible   a member of that name, in a file that imports the package
"""

from collections.abc import Callable, Iterator
from typing import Final

from msgspec import Struct

from codecompass.languages.language import FUNCTION_LIKE
from codecompass.languages.records import Use
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import FindReferencesReply, ImportedSymbol, ReferenceDefinition
from codecompass.protocol.requests import Confidence, FindReferences
from codecompass.query.definitions import FileNames, enclosing, last_part
from codecompass.query.options import no_deadline
from codecompass.query.package_names import separator
from codecompass.query.references import FILES_BETWEEN_CHECKS, FoundUse, FoundUses, Uses, once, references_reply, role_of_use
from codecompass.store.rows import ImportRow
from codecompass.store.snapshot import Snapshot

_LANGUAGES: Final = {"python": "python", "go": "go", "ecmascript": "typescript", "rust": "rust"}
"""One language of each family: uses are looked up by family."""


def find_package_references(
    snapshot: Snapshot,
    request: FindReferences,
    state: AnswerState,
    symbol: ImportedSymbol,
    is_expired: Callable[[], bool] = no_deadline,
) -> FindReferencesReply:
    """Returns the uses of a definition of another repository; of the definition itself only name and kind are known here."""
    definition = ReferenceDefinition(
        symbol_id="", path="", line_start=0, line_end=0, kind=symbol.kind, name=symbol.name, qualified_name="", signature=""
    )
    return references_reply(snapshot, request, state, definition, uses_from_outside(snapshot, symbol, is_expired))


def uses_from_outside(snapshot: Snapshot, symbol: ImportedSymbol, is_expired: Callable[[], bool] = no_deadline) -> FoundUses:
    """Returns the uses of another repository's definition; product code before tests, by path and line."""
    uses = Uses(snapshot, is_expired)
    found: list[FoundUse] = []
    n_elsewhere, is_cut = 0, False
    importing = snapshot.facts.files_importing([*symbol.own, *symbol.others], separator(symbol.family))
    for number, (file, named) in enumerate(uses.named(symbol.name, _LANGUAGES[symbol.family], importing)):
        if number and not number % FILES_BETWEEN_CHECKS and is_expired():
            is_cut = True
            break
        names = uses.binder.definitions.names_of(file.id, file.path, file.language)
        imported = _imported(symbol, names)
        before = len(found)
        for use in named:
            certainty = _certainty(symbol, use, imported, names)
            if certainty is not None:
                found.append(_found(uses, symbol, use, names, certainty, is_import=use.line in imported.lines))
        n_elsewhere += len(named) - (len(found) - before)
        for alias, certainty in imported.names.items():
            for _, aliased in snapshot.facts.uses([file.id], alias) if alias != symbol.name else ():
                found += [
                    _found(uses, symbol, use, names, certainty, is_import=False)
                    for use in aliased
                    if not use.receiver and use.line not in imported.lines
                ]
    found.sort(key=lambda use: (use.is_test, use.file.path, use.line))
    return FoundUses(tuple(once(found)), n_elsewhere, is_cut)


def _imports(names: FileNames) -> Iterator[ImportRow]:
    for rows in names.imports.values():
        yield from rows
    yield from names.everything_from


def _leads_to(symbol: ImportedSymbol, row: ImportRow) -> Confidence | None:
    """Whether an import is of the symbol's package (`exact`) or of another package of the same repository (`likely`)."""
    if row.target:
        return None
    if symbol.family == "go":
        return "exact" if row.spec in symbol.own else None  # each directory below it is another package
    between = separator(symbol.family)
    if any(_is_in(row.spec, package, between) for package in symbol.own):
        return "exact"
    return "likely" if any(_is_in(row.spec, package, between) for package in symbol.others) else None


def _is_in(spec: str, package: str, between: str) -> bool:
    return spec == package or spec.startswith(package + between)


class _Imported(Struct, frozen=True):
    """What a file imports from the packages of a symbol, each with its confidence."""

    names: dict[str, Confidence]
    """The local names of the symbol."""
    lines: dict[int, Confidence]
    """The lines that import it."""
    modules: dict[str, Confidence]
    """The local names of other modules and definitions."""
    everything: Confidence | None
    """Set if it imports all names."""


def _imported(symbol: ImportedSymbol, file: FileNames) -> _Imported:
    names: dict[str, Confidence] = {}
    lines: dict[int, Confidence] = {}
    modules: dict[str, Confidence] = {}
    everything: Confidence | None = None
    for row in _imports(file):
        certainty = _leads_to(symbol, row)
        if certainty is None:
            continue
        if row.name == symbol.name:
            names[row.alias or row.name] = certainty
            lines.update(dict.fromkeys(range(row.line_start, row.line_end + 1), certainty))
        elif row.name == "*" and not row.alias:
            everything = certainty
        else:
            own = row.name if row.name not in ("", "*", "default") else last_part(row.spec, file.language)
            modules[row.alias or own] = certainty
            if symbol.family == "python" and not row.name and not row.alias:
                modules[row.spec.partition(".")[0]] = certainty
    return _Imported(names, lines, modules, everything)


def _certainty(symbol: ImportedSymbol, use: Use, imported: _Imported, file: FileNames) -> Confidence | None:
    """Returns the confidence that a use of the symbol's name refers to it, None if it refers to something else."""
    if use.line in imported.lines:
        return imported.lines[use.line]
    if not use.receiver:
        if symbol.owner:
            return None
        sure = imported.names.get(symbol.name)
        return sure or ("likely" if imported.everything and symbol.name not in file.by_name else None)
    path = use.receiver.replace("::", ".").strip("&*() ").split(".")
    if not symbol.owner:
        return imported.modules.get(path[0])
    is_owner = path[-1] == symbol.owner and (path[0] in imported.modules or symbol.owner in imported.modules)
    return "exact" if is_owner else "possible"


def _found(uses: Uses, symbol: ImportedSymbol, use: Use, names: FileNames, certainty: Confidence, *, is_import: bool) -> FoundUse:
    around = enclosing(names, use.line)
    functions = [row for row in around if row.kind in FUNCTION_LIKE or row.kind == "test"]
    return FoundUse(
        names,
        use.line,
        "import" if is_import else role_of_use(use, symbol.kind),
        certainty,
        functions[-1] if functions else around[-1] if around else None,
        uses.is_test_file(names.path) or any(row.kind == "test" for row in around),
    )

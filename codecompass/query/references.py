"""`find_references`: the uses of the definitions of a name, page by page; and across repositories, by the names of packages.

A definition of another repository is used in files that import its package, with this confidence:

exact      its name is imported from its package, or it is used after the name of an imported package or module
likely     its name, or every name, is imported from another package of the same repository, which may re-export it
possible   a member of that name, in a file that imports the package
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from codecompass.languages import described
from codecompass.languages.records import CLASS_LIKE, Use
from codecompass.languages.table import PACKAGES, NamedPackages
from codecompass.languages.uses.lexical_rules import family_of
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import (
    FindReferencesReply,
    ImportedSymbol,
    Reference,
    ReferenceCounts,
    ReferenceDefinition,
)
from codecompass.protocol.requests import Confidence, FindReferences
from codecompass.query.asked_definitions import asked_definition
from codecompass.query.excerpts import enclosing_of
from codecompass.query.metadata import answer_metadata
from codecompass.query.options import QueryOptions, no_deadline
from codecompass.query.uses.chosen_symbol import choose_symbols, file_filter, left_out_by_path
from codecompass.query.uses.definitions import FileNames, code_around, is_member, last_part, owner_name
from codecompass.query.uses.elsewhere import DOUBTFUL, Asked, Elsewhere, ElsewhereLine, elsewhere_uses
from codecompass.query.uses.found_uses import CONFIDENCES, FILES_BETWEEN_CHECKS, FoundUse, FoundUses, Uses, once, role_of_use
from codecompass.query.uses.use_lines import use_text
from codecompass.store.rows import ImportRow, PackageRow, SymbolRow
from codecompass.store.snapshot import Snapshot

FEW_USES: Final = 5
"""With fewer bound uses than this, text is searched as well, and other lines with the name are listed whatever they mean."""

SHOWN_ELSEWHERE: Final = 5
"""Other lines with the name that follow the last use: of many bound uses the doubtful ones alone."""

LISTS_ALL_ABOVE: Final = 50
"""With a larger limit, as with confidence `possible`, all other lines are listed up to it."""

_NO_USES: Final = FoundUses((), 0, is_cut=False)


def find_references(
    snapshot: Snapshot,
    request: FindReferences,
    state: AnswerState,
    is_expired: Callable[[], bool] = no_deadline,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
) -> FindReferencesReply:
    """Returns the uses of the definitions of a name, product code before tests, by path and line; the counts include all of them.
    Lines with the name that are bound to none of them follow. With `options.is_definition_only` there are no uses.

    Raises SymbolNotFound, or AmbiguousSymbol for too many definitions.
    """
    # Of many workspaces most do not define the symbol: none of them need look up similar names.
    has_time = (lambda: True) if options.is_for_merging else is_expired
    chosen = choose_symbols(snapshot, request.symbol_name, request.path, state.workspace, has_time)
    definitions = tuple(asked_definition(snapshot, symbol) for symbol in chosen.symbols)
    if options.is_definition_only:
        return references_reply(snapshot, request, state, definitions, Asked(_NO_USES, chosen.symbols))
    uses = Uses(snapshot, is_expired)
    asked = Asked(uses.of_symbols(chosen.symbols), chosen.symbols, chosen.file_ids, chosen.warnings)
    imported = imported_symbol(snapshot, chosen.symbols[0].row) if options.is_for_merging else None
    reply = references_reply(snapshot, request, state, definitions, asked, Elsewhere(snapshot, asked, uses), options, is_expired)
    return replace(reply, imported=imported)


def references_reply(
    snapshot: Snapshot,
    request: FindReferences,
    state: AnswerState,
    definitions: tuple[ReferenceDefinition, ...],
    asked: "Asked",
    elsewhere: Elsewhere | None = None,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
    is_expired: Callable[[], bool] = no_deadline,
) -> FindReferencesReply:
    """Returns the page of uses that the request asks for; the counts are of all in the files that may be returned."""
    found, warnings = asked.found, asked.warnings
    if asked.file_ids is not None:
        inside = tuple(use for use in found.uses if use.file.file_id in asked.file_ids)
        warnings += left_out_by_path(len(found.uses) - len(inside), len(found.uses), "uses")
        found = replace(found, uses=inside)
    least = CONFIDENCES.index(request.confidence)
    wanted = [
        use
        for use in found.uses
        if CONFIDENCES.index(use.confidence) <= least
        and (request.role is None or use.role == request.role)
        and (request.include_tests or not use.is_test)
    ]
    n_definitions = len(definitions)
    if n_definitions > 1:
        wanted.sort(key=lambda use: use.fits[0] if len(use.fits) == 1 else n_definitions)
        definitions = _with_counts(definitions, found)
    page = wanted[request.offset : request.offset + request.limit]
    names = list(dict.fromkeys(definition.name for definition in definitions))
    has_text = request.detail_level == "line"
    shown = tuple(_reference(snapshot, use, names, n_definitions, has_text=has_text) for use in page)
    others: Sequence[ElsewhereLine] = ()
    n_elsewhere = found.n_elsewhere
    if elsewhere is not None:
        bound = [use for use in wanted if use.confidence != "possible"]
        elsewhere.add_uses(found, _unlisted(found, request))
        if len(bound) < FEW_USES:
            elsewhere.add_text(options, is_expired)
            warnings += elsewhere.warnings
        n_elsewhere = elsewhere.n_elsewhere
        others = _others_of_page(
            elsewhere.lines(request.role, include_tests=request.include_tests), request, len(wanted), len(bound)
        )
    warnings += ("timed out before all files were read; the counts cover only those that were. Raise timeout_ms",) * found.is_cut
    return FindReferencesReply(
        definition=definitions[0],
        definitions=definitions if n_definitions > 1 else (),
        references=shown,
        elsewhere=tuple(elsewhere_uses(snapshot, others, names, has_text=has_text)),
        counts=_counts(found, n_elsewhere),
        total=len(wanted),
        offset=request.offset,
        metadata=answer_metadata(
            snapshot,
            state,
            warnings=warnings,
            is_truncated=request.offset + len(shown) < len(wanted),
            is_partial=found.is_cut,
        ),
    )


def _with_counts(definitions: Sequence[ReferenceDefinition], found: FoundUses) -> tuple[ReferenceDefinition, ...]:
    sure = Counter(use.fits[0] for use in found.uses if len(use.fits) == 1 and use.confidence != "possible")
    return tuple(replace(definition, n_uses=sure[position]) for position, definition in enumerate(definitions))


def _unlisted(found: FoundUses, request: FindReferences) -> list[FoundUse]:
    """Returns the uses that fit several definitions if the request leaves them out."""
    return [] if request.confidence == "possible" else [use for use in found.uses if use.confidence == "possible"]


def _others_of_page(
    lines: Sequence[ElsewhereLine], request: FindReferences, n_wanted: int, n_bound: int
) -> Sequence[ElsewhereLine]:
    """Returns the lines that follow the uses of a page, which they do only after the last of them."""
    end = request.offset + request.limit
    if end < n_wanted:
        return ()
    if request.confidence == "possible" or request.limit > LISTS_ALL_ABOVE:
        return lines[max(0, request.offset - n_wanted) : end - n_wanted]
    if request.offset > n_wanted:
        return ()
    wanted = lines if n_bound < FEW_USES else [line for line in lines if line.reason in DOUBTFUL]
    return wanted[:SHOWN_ELSEWHERE]


def _counts(found: FoundUses, n_elsewhere: int) -> ReferenceCounts:
    by_confidence = Counter(use.confidence for use in found.uses)
    by_role = Counter(use.role for use in found.uses if use.confidence != "possible")
    return ReferenceCounts(
        exact=by_confidence["exact"],
        likely=by_confidence["likely"],
        possible=by_confidence["possible"],
        elsewhere=n_elsewhere,
        tests=sum(use.is_test for use in found.uses if use.confidence != "possible"),
        roles=dict(sorted(by_role.items())),
    )


def _reference(snapshot: Snapshot, use: FoundUse, names: Sequence[str], n_definitions: int, *, has_text: bool) -> Reference:
    text, last = use_text(snapshot, use.file.file_id, use.line, use.role, names) if has_text else ("", use.line)
    definition: int | UnsetType | None = UNSET
    if n_definitions > 1:
        definition = use.fits[0] if len(use.fits) == 1 else None
    return Reference(
        path=use.file.path,
        line_start=use.line,
        line_end=last,
        role=use.role,
        confidence=use.confidence,
        enclosing=enclosing_of(use.enclosing),
        is_test=use.is_test,
        definition=definition,
        text=text,
    )


def imported_symbol(snapshot: Snapshot, symbol: SymbolRow) -> ImportedSymbol | None:
    """Returns how others import a definition; None if the language's packages have no names here, or no package contains it."""
    family = family_of(symbol.language)
    packages = PACKAGES.get(family)
    if packages is None:
        return None
    own, others = _package_names(snapshot, symbol, packages)
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


def _package_names(snapshot: Snapshot, symbol: SymbolRow, packages: NamedPackages) -> _Names:
    """Returns the names of the packages that contain a definition, and those of others of the repository; none if it has none, or
    if only its own package sees the definition."""
    if packages.named_by == "path":
        module = described(symbol.language).path_module(symbol.path)
        return ((module[0],), ()) if module and module[0].isidentifier() else ((), ())
    own = _nearest(snapshot, packages, symbol.path)
    if own is None:
        return (), ()
    if packages.named_by == "manifest":
        return (own.prefix,), tuple(row.prefix for row in snapshot.facts.packages(packages.ecosystem, packages.manifest))
    if not symbol.name[:1].isupper():
        return (), ()
    directory = symbol.path.rpartition("/")[0].removeprefix(_directory(own)).strip("/")
    return (f"{own.prefix}/{directory}" if directory else own.prefix,), ()


def _nearest(snapshot: Snapshot, packages: NamedPackages, path: str) -> PackageRow | None:
    """Returns the package with the innermost manifest above a path."""
    rows = snapshot.facts.packages(packages.ecosystem, packages.manifest)
    around = [row for row in rows if path.startswith(_directory(row))]
    return max(around, key=lambda row: len(_directory(row)), default=None)


def _directory(row: PackageRow) -> str:
    """Returns the directory of a manifest, with a trailing `/`; '' for the root."""
    directory = row.path.rpartition("/")[0]
    return directory + "/" if directory else ""


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
    file_ids = None if request.path is None else file_filter(snapshot, request.path, state.workspace)
    found = uses_from_outside(snapshot, symbol, is_expired)
    return references_reply(snapshot, request, state, (definition,), Asked(found, (), file_ids))


def uses_from_outside(snapshot: Snapshot, symbol: ImportedSymbol, is_expired: Callable[[], bool] = no_deadline) -> FoundUses:
    """Returns the uses of another repository's definition; product code before tests, by path and line."""
    uses = Uses(snapshot, is_expired)
    found: list[FoundUse] = []
    n_elsewhere, is_cut = 0, False
    packages = PACKAGES[symbol.family]
    importing = snapshot.facts.files_importing([*symbol.own, *symbol.others], packages.separator)
    for number, (file, named) in enumerate(uses.named(symbol.name, packages.language, importing)):
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
            found += [
                _found(uses, symbol, use, names, certainty, is_import=False)
                for use in (uses.of_names.of(file.id, file.language, alias) if alias != symbol.name else ())
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
    packages = PACKAGES[symbol.family]
    if packages.named_by == "directory":
        return "exact" if row.spec in symbol.own else None  # each directory below it is another package
    between = packages.separator
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
            if file.traits.binding.binds_first_part and not row.name and not row.alias:
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
    around, is_in_test = code_around(names, use.line)
    role = "import" if is_import else role_of_use(use, symbol.kind)
    return FoundUse(names, use.line, role, certainty, around, is_in_test or uses.is_test_file(names.path))

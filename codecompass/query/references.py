"""`find_references`: where a definition is used, how certain that is, and what each use does."""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass.languages.language import CLASS_LIKE, FUNCTION_LIKE
from codecompass.languages.lexis import LEXES
from codecompass.languages.records import Use
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import (
    Enclosing,
    FindReferencesReply,
    Reference,
    ReferenceCounts,
    ReferenceDefinition,
)
from codecompass.protocol.requests import Confidence, FindReferences, ReferenceRole
from codecompass.query.binding import Binder
from codecompass.query.definitions import FileNames, enclosing, entity
from codecompass.query.exact_names import symbol_handle
from codecompass.query.excerpts import shortened
from codecompass.query.metadata import answer_metadata
from codecompass.query.name_lookup import resolve_symbol
from codecompass.query.options import QueryOptions, no_deadline
from codecompass.query.package_names import imported_symbol
from codecompass.query.regex_terms import regex_terms
from codecompass.query.source_lines import lines_of
from codecompass.scan.path_roles import PathReader
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot

CONFIDENCES: Final[tuple[Confidence, ...]] = ("exact", "likely", "possible")

MAX_LINE_CHARACTERS: Final = 240
"""Limit for a line of code in an answer; a longer one is cut around the name."""

FILES_BETWEEN_CHECKS: Final = 20

_TYPE_KINDS: Final = CLASS_LIKE | {"type"}


class FoundUse(Struct, frozen=True):
    """A use of a definition."""

    file: FileNames
    line: int
    role: ReferenceRole
    confidence: Confidence
    enclosing: SymbolRow | None
    """The innermost function or test around the use, else the innermost definition."""
    is_test: bool


class FoundUses(Struct, frozen=True):
    """The uses of a definition: product code before tests, by path and line."""

    uses: tuple[FoundUse, ...]
    n_elsewhere: int
    """Uses of the name that refer to something else."""
    is_cut: bool
    """Whether the time was up before all files were read."""


class Uses:
    """Finds uses for one question, which may need those of several definitions."""

    def __init__(self, snapshot: Snapshot, is_expired: Callable[[], bool] = no_deadline) -> None:
        self.binder: Final = Binder(snapshot.facts)
        self._snapshot = snapshot
        self._is_expired = is_expired
        self._paths = PathReader()

    def of(self, target: SymbolRow) -> FoundUses:
        """Returns the uses of a definition, including those under an alias."""
        wanted = entity(target)
        found: list[FoundUse] = []
        n_elsewhere, is_cut = 0, False
        if self._is_expired():
            return FoundUses((), 0, is_cut=True)
        for number, (file, uses) in enumerate(self.named(target.name, target.language)):
            if number and not number % FILES_BETWEEN_CHECKS and self._is_expired():
                is_cut = True
                break
            names = self.binder.definitions.names_of(file.id, file.path, file.language)
            before = len(found)
            found += self._meant(target, target.name, uses, names, wanted)
            n_elsewhere += len(uses) - (len(found) - before)
            for alias in self._aliases(target.name, names):
                for _, aliased in self._snapshot.facts.uses([file.id], alias):
                    found += self._meant(target, alias, aliased, names, wanted)
        found.sort(key=lambda use: (use.is_test, use.file.path, use.line))
        return FoundUses(tuple(once(found)), n_elsewhere, is_cut)

    def is_test(self, row: SymbolRow) -> bool:
        """Whether a definition is part of the tests."""
        return row.kind == "test" or self.is_test_file(row.path)

    def is_test_file(self, path: str) -> bool:
        """Whether a file is part of the tests."""
        return self._paths.role(path).is_test

    def named(
        self, name: str, language: str, among: Sequence[int] | None = None
    ) -> Iterator[tuple[IndexedFile, tuple[Use, ...]]]:
        """Yields the files of the language's family that use a name, with the uses, by path: all, or those `among` these ids."""
        family = LEXES[language].family if language in LEXES else ""
        found = [
            (file, uses)
            for file, uses in self._snapshot.facts.uses(self._files_with(name) if among is None else among, name)
            if file.language in LEXES and LEXES[file.language].family == family
        ]
        found.sort(key=lambda item: item[0].path)
        yield from found

    def n_files(self, name: str) -> int:
        """Returns how many files may use a name: the cost of finding its uses."""
        return len(self._files_with(name))

    def _files_with(self, name: str) -> list[int]:
        plain = name.strip("$?!'@")
        pattern = rf"\b{re.escape(plain)}\b" if re.fullmatch(r"\w+", plain, re.ASCII) else ""
        return sorted(self._snapshot.text.chunks_holding(regex_terms(pattern or ".")).file_ids)

    def heads(self, type_: SymbolRow) -> Iterator[tuple[FileNames, list[Use]]]:
        """Yields the files in which heads of types have a supertype of this name, with these uses, by path."""
        for file, uses in self.named(type_.name, type_.language):
            inherited = [use for use in uses if use.usage == "inherit"]
            if inherited:
                yield self.binder.definitions.names_of(file.id, file.path, file.language), inherited

    def _aliases(self, name: str, file: FileNames) -> list[str]:
        return [
            local for local, rows in file.imports.items() if local != name and any(row.name == name and row.alias for row in rows)
        ]

    def _meant(
        self, target: SymbolRow, name: str, uses: Sequence[Use], file: FileNames, wanted: tuple[str, str]
    ) -> Iterator[FoundUse]:
        is_test = self._paths.role(file.path).is_test
        imports = [row for rows in file.imports.values() for row in rows if row.name == target.name or row.alias == name]
        for use in uses:
            binding = self.binder.bind(name, use, file)
            if binding.certainty == "elsewhere" or wanted not in map(entity, binding.symbols):
                continue
            is_import = any(row.line_start <= use.line <= row.line_end for row in imports)
            around = enclosing(file, use.line)
            functions = [row for row in around if row.kind in FUNCTION_LIKE or row.kind == "test"]
            yield FoundUse(
                file,
                use.line,
                "import" if is_import else role_of_use(use, target.kind),
                binding.certainty,
                functions[-1] if functions else around[-1] if around else None,
                is_test or any(row.kind == "test" for row in around),
            )


def once(uses: Sequence[FoundUse]) -> Iterator[FoundUse]:
    """Yields each line once for each role, with the most certain of its uses."""
    best: dict[tuple[int, int, str], FoundUse] = {}
    for use in uses:
        key = (use.file.file_id, use.line, use.role)
        known = best.get(key)
        if known is None or CONFIDENCES.index(use.confidence) < CONFIDENCES.index(known.confidence):
            best[key] = use
    yield from best.values()


def role_of_use(use: Use, kind: str) -> ReferenceRole:
    """Returns the role of a use of a definition of this kind."""
    is_type = kind in _TYPE_KINDS
    match use.usage:
        case "call":
            return "construct" if is_type else "call"
        case "inherit":
            return "inherit"
        case "decorate":
            return "decorate"
        case "write" | "key":
            return "write" if not is_type else "type"
        case "read":
            return "type" if is_type else "read"


def find_references(
    snapshot: Snapshot,
    request: FindReferences,
    state: AnswerState,
    is_expired: Callable[[], bool] = no_deadline,
    options: QueryOptions = QueryOptions(),  # noqa: B008 (frozen)
) -> FindReferencesReply:
    """Returns the uses of a definition, product code before tests, by path and line; the counts include all of them.

    Raises SymbolNotFound or AmbiguousSymbol.
    """
    # Of many workspaces most do not define the symbol: none of them need look up similar names.
    has_time = (lambda: True) if options.is_for_merging else is_expired
    target = resolve_symbol(snapshot, request.symbol_name, request.path, has_time)
    found = Uses(snapshot, is_expired).of(target)
    definition = ReferenceDefinition(
        symbol_id=symbol_handle(snapshot, target),
        path=target.path,
        line_start=target.line_start,
        line_end=target.line_end,
        kind=target.kind,
        name=target.name,
        qualified_name=target.qualified_name,
        signature=target.signature,
    )
    imported = imported_symbol(snapshot, target) if options.is_for_merging else None
    return replace(references_reply(snapshot, request, state, definition, found), imported=imported)


def references_reply(
    snapshot: Snapshot, request: FindReferences, state: AnswerState, definition: ReferenceDefinition, found: FoundUses
) -> FindReferencesReply:
    """Returns the page of uses that the request asks for."""
    least = CONFIDENCES.index(request.confidence)
    wanted = [
        use
        for use in found.uses
        if CONFIDENCES.index(use.confidence) <= least
        and (request.role is None or use.role == request.role)
        and (request.include_tests or not use.is_test)
    ]
    page = wanted[request.offset : request.offset + request.limit]
    shown = tuple(_reference(snapshot, use, definition.name, has_text=request.detail_level == "line") for use in page)
    warnings = ("the time was up before all files were read; the counts cover only those that were",) * found.is_cut
    return FindReferencesReply(
        definition=definition,
        references=shown,
        counts=_counts(found),
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


def _counts(found: FoundUses) -> ReferenceCounts:
    by_confidence = Counter(use.confidence for use in found.uses)
    by_role = Counter(use.role for use in found.uses if use.confidence != "possible")
    return ReferenceCounts(
        exact=by_confidence["exact"],
        likely=by_confidence["likely"],
        possible=by_confidence["possible"],
        elsewhere=found.n_elsewhere,
        tests=sum(use.is_test for use in found.uses if use.confidence != "possible"),
        roles=dict(sorted(by_role.items())),
    )


def _reference(snapshot: Snapshot, use: FoundUse, name: str, *, has_text: bool) -> Reference:
    around = use.enclosing
    lines = lines_of(snapshot, use.file.file_id, use.line, use.line) if has_text else []
    text = lines[0] if lines else ""
    if len(text) > MAX_LINE_CHARACTERS:
        text = shortened(text, text.find(name))
    return Reference(
        path=use.file.path,
        line_start=use.line,
        line_end=use.line,
        role=use.role,
        confidence=use.confidence,
        enclosing=None
        if around is None
        else Enclosing(
            kind=around.kind,
            name=around.name,
            qualified_name=around.qualified_name,
            line_start=around.line_start,
            line_end=around.line_end,
        ),
        is_test=use.is_test,
        text=text,
    )

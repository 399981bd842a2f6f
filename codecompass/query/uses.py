"""Finds the uses of a definition: where it is used, with what confidence, and in which role.

Uses are found by name in the text index, then bound to definitions (`binding`); those bound elsewhere are only counted.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass.languages.lexical_rules import LEXICAL_RULES
from codecompass.languages.records import CLASS_LIKE, Use
from codecompass.protocol.requests import Confidence, ReferenceRole
from codecompass.query.binding import Binder
from codecompass.query.definitions import FileNames, code_around, entity, family_of
from codecompass.query.exported_names import other_names
from codecompass.query.options import no_deadline
from codecompass.query.regex_terms import regex_terms
from codecompass.scan.path_roles import PathReader
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot

CONFIDENCES: Final[tuple[Confidence, ...]] = ("exact", "likely", "possible")

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
        if not is_cut:
            for name, file, uses in self._renamed(target):
                names = self.binder.definitions.names_of(file.id, file.path, file.language)
                found += self._meant(target, name, uses, names, wanted)
        found.sort(key=lambda use: (use.is_test, use.file.path, use.line))
        return FoundUses(tuple(once(found)), n_elsewhere, is_cut)

    def _renamed(self, target: SymbolRow) -> Iterator[tuple[str, IndexedFile, tuple[Use, ...]]]:
        """Yields the uses of other names that may mean a definition, with the name and the file."""
        others = other_names(target, self._snapshot.facts, self.binder.definitions)
        by_name: dict[str, list[int]] = {}
        for file_id, names in others.by_file.items():
            for name in names - others.anywhere:
                by_name.setdefault(name, []).append(file_id)
        for name in sorted({*by_name, *others.anywhere}):
            for file, uses in self.named(name, target.language, by_name.get(name)):
                yield name, file, uses

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
        family = family_of(language)
        found = [
            (file, uses)
            for file, uses in self._snapshot.facts.uses(self._files_with(name) if among is None else among, name)
            if file.language in LEXICAL_RULES and LEXICAL_RULES[file.language].family == family
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
        names = {name, target.name}
        imports = [row for rows in file.imports.values() for row in rows if row.name in names or row.alias == name]
        for use in uses:
            binding = self.binder.bind(name, use, file)
            taken = [row for row in imports if row.line_start <= use.line <= row.line_end]
            if taken and wanted in (entity(symbol) for row in taken for symbol in self.binder.definitions.taken_by(row, file)):
                around, is_in_test = code_around(file, use.line)
                yield FoundUse(file, use.line, "import", "exact", around, is_test or is_in_test)
                continue
            if binding.certainty == "elsewhere" or wanted not in map(entity, binding.symbols):
                continue
            around, is_in_test = code_around(file, use.line)
            role = "import" if taken else role_of_use(use, target.kind)
            yield FoundUse(file, use.line, role, binding.certainty, around, is_test or is_in_test)


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

"""Finds the uses of definitions: where they are used, with what confidence, and in which role.

Uses are found by name in the text index, then bound to definitions (`binding`). Those of the name that are bound to none of them
are kept with what they may mean.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages import described
from codecompass.languages.records import CLASS_LIKE, Use
from codecompass.languages.uses.lexical_rules import family_of
from codecompass.protocol.requests import Confidence, ReferenceRole
from codecompass.query.options import no_deadline
from codecompass.query.uses.binder import Binder
from codecompass.query.uses.call_arguments import CallArguments
from codecompass.query.uses.definitions import FileNames, code_around
from codecompass.query.uses.exported_names import other_names
from codecompass.query.uses.named_uses import NamedUses
from codecompass.query.uses.overloads import Overloads
from codecompass.query.uses.symbol_places import SymbolKey, SymbolPlaces, symbol_key
from codecompass.query.words.regex_terms import regex_terms
from codecompass.scan.path_roles import role_of
from codecompass.store.rows import IndexedFile, SymbolRow
from codecompass.store.snapshot import Snapshot

CONFIDENCES: Final[tuple[Confidence, ...]] = ("exact", "likely", "possible")

FILES_BETWEEN_CHECKS: Final = 20

_TYPE_KINDS: Final = CLASS_LIKE | {"type"}

_PASCAL_CASE: Final = lazy.pattern(r"[A-Z][a-z0-9]+")


class FoundUse(Struct, frozen=True):
    """A use of a definition."""

    file: FileNames
    line: int
    role: ReferenceRole
    confidence: Confidence
    enclosing: SymbolRow | None
    """The innermost function or test around the use, else the innermost type or module."""
    is_test: bool
    fits: tuple[int, ...] = (0,)
    """The positions of the symbols asked for that it may refer to."""


class OtherUse(Struct, frozen=True):
    """A use of the name that is bound to none of the symbols asked for, and what it is bound to, if to anything."""

    file: FileNames
    use: Use
    bound_to: tuple[SymbolRow, ...]


class FoundUses(Struct, frozen=True):
    """The uses of definitions: product code before tests, by path and line."""

    uses: tuple[FoundUse, ...]
    n_elsewhere: int
    """Uses of the name that refer to something else."""
    is_cut: bool
    """Whether the time was up before all files were read."""
    others: tuple[OtherUse, ...] = ()
    """The uses that refer to something else, by path."""

    def of(self, position: int) -> "FoundUses":
        """Returns the uses of the symbol at this position; those that fit several symbols are only possible."""
        uses = [
            use if len(use.fits) == 1 or use.confidence == "possible" else replace(use, confidence="possible")
            for use in self.uses
            if position in use.fits
        ]
        return replace(self, uses=tuple(uses))


class Uses:
    """Finds uses for one question, which may need those of several definitions."""

    def __init__(self, snapshot: Snapshot, is_expired: Callable[[], bool] = no_deadline) -> None:
        self.binder: Final = Binder(snapshot.facts)
        self.of_names: Final = NamedUses(snapshot)
        self._arguments = CallArguments(snapshot.text)
        self._snapshot = snapshot
        self._is_expired = is_expired

    def of(self, target: SymbolRow) -> FoundUses:
        """Returns the uses of a definition, including those under an alias."""
        return self.of_symbols([SymbolPlaces((target,))])

    def of_symbols(self, symbols: Sequence[SymbolPlaces]) -> FoundUses:
        """Returns the uses of each of the symbols, including those under an alias."""
        if self._is_expired():
            return FoundUses((), 0, is_cut=True)
        found: list[FoundUse] = []
        others: list[OtherUse] = []
        is_cut = False
        asked = _Asked(symbols, self.binder.overloads)
        for name, language in asked.names:
            for number, (file, uses) in enumerate(self.named(name, language)):
                if number and not number % FILES_BETWEEN_CHECKS and self._is_expired():
                    is_cut = True
                    break
                names = self.binder.definitions.names_of(file.id, file.path, file.language)
                found += self._meant(asked, name, name, uses, names, others)
                for alias in self._aliases(name, names):
                    found += self._meant(asked, name, alias, self.of_names.of(file.id, file.language, alias), names, None)
        for target in () if is_cut else asked.leading:
            for local, file, uses in self._renamed(target):
                names = self.binder.definitions.names_of(file.id, file.path, file.language)
                found += self._meant(asked, target.name, local, uses, names, None)
        found.sort(key=lambda use: (use.is_test, use.file.path, use.line))
        return FoundUses(tuple(once(found)), len(others), is_cut, tuple(others))

    def _renamed(self, target: SymbolRow) -> Iterator[tuple[str, IndexedFile, tuple[Use, ...]]]:
        """Yields the uses of other names that may mean a definition, with the name and the file."""
        others = other_names(target, self._snapshot.facts, self.binder)
        by_name: dict[str, list[int]] = {}
        for file_id, names in others.by_file.items():
            for name in names - others.anywhere:
                by_name.setdefault(name, []).append(file_id)
        for name in sorted({*by_name, *others.anywhere}):
            for file, uses in self.named(name, target.language, by_name.get(name)):
                yield name, file, uses

    def overloaded(self, rows: Sequence[SymbolRow], file: FileNames, name: str, number: int, use: Use) -> list[SymbolRow]:
        """Returns those of the definitions that a use of a name can mean by its arguments, if they are overloads. `number` is
        the place of the use, from 0, among those of the name in the file."""
        return self.binder.overloaded(rows, use, file, lambda: self._arguments.of(file, name, number))

    def is_test(self, row: SymbolRow) -> bool:
        """Whether a definition is part of the tests."""
        return row.kind == "test" or self.is_test_file(row.path)

    def is_test_file(self, path: str) -> bool:
        """Whether a file is part of the tests."""
        return role_of(path).is_test

    def named(
        self, name: str, language: str, among: Sequence[int] | None = None
    ) -> Iterator[tuple[IndexedFile, tuple[Use, ...]]]:
        """Yields the files of the language's family that use a name, with the uses, by path: all, or those `among` these ids."""
        return self.of_names.in_files(self._files_with(name, language) if among is None else among, name, family_of(language))

    def n_files(self, name: str) -> int:
        """Returns how many files may use a name: the cost of finding its uses."""
        return len(self._files_with(name))

    def _files_with(self, name: str, language: str = "") -> list[int]:
        plain = name.strip("$?!'@")
        pattern = rf"\b{re.escape(plain)}\b" if re.fullmatch(r"\w+", plain, re.ASCII) else ""
        words = _PASCAL_CASE.findall(plain)
        if len(words) > 1 and "".join(words) == plain and described(language).binding.containers_are_components:
            # In a template the component MyPanel may be written <my-panel>.
            pattern = rf"\b(?:{plain}|{'-'.join(words).lower()})\b"
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
        self, asked: "_Asked", name: str, local: str, uses: Sequence[Use], file: FileNames, others: list[OtherUse] | None
    ) -> Iterator[FoundUse]:
        """Yields the uses that may mean what is asked for; all else is added to `others`."""
        is_test = role_of(file.path).is_test
        imports = [row for rows in file.imports.values() for row in rows if row.name in (name, local) or row.alias == local]
        for number, use in enumerate(uses):
            is_called = use.usage == "call" and file.traits.binding.imports_are_calls
            taken = [row for row in imports if row.line_start <= use.line <= row.line_end and not is_called]
            imported = asked.met_by([symbol for row in taken for symbol in self.binder.modules.taken_by(row, file)])
            if imported:
                around, is_in_test = code_around(file, use.line)
                yield FoundUse(file, use.line, "import", "exact", around, is_test or is_in_test, imported)
                continue
            binding = self.binder.bind(local, use, file)
            meant = [] if binding.certainty == "elsewhere" else [row for row in binding.symbols if asked.met_by([row])]
            narrowed = self.overloaded(meant, file, local, number, use) if meant else []
            keys = {self.binder.overloads.key(row) for row in narrowed}
            fits = asked.met_by(narrowed) if keys & asked.overloads else ()
            if not fits:
                if others is not None:
                    others.append(OtherUse(file, use, binding.symbols if binding.certainty != "elsewhere" else ()))
                continue
            around, is_in_test = code_around(file, use.line)
            role = "import" if taken else role_of_use(use, asked.symbols[fits[0]].row.kind)
            confidence = binding.certainty
            if confidence == "exact" and not keys <= asked.overloads:
                confidence = "likely"  # another overload fits as well
            if confidence == "possible" and len(fits) > 1 and asked.are_all_met(binding.symbols):
                confidence = "likely"  # whichever it is, it was asked for
            assert confidence != "elsewhere"
            yield FoundUse(file, use.line, role, confidence, around, is_test or is_in_test, fits)


class _Asked:
    """The symbols whose uses are looked for, by their keys."""

    def __init__(self, symbols: Sequence[SymbolPlaces], overloads: Overloads) -> None:
        self.symbols: Final = symbols
        self.overloads: Final = frozenset(overloads.key(row) for each in symbols for row in each.meant or each.rows)
        """What tells the overloads asked for from others of the same name."""
        self.names: Final = tuple(
            {(row.name, family_of(row.language)): (row.name, row.language) for each in symbols for row in each.rows}.values()
        )
        """Each name once a family of languages, with one of its languages."""
        self.leading: Final = tuple(each.row for each in symbols)
        self._positions: dict[SymbolKey, int] = {key: position for position, each in enumerate(symbols) for key in each.keys}

    def met_by(self, rows: Sequence[SymbolRow]) -> tuple[int, ...]:
        """Returns the positions of the symbols that the rows are places of, in order."""
        met = {self._positions.get(symbol_key(row), -1) for row in rows}
        return tuple(sorted(met - {-1}))

    def are_all_met(self, rows: Sequence[SymbolRow]) -> bool:
        """Whether each row is a place of one of the symbols."""
        return all(symbol_key(row) in self._positions for row in rows)


def once(uses: Sequence[FoundUse]) -> Iterator[FoundUse]:
    """Yields each line once for each role and symbol, with the most certain of its uses."""
    best: dict[tuple[int, int, str, tuple[int, ...]], FoundUse] = {}
    for use in uses:
        key = (use.file.file_id, use.line, use.role, use.fits)
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

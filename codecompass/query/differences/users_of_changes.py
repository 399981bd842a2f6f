"""The users of definitions that differ, found in the index, which is of the working tree. For definitions that were removed or
renamed, the places that still name them.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from msgspec import Struct

from codecompass.languages.records import Use
from codecompass.languages.uses.lexical_rules import lexical_rules
from codecompass.protocol.requests import Confidence
from codecompass.query.differences.definition_changes import DefinitionChange
from codecompass.query.differences.file_versions import TreeDifference, VersionedDefinition
from codecompass.query.names.exact_names import is_prototype
from codecompass.query.uses.definitions import SEPARATORS, FileNames, code_around, last_part
from codecompass.query.uses.found_uses import Uses
from codecompass.scan.path_roles import role_of
from codecompass.store.rows import ImportRow, SymbolRow
from codecompass.store.snapshot import Snapshot

MAX_LINES: Final = 5
"""Lines of uses that are kept of one place."""


class UserOfChange(Struct, frozen=True, kw_only=True):
    """A place that uses a definition. `around` is the definition that contains it, None outside definitions."""

    path: str
    lines: tuple[int, ...]
    around: SymbolRow | None
    confidence: Confidence
    is_test: bool
    in_diff: bool


class ChangeUsers(Struct, frozen=True):
    """The places that use one definition, those outside the differences first."""

    row: SymbolRow | None = None
    users: tuple[UserOfChange, ...] = ()
    is_cut: bool = False
    """Whether the time was up before all were found."""


class UsersOfChanges:
    """Finds the users of changed definitions, for one question."""

    def __init__(self, snapshot: Snapshot, difference: TreeDifference, is_expired: Callable[[], bool]) -> None:
        self._snapshot = snapshot
        self._uses = Uses(snapshot, is_expired)
        self._is_expired = is_expired
        self._symbols: dict[str, list[SymbolRow]] = {}
        self._renamed = {file.change.old_path: file.change.path for file in difference.files if file.change.status == "renamed"}
        self._new_lines: dict[str, list[range]] = {
            file.change.path: [range(hunk.new, hunk.new + max(1, hunk.n_new)) for hunk in file.change.hunks]
            for file in difference.files
        }

    def row_of(self, definition: VersionedDefinition) -> SymbolRow | None:
        """Returns the index's row of a definition, None if it has none (any more)."""
        path = definition.path
        if path not in self._symbols:
            file = self._snapshot.facts.file(path)
            self._symbols[path] = [] if file is None else self._snapshot.facts.symbols_in_file(file.id)
        symbol = definition.symbol
        named = [row for row in self._symbols[path] if row.name == symbol.name and row.kind == symbol.kind]
        near = [row for row in named if row.qualified_name == symbol.qualified_name] or named
        return min(near, key=lambda row: abs(row.line_start - symbol.line_start), default=None)

    def of(self, change: DefinitionChange) -> ChangeUsers:
        """Returns the users of a definition, under its new name and its old one."""
        row = None if change.new is None else self.row_of(change.new)
        places = _Places(self)
        is_cut = False
        if row is not None:
            found = self._uses.of(row)
            is_cut = found.is_cut
            for use in found.uses:
                is_own = use.enclosing is not None and use.enclosing.id == row.id
                if use.confidence != "possible" and use.role != "import" and not is_own:
                    places.add(use.file.path, use.line, use.enclosing, use.confidence, is_test=use.is_test)
        has_old_name = change.old is not None and (
            change.new is None or change.change == "moved" or change.old.symbol.name != change.new.symbol.name
        )
        if has_old_name and change.old is not None and not self._is_expired():
            self._of_gone(change.old, places)
        return ChangeUsers(row, places.ordered(), is_cut or self._is_expired())

    def in_diff(self, path: str, lines: Iterable[int], around: SymbolRow | None) -> bool:
        """Whether a place itself differs: one of its lines, or of the definition that contains it."""
        ranges = self._new_lines.get(path, ())
        if around is not None:
            return any(each.start <= around.line_end and around.line_start < each.stop for each in ranges)
        return any(line in each for line in lines for each in ranges)

    def is_test(self, path: str) -> bool:
        """Whether a file is part of the tests."""
        return role_of(path).is_test

    def _of_gone(self, old: VersionedDefinition, places: "_Places") -> None:
        """Adds the places that still refer to a definition that no longer exists under this name in this file."""
        name = old.symbol.name
        if lexical_rules(old.language) is None:
            return
        for file, uses in self._uses.named(name, old.language):
            names = self._uses.binder.definitions.names_of(file.id, file.path, file.language)
            imports = [row for row in names.imports.get(name, ()) if _names_file(row, old, file.language)]
            for use in uses:
                confidence = self._confidence(name, use, names, old, imports)
                if confidence is not None:
                    around, is_in_test = code_around(names, use.line)
                    places.add(file.path, use.line, around, confidence, is_test=is_in_test or self.is_test(file.path))
            for row in imports:
                places.add(file.path, row.line_start, None, "exact", is_test=self.is_test(file.path))

    def _confidence(
        self, name: str, use: Use, names: FileNames, old: VersionedDefinition, imports: list[ImportRow]
    ) -> Confidence | None:
        """Returns how certain it is that a use refers to a removed definition, None if it does or may refer to another."""
        # A prototype that is left in a header defines nothing: the definition of its uses is gone.
        if use.usage == "key" or any(not is_prototype(row) for row in self._uses.binder.bind(name, use, names).symbols):
            return None
        is_member = bool(old.scope)
        if imports and not use.receiver:
            return "exact"
        if names.path in (old.path, self._renamed.get(old.path)) and (is_member == bool(use.receiver)):
            return "exact" if not is_member else "likely"
        if any(not is_prototype(row) for row in self._uses.binder.definitions.in_family(name, names)):
            return None
        if is_member != bool(use.receiver):
            # A module before a function: only if that module is, or contains, the file.
            return "likely" if not is_member and _is_in_module(use.receiver, name, old, names) else None
        needs_import = not is_member and old.symbol.kind != "macro" and names.traits.binding.files_share_no_names
        return None if needs_import and not names.everything_from else "likely"


class _Places:
    """Uses, grouped by the definition that contains them."""

    def __init__(self, owner: UsersOfChanges) -> None:
        self._owner = owner
        self._found: dict[tuple[str, int], tuple[SymbolRow | None, list[int], Confidence, bool]] = {}

    def add(self, path: str, line: int, around: SymbolRow | None, confidence: Confidence, *, is_test: bool) -> None:
        key = (path, 0 if around is None else around.id)
        known = self._found.get(key)
        if known is None:
            self._found[key] = (around, [line], confidence, is_test)
            return
        if line not in known[1]:
            known[1].append(line)
        if confidence == "exact":
            self._found[key] = (around, known[1], "exact", is_test)

    def ordered(self) -> tuple[UserOfChange, ...]:
        """Returns the places, those outside the differences first, product code before tests, by path and line."""
        return tuple(sorted(self._users(), key=lambda user: (user.in_diff, user.is_test, user.path, user.lines)))

    def _users(self) -> Iterator[UserOfChange]:
        for (path, _), (around, lines, confidence, is_test) in self._found.items():
            yield UserOfChange(
                path=path,
                lines=tuple(sorted(lines)[:MAX_LINES]),
                around=around,
                confidence=confidence,
                is_test=is_test,
                in_diff=self._owner.in_diff(path, lines, around),
            )


def _is_in_module(receiver: str, name: str, old: VersionedDefinition, names: FileNames) -> bool:
    """Whether what is written before a name is the module that contained a definition."""
    written = [part for part in SEPARATORS.split(receiver) if part]
    rows = names.imports.get(written[0], ()) if written else ()
    if any(row.target and old.path.startswith(_module_path(row.target)) for row in rows):
        return True
    is_of_module = names.traits.binding.files_share_no_names or names.traits.binding.writes_modules_in_full
    if not is_of_module or any(row.target for row in rows):
        return False
    # The module is gone with its file, so that no import leads to it: what is left is its name.
    relative = [part for part in written if part not in ("crate", *names.rules.own, *names.rules.above)]
    qualified = SEPARATORS.split(old.symbol.qualified_name)
    return bool(relative) and qualified[-len(relative) - 1 :] == [*relative, name]


def _module_path(target: str) -> str:
    """Returns the common start of the paths of a module's files."""
    directory, _, name = target.rpartition("/")
    return f"{directory}/" if name.partition(".")[0] in ("", "__init__", "index", "mod", "lib") else target


def _names_file(row: ImportRow, old: VersionedDefinition, language: str) -> bool:
    """Whether an import takes a name from the file that contained a definition: by its target, or by its text if it has none."""
    if row.name not in ("", old.symbol.name) and row.alias != old.symbol.name:
        return False
    if row.target:
        return row.target == old.path
    if row.spec == old.symbol.qualified_name:
        return True
    stem = old.path.rpartition("/")[2].partition(".")[0]
    directory = old.path.rpartition("/")[0].rpartition("/")[2]
    return last_part(row.spec, language) in (stem, directory if stem in ("__init__", "index", "mod", "lib") else stem)

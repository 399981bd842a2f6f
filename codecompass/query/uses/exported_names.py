"""The names under which a definition is known in other files: aliases of imports, defaults, chains of renamed re-exports.

    export default function load() {}      // a.ts
    export { default as fetch } from "./a" // index.ts: (index.ts, fetch)
    import { fetch as get } from "."       // use.ts: get

Import edges are followed backwards from the file of the definition, all importers of one step in a few reads. The result says
only where to look: each use is bound like any other one.
"""

from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from codecompass.languages import described
from codecompass.query.uses.binder import Binder
from codecompass.query.uses.definitions import is_member
from codecompass.query.uses.module_members import DEFAULT
from codecompass.store.facts import FactsReader
from codecompass.store.rows import ImportRow, SymbolRow

MAX_EXPORTS: Final = 20_000
"""Pairs of a file and a name that are followed."""


class OtherNames(Struct, frozen=True):
    """Names of a definition that differ from its own."""

    by_file: dict[int, frozenset[str]]
    """The names under which a file may use it, by the file's id."""
    anywhere: frozenset[str]
    """Names under which modules export it again: files may use them without importing them by name."""


NO_NAMES: Final = OtherNames({}, frozenset())


def other_names(target: SymbolRow, facts: FactsReader, binder: Binder) -> OtherNames:
    """Returns the other names of a definition; none for a member of a type, and in languages where only imports rename."""
    if not described(target.language).binding.exports_imports or is_member(target) or target.kind == "impl":
        return NO_NAMES
    names = binder.definitions.file_of(target)
    first = {target.name, *(exported for exported, own in names.exports.items() if target.name in own)}
    if any(row.id == target.id for row in binder.modules.default_of(target.path)):
        first.add(DEFAULT)
    return _Followed(target, facts).names((target.path, name) for name in first)


class _Followed:
    """Follows the imports of one definition."""

    def __init__(self, target: SymbolRow, facts: FactsReader) -> None:
        self._name = target.name
        self._facts = facts
        self._has_export_statements = described(target.language).binding.has_export_statements
        self._known: set[tuple[str, str]] = set()
        self._by_file: dict[int, set[str]] = {}

    def names(self, first: Iterable[tuple[str, str]]) -> OtherNames:
        pending = set(first)
        while pending and len(self._known) < MAX_EXPORTS:
            self._known |= pending
            found: set[tuple[str, str]] = set()
            by_path: dict[str, set[str]] = {}
            for path, name in pending:
                by_path.setdefault(path, set()).add(name)
            wanted = {name for names in by_path.values() for name in names}
            for row in self._facts.imports_from(by_path, wanted):
                for name in by_path[row.target]:
                    found.update(self._exported(row, name))
            if self._has_export_statements and found:
                local = {name for _, name in found}
                rows = self._facts.exports_in({path for path, _ in found}, local)
                found.update((row.path, row.alias) for row in rows if (row.path, row.name) in found)
            pending = found - self._known
        renamed = {(path, name) for path, name in self._known if name not in (self._name, DEFAULT)}
        imported = self._facts.imported_among({path for path, _ in renamed})
        return OtherNames(
            {file_id: frozenset(names) for file_id, names in self._by_file.items()},
            frozenset(name for path, name in renamed if path in imported),
        )

    def _exported(self, row: ImportRow, name: str) -> Iterable[tuple[str, str]]:
        """Yields the name that an import of a module makes of the module's `name`, and notes it."""
        if row.name == name:
            local = row.alias or name
            self._note(row, local)
            yield row.path, local
        elif row.name == "*" and not row.alias:
            if name != DEFAULT:
                yield row.path, name
        elif row.name in ("*", ""):
            self._note(row, name)
            if row.name == "" and name == DEFAULT and row.alias:
                # `const a = require('m')` takes what `module.exports = ..` exports.
                self._note(row, row.alias)
                yield row.path, row.alias

    def _note(self, row: ImportRow, name: str) -> None:
        if name != self._name:
            self._by_file.setdefault(row.file_id, set()).add(name)

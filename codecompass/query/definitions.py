"""The definitions of a snapshot by name, file, module and package, as code sees them. Each is read once per question."""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.languages.lexical_rules import LEXICAL_RULES, LexicalRules
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE
from codecompass.store.facts import FactsReader
from codecompass.store.rows import ImportRow, SymbolRow

MAX_NAMESAKES: Final = 2_000
MAX_MODULES: Final = 12
"""Longest chain of modules that only re-export a name."""

MANY_DIRECTORIES: Final = 3
"""Number of directories from which on all definitions of a name are read at once instead of directory by directory."""

MEMBER_KINDS: Final = frozenset({"method", "field"})
TYPE_KINDS: Final = CLASS_LIKE | {"type", "module"}

Certainty = Literal["exact", "likely", "possible", "elsewhere"]


class Binding(Struct, frozen=True):
    """The definitions that a use may refer to; `elsewhere` has none."""

    certainty: Certainty
    symbols: tuple[SymbolRow, ...] = ()


ELSEWHERE: Final = Binding("elsewhere")


class FileNames(Struct, frozen=True):
    """The names known in a file: its definitions and its imports, by their local names."""

    file_id: int
    path: str
    language: str
    symbols: tuple[SymbolRow, ...]
    """All its definitions, outer ones before those in them."""
    by_name: dict[str, list[SymbolRow]]
    """Its definitions by name, without `impl` blocks."""
    imports: dict[str, list[ImportRow]]
    """Its imports by local name."""
    everything_from: tuple[ImportRow, ...]
    """Its imports of all names of a module (`*`)."""

    @property
    def rules(self) -> LexicalRules:
        """The syntax of uses in the file's language."""
        return LEXICAL_RULES[self.language]

    @property
    def directory(self) -> str:
        """The directory of the file, '' for the root."""
        return self.path.rpartition("/")[0]


def family_of(language: str) -> str:
    """Returns the family of a language, '' for one whose uses are not read."""
    return LEXICAL_RULES[language].family if language in LEXICAL_RULES else ""


def is_member(symbol: SymbolRow) -> bool:
    """Whether a definition belongs to a type, so that it is used after a dot and not by its bare name."""
    return symbol.kind in MEMBER_KINDS or symbol.parent_kind in CLASS_LIKE


COMPONENT_LANGUAGES: Final = frozenset({"astro", "svelte", "vue"})
"""Languages in which a file is a component."""


def is_component(symbol: SymbolRow) -> bool:
    """Whether a definition is the component that its file is."""
    return symbol.language in COMPONENT_LANGUAGES and symbol.kind == "class" and symbol.parent_id is None


SEPARATORS: Final = re.compile(r"::|[.#/]")
_POINTER: Final = re.compile(r"[()*\s]")


def name_path(symbol: SymbolRow) -> tuple[str, ...]:
    """Returns the parts of the qualified name, the definition's own name last."""
    return tuple(part for part in SEPARATORS.split(_POINTER.sub("", symbol.qualified_name)) if part)


def owner_name(symbol: SymbolRow) -> str:
    """Returns the name of the type or module that a definition belongs to, '' if none."""
    qualified = symbol.qualified_name
    qualified = qualified.removesuffix(symbol.name)
    parts = [part for part in SEPARATORS.split(_POINTER.sub("", qualified)) if part]
    return parts[-1] if parts else ""


def enclosing(file: FileNames, line: int) -> list[SymbolRow]:
    """Returns the definitions around a line, outermost first."""
    return [row for row in file.symbols if row.line_start <= line <= row.line_end]


def code_around(file: FileNames, line: int) -> tuple[SymbolRow | None, bool]:
    """Returns the innermost function or test around a line, else the innermost definition that is no property or parameter; and
    whether a test is around it."""
    around = enclosing(file, line)
    functions = [row for row in around if row.kind in FUNCTION_LIKE or row.kind == "test"]
    others = [row for row in around if row.kind != "field"] or around
    inner = functions[-1] if functions else others[-1] if others else None
    return inner, any(row.kind == "test" for row in around)


def entity(row: SymbolRow) -> tuple[str, str]:
    """Returns a key that overloads, and a declaration and its definition, have in common."""
    qualified = _POINTER.sub("", row.qualified_name)
    return family_of(row.language) or row.language, qualified


def last_part(spec: str, language: str) -> str:
    """Returns the last name in the specification of an import, '' if none; in Go the one before a version."""
    parts = [part for part in SEPARATORS.split(spec.replace("\\", "/")) if part]
    if language == "go" and len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]):
        return parts[-2]
    return parts[-1] if parts else ""


def unique(rows: Iterable[SymbolRow]) -> list[SymbolRow]:
    """Returns the rows without duplicates, in their order."""
    return list({row.id: row for row in rows}.values())


def crate(path: str) -> str:
    """Returns the directory of the Rust crate that a file belongs to."""
    return path.partition("/src/")[0]


def is_whole_module(row: ImportRow) -> bool:
    """Whether an import is of a module and not of a name in it; in Rust both may be written alike."""
    return row.name in ("", "*") or row.target.endswith((f"/{row.name}.rs", f"/{row.name}/mod.rs"))


class Definitions:
    """Definitions read from a snapshot, cached for one question. Not thread-safe."""

    def __init__(self, facts: FactsReader) -> None:
        self._facts = facts
        self._in_modules: dict[tuple[str, str], list[SymbolRow]] = {}
        self._near: dict[str, dict[str, list[SymbolRow]]] = {}
        self._by_directory: dict[str, dict[str, list[SymbolRow]] | None] = {}
        """Definitions of a name by directory; None for a name that has too many."""
        self._named: dict[str, list[SymbolRow]] = {}
        self._files: dict[int, FileNames] = {}
        self._file_ids: dict[str, int | None] = {}

    def named(self, name: str) -> list[SymbolRow]:
        """Returns all definitions of exactly this name."""
        found = self._named.get(name)
        if found is None:
            found = [row for row in self._facts.symbols_named(name, MAX_NAMESAKES) if row.name == name and row.kind != "use"]
            self._named[name] = found
        return found

    def names_of(self, file_id: int, path: str, language: str) -> FileNames:
        """Returns the names known in a file."""
        known = self._files.get(file_id)
        if known is None:
            symbols = tuple(self._facts.symbols_in_file(file_id))
            by_name: dict[str, list[SymbolRow]] = {}
            for symbol in symbols:
                if symbol.kind != "impl":  # named after a type that may be defined elsewhere
                    by_name.setdefault(symbol.name, []).append(symbol)
            imports: dict[str, list[ImportRow]] = {}
            everything: list[ImportRow] = []
            for row in self._facts.imports_of(file_id):
                if row.name == "*" and not row.alias:
                    everything.append(row)
                    continue
                local = row.alias or (row.name if row.name not in ("", "default") else last_part(row.spec, language))
                imports.setdefault(local, []).append(row)
                if not row.name and not row.alias and language == "python":
                    imports.setdefault(row.spec.partition(".")[0], []).append(row)
            known = FileNames(file_id, path, language, symbols, by_name, imports, tuple(everything))
            self._files[file_id] = known
        return known

    def file_of(self, row: SymbolRow) -> FileNames:
        """Returns the names known in the file that contains a definition."""
        return self.names_of(row.file_id, row.path, row.language)

    def names_at(self, path: str) -> FileNames | None:
        """Returns the names known in the file at this path; None if it is not indexed or its language has no rules."""
        if path not in self._file_ids:
            file = self._facts.file(path)
            self._file_ids[path] = None if file is None or file.language not in LEXICAL_RULES else file.id
            if file is not None and file.language in LEXICAL_RULES:
                self.names_of(file.id, path, file.language)
        file_id = self._file_ids[path]
        return None if file_id is None else self._files[file_id]

    def in_family(self, name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions of a name that code in this file's language can refer to."""
        family = file.rules.family
        return [row for row in self.named(name) if family_of(row.language) == family]

    def default_of(self, target: str) -> list[SymbolRow]:
        """Returns what a module exports as its default."""
        names = self.names_at(target)
        if names is None:
            return []
        return [row for row in names.symbols if row.parent_id is None and "export default" in row.signature]

    def in_module(self, target: str, name: str, depth: int) -> list[SymbolRow]:
        """Returns the definitions of `name` in a file or directory, or in the modules that it re-exports the name from."""
        key = (target, name)
        known = self._in_modules.get(key)
        if known is None:
            self._in_modules[key] = []  # modules can import each other
            known = self._in_modules[key] = self._looked_up(target, name, depth)
        return known

    def _looked_up(self, target: str, name: str, depth: int) -> list[SymbolRow]:
        if target.endswith("/"):
            directory = target.rstrip("/")
            return [
                row
                for row in self.named(name)
                if row.path.rpartition("/")[0] == directory and row.parent_kind not in CLASS_LIKE and row.kind != "method"
            ]
        names = self.names_at(target)
        if names is None or depth > MAX_MODULES:
            return []
        if names.rules.family == "jvm":
            own = list(names.by_name.get(name, ()))
        else:
            own = [
                row for row in names.by_name.get(name, ()) if row.parent_kind not in CLASS_LIKE and row.kind not in MEMBER_KINDS
            ]
        if own:
            top = [row for row in own if row.parent_id is None]
            return top or own
        found: list[SymbolRow] = []
        for row in names.imports.get(name, ()):
            if row.target and row.target != target:
                found += self.in_module(row.target, row.name or name, depth + 1)
        if not found:
            for row in names.everything_from:
                if row.target and row.target != target:
                    found += self.in_module(row.target, name, depth + 1)
                    if found:
                        break
        return found

    def in_package(self, name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions that files of the same package see without an import."""
        family = file.rules.family
        if family not in _PACKAGES_ARE_DIRECTORIES:
            return []
        near = [row for row in self._beside(name, file) if family_of(row.language) == family]
        if family == "go":
            return [row for row in near if row.parent_id is None and row.kind != "method"]
        return [row for row in near if row.parent_kind not in CLASS_LIKE and (row.kind in TYPE_KINDS or not is_member(row))]

    def _beside(self, name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions of a name in the directory of a file."""
        near = self._near.setdefault(name, {})
        directory = file.directory
        if name not in self._by_directory and (name in self._named or len(near) >= MANY_DIRECTORIES):
            # Common names have thousands of definitions: unless many directories are queried, only those nearby are read.
            everything = self.named(name)
            self._by_directory[name] = _grouped(everything) if len(everything) < MAX_NAMESAKES else None
        everywhere = self._by_directory.get(name)
        if everywhere is not None:
            return everywhere.get(directory, [])
        if directory not in near:
            near[directory] = self._facts.symbols_named_in(name, directory)
        return near[directory]

    def by_path(self, path: Sequence[str], name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions of a name whose owner is the last name of `path`, or else those below that path."""
        last = path[-1] if path else ""
        family = self.in_family(name, file)
        return [row for row in family if owner_name(row) == last] or [row for row in family if _is_below(row, path)]

    def submodules(self, target: str, name: str) -> list[str]:
        """Returns the files of a submodule, found by imports or, in Rust, by location as well; macros hide many `mod x;`."""
        names = None if target.endswith("/") else self.names_at(target)
        if names is None:
            return []
        imported = [row.target for row in names.imports.get(name, ()) if row.target]
        if imported or names.language != "rust":
            return imported
        base = _directory_of_module(target)
        return [path for path in (f"{base}/{name}.rs", f"{base}/{name}/mod.rs") if self.names_at(path) is not None]

    def below_module(self, target: str, name: str) -> list[SymbolRow]:
        """Returns the definitions of a name in the modules below a Rust module, which often re-exports them."""
        if not target.endswith(".rs"):
            return []
        base = _directory_of_module(target) + "/"
        return [row for row in self.named(name) if row.path.startswith(base) and not is_member(row) and row.kind != "impl"]

    def paths_beside(self, file: FileNames) -> list[str]:
        """Returns the paths of the files in the same directory as a file."""
        return self._facts.paths_in(file.directory, MAX_NAMESAKES)


_PACKAGES_ARE_DIRECTORIES: Final = frozenset({"csharp", "go", "jvm", "swift"})
"""Families in which the files of a directory see each other's definitions."""

_OF_DIRECTORIES: Final = frozenset({"lib", "main", "mod"})
"""Rust files whose submodules are in the same directory."""


def _directory_of_module(path: str) -> str:
    """Returns the directory that contains the submodules of a Rust file."""
    directory, _, stem = path.removesuffix(".rs").rpartition("/")
    return directory if stem in _OF_DIRECTORIES else f"{directory}/{stem}"


_OWN_ROOTS: Final = frozenset({"crate", "self", "super"})


def _is_below(row: SymbolRow, path: Sequence[str]) -> bool:
    """Whether all names of a path are in a definition's own path, in order: modules re-export names of their submodules."""
    own = iter(part for part in SEPARATORS.split(row.qualified_name) if part)
    names = [name for name in path if name not in _OWN_ROOTS]
    return bool(names) and not is_member(row) and all(name in own for name in names)


def _grouped(rows: Iterable[SymbolRow]) -> dict[str, list[SymbolRow]]:
    by_directory: dict[str, list[SymbolRow]] = {}
    for row in rows:
        by_directory.setdefault(row.path.rpartition("/")[0], []).append(row)
    return by_directory

"""The definitions of a snapshot by name, file, module and package, as code sees them. Each is read once per question."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages import described
from codecompass.languages.detect import language_of
from codecompass.languages.records import CLASS_LIKE, DOCUMENT_KINDS, EXPORT, FUNCTION_LIKE
from codecompass.languages.uses.lexical_rules import LexicalRules, family_of, known_rules, lexical_rules
from codecompass.store.facts import FactsReader
from codecompass.store.rows import ImportRow, SymbolRow

if TYPE_CHECKING:
    from codecompass.languages.language import Language

MAX_NAMESAKES: Final = 2_000
KNOWN_NAMES: Final = 10_000
"""Qualified names whose parts are kept, some 200 bytes each: each use of a name is compared with all definitions of it."""

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
    """The names known to the code of one family in a file: its definitions and its imports, by their local names."""

    file_id: int
    path: str
    language: str
    """That of the code: of the file, or of regions in it."""
    symbols: tuple[SymbolRow, ...]
    """All its definitions, outer ones before those in them."""
    by_name: dict[str, list[SymbolRow]]
    """Its definitions by name, without `impl` blocks and titles of tests."""
    imports: dict[str, list[ImportRow]]
    """Its imports by local name."""
    everything_from: tuple[ImportRow, ...]
    """Its imports of all names of a module (`*`)."""
    exports: dict[str, list[str]]
    """The names of its own that it exports under another name, by that name."""
    others: tuple[SymbolRow, ...] = ()
    """The definitions in the file that are code of another family."""
    is_within: bool = False
    """Whether the code is in regions of a file of another family."""

    @property
    def rules(self) -> LexicalRules:
        """The syntax of uses in the file's language."""
        return known_rules(self.language)

    @property
    def traits(self) -> "Language":
        """The description of the file's language."""
        return described(self.language)

    @property
    def directory(self) -> str:
        """The directory of the file, '' for the root."""
        return self.path.rpartition("/")[0]


def is_member(symbol: SymbolRow) -> bool:
    """Whether a definition belongs to a type, so that it is used after a dot and not by its bare name."""
    return symbol.kind in MEMBER_KINDS or symbol.parent_kind in CLASS_LIKE


def is_title(symbol: SymbolRow) -> bool:
    """Whether the name of a test is a text (`describe('run', ..)`), so that no code refers to it: `run` is what it tests."""
    return symbol.kind == "test" and any(f"{quote}{symbol.name}" in symbol.signature for quote in "\"'`")


def is_component_file(language: str) -> bool:
    """Whether files of a language are components, because they hold code among other text."""
    described_as = described(language)
    regions = described_as.regions
    return regions is not None and regions.are_all and described_as.binding.containers_are_components


def is_component(symbol: SymbolRow) -> bool:
    """Whether a definition is the component that its file is."""
    return is_component_file(symbol.language) and symbol.kind == "class" and symbol.parent_id is None


SEPARATORS: Final = lazy.pattern(r"::|[.#/\\]")
_POINTER: Final = lazy.pattern(r"[()*\s]")


def name_path(symbol: SymbolRow) -> tuple[str, ...]:
    """Returns the parts of the qualified name, the definition's own name last."""
    return _parts(symbol.qualified_name)


@lru_cache(maxsize=KNOWN_NAMES)
def _parts(qualified: str) -> tuple[str, ...]:
    return tuple(part for part in SEPARATORS.split(_plain(qualified)) if part)


@lru_cache(maxsize=KNOWN_NAMES)
def _plain(qualified: str) -> str:
    return _POINTER.sub("", qualified)


def owner_name(symbol: SymbolRow) -> str:
    """Returns the name of the type or module that a definition belongs to, '' if none."""
    parts = _parts(symbol.qualified_name.removesuffix(symbol.name))
    return parts[-1] if parts else ""


def enclosing(file: FileNames, line: int) -> list[SymbolRow]:
    """Returns the definitions around a line, outermost first."""
    return [row for row in file.symbols if row.line_start <= line <= row.line_end]


def code_around(file: FileNames, line: int) -> tuple[SymbolRow | None, bool]:
    """Returns the innermost function or test around a line, else the innermost definition that is no field; and whether a test is
    around it. They may be in another language than the code in the line, as the function around a query is."""
    around = enclosing(file, line)
    if file.others:
        beside = [row for row in file.others if row.line_start <= line <= row.line_end and row.kind not in DOCUMENT_KINDS]
        around = sorted((*around, *beside), key=lambda row: (row.line_start, -row.line_end))
    functions = [row for row in around if row.kind in FUNCTION_LIKE or row.kind == "test"]
    others = [row for row in around if row.kind != "field"]
    inner = functions[-1] if functions else others[-1] if others else None
    return inner, any(row.kind == "test" for row in around)


def is_of_own_file(row: SymbolRow) -> bool:
    """Whether only the file of a top-level definition sees it (`static` of C)."""
    binding = described(row.language).binding
    is_own = binding.own_file_prefix != "" and row.signature.startswith(binding.own_file_prefix)
    return is_own and row.path.endswith(binding.own_file_endings)


def entity(row: SymbolRow) -> tuple[str, str]:
    """Returns a key that overloads, and a declaration and its definition, have in common."""
    return family_of(row.language) or row.language, _plain(row.qualified_name)


def last_part(spec: str, language: str) -> str:
    """Returns the last name in the specification of an import that is no version, '' if none."""
    parts = [part for part in SEPARATORS.split(spec.replace("\\", "/")) if part]
    if len(parts) > 1 and _VERSION.fullmatch(parts[-1]) and described(language).binding.ends_in_version:
        return parts[-2]
    return parts[-1] if parts else ""


_VERSION: Final = lazy.pattern(r"v\d+")


def imported_path(row: ImportRow) -> tuple[str, ...]:
    """Returns the parts of the full name that an import names."""
    written = row.spec if row.name in ("", "*", "_") else f"{row.spec}.{row.name}"
    parts = tuple(part for part in SEPARATORS.split(written.replace("\\", "/").replace("`", "")) if part)
    return parts[1:] if parts[:1] and parts[0] in _ROOT_NAMES else parts


def package_path(file: FileNames) -> tuple[str, ...]:
    """Returns the parts of the package or namespace that a file declares; empty if it declares none."""
    for row in file.symbols:
        if row.parent_id is None and row.kind != "impl":
            return name_path(row) if row.kind == "module" else name_path(row)[:-1]
    return ()


def is_top_level(row: SymbolRow) -> bool:
    """Whether a definition is in no other and is no method that is written outside its type."""
    return row.parent_id is None and row.kind != "method"


def _is_free(row: SymbolRow) -> bool:
    """Whether a definition is used by its bare name outside its type."""
    return row.parent_kind not in CLASS_LIKE and (row.kind in TYPE_KINDS or not is_member(row))


def _is_at(row: SymbolRow, target: str) -> bool:
    return row.path == target or (target.endswith("/") and row.path.rpartition("/")[0] == target.rstrip("/"))


def unique(rows: Iterable[SymbolRow]) -> list[SymbolRow]:
    """Returns the rows without duplicates, in their order."""
    return list({row.id: row for row in rows}.values())


def is_whole_module(row: ImportRow, file: FileNames) -> bool:
    """Whether an import in `file` is of a module and not of a name in it; paths of modules do not tell which."""
    paths = file.traits.binding.module_paths
    return row.name in ("", "*") or (paths is not None and paths.is_file_of(row.target, row.name))


class Definitions:
    """Definitions read from a snapshot, cached for one question. Not thread-safe."""

    def __init__(self, facts: FactsReader) -> None:
        self._facts = facts
        self._near: dict[str, dict[str, list[SymbolRow]]] = {}
        self._by_directory: dict[str, dict[str, list[SymbolRow]] | None] = {}
        """Definitions of a name by directory; None for a name that has too many."""
        self._named: dict[str, list[SymbolRow]] = {}
        self._in_family: dict[tuple[str, str], list[SymbolRow]] = {}
        self._owned: dict[str, dict[str | int, dict[int, SymbolRow]]] = {}
        self._full_names: dict[tuple[str, str], dict[tuple[str, ...], list[SymbolRow]]] = {}
        self._files: dict[tuple[int, str], FileNames] = {}
        """By id and family."""
        self._at_paths: dict[str, FileNames | None] = {}

    def named(self, name: str) -> list[SymbolRow]:
        """Returns all definitions of exactly this name that code can refer to."""
        found = self._named.get(name)
        if found is None:
            rows = self._facts.symbols_named(name, MAX_NAMESAKES)
            found = [row for row in rows if row.name == name and row.kind != "use" and not is_title(row)]
            self._named[name] = found
        return found

    def names_of(self, file_id: int, path: str, language: str) -> FileNames:
        """Returns the names known to code in a language in a file."""
        family = family_of(language)
        known = self._files.get((file_id, family))
        if known is None:
            rows = self._facts.symbols_in_file(file_id)
            symbols = tuple([row for row in rows if row.language == language or family_of(row.language) == family])
            others: tuple[SymbolRow, ...] = ()
            if len(symbols) < len(rows):
                others = tuple([row for row in rows if family_of(row.language) != family])
                around = {row.id for row in others}
                symbols = tuple([replace(row, parent_id=None) if row.parent_id in around else row for row in symbols])
            by_name: dict[str, list[SymbolRow]] = {}
            for symbol in symbols:
                if symbol.kind != "impl" and not is_title(symbol):  # named after what may be defined elsewhere
                    by_name.setdefault(symbol.name, []).append(symbol)
            imports: dict[str, list[ImportRow]] = {}
            everything: list[ImportRow] = []
            exports: dict[str, list[str]] = {}
            binds_first_part = described(language).binding.binds_first_part
            for row in self._facts.imports_of(file_id):
                if row.language != language and family_of(row.language) != family:
                    if row.kind == "include" and family_of(language_of(row.target, b"")) == family:
                        everything.append(row)  # a script that the page around this one loads
                    continue
                if row.kind == EXPORT:
                    exports.setdefault(row.alias, []).append(row.name)
                    continue
                if row.name == "*" and not row.alias:
                    everything.append(row)
                    continue
                local = row.alias or row.name or last_part(row.spec, language)
                imports.setdefault(local, []).append(row)
                if not row.name and not row.alias and binds_first_part:
                    imports.setdefault(row.spec.partition(".")[0], []).append(row)
            is_within = bool(rows) and family_of(rows[0].file_language) != family
            known = FileNames(file_id, path, language, symbols, by_name, imports, tuple(everything), exports, others, is_within)
            self._files[file_id, family] = known
        return known

    def file_of(self, row: SymbolRow) -> FileNames:
        """Returns the names known in the file that contains a definition."""
        return self.names_of(row.file_id, row.path, row.language)

    def names_at(self, path: str) -> FileNames | None:
        """Returns the names known in the file at this path; None if it is not indexed or its language has no rules."""
        if path not in self._at_paths:
            file = self._facts.file(path)
            is_read = file is not None and lexical_rules(file.language) is not None
            self._at_paths[path] = self.names_of(file.id, path, file.language) if file is not None and is_read else None
        return self._at_paths[path]

    def in_family(self, name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions of a name that code in this file's language can refer to."""
        family = file.rules.family
        found = self._in_family.get((name, family))
        if found is None:
            found = [row for row in self.named(name) if family_of(row.language) == family]
            self._in_family[name, family] = found
        return found

    def owned(self, name: str, type_: SymbolRow) -> list[SymbolRow]:
        """Returns the definitions of a name that are written in a type, or whose qualified name has that of the type before
        theirs, in the order of `named`: a type has no members but these."""
        by_owner = self._owned.get(name)
        if by_owner is None:
            by_owner = self._owned[name] = {}
            for number, row in enumerate(self.named(name)):
                by_owner.setdefault(owner_name(row), {})[number] = row
                if row.parent_id is not None:
                    by_owner.setdefault(row.parent_id, {})[number] = row
        found, inside = by_owner.get(type_.name, {}), by_owner.get(type_.id, {})
        if inside.keys() <= found.keys():
            return list(found.values())
        return [row for _, row in sorted((found | inside).items(), key=lambda each: each[0])]

    def declared_as(self, row: ImportRow, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions whose full name is what an import names, wherever their files are; in some languages that name
        may begin in a package around the file. Of namesakes those at the target of the import."""
        parts = imported_path(row)
        if not file.traits.binding.declares or not parts:
            return []
        named = self._by_full_name(parts[-1], file)
        found = named.get(parts, [])
        if not found and file.traits.binding.has_relative_names:
            around = package_path(file)
            found = [each for count in range(1, len(around) + 1) for each in named.get((*around[:count], *parts), ())]
        at_target = [each for each in found if row.target and _is_at(each, row.target)]
        return at_target or found

    def declared_in(self, row: ImportRow, name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions of a name directly in the package, module or type that an import of all names declares."""
        parts = imported_path(row)
        if not file.traits.binding.declares or not parts:
            return []
        return self._by_full_name(name, file).get((*parts, name), [])

    def in_package(self, name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions that files of the same package see without an import: those in the directory, then those of
        the package that the file declares."""
        family, binding = file.rules.family, file.traits.binding
        if not binding.directories_are_packages:
            return []
        near = [row for row in self._beside(name, file) if family_of(row.language) == family and not is_title(row)]
        if binding.only_top_level_is_bare:
            return [row for row in near if is_top_level(row)]
        near = [row for row in near if _is_free(row)]
        package = package_path(file) if binding.declares else ()
        if not package:
            return near
        if binding.sees_namespaces_around:
            same = [row for row in near if package[: len(name_path(row)) - 1] == name_path(row)[:-1]]
        else:
            same = [row for row in near if name_path(row)[:-1] == package]
        return same or [row for row in self._by_full_name(name, file).get((*package, name), ()) if _is_free(row)]

    def _by_full_name(self, name: str, file: FileNames) -> dict[tuple[str, ...], list[SymbolRow]]:
        """Returns the definitions of a name that code in this file's language can refer to, by the parts of their full names."""
        key = (name, file.rules.family)
        known = self._full_names.get(key)
        if known is None:
            known = self._full_names[key] = {}
            for row in self.in_family(name, file):
                if row.kind != "impl":
                    known.setdefault(name_path(row), []).append(row)
        return known

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
        paths = file.traits.binding.module_paths
        names = [each for each in path if paths is None or each not in paths.roots]
        return [row for row in family if owner_name(row) == last] or [row for row in family if _is_below(row, names)]

    def paths_in(self, directory: str) -> list[str]:
        """Returns the paths of the files in a directory, '' for the root."""
        return self._facts.paths_in(directory, MAX_NAMESAKES)


_ROOT_NAMES: Final = frozenset({"_root_", "global", "Elixir"})
"""First names in an import that only say that the name is a full one."""


def _is_below(row: SymbolRow, names: Sequence[str]) -> bool:
    """Whether all names of a path are in a definition's own path, in order: modules re-export names of their submodules."""
    own = iter(part for part in SEPARATORS.split(row.qualified_name) if part)
    return bool(names) and not is_member(row) and all(name in own for name in names)


def _grouped(rows: Iterable[SymbolRow]) -> dict[str, list[SymbolRow]]:
    by_directory: dict[str, list[SymbolRow]] = {}
    for row in rows:
        by_directory.setdefault(row.path.rpartition("/")[0], []).append(row)
    return by_directory

"""Which definitions a use of a name means: by scope, imports, membership and written types, over one snapshot.

    bind(use, file) -> Binding(certainty, symbols)

    exact      scope, an import or a written type leads to the definition
    likely     nothing leads there, but one definition fits
    possible   several fit
    elsewhere  it is a variable, or something outside of the repository

Overloads, and a declaration with its definition elsewhere, are one definition. A call on an interface belongs to the
interface's method, as a compiler has it.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final, Literal

from msgspec import Struct

from codecompass.languages.expressions import LITERAL, UNKNOWN, expression_of, parameters
from codecompass.languages.language import CLASS_LIKE, FUNCTION_LIKE
from codecompass.languages.lexis import LEXES, Lexis
from codecompass.languages.records import Use
from codecompass.languages.words import word_set
from codecompass.query.written_types import base_names, declared_type, type_names
from codecompass.store.facts import FactsReader
from codecompass.store.rows import ImportRow, SymbolRow

Certainty = Literal["exact", "likely", "possible", "elsewhere"]

MAX_NAMESAKES: Final = 2_000
MAX_DEPTH: Final = 12
"""Of supertypes, of modules that only pass a name on, and of types that are written as other types."""

MAX_TYPES: Final = 200
"""Supertypes of one type that are looked at."""

MEMBER_KINDS: Final = frozenset({"method", "field"})
TYPE_KINDS: Final = CLASS_LIKE | {"type", "module"}


class Binding(Struct, frozen=True):
    """The definitions that a use may mean. `elsewhere` has none."""

    certainty: Certainty
    symbols: tuple[SymbolRow, ...] = ()


ELSEWHERE: Final = Binding("elsewhere")


class Module(Struct, frozen=True):
    """A file, or a directory with `/` at its end, as what stands before a name."""

    target: str


class Outside(Struct, frozen=True):
    """Something that is not in the repository."""


OUTSIDE: Final = Outside()
Thing = SymbolRow | Module | Outside
"""What an expression can be: an instance or the class itself (a class-like symbol), a module, something else."""


class FileNames(Struct, frozen=True):
    """What a file knows: its definitions and its imports, by the names that they have in it."""

    file_id: int
    path: str
    language: str
    symbols: tuple[SymbolRow, ...]
    by_name: dict[str, list[SymbolRow]]
    imports: dict[str, list[ImportRow]]
    everything_from: tuple[ImportRow, ...]

    @property
    def lexis(self) -> Lexis:
        """The words of its language."""
        return LEXES[self.language]

    @property
    def directory(self) -> str:
        """The directory of the file, '' for the root."""
        return self.path.rpartition("/")[0]


def is_member(symbol: SymbolRow) -> bool:
    """Whether a definition belongs to a type: it is used after a dot, not by its name alone."""
    return symbol.kind in MEMBER_KINDS or symbol.parent_kind in CLASS_LIKE


_SEPARATORS: Final = re.compile(r"::|[.#/]")
_POINTER: Final = re.compile(r"[()*\s]")


def owner_name(symbol: SymbolRow) -> str:
    """Returns the name of the type or module that a definition belongs to, '' where it belongs to none."""
    qualified = symbol.qualified_name
    qualified = qualified.removesuffix(symbol.name)
    parts = [part for part in _SEPARATORS.split(_POINTER.sub("", qualified)) if part]
    return parts[-1] if parts else ""


class Binder:
    """Binds uses for one question: it remembers what it has read. Not thread-safe."""

    def __init__(self, facts: FactsReader) -> None:
        self._facts = facts
        self._depth = 0
        self._in_modules: dict[tuple[str, str], list[SymbolRow]] = {}
        self._near: dict[tuple[str, str], list[SymbolRow]] = {}
        self._named: dict[str, list[SymbolRow]] = {}
        self._files: dict[int, FileNames] = {}
        self._file_ids: dict[str, int | None] = {}
        self._supertypes: dict[int, tuple[tuple[Thing, ...]]] = {}
        self._types: dict[tuple[int, int, str], tuple[Thing, ...] | None] = {}
        self._bound: dict[tuple[int, int, str], Binding] = {}

    # what is read

    def named(self, name: str) -> list[SymbolRow]:
        """Returns all definitions of exactly this name."""
        found = self._named.get(name)
        if found is None:
            found = [row for row in self._facts.symbols_named(name, MAX_NAMESAKES) if row.name == name and row.kind != "use"]
            self._named[name] = found
        return found

    def names_of(self, file_id: int, path: str, language: str) -> FileNames:
        """Returns what a file knows."""
        known = self._files.get(file_id)
        if known is None:
            symbols = tuple(self._facts.symbols_in_file(file_id))
            by_name: dict[str, list[SymbolRow]] = {}
            for symbol in symbols:
                by_name.setdefault(symbol.name, []).append(symbol)
            imports: dict[str, list[ImportRow]] = {}
            everything: list[ImportRow] = []
            for row in self._facts.imports_of(file_id):
                if row.name == "*" and not row.alias:
                    everything.append(row)
                    continue
                local = row.alias or (row.name if row.name not in ("", "default") else _last(row.spec, language))
                imports.setdefault(local, []).append(row)
                if not row.name and not row.alias and language == "python":
                    imports.setdefault(row.spec.partition(".")[0], []).append(row)
            known = FileNames(file_id, path, language, symbols, by_name, imports, tuple(everything))
            self._files[file_id] = known
        return known

    def _names_at(self, path: str) -> FileNames | None:
        if path not in self._file_ids:
            file = self._facts.file(path)
            self._file_ids[path] = None if file is None or file.language not in LEXES else file.id
            if file is not None and file.language in LEXES:
                self.names_of(file.id, path, file.language)
        file_id = self._file_ids[path]
        return None if file_id is None else self._files[file_id]

    # binding

    def bind(self, name: str, use: Use, file: FileNames) -> Binding:
        """Returns what a use of `name` in `file` means."""
        enclosing = self.enclosing(file, use.line)
        key = (
            file.file_id,
            enclosing[-1].id if enclosing else 0,
            f"{use.receiver}\0{name}\0{use.usage if use.usage in ('key', 'inherit') else ''}",
        )
        known = self._bound.get(key)
        if known is None:
            if use.usage == "key":
                known = self._key(name, use, file, enclosing)
            elif use.usage == "inherit" and not use.receiver:
                # In the head of a type its members, a constructor among them, are not known.
                inside = [row for row in enclosing if row.line_start < use.line or row.kind == "module"]
                known = self._alone(name, file, [row for row in inside if row.kind != "impl"], are_types=True)
            elif use.receiver:
                known = self._member(name, use, file, enclosing)
            else:
                known = self._alone(name, file, enclosing)
            self._bound[key] = known
        return known

    def enclosing(self, file: FileNames, line: int) -> list[SymbolRow]:
        """Returns the definitions around a line, outermost first."""
        return [row for row in file.symbols if row.line_start <= line <= row.line_end]

    def _family(self, name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions of a name that code in this language can mean."""
        family = file.lexis.family
        return [row for row in self.named(name) if row.language in LEXES and LEXES[row.language].family == family]

    def _fitting(self, symbols: Sequence[SymbolRow], if_several: Certainty = "possible") -> Binding:
        if not symbols:
            return ELSEWHERE
        return Binding("likely" if len({entity(row) for row in symbols}) == 1 else if_several, tuple(symbols))

    def _alone(
        self, name: str, file: FileNames, enclosing: Sequence[SymbolRow], *, are_types: bool = False, is_receiver: bool = False
    ) -> Binding:
        """Binds a name with nothing before it: with `are_types` that of a type, with `is_receiver` what stands before another."""
        lexis = file.lexis
        own = [row for row in file.by_name.get(name, ()) if not are_types or row.kind in TYPE_KINDS]
        around = {row.id for row in enclosing}
        nested = [row for row in own if row.parent_id in around and row.parent_kind not in CLASS_LIKE]
        if nested:
            return Binding("exact", tuple(nested))
        if lexis.has_implicit_members:
            for type_ in reversed(self._types_around(file, enclosing)):
                members = [row for row in self._members(type_, name) if not are_types or row.kind in TYPE_KINDS]
                if members:
                    return Binding("exact", tuple(members))
        top = [row for row in own if not is_member(row) or row.kind in TYPE_KINDS]
        if file.language == "python":
            top = [row for row in top if row.parent_id is None or row.parent_kind in (None, "module")]
            if enclosing and enclosing[-1].kind in CLASS_LIKE:
                # What a class defines is known by its name alone in the body of the class, and not in its methods.
                top = [row for row in own if row.parent_id == enclosing[-1].id] or top
        if file.lexis.family == "go":
            top = [row for row in own if row.parent_id is None and row.kind != "method"]
        if top:
            return Binding("exact", tuple(top))
        imported = self._imported(name, file)
        if imported is not None:
            return imported
        near = [row for row in self._in_package(name, file) if not are_types or row.kind in TYPE_KINDS]
        if near:
            return Binding("exact", tuple(near))
        for row in file.everything_from:
            found = self._in_module(row.target, name, 0) if row.target else []
            if not found and lexis.family == "rust":
                found = [each for each in self._family(name, file) if owner_name(each) == _last(row.spec, file.language)]
            if found:
                return Binding("exact", tuple(found))
        if lexis.family in ("ecmascript", "python", "go") and all(row.target for row in file.everything_from):
            return ELSEWHERE
        if is_receiver and lexis.family in ("jvm", "csharp", "swift") and not name[:1].isupper():
            return ELSEWHERE  # a variable; only types are known everywhere
        family = [row for row in self._family(name, file) if not are_types or row.kind in TYPE_KINDS]
        free = [row for row in family if not is_member(row) or row.kind in TYPE_KINDS]
        if lexis.family == "rust":
            macros = [row for row in free if row.kind == "macro"]
            free = [row for row in macros if _crate(row.path) == _crate(file.path)] or macros or free * bool(file.everything_from)
        elif lexis.family == "c":
            # Constants of an enum are names of their scope.
            free += [row for row in family if row.kind == "const" and row.parent_kind in CLASS_LIKE]
            free = [row for row in free if not _is_hidden(row, file)]
        elif lexis.has_implicit_members:
            free = free or [row for row in family if is_member(row)]
        return self._fitting(free)

    def _imported(self, name: str, file: FileNames) -> Binding | None:
        rows = file.imports.get(name)
        if rows is None:
            return None
        found: list[SymbolRow] = []
        is_inside = is_module = False
        for row in rows:
            if row.name == "*":
                is_module = True
                continue
            if not row.target:
                if file.lexis.family == "rust" and row.name:
                    found += self._by_path(row.spec.split("::"), row.name, file)
                continue
            is_inside = True
            wanted = row.name if row.name not in ("", "default") else name
            found += self._in_module(row.target, wanted, 0)
            if not found and row.name == "default":
                found += self._default_of(row.target)
            if not found and file.lexis.family in ("jvm", "csharp", "rust", "php"):
                last = _last(row.spec, file.language) if not row.name else row.name
                found += [each for each in self._family(last, file) if not is_member(each) or each.kind in TYPE_KINDS]
        if found:
            return Binding("exact", tuple(_unique(found)))
        if is_inside:
            # The module makes the name in a way that no definition shows.
            return self._fitting([row for row in self._family(name, file) if not is_member(row)])
        return None if is_module and file.lexis.family == "rust" else ELSEWHERE

    def _default_of(self, target: str) -> list[SymbolRow]:
        names = self._names_at(target)
        if names is None:
            return []
        return [row for row in names.symbols if row.parent_id is None and "export default" in row.signature]

    def _in_module(self, target: str, name: str, depth: int) -> list[SymbolRow]:
        """Returns the definitions of `name` in a file or directory, or in those from which it passes names on."""
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
        names = self._names_at(target)
        if names is None or depth > MAX_DEPTH:
            return []
        if names.lexis.family == "jvm":
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
                found += self._in_module(row.target, row.name or name, depth + 1)
        if not found:
            for row in names.everything_from:
                if row.target and row.target != target:
                    found += self._in_module(row.target, name, depth + 1)
                    if found:
                        break
        return found

    def _named_near(self, name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions of a name in the file's directory, of its family."""
        key = (name, file.directory)
        if key not in self._near:
            if name in self._named:
                self._near[key] = [row for row in self._named[name] if row.path.rpartition("/")[0] == file.directory]
            else:
                # Common names have thousands of definitions: only those nearby are read.
                self._near[key] = self._facts.symbols_named_in(name, file.directory)
        family = file.lexis.family
        return [row for row in self._near[key] if row.language in LEXES and LEXES[row.language].family == family]

    def _in_package(self, name: str, file: FileNames) -> list[SymbolRow]:
        """Returns the definitions that files of the same package see without an import."""
        family = self._named_near(name, file) if file.lexis.family in ("go", "jvm", "csharp", "swift") else []
        match file.lexis.family:
            case "go":
                return [
                    row
                    for row in family
                    if row.path.rpartition("/")[0] == file.directory and row.parent_id is None and row.kind != "method"
                ]
            case "jvm" | "csharp" | "swift":
                types = [row for row in family if row.kind in TYPE_KINDS or not is_member(row)]
                return [
                    row for row in types if row.path.rpartition("/")[0] == file.directory and row.parent_kind not in CLASS_LIKE
                ]
        return []

    # members

    def _key(self, name: str, use: Use, file: FileNames, enclosing: Sequence[SymbolRow]) -> Binding:
        """Binds the name of a member in a literal, or of an argument."""
        things = self.things(use.receiver, file, enclosing) if use.receiver else None
        types = [thing for thing in things or () if isinstance(thing, SymbolRow)]
        members = [row for type_ in types for row in self._members(type_, name) if row.kind in ("field", "const", "var")]
        if members:
            return Binding("exact", tuple(_unique(members)))
        fields = tuple(row for row in self._family(name, file) if row.kind == "field")
        if not fields or (things is not None and not any(self._is_open(type_) for type_ in types)):
            return ELSEWHERE
        return Binding("possible", fields)

    def _types_around(self, file: FileNames, enclosing: Sequence[SymbolRow]) -> list[SymbolRow]:
        """Returns the types that enclose a line, outermost first; for a method outside of its type, that type."""
        types = [row for row in enclosing if row.kind in CLASS_LIKE]
        if not types and enclosing:
            for row in enclosing:
                if row.kind in FUNCTION_LIKE and row.parent_kind not in CLASS_LIKE:
                    owner = owner_name(row)
                    found = [each for each in self._family(owner, file) if each.kind in CLASS_LIKE] if owner else []
                    if found:
                        return [_nearest(found, file)]
        return types

    def _member(self, name: str, use: Use, file: FileNames, enclosing: Sequence[SymbolRow]) -> Binding:
        things = self.things(use.receiver, file, enclosing)
        if things is not None:
            found: list[SymbolRow] = []
            for thing in things:
                if isinstance(thing, Module):
                    found += self._in_module(thing.target, name, 0)
                elif isinstance(thing, SymbolRow):
                    found += self._members(thing, name)
            if found:
                return Binding("exact", tuple(_unique(found)))
            if all(isinstance(thing, Outside) for thing in things):
                if file.lexis.family != "rust" or use.receiver == LITERAL:
                    return ELSEWHERE
                # A trait of the repository can be implemented for types of others.
                added = [row for row in self._family(name, file) if row.parent_kind == "trait"]
                return self._fitting(added) if name not in _COMMON_MEMBERS else ELSEWHERE
            if all(isinstance(thing, SymbolRow) and not self._is_open(thing) for thing in things):
                return ELSEWHERE
        family = self._family(name, file)
        last = _LAST_NAME.search(use.receiver)
        if last is not None and "()" not in use.receiver[last.start() :]:
            by_owner = [row for row in family if owner_name(row) == last[0] and last[0] != "self"]
            if by_owner and (last[0][:1].isupper() or file.lexis.family in ("rust", "c")):
                return Binding("exact", tuple(by_owner))
        members = [row for row in family if is_member(row)]
        if use.receiver == LITERAL:
            return ELSEWHERE
        if use.usage == "call" and use.arity >= 0:
            members = [row for row in members if _takes(row, use.arity, file.lexis)]
        elif use.usage == "write":
            members = [row for row in members if row.kind not in FUNCTION_LIKE] or members
        binding = self._fitting(members)
        if binding.certainty == "likely" and name in _COMMON_MEMBERS:
            return Binding("possible", binding.symbols)
        return binding

    def _members(self, type_: SymbolRow, name: str, depth: int = 0, seen: set[int] | None = None) -> list[SymbolRow]:
        """Returns the members of a type with this name, its own or those that it inherits."""
        seen = set() if seen is None else seen
        if type_.id in seen or depth > MAX_DEPTH:
            return []
        seen.add(type_.id)
        if LEXES[type_.language].family in _MEMBERS_INSIDE:
            inside = self.names_of(type_.file_id, type_.path, type_.language).by_name.get(name, ())
            own = [row for row in inside if row.parent_id == type_.id]
        else:
            own = [row for row in self.named(name) if self._belongs(row, type_)]
        if own:
            return own
        for thing in self.supertypes(type_):
            if isinstance(thing, SymbolRow):
                found = self._members(thing, name, depth + 1, seen)
                if found:
                    return found
        return []

    def _belongs(self, row: SymbolRow, type_: SymbolRow) -> bool:
        if row.parent_id == type_.id:
            return True
        if row.language != type_.language and LEXES[row.language].family != LEXES[type_.language].family:
            return False
        if owner_name(row) != type_.name:
            return False
        family = LEXES[type_.language].family
        if family == "go":
            return row.path.rpartition("/")[0] == type_.path.rpartition("/")[0] and row.parent_id is None
        if family in ("rust", "c", "csharp", "swift", "ruby", "ecmascript"):
            if (
                family == "rust"
                and row.path != type_.path
                and len([each for each in self.named(type_.name) if each.kind in TYPE_KINDS and each.kind != "impl"]) > 1
            ):
                return row.qualified_name.rpartition("::")[0] == type_.qualified_name
            if family == "ecmascript":
                return (
                    row.path == type_.path
                    and row.parent_id is not None
                    and row.qualified_name.startswith(type_.qualified_name + ".")
                )
            return True
        return False

    def _is_open(self, type_: SymbolRow) -> bool:
        """Whether a type can have members that are not known: it inherits from something outside, or is no class."""
        seen: set[int] = set()
        pending = [type_]
        while pending and len(seen) < MAX_TYPES:
            current = pending.pop()
            if current.id in seen:
                continue
            seen.add(current.id)
            for thing in self.supertypes(current):
                if not isinstance(thing, SymbolRow):
                    return True
                pending.append(thing)
            if current.kind not in CLASS_LIKE:
                return True
        return bool(pending)

    def supertypes(self, type_: SymbolRow) -> tuple[Thing, ...]:
        """Returns what a type inherits from directly, as its head says it."""
        known = self._supertypes.get(type_.id)
        if known is not None:
            return known[0]
        self._supertypes[type_.id] = ((),)  # against cycles
        file = self.names_of(type_.file_id, type_.path, type_.language)
        names = base_names(type_)
        if LEXES[type_.language].family == "go":
            names = [row.name for row in file.symbols if row.parent_id == type_.id and _is_embedded(row)]
        things: list[Thing] = []
        for name in names:
            found = self._type(name, file, [])
            things += found or [OUTSIDE]
        if LEXES[type_.language].family == "rust" and type_.kind != "impl":
            for row in self.named(type_.name):
                if row.kind == "impl":
                    impl_file = self.names_of(row.file_id, row.path, row.language)
                    for name in base_names(row):
                        things += self._type(name, impl_file, []) or [OUTSIDE]
        self._supertypes[type_.id] = (tuple(things),)
        return tuple(things)

    def type_named(self, name: str, file: FileNames) -> list[Thing]:
        """Returns the type that a name means in a file."""
        found = self._type(name, file, [])
        if any(isinstance(thing, SymbolRow) for thing in found):
            return found
        # The head of an `impl` may name it by a path.
        named = [row for row in self._family(name, file) if row.kind in CLASS_LIKE and row.kind != "impl"]
        return list(named) if len(named) == 1 else []

    def method_names(self, type_: SymbolRow) -> frozenset[str]:
        """Returns the names of the methods that a type of Go has, those of what it embeds included."""
        names: set[str] = set()
        seen: set[int] = set()
        pending = [type_]
        while pending and len(seen) < MAX_TYPES:
            current = pending.pop()
            if current.id not in seen:
                seen.add(current.id)
                names |= self._own_method_names(current)
                pending += [thing for thing in self.supertypes(current) if isinstance(thing, SymbolRow)]
        return frozenset(names)

    def _own_method_names(self, type_: SymbolRow) -> set[str]:
        names: set[str] = set()
        file = self.names_of(type_.file_id, type_.path, type_.language)
        if type_.kind == "interface":
            names.update(row.name for row in file.symbols if row.parent_id == type_.id and row.kind == "method")
        else:
            for path in self._facts.paths_in(file.directory, MAX_NAMESAKES):
                near = self._names_at(path) if path.endswith(".go") else None
                if near is not None:
                    names.update(row.name for row in near.symbols if row.kind == "method" and owner_name(row) == type_.name)
        return names

    def types_of(self, member: SymbolRow) -> list[SymbolRow]:
        """Returns the type that a member belongs to, if it is known."""
        file = self.names_of(member.file_id, member.path, member.language)
        return self._types_around(file, self.enclosing(file, member.line_start))[-1:]

    # types

    def things(self, expression: str, file: FileNames, enclosing: Sequence[SymbolRow]) -> tuple[Thing, ...] | None:
        """Returns what a receiver is; None where nothing says it."""
        key = (file.file_id, enclosing[-1].id if enclosing else 0, expression)
        if key in self._types:
            return self._types[key]
        if self._depth >= MAX_DEPTH:
            return None  # variables that are set from variables that are set from variables
        self._types[key] = None  # against cycles
        self._depth += 1
        try:
            found = self._things(expression, file, enclosing)
        finally:
            self._depth -= 1
        self._types[key] = found
        return found

    def _things(self, expression: str, file: FileNames, enclosing: Sequence[SymbolRow]) -> tuple[Thing, ...] | None:
        steps = _STEP.findall(expression)
        if not steps or UNKNOWN in expression or "".join(steps) != expression:
            return None
        first, *rest = steps
        if first.endswith("()") and first != "()":
            first, rest = first[:-2], ["()", *rest]
        current: list[Thing]
        if first.startswith("<"):
            current = self._written(first[1:-1], file, enclosing)
        elif first == "self" or first in file.lexis.own:
            current = list(self._types_around(file, enclosing)[-1:])
        elif first == "super" or first in file.lexis.above:
            types = self._types_around(file, enclosing)
            if file.lexis.family == "rust":
                return None
            current = [thing for each in types[-1:] for thing in self.supertypes(each)]
            if rest[:1] == ["()"]:
                rest = rest[1:]
        elif first == LITERAL:
            return (OUTSIDE,)
        else:
            current, rest = self._first(first, rest, file, enclosing)
        for step in rest:
            if not current:
                return None
            current = self._stepped(current, step, file)
        return tuple(current) if current else None

    def _first(
        self, first: str, rest: list[str], file: FileNames, enclosing: Sequence[SymbolRow], *, is_type: bool = False
    ) -> tuple[list[Thing], list[str]]:
        for row in () if is_type else reversed(enclosing):
            # What a constructor keeps in a field is often one of its parameters.
            type_ = dict(parameters(row.signature, row.name, file.lexis)).get(first) if row.kind in FUNCTION_LIKE else None
            if type_ is not None:
                return self._written(type_, file, enclosing), rest
        bound = self._alone(first, file, enclosing, is_receiver=True) if first not in _ROOTS else ELSEWHERE
        symbols = list(bound.symbols) if bound.certainty in ("exact", "likely") else []
        modules: list[Thing] = [
            Module(row.target)
            for row in file.imports.get(first, ())
            if row.target and self._is_module_import(row, first, symbols)
        ]
        if modules and not symbols:
            return modules, rest
        if symbols:
            is_called = rest[:1] == ["()"]
            return self._of_symbols(symbols, is_called=is_called), rest[1:] if is_called else rest
        if first in file.imports and not any(row.target for row in file.imports[first]):
            return [OUTSIDE], []
        if file.lexis.family == "rust":
            if first in ("crate", "super", "self"):
                return [], rest
            modules = [row for row in self._family(first, file) if row.kind == "module"]
            return modules, rest
        if file.lexis.family == "c":
            spaces: list[Thing] = [row for row in self._family(first, file) if row.kind == "module"]
            return spaces[:1], rest
        return [], rest

    def _is_module_import(self, row: ImportRow, local: str, symbols: Sequence[SymbolRow]) -> bool:
        if not row.name or row.name == "*":
            return True
        return not symbols

    def _of_symbols(self, symbols: Sequence[SymbolRow], *, is_called: bool) -> list[Thing]:
        """Returns what a name stands for that means these definitions, or what comes of calling it."""
        things: list[Thing] = []
        for row in symbols[:4]:
            if row.kind in CLASS_LIKE or row.kind == "module":
                things.append(row)
            elif row.kind == "type":
                things += self._written(declared_type(row), self.names_of(row.file_id, row.path, row.language), ())
            else:
                file = self.names_of(row.file_id, row.path, row.language)
                around = self.enclosing(file, row.line_start)
                written = declared_type(row)
                if row.kind in FUNCTION_LIKE and not is_called and row.language not in _WITH_PROPERTIES:
                    continue
                if written in ("Self", "this", "self", "typing.Self", "t.Self"):
                    things += self._types_around(file, around)[-1:]
                elif written.startswith("="):
                    expression = expression_of(written[1:], file.lexis)
                    if UNKNOWN not in expression:
                        things += self.things(expression, file, around[:-1]) or ()
                elif written:
                    things += self._written(written, file, around)
        return _unique_things(things)

    def _stepped(self, current: list[Thing], step: str, file: FileNames) -> list[Thing]:
        if step == "()":
            return current
        if step == "[]":
            return []
        name, is_called = (step[1:-2], True) if step.endswith("()") else (step[1:], False)
        things: list[Thing] = []
        for thing in current:
            if isinstance(thing, Outside):
                return [OUTSIDE]
            if isinstance(thing, Module):
                found = self._in_module(thing.target, name, 0)
                if not found:
                    inner = self._submodule(thing, name)
                    things += inner
                things += self._of_symbols(found, is_called=is_called)
            else:
                found = self._members(thing, name)
                if not found and thing.kind == "module":
                    found = [row for row in self.named(name) if owner_name(row) == thing.name]
                things += self._of_symbols(found, is_called=is_called)
        return _unique_things(things)

    def _submodule(self, module: Module, name: str) -> list[Thing]:
        if module.target.endswith("/"):
            return []
        names = self._names_at(module.target)
        if names is None:
            return []
        return [Module(row.target) for row in names.imports.get(name, ()) if row.target]

    def _written(self, type_: str, file: FileNames, enclosing: Sequence[SymbolRow]) -> list[Thing]:
        """Returns what a written type means: of `Optional[Session]` the Session."""
        things: list[Thing] = []
        if self._depth >= MAX_DEPTH:
            return things  # an alias of an alias of itself
        self._depth += 1
        try:
            for name in type_names(type_):
                if name in ("Self", "self", "this"):
                    things += self._types_around(file, enclosing)[-1:]
                    continue
                things += self._type(name, file, enclosing)
        finally:
            self._depth -= 1
        return _unique_things(things)

    def _type(self, name: str, file: FileNames, enclosing: Sequence[SymbolRow]) -> list[Thing]:
        """Returns the type of a name, which may be qualified; [OUTSIDE] for one that is not in the repository, [] if unknown."""
        parts = [part for part in _SEPARATORS.split(name) if part]
        if not parts:
            return []
        last = parts[-1]
        if len(parts) > 1:
            things, rest = self._first(parts[0], [f".{part}" for part in parts[1:]], file, enclosing, is_type=True)
            for step in rest:
                things = self._stepped(things, step, file) if things else []
            if things:
                return [thing for thing in things if not isinstance(thing, Module)]
            named = [row for row in self._family(last, file) if row.kind in CLASS_LIKE and owner_name(row) == parts[-2]]
            return list(named[:1])
        bound = self._alone(last, file, enclosing, are_types=True)
        if bound.certainty == "elsewhere":
            return [] if _is_type_parameter(last, enclosing) else [OUTSIDE]
        types: list[Thing] = []
        for row in bound.symbols:
            if row.kind in CLASS_LIKE:
                types.append(row)
            elif row.kind == "type":
                types.append(row)
                types += self._written(declared_type(row), self.names_of(row.file_id, row.path, row.language), ())
        if len(types) > 1 and bound.certainty == "possible":
            same = [each for each in types if isinstance(each, SymbolRow) and each.path == file.path]
            return list(same) or []
        return _unique_things(types)

    def _by_path(self, path: Sequence[str], name: str, file: FileNames) -> list[SymbolRow]:
        last = path[-1] if path else ""
        return [row for row in self._family(name, file) if owner_name(row) == last]


_MEMBERS_INSIDE: Final = frozenset({"python", "jvm"})
"""Families whose types have all their members between their first and last line."""

_STEP: Final = re.compile(r'<[^\0]*?>(?=\.|\(|\[|$)|""|\.?[^\W\d][\w$]*(?:\(\))?|\.?\$[\w$]*(?:\(\))?|\[\]|\(\)')
_LAST_NAME: Final = re.compile(r"[^\W\d]\w*$")
_ROOTS: Final = frozenset({"crate", "self", "super", "Self"})


def _takes(row: SymbolRow, arity: int, lexis: Lexis) -> bool:
    """Whether a function may be called with so many arguments, as far as its signature tells."""
    if row.kind not in FUNCTION_LIKE or lexis.family not in ("jvm", "go", "rust", "csharp"):
        return True
    if row.signature.endswith("…") or "..." in row.signature or "vararg" in row.signature:
        return True
    own = list(
        parameters(row.signature.partition(")")[2] if row.signature.startswith("func (") else row.signature, row.name, lexis)
    )
    n_own = len([name for name, _ in own if name != "self"])
    if lexis.family == "rust":
        return True
    return n_own == arity or (row.language == "kotlin" and arity <= n_own)


def entity(row: SymbolRow) -> tuple[str, str]:
    """Returns what overloads, and a declaration and its definition, have in common."""
    qualified = _POINTER.sub("", row.qualified_name)
    return LEXES[row.language].family if row.language in LEXES else row.language, qualified


def _is_hidden(row: SymbolRow, file: FileNames) -> bool:
    """Whether a definition of C can be seen in its own file only."""
    return row.path != file.path and row.signature.startswith("static ") and row.path.endswith((".c", ".cc", ".cpp", ".cxx"))


def _is_embedded(row: SymbolRow) -> bool:
    return row.kind == "field" and " " not in row.signature and row.signature.lstrip("*").rpartition(".")[2] == row.name


def _crate(path: str) -> str:
    return path.partition("/src/")[0]


def _is_type_parameter(name: str, enclosing: Sequence[SymbolRow]) -> bool:
    """Whether a type is a parameter of what encloses it: then it can be anything."""
    if len(name) == 1:
        return True
    pattern = re.compile(rf"[<\[][^()]*\b{re.escape(name)}\b")
    return any(pattern.search(row.signature.partition("(")[0]) for row in enclosing)


def _nearest(symbols: Sequence[SymbolRow], file: FileNames) -> SymbolRow:
    def distance(row: SymbolRow) -> tuple[bool, bool, bool]:
        return row.path != file.path, row.path.rpartition("/")[0] != file.directory, row.kind == "impl"

    return min(symbols, key=distance)


def _last(spec: str, language: str) -> str:
    parts = [part for part in _SEPARATORS.split(spec.replace("\\", "/")) if part]
    if language == "go" and len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]):
        return parts[-2]
    return parts[-1] if parts else ""


def _unique(rows: Iterable[SymbolRow]) -> list[SymbolRow]:
    return list({row.id: row for row in rows}.values())


def _unique_things(things: Iterable[Thing]) -> list[Thing]:
    kept: list[Thing] = []
    for thing in things:
        if thing not in kept:
            kept.append(thing)
    return kept


_COMMON_MEMBERS: Final = word_set(
    "append extend insert remove pop clear index count sort reverse copy get items keys values update setdefault add "
    "discard union join split strip replace format encode decode lower upper startswith endswith find read write close "
    "flush seek next send map filter reduce forEach push shift slice concat includes indexOf toString length size "
    "isEmpty equals hashCode put contains len iter clone into unwrap expect as_ref is_some is_none ok err and_then "
    "collect push_str Error String Close Read Write Len "
)
"""Members of the types that languages come with. One whose receiver is not known need not be the repository's."""

_WITH_PROPERTIES: Final = word_set("csharp javascript kotlin python ruby scala swift tsx typescript")
"""Languages in which a function can be used like a field."""

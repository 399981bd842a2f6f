"""Infers what expressions are: instances, classes, modules or something outside the repository, from written types.

Receivers have the form that `languages.expressions` gives them.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from codecompass import lazy
from codecompass.languages.module_paths import ModulePaths
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE
from codecompass.languages.uses.expressions import LITERAL, UNKNOWN, expression_of
from codecompass.languages.uses.parameters import parameters
from codecompass.languages.words import word_set
from codecompass.query.uses.declared_types import declared_type, has_type_parameter, numbered_fields, type_bound
from codecompass.query.uses.definitions import (
    ELSEWHERE,
    MEMBER_KINDS,
    SEPARATORS,
    Binding,
    Definitions,
    FileNames,
    enclosing,
    is_whole_module,
    name_path,
    owner_name,
)
from codecompass.query.uses.extension_functions import keyword_of_block
from codecompass.query.uses.module_members import Modules
from codecompass.query.uses.type_members import OUTSIDE, Module, Outside, Thing, TypeMembers
from codecompass.query.uses.type_notation import PRIMITIVES, element_type, item_types, only_argument, type_names
from codecompass.store.rows import SymbolRow

MAX_DEPTH: Final = 12
"""Depth of types that are written as other types, and of variables assigned from each other."""

MAX_MEANINGS: Final = 4
"""Definitions of one name whose types are followed."""


class BindUnqualified(Protocol):
    """Returns the definitions that an unqualified name refers to; none if that is not certain enough."""

    def __call__(
        self, name: str, file: FileNames, around: Sequence[SymbolRow], *, are_types: bool = False, is_receiver: bool = False
    ) -> Binding: ...


class ReceiverTypes:
    """Infers the types of expressions, for one question. Not thread-safe."""

    def __init__(self, definitions: Definitions, modules: Modules, unqualified: BindUnqualified) -> None:
        self._definitions = definitions
        self._modules = modules
        self._unqualified = unqualified
        self.members: Final = TypeMembers(definitions, self._type)
        self._depth = 0
        self._types: dict[tuple[int, int, str], tuple[Thing, ...] | None] = {}

    def things(self, expression: str, file: FileNames, around: Sequence[SymbolRow]) -> tuple[Thing, ...] | None:
        """Returns what a receiver is; None if nothing says it."""
        key = (file.file_id, around[-1].id if around else 0, expression)
        if key in self._types:
            return self._types[key]
        if self._depth >= MAX_DEPTH:
            return None  # a long chain of variables assigned from each other
        self._types[key] = None  # against cycles
        self._depth += 1
        try:
            found = self._things(expression, file, around)
        finally:
            self._depth -= 1
        self._types[key] = found
        return found

    def _things(self, expression: str, file: FileNames, around: Sequence[SymbolRow]) -> tuple[Thing, ...] | None:
        steps = _steps(expression)
        if not steps or expression.startswith(UNKNOWN) or "".join(steps) != expression:
            return None
        first, *rest = steps
        if first.endswith("()") and first != "()":
            first, rest = first[:-2], ["()", *rest]
        current: list[Thing]
        paths = file.traits.binding.module_paths
        if first.startswith("<"):
            current = self._written(first[1:-1], file, around)
        elif first == "self" or first in file.rules.own:
            current = list(self.members.around(file, around)[-1:])
            if not current and paths is not None:
                current, rest = self._root(paths, first, rest, file, around)
        elif first == "super" and paths is not None:
            current, rest = self._root(paths, first, rest, file, around)
        elif first == "super" or first in file.rules.above:
            types = self.members.around(file, around)
            current = [thing for each in types[-1:] for thing in self.members.supertypes(each)]
            if rest[:1] == ["()"]:
                rest = rest[1:]
        elif first[0] == '"' and first != LITERAL:
            current = self._required(first[1:-1], file)
        elif first == LITERAL:
            # What a method of a type without a name returns is unknown.
            return (OUTSIDE,) if rest[:1] != ["[]"] or "()" not in expression else None
        else:
            current, rest = self._first(first, rest, file, around)
        for step in rest:
            if not current:
                return None
            current = self._stepped(current, step, file)
        return tuple(current) if current else None

    def _required(self, module: str, file: FileNames) -> list[Thing]:
        """Returns the module that a file requires by this name."""
        rows = [row for rows in file.imports.values() for row in rows if row.spec == module]
        return [Module(row.target) for row in rows[:1] if row.target] or [OUTSIDE] * bool(rows)

    def _first(
        self, first: str, rest: list[str], file: FileNames, around: Sequence[SymbolRow], *, is_type: bool = False
    ) -> tuple[list[Thing], list[str]]:
        binding = file.traits.binding
        for row in () if is_type else reversed(around):
            # A constructor often assigns one of its parameters to a field.
            name = row.name if row.kind in FUNCTION_LIKE else keyword_of_block(row)
            type_ = dict(parameters(row.signature, name, file.rules)).get(first) if name else None
            if type_ is not None:
                return self._written(type_, file, around), rest
        if first in binding.foreign_namespaces:
            return [OUTSIDE], []  # what a repository adds to it are specializations
        if first[:1].isupper():
            for row in reversed(around):
                limit = type_bound(first, row)
                if limit:
                    return self._written(limit, file, around), rest
        bound = self._unqualified(first, file, around, is_receiver=True) if first not in _ROOTS else ELSEWHERE
        symbols = list(bound.symbols) if bound.certainty in ("exact", "likely") else []
        modules: list[Thing] = [
            Module(target)
            for row in file.imports.get(first, ())
            if (not symbols or is_whole_module(row, file)) and (target := self._modules.module_named(row, first, file))
        ]
        if modules and not symbols:
            return modules, rest
        if symbols:
            is_called = rest[:1] == ["()"]
            # Of a required module also the members that it exports beside its default.
            return self._of_symbols(symbols, is_called=is_called) + modules * (not is_called), rest[1:] if is_called else rest
        if bound.certainty == "elsewhere" and self._is_from_outside(first, rest, file, around):
            return [OUTSIDE], []
        if first in file.imports and not any(row.target for row in file.imports[first]):
            return [OUTSIDE], []
        paths = binding.module_paths
        if paths is not None and first in paths.roots:
            return self._root(paths, first, rest, file, around)
        root = self._modules.root_of_package(first, file)
        if root:
            return [Module(root)], rest
        if not binding.has_namespaces_before_names:
            return [], rest
        spaces: list[Thing] = [row for row in self._definitions.in_family(first, file) if row.kind == "module"]
        # Without paths all of one name are parts of one namespace.
        return (spaces if paths is not None else spaces[:1]), rest

    def _is_from_outside(self, first: str, rest: Sequence[str], file: FileNames, around: Sequence[SymbolRow]) -> bool:
        """Whether a name that nothing in view defines is built into the language, or can only be a type from outside."""
        if _is_type_parameter(first, around) or first in file.imports:
            return False
        if first in file.rules.namespace_roots:
            within = {step.strip(".()") for step in rest}
            return first in file.rules.built_in and not any(
                first in name_path(row)[:-1] for name in within for row in self._definitions.in_family(name, file)
            )
        if first in file.rules.built_in:
            return True
        if not first[:1].isupper() or first.isupper() or not file.traits.members.types_are_capitalised:
            return False
        steps = {step.strip(".():") for step in rest}
        if any(first in name_path(row)[:-1] for step in steps if step for row in self._definitions.in_family(step, file)):
            return False  # the root of a path to a module of the repository
        return not any(row.kind not in MEMBER_KINDS for row in self._definitions.in_family(first, file))

    def _root(
        self, paths: ModulePaths, first: str, rest: list[str], file: FileNames, around: Sequence[SymbolRow]
    ) -> tuple[list[Thing], list[str]]:
        """Returns the module at the beginning of a path, and the steps after it; none for an inline module of the same file."""
        names, steps = paths.steps(first, rest, sum(row.kind == "module" for row in around))
        target = self._modules.module_of_path(names, file)
        return [Module(target)] if target else [], steps

    def _of_symbols(self, symbols: Sequence[SymbolRow], *, is_called: bool) -> list[Thing]:
        """Returns what a name with these definitions stands for, or what calling it returns."""
        things: list[Thing] = []
        for row in symbols[:MAX_MEANINGS]:
            if row.kind in CLASS_LIKE or row.kind == "module":
                things.append(row)
            elif row.kind == "type":
                things += self._written(declared_type(row), self._definitions.file_of(row), ())
            else:
                file = self._definitions.file_of(row)
                around = enclosing(file, row.line_start)
                written = declared_type(row)
                if row.kind in FUNCTION_LIKE and not is_called and not file.traits.members.functions_are_properties:
                    continue
                if written in ("Self", "this", "self", "static", "typing.Self", "t.Self"):
                    things += self.members.around(file, around)[-1:]
                elif written.startswith("="):
                    expression = expression_of(written[1:], file.rules)
                    if not expression.startswith(UNKNOWN):
                        things += self.things(expression, file, around[:-1]) or ()
                elif written:
                    things += self._written(written, file, around)
        return list(dict.fromkeys(things))

    def _stepped(self, current: list[Thing], step: str, file: FileNames) -> list[Thing]:
        if step == "()":
            elements = [each for thing in current if isinstance(thing, Outside) for each in thing.elements]
            return elements if elements and file.traits.members.calls_take_elements else current
        if step.startswith("#"):
            return self._item(current, int(step[1:]))
        if step.endswith("{}"):
            return self._given_by(current, step[1:-2])
        if step == "[]":
            return [element for thing in current if isinstance(thing, Outside) for element in thing.elements]
        name, is_called = (step[1:-2], True) if step.endswith("()") else (step[1:], False)
        things: list[Thing] = []
        for thing in current:
            if isinstance(thing, Outside):
                if thing.elements and name in _OF_ELEMENTS:
                    return list(thing.elements)
                return [thing if name in _OF_SAME else OUTSIDE]
            if isinstance(thing, Module):
                found = self._modules.in_module(thing.target, name, 0)
                if all(row.kind == "module" for row in found):
                    inside = self._modules.submodules(thing.target, name)
                    things += map(Module, inside)
                    found = found if found or inside else self._modules.below_module(thing.target, name)
                things += self._of_symbols(found, is_called=is_called)
            else:
                found = self.members.named(thing, name)
                if not found and name in file.traits.members.unwrapping:
                    things.append(thing)
                found = found or self.members.extensions(name, file, [thing])
                if not found and thing.kind == "module":
                    found = [row for row in self._definitions.named(name) if owner_name(row) == thing.name]
                things += self._of_symbols(found, is_called=is_called)
        return list(dict.fromkeys(things))

    def _item(self, current: list[Thing], number: int) -> list[Thing]:
        """Returns the item of a tuple, the element of a collection, or the field with a number."""
        things: list[Thing] = []
        for thing in current:
            if isinstance(thing, Outside):
                things += (
                    thing.items[number] if number < len(thing.items) else thing.elements or ([] if thing.items else [OUTSIDE])
                )
            elif isinstance(thing, SymbolRow):
                fields = numbered_fields(thing)
                if number < len(fields):
                    things += self._written(fields[number], self._definitions.file_of(thing), (thing,))
        return list(dict.fromkeys(things))

    def _given_by(self, current: list[Thing], method: str) -> list[Thing]:
        """Returns what a method gives to the function that it is called with."""
        things: list[Thing] = []
        for thing in current:
            if isinstance(thing, Outside):
                things += thing.elements
            elif isinstance(thing, SymbolRow) and method in _OF_WRAPPERS and not self.members.named(thing, method):
                things.append(thing)
        return list(dict.fromkeys(things))

    def _written(self, type_: str, file: FileNames, around: Sequence[SymbolRow]) -> list[Thing]:
        """Returns what a written type stands for: the Session of `Optional[Session]`."""
        things: list[Thing] = []
        if self._depth >= MAX_DEPTH:
            return things  # an alias that leads back to itself
        self._depth += 1
        try:
            of_member = _MEMBER_TYPE.fullmatch(type_.strip())
            if of_member is not None:
                return self._stepped(self._written(of_member["type"], file, around), "." + of_member["name"], file)
            items = item_types(type_)
            if items:
                return [Outside((), tuple(tuple(self._written(item, file, around)) for item in items))]
            element = element_type(type_)
            if element:
                return [Outside(tuple(self._written(element, file, around)))]
            if _MODIFIED.sub("", type_.strip()) in PRIMITIVES:
                return [OUTSIDE]
            for name in type_names(type_):
                if name in ("Self", "self", "this"):
                    things += self.members.around(file, around)[-1:]
                    continue
                things += self._type(name, file, around)
            held = only_argument(type_) if things == [OUTSIDE] else ""
            if held:  # `ContextVar[Job]`, `ThreadLocal<Job>`
                return [Outside(tuple(thing for thing in self._written(held, file, around) if isinstance(thing, SymbolRow)))]
        finally:
            self._depth -= 1
        return list(dict.fromkeys(things))

    def _type(self, name: str, file: FileNames, around: Sequence[SymbolRow]) -> list[Thing]:
        """Returns the type of a possibly qualified name; [OUTSIDE] for one that is not in the repository, [] if unknown."""
        parts = [part for part in SEPARATORS.split(name) if part]
        if not parts:
            return []
        last = parts[-1]
        if len(parts) > 1:
            things, rest = self._first(parts[0], [f".{part}" for part in parts[1:]], file, around, is_type=True)
            for step in rest:
                things = self._stepped(things, step, file) if things else []
            if things:
                return [thing for thing in things if not isinstance(thing, Module)]
            named = [
                row for row in self._definitions.in_family(last, file) if row.kind in CLASS_LIKE and owner_name(row) == parts[-2]
            ]
            return list(named[:1])
        for row in reversed(around):
            bound_type = type_bound(last, row)
            if bound_type:
                return self._written(bound_type, file, around)
        bound = self._unqualified(last, file, around, are_types=True)
        if bound.certainty == "elsewhere":
            return [] if _is_type_parameter(last, around) else [OUTSIDE]
        types: list[Thing] = []
        for row in bound.symbols:
            if row.kind in CLASS_LIKE:
                types.append(row)
            elif row.kind == "type":
                types.append(row)
                types += self._written(declared_type(row), self._definitions.file_of(row), ())
        if len(types) > 1 and bound.certainty == "possible":
            same = [each for each in types if isinstance(each, SymbolRow) and each.path == file.path]
            return list(same) or []
        return list(dict.fromkeys(types))


_OF_ELEMENTS: Final = word_set(
    "get getOrDefault getOrNull getOrElse getOrPut at first firstOrNull last lastOrNull head front back peek poll pop popleft "
    "shift next nth find findLast findFirst First FirstOrDefault Last LastOrDefault Single SingleOrDefault ElementAt single "
    "singleOrNull min max remove setdefault get_mut first_mut last_mut pop_front pop_back back_mut front_mut getFirst getLast "
    "orElse orElseThrow getValue"
)
"""Members of collections that return an element."""

_OF_SAME: Final = word_set(
    "iter iter_mut into_iter values stream parallelStream filter Where OrderBy OrderByDescending sorted sort reversed reverse "
    "entries slice skip take limit distinct drain copy clone cloned copied unwrap expect rev as_ref as_mut ToList ToArray toList "
    "to_vec "
    "toArray collect lock read write borrow borrow_mut await"
)
"""Members of collections that return a collection of the same elements."""

_OF_WRAPPERS: Final = word_set("then map let also tap ifPresent filter and_then is_some_and inspect flatMap any forEach")
"""Methods of wrappers that give what is wrapped to a function; a written type stands for the wrapped one."""

_MODIFIED: Final = lazy.pattern(r"^(?:[&*]|mut\b|const\b|\s|'\w+\b)+|[?!&* ]+$")
_MEMBER_TYPE: Final = lazy.pattern(r"(?P<type>[\w$.]+(?:<.*>)?)\[[\"'](?P<name>[\w$]+)[\"']\]")
"""The type of a member of a type, as TypeScript writes it: `Props["store"]`."""

_STEP: Final = lazy.pattern(
    r'<[^\0]*?>(?=\.|\(|\[|#|$)|"[^"]*"|#\d+|\.[\w$]+\??\{\}|\.?[^\W\d][\w$]*(?:\(\))?|\.?\$[\w$]*(?:\(\))?|\[\]|\(\)'
)
_ROOTS: Final = frozenset({"crate", "self", "super", "Self"})


def _steps(expression: str) -> list[str]:
    """Returns the steps of an expression; a written type at its beginning is one, with all of its brackets."""
    depth = 0
    for index, character in enumerate(expression if expression.startswith("<") else ""):
        depth += (character == "<") - (character == ">" and expression[index - 1] not in "-=")
        if not depth:
            return [expression[: index + 1], *_STEP.findall(expression, index + 1)]
    return _STEP.findall(expression)


def _is_type_parameter(name: str, enclosing: Sequence[SymbolRow]) -> bool:
    """Whether a type is a parameter of an enclosing definition, so that it can be anything."""
    if len(name) == 1:
        return True
    return any(has_type_parameter(name, row) for row in enclosing)

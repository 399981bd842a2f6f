"""Resolves which definitions a use of a name refers to: by scope, imports, membership and written types, over one snapshot.

    bind(use, file) -> Binding(certainty, symbols)

    exact      scope, an import or a written type leads to the definition
    likely     nothing leads there, but exactly one definition fits
    possible   several definitions fit
    elsewhere  it is a variable, or defined outside the repository

Overloads count as one definition, and so do a declaration and its definition elsewhere. A call on an interface binds to the
interface's method, as in a compiler.
"""

from collections.abc import Callable, Sequence
from typing import Final

from codecompass import lazy
from codecompass.languages import described
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Use
from codecompass.languages.uses.expressions import UNKNOWN, VARIABLE
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.parameters import parameters
from codecompass.languages.words import word_set
from codecompass.query.uses.declared_types import declared_type
from codecompass.query.uses.definitions import (
    ELSEWHERE,
    MEMBER_KINDS,
    TYPE_KINDS,
    Binding,
    Definitions,
    FileNames,
    enclosing,
    entity,
    is_component,
    is_component_file,
    is_member,
    is_of_own_file,
    is_top_level,
    is_whole_module,
    last_part,
    name_path,
    owner_name,
    unique,
)
from codecompass.query.uses.extension_functions import extends_others, visible_extensions
from codecompass.query.uses.module_members import Modules
from codecompass.query.uses.namespaces import Namespaces, is_declared, may_be_seen, named_by
from codecompass.query.uses.overloads import Overloads
from codecompass.query.uses.receiver_types import ReceiverTypes
from codecompass.query.uses.type_members import Module, Outside
from codecompass.store.facts import FactsReader
from codecompass.store.rows import SymbolRow


class Binder:
    """Binds uses for one question and caches what it has read. Not thread-safe."""

    def __init__(self, facts: FactsReader) -> None:
        self.definitions: Final = Definitions(facts)
        self.modules: Final = Modules(self.definitions)
        self.types: Final = ReceiverTypes(self.definitions, self.modules, self._unqualified)
        self.members: Final = self.types.members
        self.overloads: Final = Overloads()
        self._namespaces: Final = Namespaces()
        self._bound: dict[tuple[int, int, str], Binding] = {}
        self._n_parameters: dict[int, int | None] = {}

    def bind(self, name: str, use: Use, file: FileNames) -> Binding:
        """Returns the definitions that a use of `name` in `file` refers to."""
        around = enclosing(file, use.line)
        # The number of arguments chooses among the members that an unknown receiver may have.
        distinguishes = use.usage if use.usage in ("key", "inherit") else str(use.arity) if use.receiver else ""
        key = (file.file_id, around[-1].id if around else 0, f"{use.receiver}\0{name}\0{distinguishes}")
        known = self._bound.get(key)
        if known is None:
            if use.usage == "key":
                known = self._key(name, use, file, around)
            elif use.usage == "inherit" and not use.receiver:
                # In the head of a type its members, including constructors, are not in scope.
                inside = [row for row in around if row.line_start < use.line or row.kind == "module"]
                known = self._unqualified(name, file, [row for row in inside if row.kind != "impl"], are_types=True)
            elif file.rules.words is not None:
                known = self._shell_word(name, use, file)
            elif use.receiver:
                known = self._member(name, use, file, around)
            else:
                known = self._unqualified(name, file, around)
            self._bound[key] = known
        return known

    def overloaded(self, rows: Sequence[SymbolRow], use: Use, file: FileNames, arguments: Callable[[], str]) -> list[SymbolRow]:
        """Returns those of the definitions that a use can mean by its arguments, if they are overloads. `arguments` returns what
        is known of them (see `languages.arguments`)."""
        if len(rows) < 2:
            return list(rows)
        around = enclosing(file, use.line)
        return self.overloads.fitting(rows, use, arguments, lambda expression: self._type_of(expression, file, around))

    def _type_of(self, expression: str, file: FileNames, around: Sequence[SymbolRow]) -> str:
        """Returns the written type of a variable or of what a function returns; '' if nothing says it for certain."""
        found = _LAST_STEP.match(expression)
        if found is None:
            return ""
        receiver, name = (found["receiver"] or "").removesuffix("."), found["name"]
        use = Use(around[-1].line_start if around else 1, "call" if found["call"] else "read", receiver)
        binding = self._member(name, use, file, around) if receiver else self._unqualified(name, file, around)
        if binding.certainty != "exact":
            return ""
        types = {
            ""
            if row.kind in TYPE_KINDS or (row.kind in FUNCTION_LIKE) != bool(found["call"])
            else owner_name(row) * (row.parent_kind == "enum") or declared_type(row)
            for row in binding.symbols
        }
        only = types.pop() if len(types) == 1 else ""
        return "" if only.startswith("=") else only

    def _fitting(self, symbols: Sequence[SymbolRow]) -> Binding:
        if not symbols:
            return ELSEWHERE
        return Binding("likely" if len({entity(row) for row in symbols}) == 1 else "possible", tuple(symbols))

    def _shell_word(self, name: str, use: Use, file: FileNames) -> Binding:
        """Binds a word of a shell script: a variable, a command, or an argument, which may name a function."""
        is_variable = use.receiver == VARIABLE
        rows = [row for row in self.definitions.in_family(name, file) if (row.kind in _SHELL_VARIABLES) == is_variable]
        own = [row for row in rows if row.file_id == file.file_id]
        if use.receiver == UNKNOWN:
            return Binding("likely" if _LIKE_A_FUNCTION.search(name) else "possible", tuple(own or rows)) if rows else ELSEWHERE
        if own:
            return Binding("exact", tuple(own))
        sourced = {row.target for imported in file.imports.values() for row in imported if row.target}
        if file.traits.binding.directories_are_packages:
            sourced.update(row.path for row in rows if row.path.rpartition("/")[0] == file.path.rpartition("/")[0])
        near = [row for row in rows if row.path in sourced]
        return Binding("exact", tuple(near)) if near else self._fitting(rows)

    def _unqualified(
        self, name: str, file: FileNames, around: Sequence[SymbolRow], *, are_types: bool = False, is_receiver: bool = False
    ) -> Binding:
        """Binds an unqualified name: only to types with `are_types`; with `is_receiver` it stands before another name."""
        rules, binding = file.rules, file.traits.binding
        own = [row for row in file.by_name.get(name, ()) if not are_types or row.kind in TYPE_KINDS]
        ids = {row.id for row in around}
        nested = [
            row for row in own if row.parent_id in ids and row.parent_kind not in CLASS_LIKE and not _is_set_on_an_object(row)
        ]
        if nested:
            return Binding("exact", tuple(nested))
        if rules.has_implicit_members:
            for type_ in reversed(self.members.around(file, around)):
                members = [row for row in self.members.named(type_, name) if not are_types or row.kind in TYPE_KINDS]
                if members:
                    return Binding("exact", tuple(members))
        top = [row for row in own if not is_member(row) or row.kind in TYPE_KINDS]
        if binding.hides_nested_names:
            top = [row for row in top if row.parent_id is None or row.parent_kind in (None, "module")]
            if around and around[-1].kind in CLASS_LIKE:
                # Names defined in a class are in scope in its body, but not in its methods.
                top = [row for row in own if row.parent_id == around[-1].id] or top
        if binding.writes_modules_in_full and name in rules.built_in:
            top = [row for row in top if row.parent_id is not None or row.qualified_name == name]
        if binding.only_top_level_is_bare:
            top = [row for row in own if is_top_level(row)]
        if top:
            return Binding("exact", tuple(top))
        imported = self._imported(name, file)
        if imported is not None:
            return imported
        if is_component_file(file.language):
            # The template of a component uses its methods without `this`. Components can be registered for all files.
            component = own or [row for row in self.definitions.in_family(name, file) if is_component(row)]
            if component:
                return Binding("exact", tuple(own)) if own else self._fitting(component)
        near = [row for row in self.definitions.in_package(name, file) if not are_types or row.kind in TYPE_KINDS]
        if is_declared(file):
            near = self._namespaces.visible(near, file) or self._namespaces.visible(
                [row for row in self.definitions.in_family(name, file) if not are_types or row.kind in TYPE_KINDS], file
            )
        if near:
            return Binding("exact", tuple(near))
        around_here = [row for row in self._in_namespaces(name, file, around) if not are_types or row.kind in TYPE_KINDS]
        if around_here:
            return Binding("exact", tuple(around_here))
        for row in file.everything_from:
            found = self.definitions.declared_in(row, name, file)
            if not found and row.target:
                found = self.modules.in_module(row.target, name, 0)
            if not found and binding.module_paths is not None:
                found = [
                    each
                    for each in self.definitions.in_family(name, file)
                    if owner_name(each) == last_part(row.spec, file.language)
                ]
            if found:
                return Binding("exact", tuple(found))
        if binding.has_no_other_names and not file.is_within and all(row.target for row in file.everything_from):
            return ELSEWHERE
        if is_receiver and binding.only_types_are_everywhere and not name[:1].isupper():
            return ELSEWHERE  # a variable
        family = [
            row
            for row in self.definitions.in_family(name, file)
            if (not are_types or row.kind in TYPE_KINDS) and may_be_seen(row, file)
        ]
        if name in rules.built_in and not any(row.qualified_name == name for row in family):
            return ELSEWHERE
        free = [row for row in family if not is_member(row) or row.kind in TYPE_KINDS]
        if binding.has_no_other_names and file.is_within:
            # The scripts of a page share one scope, with files that it may load through other templates, but with no modules.
            free = [row for row in free if not row.signature.startswith("export ")]
        if binding.macros_are_everywhere:
            free = _macros(free, file) or free * bool(file.everything_from)
        elif binding.constants_of_enums_are_bare:
            free += [row for row in family if row.kind == "const" and row.parent_kind in CLASS_LIKE]
            free = [row for row in free if row.path == file.path or not is_of_own_file(row)]
        elif rules.has_implicit_members:
            free = free or [row for row in family if is_member(row)]
        return self._fitting(free)

    def _in_namespaces(self, name: str, file: FileNames, around: Sequence[SymbolRow]) -> list[SymbolRow]:
        """Returns the definitions of a name in the innermost enclosing namespace that has any, in all files."""
        if not file.traits.binding.continues_namespaces:
            return []
        paths = {name_path(row) for row in around if row.kind in TYPE_KINDS}
        if not paths:
            # A namespace that is declared for a whole file is not a definition.
            paths = {name_path(row)[:-1] for row in file.symbols if row.parent_id is None}
        family = [row for row in self.definitions.in_family(name, file) if row.kind in TYPE_KINDS or not is_member(row)]
        for path in sorted(paths, key=len, reverse=True):
            found = [row for row in family if path and name_path(row)[:-1] == path]
            if found:
                return found
        return []

    def _imported(self, name: str, file: FileNames) -> Binding | None:
        rows = file.imports.get(name)
        if rows is None:
            return None
        paths = file.traits.binding.module_paths
        found: list[SymbolRow] = []
        is_inside = is_module = False
        for row in rows:
            declared = self.definitions.declared_as(row, file)
            if declared:
                found += declared
                continue
            if row.name == "*" or (row.name and is_whole_module(row, file)):
                is_module = True
                continue
            if not row.target:
                if paths is not None and row.spec.partition(paths.separator)[0] in paths.standard:
                    continue
                if paths is not None and row.name:
                    found += self.definitions.by_path(row.spec.split(paths.separator), row.name, file)
                elif is_declared(file):
                    last = row.name or last_part(row.spec, file.language)
                    found += named_by(self.definitions.in_family(last, file), row.spec, row.name)
                continue
            is_inside = True
            found += self.modules.imported_as(row, name)
            if not found and paths is not None:
                names = row.spec.split(paths.separator)
                module = self.modules.module_of_path(names, file)
                found += self.modules.in_module(module, row.name or name, 0) if module else []
                found = found or self.definitions.by_path(names, row.name or name, file)
            if not found and (paths is not None or is_declared(file)):
                last = last_part(row.spec, file.language) if not row.name else row.name
                family = self.definitions.in_family(last, file)
                found += named_by(family, row.spec, row.name) or [
                    each for each in family if not is_member(each) or each.kind in TYPE_KINDS
                ]
        if found:
            return Binding("exact", tuple(unique(found)))
        if any(row.target and row.name and self.modules.namespace(row.target, row.name) for row in rows):
            return ELSEWHERE  # a module as an object: `export * as name`
        if is_inside:
            # The module creates the name in a way that no definition shows.
            return self._fitting([row for row in self.definitions.in_family(name, file) if not is_member(row)])
        # A path may lead to a module and to a function of one name.
        return None if is_module and paths is not None else ELSEWHERE

    def _key(self, name: str, use: Use, file: FileNames, around: Sequence[SymbolRow]) -> Binding:
        """Binds the name of a member in a literal, or of a keyword argument."""
        things = self.types.things(use.receiver, file, around) if use.receiver else None
        types = [thing for thing in things or () if isinstance(thing, SymbolRow)]
        members = [row for type_ in types for row in self.members.named(type_, name) if row.kind in ("field", "const", "var")]
        if members:
            return Binding("exact", tuple(unique(members)))
        fields = tuple(row for row in self.definitions.in_family(name, file) if row.kind == "field")
        if not fields or (things is not None and not any(self.members.is_open(type_) for type_ in types)):
            return ELSEWHERE
        return Binding("possible", fields)

    def _member(self, name: str, use: Use, file: FileNames, around: Sequence[SymbolRow]) -> Binding:
        things = self.types.things(use.receiver, file, around)
        if things is not None:
            found: list[SymbolRow] = []
            for thing in things:
                if isinstance(thing, Module):
                    found += self.modules.in_module(thing.target, name, 0) or self.modules.below_module(thing.target, name)
                elif isinstance(thing, SymbolRow):
                    found += self.members.named(thing, name)
            if found:
                return Binding("exact", tuple(unique(found)))
            extensions = self.members.extensions(name, file, things)
            if extensions:
                return Binding("exact", tuple(extensions))
            if all(isinstance(thing, Outside) for thing in things):
                added = [row for row in self.definitions.in_family(name, file) if extends_others(row, file.rules)]
                return self._fitting(added) if name not in _COMMON_MEMBERS else ELSEWHERE
            if all(isinstance(thing, SymbolRow) and not self.members.is_open(thing) for thing in things):
                return ELSEWHERE
        family = self.definitions.in_family(name, file)
        last = _LAST_NAME.search(use.receiver)
        if last is not None and "()" not in use.receiver[last.start() :]:
            by_owner = [row for row in family if owner_name(row) == last[0] and last[0] != "self"]
            if by_owner and (last[0][:1].isupper() or file.traits.binding.has_namespaces_before_names):
                return Binding("exact", tuple(by_owner))
            if file.traits.binding.module_paths is not None and not by_owner:
                below = self.definitions.by_path(_NAMES.findall(use.receiver), name, file)
                if below:
                    return self._fitting(below)
        members = [row for row in family if is_member(row)]
        if things is None and file.traits.members.extensions is not None:
            members = [*members, *(row for row in visible_extensions(name, file, self.definitions) if not is_member(row))]
        if use.usage == "call" and use.arity >= 0:
            members = [row for row in members if self._takes(row, use.arity, file.rules)]
        elif use.usage == "write":
            members = [row for row in members if row.kind not in FUNCTION_LIKE] or members
        binding = self._fitting(members)
        if binding.certainty == "likely" and name in _COMMON_MEMBERS:
            return Binding("possible", binding.symbols)
        return binding

    def _takes(self, row: SymbolRow, arity: int, rules: LexicalRules) -> bool:
        """Whether a function may be called with this number of arguments, as far as its signature shows."""
        if rules.has_overloads:
            return self.overloads.takes(row, arity)
        if row.id not in self._n_parameters:
            self._n_parameters[row.id] = _n_parameters(row, rules)
        n_parameters = self._n_parameters[row.id]
        return n_parameters is None or n_parameters == arity


_SHELL_VARIABLES: Final = frozenset({"const", "var"})
_SET_ON_AN_OBJECT: Final = lazy.pattern(r"[\w$]+(?:\.[\w$]+)+ *=")
_LIKE_A_FUNCTION: Final = lazy.pattern(r"[-_:.]")
"""What a word of a shell script has that is hardly a word of a sentence."""

_NAMES: Final = lazy.pattern(r"[^\W\d]\w*")
_LAST_STEP: Final = lazy.pattern(r"(?P<receiver>.*\.)?(?P<name>[^\W\d]\w*)(?P<call>\(\))?\Z")
_LAST_NAME: Final = lazy.pattern(r"[^\W\d]\w*$")


def _n_parameters(row: SymbolRow, rules: LexicalRules) -> int | None:
    """Returns how many arguments a function takes; None if its signature does not say exactly."""
    calls = described(row.language).calls
    if row.kind not in FUNCTION_LIKE or not calls.arity_is_exact:
        return None
    if row.signature.endswith("…") or "..." in row.signature or "vararg" in row.signature:
        return None
    has_receiver = calls.receiver != "" and row.signature.startswith(calls.receiver)
    signature = row.signature.partition(")")[2] if has_receiver else row.signature
    return sum(1 for _ in parameters(signature, row.name, rules))


def _is_set_on_an_object(row: SymbolRow) -> bool:
    """Whether a definition is a member that a statement gives to an object (`runner.cancel = ..`), and so not in scope."""
    return row.kind in MEMBER_KINDS and _SET_ON_AN_OBJECT.match(row.signature) is not None


def _macros(rows: Sequence[SymbolRow], file: FileNames) -> list[SymbolRow]:
    """Returns the macros among the rows: those of the file's own package, else all."""
    macros = [row for row in rows if row.kind == "macro"]
    paths = file.traits.binding.module_paths
    own = "" if paths is None else paths.package_of(file.path)
    return [row for row in macros if paths is not None and paths.package_of(row.path) == own] or macros


_COMMON_MEMBERS: Final = word_set(
    "append extend insert remove pop clear index count sort reverse copy get items keys values update setdefault add "
    "discard union join split strip replace format encode decode lower upper startswith endswith find read write close "
    "flush seek next send map filter reduce forEach push shift slice concat includes indexOf toString length size "
    "isEmpty equals hashCode put contains len iter clone into unwrap expect as_ref is_some is_none ok err and_then "
    "collect push_str Error String Close Read Write Len "
)
"""Members of types built into languages. One with an unknown receiver need not be the repository's."""

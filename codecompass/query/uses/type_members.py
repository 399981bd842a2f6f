"""The members and supertypes of types, wherever they may be: inside, in other parts or blocks, inherited, in extensions."""

from collections.abc import Callable, Sequence
from typing import Final

from msgspec import Struct

from codecompass.languages import described
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE
from codecompass.languages.uses.lexical_rules import family_of
from codecompass.query.uses.declared_types import base_names, implementing_type, is_for_all_types
from codecompass.query.uses.definitions import TYPE_KINDS, Definitions, FileNames, enclosing, name_path, owner_name
from codecompass.query.uses.extension_functions import extended_type, of_type, visible_extensions
from codecompass.store.rows import SymbolRow

MAX_DEPTH: Final = 12
"""Depth of supertypes."""

MAX_SUPERTYPES: Final = 200
"""Supertypes of one type that are followed."""


class Module(Struct, frozen=True):
    """A file, or a directory with a trailing `/`, as the receiver of a name."""

    target: str


class Outside(Struct, frozen=True):
    """Something that is not in the repository."""

    elements: tuple["Thing", ...] = ()
    """What a collection holds."""
    items: tuple[tuple["Thing", ...], ...] = ()
    """What a tuple holds, by position."""


OUTSIDE: Final = Outside()
Thing = SymbolRow | Module | Outside
"""What an expression can be: an instance or the class itself (a class-like symbol), a module, something outside."""


TypeNamed = Callable[[str, FileNames, Sequence[SymbolRow]], list[Thing]]
"""Returns the type of a possibly qualified name in a file, inside of definitions; [OUTSIDE] for one that is not in the
repository, [] if it is unknown."""


class TypeMembers:
    """Knows the members and supertypes of types, for one question. Not thread-safe."""

    def __init__(self, definitions: Definitions, type_named: TypeNamed) -> None:
        self._definitions = definitions
        self._type_named = type_named
        self._supertypes: dict[int, tuple[Thing, ...]] = {}
        self._namesakes: dict[int, bool] = {}
        self._extensions: dict[tuple[int, str], list[SymbolRow]] = {}
        """By file and name: the extensions that are visible there."""

    def supertypes(self, type_: SymbolRow) -> tuple[Thing, ...]:
        """Returns the direct supertypes of a type, from its head."""
        known = self._supertypes.get(type_.id)
        if known is not None:
            return known
        self._supertypes[type_.id] = ()  # against cycles
        file = self._definitions.file_of(type_)
        names = base_names(type_)
        traits = described(type_.language).members
        if traits.fields_embed_types:
            names = [row.name for row in file.symbols if row.parent_id == type_.id and _is_embedded(row)]
        things: list[Thing] = []
        for name in names:
            found = self._type_named(name, file, [])
            things += found or [OUTSIDE]
        if traits.blocks_implement and type_.kind != "impl":
            for row in self._definitions.named(type_.name):
                if row.kind == "impl":
                    impl_file = self._definitions.file_of(row)
                    for name in base_names(row):
                        things += self._type_named(name, impl_file, []) or [OUTSIDE]
        found_all = self._supertypes[type_.id] = tuple(things)
        return found_all

    def named(self, type_: SymbolRow, name: str, depth: int = 0, seen: set[int] | None = None) -> list[SymbolRow]:
        """Returns the members of a type with this name, its own, else inherited ones."""
        seen = set() if seen is None else seen
        if type_.id in seen or depth > MAX_DEPTH:
            return []
        seen.add(type_.id)
        traits = described(type_.language).members
        if traits.place == "inside":
            inside = self._definitions.file_of(type_).by_name.get(name, ())
            own = [row for row in inside if row.parent_id == type_.id]
            if not own and traits.companions:
                symbols = self._definitions.file_of(type_).symbols
                companions = {
                    row.id for row in symbols if row.parent_id == type_.id and row.signature.startswith(traits.companions)
                }
                own = [row for row in inside if row.parent_id in companions]
        else:
            own = [row for row in self._definitions.owned(name, type_) if self._belongs(row, type_)]
        if own:
            return own
        for thing in self.supertypes(type_):
            if isinstance(thing, SymbolRow):
                found = self.named(thing, name, depth + 1, seen)
                if found:
                    return found
        return []

    def all_supertypes(self, type_: SymbolRow) -> list[SymbolRow]:
        """Returns the supertypes of a type that the repository defines, direct ones first; at most MAX_SUPERTYPES."""
        found: dict[int, SymbolRow] = {}
        pending = [type_]
        while pending and len(found) < MAX_SUPERTYPES:
            for thing in self.supertypes(pending.pop(0)):
                if isinstance(thing, SymbolRow) and thing.id not in found:
                    found[thing.id] = thing
                    pending.append(thing)
        return list(found.values())

    def extensions(self, name: str, file: FileNames, things: Sequence[Thing]) -> list[SymbolRow]:
        """Returns the visible functions that extend one of the types, or any type that is not the repository's."""
        if file.traits.members.extensions is None:
            return []
        visible = self._visible_extensions(name, file)
        if not visible:
            return []
        types = [thing for thing in things if isinstance(thing, SymbolRow)]
        if len(types) < len(things):
            # Of a type from outside the name is not known.
            own = {row.id for row in visible if self._is_of_repository(extended_type(row), file)}
            return [row for row in visible if row.id not in own] or of_type(visible, frozenset({row.name for row in types}))
        names = {row.name for row in types}
        for type_ in types:
            names.update(row.name for row in self.all_supertypes(type_))
        return of_type(visible, frozenset(names))

    def _visible_extensions(self, name: str, file: FileNames) -> list[SymbolRow]:
        key = (file.file_id, name)
        if key not in self._extensions:
            self._extensions[key] = visible_extensions(name, file, self._definitions)
        return self._extensions[key]

    def _is_of_repository(self, name: str, file: FileNames) -> bool:
        return any(row.kind != "impl" for row in self._definitions.in_family(name, file))

    def is_open(self, type_: SymbolRow) -> bool:
        """Whether a type can have unknown members: it inherits from something outside, or is not a class."""
        seen: set[int] = set()
        pending = [type_]
        while pending and len(seen) < MAX_SUPERTYPES:
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

    def around(self, file: FileNames, around: Sequence[SymbolRow]) -> list[SymbolRow]:
        """Returns the types that enclose a line, outermost first; for a method outside its type, that type."""
        types = [row for row in around if row.kind in CLASS_LIKE]
        if not types and around:
            for row in around:
                if row.kind in FUNCTION_LIKE and row.parent_kind not in CLASS_LIKE:
                    owner = owner_name(row)
                    found = (
                        [each for each in self._definitions.in_family(owner, file) if each.kind in CLASS_LIKE] if owner else []
                    )
                    if found:
                        return [_nearest(found, file)]
        return types

    def of_member(self, member: SymbolRow) -> list[SymbolRow]:
        """Returns the type that a member belongs to, if it is known."""
        file = self._definitions.file_of(member)
        return self.around(file, enclosing(file, member.line_start))[-1:]

    def implementing(self, impl: SymbolRow) -> SymbolRow | None:
        """Returns the type that an `impl` is for, None if it is not in the repository."""
        file = self._definitions.file_of(impl)
        is_written = described(impl.language).members.blocks_implement
        if is_written and is_for_all_types(impl):
            return None
        written = implementing_type(impl) if is_written else impl.name
        things = self._type_named(written, file, ())
        if things == [OUTSIDE]:
            return None
        found = [thing for thing in things if _is_type(thing)]
        # The type may be defined by a macro, or re-exported in ways that are not followed.
        named = [row for row in self._definitions.in_family(impl.name, file) if _is_type(row)]
        return next((thing for thing in found or named * (len(named) == 1) if isinstance(thing, SymbolRow)), None)

    def _belongs(self, row: SymbolRow, type_: SymbolRow) -> bool:
        if row.parent_id == type_.id:
            return True
        if row.language != type_.language and family_of(row.language) != family_of(type_.language):
            return False
        if owner_name(row) != type_.name:
            return False
        match described(type_.language).members.place:
            case "inside":
                return False
            case "directory":
                return row.path.rpartition("/")[0] == type_.path.rpartition("/")[0] and row.parent_id is None
            case "parts":
                return name_path(row)[:-1] == name_path(type_)
            case "file":
                below = type_.qualified_name + "."
                return row.path == type_.path and row.parent_id is not None and row.qualified_name.startswith(below)
            case "blocks":
                is_alone = row.path == type_.path or not self._has_namesakes(type_)
                return is_alone or row.qualified_name.rpartition("::")[0] == type_.qualified_name
            case "qualified":
                return not self._has_namesakes(type_) or name_path(row)[:-1] == name_path(type_)

    def _has_namesakes(self, type_: SymbolRow) -> bool:
        """Whether types of several qualified names have the name of this one; where members are in blocks, several types."""
        known = self._namesakes.get(type_.id)
        if known is None:
            family = family_of(type_.language)
            types = [
                each
                for each in self._definitions.named(type_.name)
                if each.kind in TYPE_KINDS and each.kind != "impl" and family_of(each.language) == family
            ]
            are_in_blocks = described(type_.language).members.place == "blocks"
            known = len(types if are_in_blocks else {name_path(each) for each in types}) > 1
            self._namesakes[type_.id] = known
        return known


def _is_embedded(row: SymbolRow) -> bool:
    return row.kind == "field" and " " not in row.signature and row.signature.lstrip("*").rpartition(".")[2] == row.name


def _is_type(thing: Thing) -> bool:
    return isinstance(thing, SymbolRow) and thing.kind in TYPE_KINDS and thing.kind not in ("impl", "trait")


def _nearest(symbols: Sequence[SymbolRow], file: FileNames) -> SymbolRow:
    def distance(row: SymbolRow) -> tuple[bool, bool, bool]:
        return row.path != file.path, row.path.rpartition("/")[0] != file.directory, row.kind == "impl"

    return min(symbols, key=distance)

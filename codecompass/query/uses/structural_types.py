"""Types that implement the interfaces whose methods they have, without naming them: which they are, and the methods by which."""

import posixpath
from typing import Final

from codecompass.languages import described
from codecompass.query.uses.binder import Binder
from codecompass.query.uses.declared_types import arity
from codecompass.query.uses.definitions import Definitions, owner_name
from codecompass.query.uses.type_members import MAX_SUPERTYPES
from codecompass.store.rows import SymbolRow

MAX_OVERRIDING: Final = 200
"""Methods of one name that are looked at for whether they override another."""

MAX_METHODS: Final = 200
"""Methods of an interface; the types that implement a larger one are not looked up."""


def has_structural_interfaces(row: SymbolRow) -> bool:
    """Whether types of a definition's language implement all interfaces whose methods they have."""
    return described(row.language).members.interfaces == "structural"


def interface_methods(binder: Binder, method: SymbolRow) -> list[SymbolRow]:
    """Returns the methods of interfaces that a method of a type implements."""
    owners = [type_ for type_ in binder.members.of_member(method) if type_.kind != "interface"]
    known = [_methods(binder, owner) for owner in owners]
    found = []
    for row in binder.definitions.named(method.name)[:MAX_OVERRIDING] if owners else ():
        interfaces = [type_ for type_ in binder.members.of_member(row) if type_.kind == "interface"]
        if any(len(wanted := _methods(binder, each)) > 0 and any(wanted <= own for own in known) for each in interfaces):
            found.append(row)
    return found


def with_the_methods_of(binder: Binder, interface: SymbolRow) -> list[SymbolRow]:
    """Returns the types that have all methods of an interface, their own or those of embedded types."""
    wanted = _methods(binder, interface)
    if not wanted or len({name for name, _ in wanted}) > MAX_METHODS:
        return []
    candidates: dict[tuple[str, str], SymbolRow] = {}
    # A type may have some of the methods from embedded types, so the owner of any one of them is a candidate.
    for method in (row for name in sorted({name for name, _ in wanted}) for row in binder.definitions.named(name)):
        if method.language != interface.language or method.kind != "method" or method.parent_id is not None:
            continue
        directory = method.path.rpartition("/")[0]
        for row in binder.definitions.named(owner_name(method)):
            is_type = row.language == interface.language and row.kind in ("struct", "type", "class")
            if is_type and row.path.rpartition("/")[0] == directory:
                candidates[directory, row.name] = row
    found = [row for row in candidates.values() if wanted <= _methods(binder, row)]
    return sorted(found, key=lambda row: (row.path, row.line_start, row.id))


Method = tuple[str, tuple[int, int]]
"""The name of a method, and how many parameters and results it has."""


def _methods(binder: Binder, type_: SymbolRow) -> frozenset[Method]:
    """Returns the methods of a type, including those of embedded types."""
    methods: set[Method] = set()
    seen: set[int] = set()
    pending = [type_]
    while pending and len(seen) < MAX_SUPERTYPES:
        current = pending.pop()
        if current.id not in seen:
            seen.add(current.id)
            methods |= {(row.name, arity(row)) for row in _own_methods(binder.definitions, current)}
            pending += [thing for thing in binder.members.supertypes(current) if isinstance(thing, SymbolRow)]
    return frozenset(methods)


def _own_methods(definitions: Definitions, type_: SymbolRow) -> list[SymbolRow]:
    file = definitions.file_of(type_)
    if type_.kind == "interface":
        return [row for row in file.symbols if row.parent_id == type_.id and row.kind == "method"]
    methods: list[SymbolRow] = []
    ending = posixpath.splitext(type_.path)[1]
    for path in definitions.paths_in(file.directory):
        near = definitions.names_at(path) if path.endswith(ending) else None
        if near is not None:
            methods += [row for row in near.symbols if row.kind == "method" and owner_name(row) == type_.name]
    return methods

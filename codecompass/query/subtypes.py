"""Direct subtypes of a type: found by the heads of types, and in Go, where interfaces are implemented implicitly, by the methods
that a type has."""

from typing import Final

from msgspec import Struct

from codecompass.languages.lexis import LEXES
from codecompass.protocol.requests import Confidence
from codecompass.query.binding import Binder
from codecompass.query.definitions import TYPE_KINDS, enclosing, entity, owner_name
from codecompass.query.references import Uses
from codecompass.store.rows import SymbolRow

MAX_METHODS: Final = 200


class Subtype(Struct, frozen=True):
    """A type that inherits from another."""

    type: SymbolRow
    confidence: Confidence


def direct_subtypes(uses: Uses, type_: SymbolRow) -> list[Subtype]:
    """Returns the types that inherit directly from `type_`, by path and line."""
    if type_.language in LEXES and LEXES[type_.language].family == "go" and type_.kind == "interface":
        return [Subtype(row, "exact") for row in _with_the_methods_of(uses.binder, type_)]
    found: dict[int, Subtype] = {}
    for names, heads in uses.heads(type_):
        for use in heads:
            binding = uses.binder.bind(type_.name, use, names)
            if binding.certainty == "elsewhere" or entity(type_) not in map(entity, binding.symbols):
                continue
            around = [row for row in enclosing(names, use.line) if row.kind in TYPE_KINDS]
            subtype = around[-1] if around else None
            if subtype is not None and subtype.kind == "impl":
                subtype = uses.binder.types.implementing(subtype)
            if subtype is not None and (subtype.id not in found or binding.certainty == "exact"):
                found[subtype.id] = Subtype(subtype, binding.certainty)
    return sorted(found.values(), key=lambda each: (each.type.path, each.type.line_start, each.type.id))


def _with_the_methods_of(binder: Binder, interface: SymbolRow) -> list[SymbolRow]:
    """Returns the Go types that have all methods of an interface, their own or those of embedded types."""
    wanted = binder.types.method_names(interface)
    if not wanted or len(wanted) > MAX_METHODS:
        return []
    candidates: dict[tuple[str, str], SymbolRow] = {}
    # A type may have some of the methods from embedded types, so the owner of any one of them is a candidate.
    for method in (row for name in sorted(wanted) for row in binder.definitions.named(name)):
        if method.language != "go" or method.kind != "method" or method.parent_id is not None:
            continue
        directory = method.path.rpartition("/")[0]
        for row in binder.definitions.named(owner_name(method)):
            if row.language == "go" and row.kind in ("struct", "type", "class") and row.path.rpartition("/")[0] == directory:
                candidates[directory, row.name] = row
    found = [row for row in candidates.values() if wanted <= binder.types.method_names(row)]
    return sorted(found, key=lambda row: (row.path, row.line_start, row.id))

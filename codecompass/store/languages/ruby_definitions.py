"""What a method or a type of Ruby is called in full, who may use it, and where its head ends."""

from collections.abc import Mapping
from typing import Final

from codecompass.store.languages.base import (
    Context,
    Definition,
    Node,
    head_without_comments,
)
from codecompass.store.languages.ruby_sections import (
    as_visibility,
    in_singleton,
    note_type,
    path_of,
    said_around,
    said_of,
)
from codecompass.store.records import SymbolKind

BUILDERS: Final[Mapping[str, SymbolKind]] = {
    "Struct.new": "struct",
    "Data.define": "struct",
    "Class.new": "class",
    "Module.new": "module",
}
"""Calls whose value, assigned to a constant, is a type."""


def define_method(
    name: str, kind: SymbolKind, node: Node, context: Context, bodies: tuple[Node, ...], signature: str
) -> Definition:
    """A method, an accessor or an alias: what is called with `#` or, in `class << self`, with a dot."""
    path = path_of(context)
    side = "self" if in_singleton(node, path, context) else ""
    word = said_around(node, context) or said_of(name, side, True, path, context)
    separator = "." if side or word == "module_function" else "#"
    return Definition(
        name=name,
        kind="fn" if kind == "method" and not path else kind,
        node=node,
        bodies=bodies,
        signature=signature,
        visibility=as_visibility(word),
        qualified_name=path + separator + name if path else name,
    )


def head_until(node: Node, context: Context, last_fields: tuple[str, ...]) -> str:
    """The source of `node` up to the end of the first of the fields that it has."""
    for field in last_fields:
        last = node.child_by_field_name(field)
        if last is not None:
            return head_without_comments(node, node.start_byte, last.end_byte, context)
    return ""


def bodies_of(node: Node | None) -> tuple[Node, ...]:
    """The body of a definition or block, if it has one."""
    body = None if node is None else node.child_by_field_name("body")
    return () if body is None else (body,)


def define_type(
    written: str, kind: SymbolKind, node: Node, context: Context, bodies: tuple[Node, ...], signature: str | None
) -> Definition:
    """A class, a module, a struct or a constant, under its full name."""
    outer = path_of(context)
    name = written.rsplit("::", 1)[-1]
    path = _resolved(written, outer)
    word = context.notes.get(("named", outer, "", name), "public")
    if kind != "const":
        note_type(path, len(context.scope_names) + 1, bodies, context)
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=bodies,
        signature=signature,
        visibility="private" if word == "private" else "public",
        qualified_name=path,
    )


def _resolved(written: str, outer: str) -> str:
    """The full path of a name as written: `Rack::Request` inside `module Rack` opens no `Rack::Rack`."""
    if written.startswith("::") or not outer:
        return written.removeprefix("::")
    around = outer.split("::")
    first, is_path, _ = written.partition("::")
    if is_path and first in around:
        around = around[: around.index(first)]
    return "::".join((*around, written))


def builder_of(value: Node | None, context: Context) -> SymbolKind | None:
    """What a call makes that is assigned to a constant, None for any other value."""
    if value is None or value.type != "call":
        return None
    receiver = context.field_text(value, "receiver").removeprefix("::")
    return BUILDERS.get(f"{receiver}.{context.field_text(value, 'method')}")


def until_block(node: Node, call: Node, context: Context) -> str:
    """The source of `node` up to the block of `call`, which stands in it."""
    block = call.child_by_field_name("block")
    end = node.end_byte if block is None else block.start_byte
    return head_without_comments(node, node.start_byte, end, context)


def struct_members(call: Node, context: Context) -> tuple[Node, ...]:
    """The arguments of `Struct.new(:x, :y)`, whose symbols are the fields of the type."""
    arguments = call.child_by_field_name("arguments")
    if builder_of(call, context) != "struct" or arguments is None:
        return ()
    context.notes["members",] = f"{arguments.start_byte} {arguments.end_byte}"
    return (arguments,)

"""Ruby scopes: which type a definition belongs to, on which side of it, its full name, and who may use it (`private` and its
like).
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from codecompass.languages.language import Context, Definition, Node, head_without_comments
from codecompass.languages.records import SymbolKind, Visibility

SECTIONS: Final[Mapping[str, str]] = {
    "private": "private",
    "protected": "protected",
    "public": "public",
    "module_function": "module_function",
    "private_class_method": "private",
    "public_class_method": "public",
    "private_constant": "private",
}
"""What changes the visibility of what follows it (without arguments) or of what it names."""

ON_THE_TYPE: Final = frozenset({"private_class_method", "public_class_method"})

NAMED_LATER: Final = (b"private", b"protected", b"public", b"module_function")
NAME: Final = re.compile(r"@{0,2}[^\W\d]\w*[?!=]?$|[-+*/%<>=!~^&|\[\]@]+$")


def path_of(context: Context) -> str:
    """The modules and classes that stand around, `A::B`; a definition inside a method belongs to the method's class."""
    depth = len(context.scope_kinds)
    while depth and context.scope_kinds[depth - 1] in ("fn", "method"):
        depth -= 1
    return context.notes.get(("path", depth), "") if depth else ""


def in_function(context: Context) -> bool:
    """Whether a method is what stands around, so that nothing here defines members."""
    return context.enclosing in ("fn", "method")


def in_singleton(node: Node, path: str, context: Context) -> bool:
    """Whether `node` stands in the `class << self` that was met last in the type at `path`."""
    end = context.notes.get(("singleton", path))
    return end is not None and node.start_byte < int(end)


def said_of(name: str, side: str, is_in_section: bool, path: str, context: Context) -> str:
    """Returns what is said of the name, else of its section; `side` is `self` for what belongs to the type itself."""
    word = context.notes.get(("named", path, side, name))
    if word is None and is_in_section and not in_function(context):
        word = context.notes.get(("section", path, side))
    return word or "public"


def as_visibility(word: str) -> Visibility:
    """Returns the visibility that a section's word gives: a `module_function` can be called from anywhere."""
    return "private" if word == "private" else "protected" if word == "protected" else "public"


def said_around(node: Node, context: Context) -> str:
    """The `private` of `private def x`, empty without one."""
    parent = node.parent if node.prev_named_sibling is None else None
    if parent is None or parent.type != "argument_list" or parent.parent is None:
        return ""
    return SECTIONS.get(context.field_text(parent.parent, "method"), "")


def note_type(path: str, depth: int, bodies: tuple[Node, ...], context: Context) -> None:
    """Writes down what the members need: the path, a fresh section, and who is named by a later `private :x`."""
    notes = context.notes
    notes["path", depth] = path
    notes["section", path, ""] = "public"
    notes.pop(("singleton", path), None)
    note_named(bodies, path, "", context)


def note_named(bodies: tuple[Node, ...], path: str, side: str, context: Context) -> None:
    """Writes down what `private :x` and its like, anywhere in the bodies, say of names."""
    for body in bodies:
        if not any(context.source.find(marker, body.start_byte, body.end_byte) >= 0 for marker in NAMED_LATER):
            continue
        for call in body.named_children:
            word = context.field_text(call, "method") if call.type == "call" else ""
            if word in SECTIONS and call.child_by_field_name("receiver") is None:
                for name in literal_names(call, context):
                    context.notes["named", path, "self" if word in ON_THE_TYPE else side, name] = SECTIONS[word]


def literal_names(call: Node, context: Context) -> Iterator[str]:
    """The symbols and strings among the arguments of a call."""
    arguments = call.child_by_field_name("arguments")
    for argument in [] if arguments is None else arguments.named_children:
        values = argument.named_children if argument.type in ("array", "symbol_array", "string_array") else [argument]
        for value in values:
            if value.type in ("simple_symbol", "string", "bare_symbol", "bare_string", "delimited_symbol"):
                name = context.text(value).lstrip(":").strip("\"'")
                if NAME.match(name):
                    yield name


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

"""Functions in the objects and arrays of JavaScript and TypeScript.

Objects are looked into at the top of a file, among the arguments of calls there, and where a function returns one.
"""

from collections.abc import Iterator
from typing import Final

from codecompass.store.languages.base import Context, Definition, Found, Inside, Node
from codecompass.store.languages.ecmascript_scopes import (
    FUNCTIONS,
    LINE_BYTES,
    bare,
    defined,
    function_bodies,
    head_end_of,
    holds_definitions,
    in_function,
    name_of,
)


def members(node: Node, context: Context, qualifier: tuple[str, ...] | None) -> Iterator[Found]:
    """The functions in an object, and the objects in it that hold functions."""
    for child in node.named_children:
        if child.type == "method_definition":
            name = name_of(child.child_by_field_name("name"), context)
            yield function_member(name, child, child, context, qualifier)
        elif child.type == "pair":
            yield from pair(child, context, qualifier)
        elif child.type == "spread_element" and holds_definitions(child, context):
            yield Inside(child)


def function_member(
    name: str, node: Node, function: Node, context: Context, qualifier: tuple[str, ...] | None = None
) -> Definition:
    """Returns the method that a function in an object is."""
    bodies, end = function_bodies(function, context), head_end_of(function)
    return defined(name, "method", node, context, bodies, head_end=end, qualifier=qualifier)


def pair(node: Node, context: Context, qualifier: tuple[str, ...] | None = None) -> Iterator[Found]:
    """`key: value` in an object, when the value is or holds a function."""
    value = bare(node.child_by_field_name("value"))
    name = name_of(node.child_by_field_name("key"), context)
    if value is None:
        return
    if value.type in FUNCTIONS:
        yield function_member(name, node, value, context, qualifier)
    elif holds_definitions(value, context):
        if value.type == "object":
            yield defined(name, "field", node, context, (value,), qualifier=qualifier)
        else:
            yield Inside(node)


def object_literal(node: Node, context: Context) -> Iterator[Found]:
    """An object in an expression: looked into unless it is local to a function."""
    if not in_function(context) and holds_definitions(node, context):
        extended = context.notes.get(("extended", node.start_byte))
        yield from members(node, context, None if extended is None else (*context.scope_names, *extended.split(".")))


def note_extended(call: Node, context: Context) -> None:
    """Writes down whose methods the objects are that `Object.assign(View.prototype, { ... })` or `extend(app, { ... })` take."""
    arguments = call.child_by_field_name("arguments")
    if arguments is None or arguments.named_child_count < 2 or arguments.named_child_count > MAX_EXTENDING:
        return
    first, *others = arguments.named_children
    if first.type not in ("identifier", "member_expression"):
        return
    path = context.source[first.start_byte : min(first.end_byte, first.start_byte + LINE_BYTES)].decode("utf-8", "replace")
    called = context.source[max(call.start_byte, arguments.start_byte - LINE_BYTES) : arguments.start_byte]
    owner = path.removesuffix(".prototype")
    is_extended = owner != path or called.rpartition(b".")[2] in EXTENDING
    if is_extended and owner.replace(".", "").isidentifier():
        for other in others:
            context.notes["extended", other.start_byte] = owner


EXTENDING: Final = frozenset({b"assign", b"extend", b"merge", b"mixin"})

MAX_EXTENDING: Final = 10
"""Arguments of a call that adds methods to an object."""


def returned(node: Node, context: Context) -> Iterator[Found]:
    """`return { m() {} }` and `return [{ m() {} }]`: a function that makes objects defines their methods."""
    value = bare(node.named_children[0] if node.named_child_count else None)
    if value is None or not holds_definitions(node, context):
        return
    if value.type == "array":
        for element in value.named_children:
            if element.type == "object":
                yield from members(element, context, None)
    else:
        yield Inside(value if value.type == "object" else node)


def array(node: Node, context: Context) -> Iterator[Found]:
    """An array is looked into unless it is local to a function."""
    if not in_function(context) and holds_definitions(node, context):
        yield Inside(node)

"""Lua: what `require` and its kin take in."""

from codecompass.store.languages.base import (
    Context,
    Node,
)
from codecompass.store.languages.lua_names import literal_of


def required(value: Node, context: Context) -> tuple[str, str, str] | None:
    """The module, the field taken from it and the kind of `require("x").y`, None for anything else.

    Only the first field counts: `require("x").y.z` and `require("x").y()` both take `y`.
    """
    name = ""
    node: Node | None = value
    while node is not None:
        if node.type == "function_call":
            callee = node.child_by_field_name("name")
            word = "" if callee is None else context.text(callee) if callee.type == "identifier" else ""
            if word in ("require", "dofile", "pcall"):
                spec = _argument(node, word, context)
                return (spec, name, "relative" if word == "dofile" else "module") if spec else None
            node = callee
        elif node.type in ("dot_index_expression", "method_index_expression"):
            field = node.child_by_field_name("field" if node.type == "dot_index_expression" else "method")
            name = "" if field is None else context.text(field)
            node = node.child_by_field_name("table")
        else:
            return None
    return None


def _argument(call_node: Node, word: str, context: Context) -> str:
    arguments = call_node.child_by_field_name("arguments")
    values = [] if arguments is None else arguments.named_children
    if word == "pcall":
        values = values[1:] if values and context.text(values[0]) == "require" else []
    return literal_of(values[0], context) if values and values[0].type == "string" else ""

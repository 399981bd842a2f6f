"""Lua: the parts of a name as it is written: `a.b["c"]`, a key in a table."""

import re
from typing import Final

from codecompass.store.languages.base import (
    Context,
    Node,
)

NAME: Final = re.compile(r"[^\s()'\"]+")
"""What a key in brackets must look like to be a name: `["textDocument/hover"]` is one, the title of a test is not."""


def parts_of(target: Node, context: Context) -> list[str]:
    """`a.b["c"]:d` as a list; empty when a part of it is not a literal."""
    parts: list[str] = []
    node: Node | None = target
    while node is not None and node.type in ("dot_index_expression", "method_index_expression", "bracket_index_expression"):
        field = node.child_by_field_name("method" if node.type == "method_index_expression" else "field")
        is_computed = node.type == "bracket_index_expression" and field is not None and field.type != "string"
        name = "" if field is None or is_computed else literal_of(field, context)
        if not name:
            return []
        parts.append(name)
        node = node.child_by_field_name("table")
    if node is None or node.type != "identifier":
        return []
    return [context.text(node), *reversed(parts)]


def literal_of(node: Node, context: Context) -> str:
    if node.type == "identifier":
        return context.text(node)
    content = node.child_by_field_name("content") if node.type == "string" else None
    return context.text(content).strip() if content is not None else ""

"""PHP: `use`, `include` and `require`."""

from collections.abc import Iterator
from typing import Final

from codecompass.store.languages.base import (
    Context,
    Found,
    Node,
)
from codecompass.store.records import Import

INCLUDES: Final = frozenset({"include_expression", "include_once_expression", "require_expression", "require_once_expression"})


def literal_of(node: Node, context: Context) -> str:
    """The value of a string without interpolation, else empty."""
    if node.type not in ("string", "encapsed_string") or node.named_child_count != 1:
        return ""
    content = node.named_children[0]
    return context.text(content).replace("\\\\", "\\").strip() if content.type == "string_content" else ""


def include(node: Node, context: Context) -> Iterator[Found]:
    """`require 'x.php'`, and `require __DIR__ . '/x.php'`, which is `./x.php`."""
    value = node.named_children[0] if node.named_child_count else None
    while value is not None and value.type == "parenthesized_expression" and value.named_child_count:
        value = value.named_children[0]
    if value is None:
        return
    spec = literal_of(value, context)
    if value.type == "binary_expression" and context.field_text(value, "left") == "__DIR__":
        right = value.child_by_field_name("right")
        spec = "" if right is None else literal_of(right, context)
        spec = f".{spec}" if spec.startswith("/") else ""
    if spec:
        yield Import(node.start_point[0] + 1, node.end_point[0] + 1, spec, kind="relative")


def use(node: Node, context: Context) -> Iterator[Found]:
    """`use A\\B as C, D`, `use A\\{B, C\\D}`, `use function A\\f`; a leading backslash means nothing and is left out."""
    prefix = ""
    clauses = node.named_children
    group = node.child_by_field_name("body")
    if group is not None:
        prefix = "".join(context.text(child) for child in node.named_children if child.type == "namespace_name") + "\\"
        clauses = group.named_children
    for clause in clauses:
        names = [child for child in clause.named_children if child.type in ("name", "qualified_name")]
        if clause.type != "namespace_use_clause" or not names:
            continue
        spec, _, name = (prefix + context.text(names[0])).lstrip("\\").rpartition("\\")
        alias = context.field_text(clause, "alias")
        # A line of a group is the import's; the declaration around it may be long.
        where = clause if group is not None else node
        yield Import(where.start_point[0] + 1, where.end_point[0] + 1, spec or name, name if spec else "", alias)

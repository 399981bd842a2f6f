"""Reads Lua's tree: names, comments with LuaCATS annotations, and calls of `require`."""

import re
from collections.abc import Iterable
from typing import Final

from codecompass.languages.language import Context, Definition, Found, Node, leading_comment
from codecompass.languages.records import SymbolKind

NAME: Final = re.compile(r"[^\s()'\"]+")
"""A key in brackets that is a name: `["textDocument/hover"]` is one, the title of a test is not."""


def parts_of(target: Node, context: Context) -> list[str]:
    """Returns the parts of `a.b["c"]:d`; empty when a part is not a literal."""
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


ANNOTATION: Final = re.compile(r"^---\s*@(class|alias|enum)\s+(?:\([^)]*\)\s*)?([\w.]+)")

ANNOTATION_LINE: Final = re.compile(r"^\s*--+\s*(?:[@|]|stylua:|luacheck:|selene:).*$", re.MULTILINE)

LONG_COMMENT: Final = re.compile(r"--\[=*\[|\]=*\]\s*$", re.MULTILINE)


def comment_above(node: Node, context: Context) -> str:
    """Returns the prose of the comment above, without annotations (`---@param`)."""
    outer: Node | None = node
    # An assignment with `local` is a child of the declaration below the comment.
    while outer is not None and outer.prev_named_sibling is None and outer.type == "assignment_statement":
        outer = outer.parent
    if outer is None:
        return ""
    text = leading_comment(outer, context)
    return LONG_COMMENT.sub("", ANNOTATION_LINE.sub("", text)) if text else ""


def annotation(node: Node, context: Context) -> Iterable[Found]:
    """`---@class Name`, `---@alias Name`, `---@enum Name`: types defined in comments, with all lines of the annotation."""
    start = node.start_byte
    if b"@" not in context.source[start + 3 : start + 6]:
        return ()
    match = ANNOTATION.match(context.text(node))
    if match is None:
        return ()
    last, following = node, node.next_named_sibling
    while following is not None and following.type == "comment" and following.start_point[0] == last.end_point[0] + 1:
        text = context.text(following)
        if not text.startswith("---") or ANNOTATION.match(text):
            break
        last, following = following, following.next_named_sibling
    kind: SymbolKind = "class" if match[1] == "class" else "enum" if match[1] == "enum" else "type"
    found = Definition(
        name=match[2].rsplit(".", 1)[-1],
        kind=kind,
        node=node,
        end_line=last.start_point[0] + 1,
        signature=context.text(node).removeprefix("---"),
        visibility="public",
        doc=comment_above(node, context),
        qualified_name=match[2],
    )
    return (found,)


def require_call(value: Node, context: Context) -> tuple[str, str, str] | None:
    """Returns module, field and kind of `require("x").y`; None for anything else.

    Only the first field counts: `require("x").y.z` and `require("x").y()` both import `y`.
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

"""Lua: the comments above a definition, and the annotations among them that declare types of their own."""

import re
from collections.abc import Iterable
from typing import Final

from codecompass.store.languages.base import (
    Context,
    Definition,
    Found,
    Node,
    leading_comment,
)
from codecompass.store.records import SymbolKind

ANNOTATION: Final = re.compile(r"^---\s*@(class|alias|enum)\s+(?:\([^)]*\)\s*)?([\w.]+)")

ANNOTATION_LINE: Final = re.compile(r"^\s*--+\s*(?:[@|]|stylua:|luacheck:|selene:).*$", re.MULTILINE)

LONG_COMMENT: Final = re.compile(r"--\[=*\[|\]=*\]\s*$", re.MULTILINE)


def comment_above(node: Node, context: Context) -> str:
    """Returns the prose of the comment above, without annotations (`---@param`)."""
    outer: Node | None = node
    # An assignment with `local` is a child of the declaration that the comment stands above.
    while outer is not None and outer.prev_named_sibling is None and outer.type == "assignment_statement":
        outer = outer.parent
    if outer is None:
        return ""
    text = leading_comment(outer, context)
    return LONG_COMMENT.sub("", ANNOTATION_LINE.sub("", text)) if text else ""


def annotation(node: Node, context: Context) -> Iterable[Found]:
    """`---@class Name` and `---@alias Name`: types that exist in comments alone, up to the last line that is theirs."""
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

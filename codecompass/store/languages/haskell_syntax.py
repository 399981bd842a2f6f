"""Reading Haskell's tree: names, heads, and the comments that say what something is."""

import re
from collections.abc import Sequence
from typing import Final

from codecompass.store.languages.base import Context, Node
from codecompass.store.languages.haskell_exports import bare

BETWEEN: Final = frozenset({"comment", "haddock", "pragma"})
"""What may stand between the clauses of one function."""

HADDOCK: Final = re.compile(r"^(--|\{-)\s*[|^*]\s?")


def bound_name(node: Node, context: Context) -> str:
    """The name that a clause or a declaration binds, empty for a pattern."""
    name = node.child_by_field_name("name")
    while name is None and (inner := node.child_by_field_name("parens")) is not None:
        node = inner
        name = node.child_by_field_name("name")
    if name is not None:
        return bare(name, context)
    for child in node.named_children:
        if child.type == "infix":
            operator = child.child_by_field_name("operator")
            return "" if operator is None else bare(operator, context)
    return ""


def names_of(signature: Node, context: Context) -> list[str]:
    """The names that a type signature is for."""
    names = signature.child_by_field_name("names")
    if names is not None:
        return [bare(child, context) for child in names.named_children]
    name = signature.child_by_field_name("name")
    return [] if name is None else [bare(name, context)]


def text_between(start: int, end: int, context: Context) -> str:
    """The source from byte `start` to `end`."""
    return context.source[start:end].decode("utf-8", "replace")


def head_of(node: Node, end: Node | None, context: Context) -> str:
    """The source of `node` up to `end`, without the `where` or `=` before it."""
    text = text_between(node.start_byte, node.end_byte if end is None else end.start_byte, context).rstrip(" \n\r\t={|")
    return text.removesuffix("where")


def first_line_of(node: Node, context: Context) -> int:
    """Some nodes begin with the white space before them, line breaks too."""
    text = context.source[node.start_byte : node.end_byte]
    return node.start_point[0] + 1 + text[: len(text) - len(text.lstrip())].count(b"\n")


def doc_above(children: Sequence[Node], index: int, container: Node, context: Context) -> str:
    """The comment that ends on the line above `children[index]`; above the first it belongs to what precedes them all."""
    line = children[index].start_point[0]
    previous: Node | None = None
    while previous is None or previous.type == "pragma":
        if previous is not None:
            line = previous.start_point[0]
        index -= 1
        previous = children[index] if index >= 0 else container.prev_named_sibling
        if index < 0:
            break
    while previous is not None and previous.type == "imports" and previous.named_child_count:
        previous = previous.named_children[-1]
    if previous is None or previous.type not in ("comment", "haddock") or last_row(previous) != line - 1:
        return ""
    # A comment about what precedes it is of no use here.
    return "" if is_about_previous(previous, context) else prose(previous, context)


def is_about_previous(comment: Node, context: Context) -> bool:
    """Whether a comment begins with `^`."""
    return context.text(comment).removeprefix("--").lstrip().startswith("^")


def prose(comment: Node, context: Context) -> str:
    """The text of a comment without the mark of Haddock."""
    return HADDOCK.sub(r"\1 ", context.text(comment))


def last_row(node: Node) -> int:
    """The row of the last line of `node`, from 0; some nodes own the line break behind them."""
    row, column = node.end_point
    return row - 1 if column == 0 else row


def qualified_in_module(name: str, context: Context) -> str | None:
    """Constructors, fields and methods are the module's; only what stands in an instance is the instance's."""
    return None if context.enclosing == "impl" else ".".join((*context.module, name))

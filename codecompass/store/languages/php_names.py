"""PHP: what a declaration is called in its namespace and class, and who may use it."""

from codecompass.store.languages.base import (
    CLASS_LIKE,
    Context,
    Node,
)
from codecompass.store.records import Visibility


def in_namespace(name: str, context: Context) -> str:
    """The full name of what is declared here under `name`, outside types."""
    namespace = context.notes.get(("namespace",), "")
    return f"{namespace}\\{name}" if namespace else name


def in_class(name: str, context: Context) -> str:
    """`A\\B::m`; a member of an anonymous class is named after the function that the class stands in."""
    kinds, names = context.scope_kinds, context.scope_names
    for index in range(len(kinds) - 1, -1, -1):
        if kinds[index] in CLASS_LIKE:
            # A nameless scope has a kind and no name, so its index lies after the last name.
            if index < len(names):
                return f"{in_namespace(names[index], context)}::{name}"
            break
    around = names[1:] if kinds[:1] == ("module",) else names
    return f"{in_namespace('::'.join(around), context)}::{name}" if around else name


def after_attributes(node: Node) -> Node:
    """The first part of a declaration that is not an attribute: its line is the definition's."""
    for child in node.children:
        if child.type not in ("attribute_list", "comment"):
            return child
    return node


def visibility_of(node: Node, context: Context) -> Visibility:
    """What the modifier of a member says; without one it is public."""
    for child in node.children:
        if child.type == "visibility_modifier":
            word = context.text(child).lower()
            return "private" if word.startswith("private") else "protected" if word.startswith("protected") else "public"
        if child.type in ("name", "const_element", "property_element"):
            break
    return "public"

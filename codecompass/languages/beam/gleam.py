"""Gleam: types with their constructors and fields, functions, constants; imports."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Found, Language, RuleContext, leading_comment
from codecompass.languages.nodes import Node
from codecompass.languages.records import Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DOUBLE_LINES, NAME, SLASHES, any_of, named_value
from codecompass.languages.walk.node_rules import defines, descend, imports, reach
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes


def visibility(node: Node, _name: str, context: RuleContext) -> Visibility:
    """Returns whether `pub` is before a definition; constructors have the visibility of their type."""
    if context.enclosing is not None:
        return context.scope_visibility
    return "public" if reach(node, "visibility_modifier") else "private"


_TYPE: Final = defines("enum", "type_name/name", "data_constructors")


def type_definition(node: Node, context: RuleContext) -> Iterator[Found]:
    """A type with its constructors, whose first may have a comment above it."""
    for item in _TYPE(node, context):
        yield replace(item, signature=context.text(node).partition("{")[0]) if isinstance(item, Definition) else item


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above a definition and its attributes; that of the first constructor is outside the list of them."""
    first = node
    if node.type == "data_constructor" and node.prev_named_sibling is None and node.parent is not None:
        first = node.parent
    while (above := first.prev_named_sibling) is not None and above.type == "attribute":
        first = above
    return leading_comment(first, context)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="gleam",
        comments_and_strings=any_of(SLASHES, DOUBLE_LINES),
        name=NAME,
        keywords=word_set(
            "as assert auto case const echo else fn if import let opaque panic pub test todo type use True False Nil"
        ),
        member_marks=".",
        own=frozenset(),
        above=frozenset(),
        declarations=(named_value(),),
        keyword_argument=re.compile(r":(?!:)"),
    )


GLEAM = Language(
    grammar="gleam",
    rules={
        **descend("data_constructors data_constructor_arguments"),
        "import": imports("module", alias="alias"),
        "type_definition": type_definition,
        "external_type": defines("type", "type_name/name", ""),
        "data_constructor": defines("const", "name", "data_constructor_arguments|arguments", is_local=True),
        "data_constructor_argument": defines("field", "label", ""),
        "type_alias": defines("type", "type_name/name", ""),
        "constant": defines("const", "name", ""),
        "function": defines("fn", "name", "body", enters=False),
    },
    visibility=visibility,
    doc=documentation,
    imports=plain_imports(endings=(".gleam",)),
    uses=lexical_rules,
    types=WrittenTypes(variables="colon", results="arrow"),
    display=Display(lexer=None),
)

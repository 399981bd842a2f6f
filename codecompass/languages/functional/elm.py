"""Elm: types with their constructors, aliases with their fields, values and functions with their types, ports; imports."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Found, Language, RuleContext, leading_comment, without_comments
from codecompass.languages.nodes import Node
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import CHARACTER, DASHES, DOUBLE, NAME, TRIPLE, any_of, declared
from codecompass.languages.walk.node_rules import defines, imports
from codecompass.languages.words import word_set


def module(_path: str, _root: Node, source: bytes) -> tuple[str, ...]:
    """Returns the parts of the name in `module A.B exposing`."""
    found = re.search(rb"^(?:port |effect )?module\s+([\w.]+)", source, re.MULTILINE)
    return () if found is None else tuple(found[1].decode("utf-8", "replace").split("."))


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above a value, or above its type."""
    before = node.prev_named_sibling
    return leading_comment(before if before is not None and before.type == "type_annotation" else node, context)


_VALUE: Final = defines("fn", "functionDeclarationLeft/lower_case_identifier!", "body", enters=False)


def value(node: Node, context: RuleContext) -> Iterator[Found]:
    """A value or function, with its type if that is declared above."""
    above = node.prev_named_sibling
    if above is None or above.type != "type_annotation":
        yield from _VALUE(node, context)
        return
    for item in _VALUE(node, context):
        if isinstance(item, Definition):
            yield replace(item, signature=without_comments(above, context), start_line=above.start_point[0] + 1)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="elm",
        comments_and_strings=any_of(r"\{-.*?(?:-\}|\Z)", DASHES, TRIPLE, DOUBLE, CHARACTER),
        name=NAME,
        keywords=word_set("alias as case else exposing if import in let module of port then type where"),
        member_marks=".",
        own=frozenset(),
        above=frozenset(),
        built_in=word_set("Array Basics Char Debug Dict Maybe Platform Result Set String Task Tuple"),
        declarations=(declared(r"^[ \t]+(?P<names>[a-z]\w*+)[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n]*+)"),),
        defines_at_line_start=True,
    )


ELM = Language(
    grammar="elm",
    rules={
        "import_clause": imports("moduleName", alias="asClause/name"),
        "type_alias_declaration": defines("type", "name", "typeExpression/part"),
        "field_type": defines("field", "name", ""),
        "type_declaration": defines("enum", "name", "."),
        "union_variant": defines("const", "name", ""),
        "port_annotation": defines("fn", "name", ""),
        "value_declaration": value,
    },
    module=module,
    doc=documentation,
    imports=plain_imports(endings=(".elm",), separator="."),
    uses=lexical_rules,
    display=Display(line_comment="--"),
)

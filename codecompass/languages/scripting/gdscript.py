"""GDScript: the class of a file, inner classes, functions, signals, enums, constants, variables; `preload`."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Descend, Found, Language, RuleContext, leading_comment, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import (
    DOUBLE,
    HASH,
    NAME,
    SINGLE,
    TRIPLE,
    after,
    any_of,
    declared,
    loop,
)
from codecompass.languages.walk.node_rules import defines, imports, reach, underscore_is_private, written
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes


def loaded(node: Node, context: RuleContext) -> Iterator[Found]:
    """`const A = preload("res://a.gd")`, `var b = load("res://b.gd")`, and other values."""
    text = context.text(node)
    for path in re.findall(r"(?:pre)?load\(\s*[\"'](?:res://)?([^\"']+)", text):
        yield Import(*lines_of(node), path, alias=context.field_text(node, "name"))
    yield from (_constant if node.type == "const_statement" else _variable)(node, context)


_class: Final = defines("class", "name", "")


def class_name(node: Node, context: RuleContext) -> Iterator[Found]:
    """`class_name Name`, `class_name Name extends "base.gd"`."""
    yield from _class(node, context)
    for each in reach(node, "extends_statement/string"):
        yield Import(*lines_of(each), context.text(each).strip("\"'").removeprefix("res://"))


_constant: Final = defines("const", "name", "")
_variable: Final = defines("var", "name", "setget")


_enum: Final = defines("enum", "name", "body")


def enumeration(node: Node, context: RuleContext) -> Iterator[Found]:
    """`enum Name { A, B }`; the constants of one without a name belong to what is around it."""
    found = tuple(_enum(node, context))
    yield from found or map(Descend, reach(node, "body"))


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the comment above a definition and its annotations."""
    before = node.prev_named_sibling
    while before is not None and before.type.startswith("annotation"):
        node, before = before, before.prev_named_sibling
    return leading_comment(node, context)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="gdscript",
        comments_and_strings=any_of(HASH, TRIPLE, DOUBLE, SINGLE),
        name=NAME,
        keywords=word_set(
            "and as assert await break breakpoint class class_name const continue elif else enum extends export false for",
            "func if in is match not null onready or pass preload return self setget signal static super tool true var void",
            "while yield int float",
        ),
        has_implicit_members=True,
        declarations=(
            declared(r"var[ \t]++(?P<names>\w++)(?:[ \t]*+:[ \t]*+(?P<type>[\w.]++))?[ \t]*+:?=(?P<value>[^\n]*+)", mark="var"),
            loop(after("for") + r"[ \t]++(?P<names>\w++)[ \t]++in[ \t](?P<value>[^\n:]*+)"),
        ),
    )


GDSCRIPT = Language(
    grammar="gdscript",
    rules={
        "class_name_statement": class_name,
        "class_definition": defines("class", "name", "body"),
        "function_definition": defines("fn", "name", "body", enters=False),
        "constructor_definition": defines("fn", body="body", called="_init", enters=False),
        "signal_statement": defines("field", "name", ""),
        "enum_definition": enumeration,
        "enumerator": written("const", r"(\w+)"),
        "const_statement": loaded,
        "variable_statement": loaded,
        "export_variable_statement": loaded,
        "onready_variable_statement": loaded,
        "extends_statement": imports("string"),
    },
    comment_starts=(b"#",),
    doc=documentation,
    visibility=underscore_is_private,
    imports=plain_imports(),
    uses=lexical_rules,
    types=WrittenTypes(variables="colon", results="arrow"),
    display=Display(attribute_starts=DECORATORS, line_comment="#"),
)

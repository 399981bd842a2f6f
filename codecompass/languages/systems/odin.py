"""Odin: procedures, structs with their fields, enums, unions, constants, variables; imports."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Found, Language, RuleContext, head_without_comments
from codecompass.languages.nodes import Node
from codecompass.languages.records import FUNCTION_LIKE, SymbolKind
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, CHARACTER, COMMON_KEYWORDS, DOUBLE, NAME, SLASHES, any_of, declared
from codecompass.languages.walk.depth import with_shallow_comments
from codecompass.languages.walk.node_rules import defines, descend, imports, reach
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_TYPE: Final = re.compile(r"(?:distinct|#type|bit_set|matrix|map)\b|\^|\[[^\]]*\]\s*[\w^.]+\s*$")


def declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """`A :: 1`, `a, b: int = 1, 2`, `Id :: distinct int`: names before a colon, which are no definitions in a procedure."""
    if context.enclosing in FUNCTION_LIKE:
        return
    text = context.text(node)
    written, _, value = re.sub(r"@\([^)]*\)|@\w+", lambda match: " " * len(match[0]), text).partition(":")
    is_type = node.type == "const_declaration" and _TYPE.match(value.removeprefix(":").strip())
    kind: SymbolKind = "type" if is_type else "const" if node.type == "const_declaration" else "var"
    for name in re.findall(r"\w+", written):
        yield Definition(name, kind, node)


_procedure: Final = defines("fn", "identifier!", "procedure/block")


def procedure(node: Node, context: RuleContext) -> Iterator[Found]:
    """`name :: proc(..) {..}`; without a body, and outside `foreign`, it is a type."""
    is_defined = bool(reach(node, "procedure/block") or reach(node, "procedure/uninitialized"))
    yield from (_procedure if is_defined else defines("type", "identifier!", ""))(node, context)


def members(node: Node, context: RuleContext) -> Iterator[Found]:
    """`Side :: enum {North, South = 2}`, `Bits :: bit_field u8 {low: u8 | 4}`."""
    body = context.text(node).find("{")
    names = reach(node, "identifier")
    held = [each for each in names[1:] if each.start_byte > node.start_byte + body and not _is_value(each, context)]
    head = head_without_comments(node, node.start_byte, node.start_byte + max(body, 0), context)
    is_enum = node.type == "enum_declaration"
    inner = tuple(Definition(context.text(each), "const" if is_enum else "field", each) for each in held)
    for name in names[:1]:
        yield Definition(context.text(name), "enum" if is_enum else "struct", node, signature=head, members=inner)


def _is_value(node: Node, context: RuleContext) -> bool:
    """Whether a name is the value of a constant of an enumeration and not its name."""
    return context.source[max(node.start_byte - 200, 0) : node.start_byte].rstrip()[-1:] not in b"{,\n/"


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="odin",
        comments_and_strings=any_of(SLASHES, BLOCK, DOUBLE, r"`[^`]*+`?", CHARACTER),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "align_of asm auto_cast bit_set cast context defer distinct dynamic enum fallthrough foreign import in map matrix",
            "nil not_in offset_of or_else or_return package proc size_of struct transmute type_of typeid union using when",
            "where bool int string",
        ),
        own=frozenset(),
        above=frozenset(),
        declarations=(declared(r"(?P<names>\b\w++)[ \t]*+:=(?P<value>[^\n]*+)", mark=":="),),
        keyword_argument=re.compile(r"[ \t]*+=(?!=)"),
    )


ODIN = Language(
    grammar="odin",
    prepare=with_shallow_comments,
    rules={
        "import_declaration": imports("string/string_content", alias="alias"),
        **descend("foreign_block when_statement else_when_clause else_clause block"),
        "procedure_declaration": procedure,
        "overloaded_procedure_declaration": defines("fn", "identifier!", ""),
        "struct_declaration": defines("struct", "identifier!", "."),
        "field": defines("field", "identifier", "", several=True),
        "enum_declaration": members,
        "bit_field_declaration": members,
        "union_declaration": defines("enum", "identifier!", ""),
        **dict.fromkeys(("const_declaration", "var_declaration", "variable_declaration"), declaration),
    },
    uses=lexical_rules,
    imports=plain_imports(),
    types=WrittenTypes(variables="colon", results="arrow"),
    display=Display(attribute_starts=("@(",)),
)

"""D: classes, structs, interfaces, enums, templates, functions, aliases, variables, unit tests; imports of modules."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Definition, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import (
    BLOCK,
    CHARACTER,
    COMMON_KEYWORDS,
    DOUBLE_LINES,
    NAME,
    SLASHES,
    after,
    any_of,
    declared,
    supertypes_after_colon,
    typed_declaration,
)
from codecompass.languages.walk.node_rules import defines, descend, or_descend, reach
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_function: Final = defines("fn", "identifier!", "function_body", enters=False)


def imported(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a.b, c = d.e : f, g;`"""
    names = [context.text(each) for each in reach(node, "import_bind/identifier")] or [""]
    for each in reach(node, "imported"):
        module = next((context.text(part) for part in reach(each, "module_fqn")), "")
        for name in names:
            yield Import(*lines_of(node), module, name, context.field_text(each, "alias"))


def test(node: Node, context: RuleContext) -> Iterator[Found]:
    """`@("title") unittest { .. }`; one without a title has no name."""
    signature = context.text(node).partition("{")[0]
    for title in reach(node, "at_attribute!/expression/string_literal"):
        yield Definition(
            " ".join(context.text(title).strip('"`').split())[:200], "test", node, signature=signature, visibility=""
        )


def visibility(node: Node, _name: str, context: RuleContext) -> Visibility:
    """Returns what the line of a definition says."""
    found = re.match(r"\s*(?:\w+\s+)*?(public|private|protected|package)\b", context.text(node)[:100])
    word = "" if found is None else found[1]
    return "internal" if word == "package" else word  # type: ignore[return-value]


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="d",
        comments_and_strings=any_of(SLASHES, BLOCK, r"/\+.*?(?:\+/|\Z)", r"`[^`]*+`?", DOUBLE_LINES, CHARACTER),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "abstract alias align asm assert auto bool byte cast char class const dchar debug delegate delete deprecated",
            "double enum export extern final float foreach foreach_reverse function goto immutable import in inout int",
            "interface invariant is lazy long mixin module nothrow out override package pragma private protected public pure",
            "real ref scope shared short static string struct super synchronized template typeof ubyte uint ulong union",
            "unittest ushort version void wchar with",
        ),
        soft=word_set("in out version scope"),
        own=frozenset({"this"}),
        declarations=(
            declared(after("auto const immutable enum") + r"[ \t]++(?P<names>\w++)[ \t]*+=(?!=)(?P<value>[^\n;]*+)"),
            typed_declaration(),
        ),
        parameters="type_first",
        has_implicit_members=True,
        special_call=re.compile(r"!(?:\w++|\([^()\n]*+\))?[ \t]*+\("),
        supertypes=SupertypeForms(head=supertypes_after_colon()),
    )


D = Language(
    grammar="d",
    rules={
        **descend("module_def aggregate_body attribute_declaration conditional_declaration mixin_template_declaration"),
        **descend("mixin_declaration anonymous_enum_declaration"),
        "import_declaration": imported,
        "class_declaration": defines("class", "identifier!", "aggregate_body"),
        "struct_declaration": defines("struct", "identifier!", "aggregate_body"),
        "union_declaration": or_descend(defines("struct", "identifier!", "aggregate_body")),
        "postblit": defines("fn", body="function_body", called="this", enters=False),
        "interface_declaration": defines("interface", "identifier!", "aggregate_body"),
        "enum_declaration": defines("enum", "identifier!", "."),
        "enum_member": defines("const", "identifier!", ""),
        "manifest_constant": defines("const", "manifest_declarator/identifier!", "", several=True),
        "alias_declaration": defines("type", "alias_initializer/identifier!|identifier!", "", several=True),
        "template_declaration": defines("class", "identifier!", "."),
        "function_declaration": _function,
        "unittest_declaration": test,
        "constructor": defines("fn", body="function_body", called="this", enters=False),
        "destructor": defines("fn", body="function_body", called="~this", enters=False),
        "variable_declaration": defines("var", "declarator/identifier!", "", several=True),
        "auto_declaration": defines("var", "identifier!", ""),
        "ERROR": DESCEND,
    },
    visibility=visibility,
    imports=plain_imports(endings=(".d", "/package.d"), separator="."),
    uses=lexical_rules,
    types=WrittenTypes(variables="before_name", results="before_name", supertypes="colon"),
    display=Display(attribute_starts=DECORATORS),
)

"""V: functions and methods, structs with their fields, enums, interfaces, types, constants; imports."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Definition, Found, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, COMMON_KEYWORDS, DOUBLE, NAME, SINGLE, SLASHES, any_of, declared
from codecompass.languages.walk.heads import heads
from codecompass.languages.walk.node_rules import defines, imports
from codecompass.languages.words import word_set


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`fn name(..)`, `fn (x T) name(..)`, whose owner is T."""
    owner = re.match(r"(?:pub\s+)?fn\s*\(\s*(?:mut\s+)?\w+\s+&?(\w+)", context.text(node)[:300])
    for item in _function(node, context):
        if isinstance(item, Definition) and owner is not None:
            item = replace(item, kind="method", qualifier=(owner[1],))
        yield item


_function: Final = defines("fn", "name", "body", enters=False)


def visibility(node: Node, _name: str, context: RuleContext) -> Visibility:
    """Returns whether `pub` is before it."""
    return "" if context.enclosing is not None else "public" if context.text(node)[:4] == "pub " else "private"


_HEADS: Final = re.compile(
    rb"^(?P<indent>)(?:pub )?(?P<word>fn|struct|enum|interface|type)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?P<name>\w+)", re.MULTILINE
)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="v",
        comments_and_strings=any_of(SLASHES, BLOCK, r"r'[^'\n]*+'?", rf"(?P<code>{SINGLE}|{DOUBLE})", r"`[^`\n]*+`?"),
        interpolation=re.compile(r"\$\{([^{}]*+)\}"),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "as asm assert atomic chan const defer dump enum fn go goto import in interface is isreftype lock match module",
            "mut none or pub rlock select shared sizeof spawn static struct type typeof union unsafe volatile bool int string",
            "u8 f64 i64",
        ),
        own=frozenset(),
        above=frozenset(),
        declarations=(declared(r"(?:mut[ \t]++)?(?P<names>\b\w++)[ \t]*+:=(?P<value>[^\n]*+)", mark=":="),),
        keys_of_type="braces",
        keyword_argument=re.compile(r":(?![:=])"),
    )


V = Language(
    grammar="v",
    rules={
        "import_declaration": imports("path"),
        "function_declaration": function,
        "struct_declaration": defines("struct", "name", "struct_field_declaration_list"),
        "struct_field_declaration": defines("field", "name", ""),
        "enum_declaration": defines("enum", "name", "enum_member_declaration_list"),
        "enum_member": defines("const", "name", ""),
        "interface_declaration": defines("interface", "name", "interface_spec_list"),
        "interface_spec": defines("fn", "name", ""),
        "type_declaration": defines("type", "name", ""),
        "const_declaration": DESCEND,
        "const_spec": defines("const", "name", ""),
        "ERROR": DESCEND,
    },
    visibility=visibility,
    recover=heads(_HEADS, {"struct": "struct", "enum": "enum", "interface": "interface", "type": "type"}),
    imports=plain_imports(endings=(".v",), separator="."),
    uses=lexical_rules,
    display=Display(lexer=None),
)

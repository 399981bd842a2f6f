"""Odin: procedures, structs with their fields, enums, unions, constants, variables; imports."""

import re

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import BLOCK, CHARACTER, COMMON_KEYWORDS, DOUBLE, NAME, SLASHES, any_of, declared
from codecompass.languages.walk.node_rules import defines, imports
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes


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
    rules={
        "import_declaration": imports("string/string_content", alias="alias"),
        "procedure_declaration": defines("fn", "identifier!", "procedure/block", enters=False),
        "struct_declaration": defines("struct", "identifier!", "."),
        "field": defines("field", "identifier", "", several=True),
        "enum_declaration": defines("enum", "identifier!", ""),
        "union_declaration": defines("enum", "identifier!", ""),
        "const_declaration": defines("const", "identifier!", ""),
        "var_declaration": defines("var", "identifier!", ""),
        "variable_declaration": defines("var", "identifier!", ""),
    },
    uses=lexical_rules,
    imports=plain_imports(),
    types=WrittenTypes(variables="colon", results="arrow"),
    display=Display(attribute_starts=("@(",)),
)

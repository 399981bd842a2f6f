"""Solidity: contracts, interfaces and libraries with their functions, state, events, errors, modifiers, structs and enums."""

import re
from typing import Final

from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import (
    BLOCK,
    COMMON_KEYWORDS,
    DOLLAR_NAME,
    DOUBLE,
    SINGLE,
    SLASHES,
    any_of,
    typed_declaration,
)
from codecompass.languages.walk.node_rules import defines, imports
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_VISIBILITY: Final = re.compile(r"\b(?:(?P<public>external|public)|(?P<internal>internal)|(?P<private>private))\b")


def visibility(node: Node, _name: str, context: RuleContext) -> Visibility:
    """Returns what the head of a function or variable says."""
    found = _VISIBILITY.search(re.split(r"\{|=(?!>)", context.text(node)[:1000], maxsplit=1)[0])
    return "" if found is None else found.lastgroup or ""  # type: ignore[return-value]


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="solidity",
        comments_and_strings=any_of(SLASHES, BLOCK, DOUBLE, SINGLE),
        name=DOLLAR_NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "abstract address anonymous as assembly bool bytes bytes32 calldata constant constructor contract delete emit enum",
            "error event external fallback from function immutable import indexed int int256 interface internal is let library",
            "mapping memory modifier override payable pragma private public pure receive require returns revert solidity storage",
            "string struct type uint uint8 uint256 unchecked using view virtual global msg block tx abi assert",
        ),
        soft=word_set("error from global let receive type"),
        declarations=(typed_declaration(),),
        parameters="type_first",
        has_implicit_members=True,
        supertypes=SupertypeForms(head=re.compile(r"\w++\s++is\b(?P<bases>[^{;]*+)")),
        keyword_argument=re.compile(r":(?!:)"),
        keys_of_type="braces",
    )


SOLIDITY = Language(
    grammar="solidity",
    rules={
        "import_directive": imports("source", name="import_name"),
        "contract_declaration": defines("class"),
        "interface_declaration": defines("interface"),
        "library_declaration": defines("module"),
        "struct_declaration": defines("struct"),
        "struct_member": defines("field", "name", ""),
        "enum_declaration": defines("enum"),
        "enum_value": defines("const", ".", ""),
        "event_definition": defines("type", "name", ""),
        "error_declaration": defines("type", "name", ""),
        "modifier_definition": defines("fn", enters=False),
        "function_definition": defines("fn", enters=False),
        "constructor_definition": defines("fn", called="constructor", enters=False),
        "state_variable_declaration": defines("var", "name", ""),
        "constant_variable_declaration": defines("const", "name", ""),
        "user_defined_type_definition": defines("type", "name", ""),
    },
    visibility=visibility,
    imports=plain_imports(),
    uses=lexical_rules,
    types=WrittenTypes(variables="before_name", supertypes="keywords"),
)

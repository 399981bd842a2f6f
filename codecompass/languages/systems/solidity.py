"""Solidity: contracts, interfaces and libraries with their functions, state, events, errors, modifiers, structs and enums."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import, Visibility
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
from codecompass.languages.walk.node_rules import defines, reach
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_VISIBILITY: Final = re.compile(r"\b(?:(?P<public>external|public)|(?P<internal>internal)|(?P<private>private))\b")


def visibility(node: Node, _name: str, context: RuleContext) -> Visibility:
    """Returns what the head of a function or variable says."""
    head = re.split(r"\{|=(?!>)", context.text(node)[:1000], maxsplit=1)[0]
    found = [] if node.type == "struct_member" else list(_VISIBILITY.finditer(head))
    # A variable may hold a function, whose type says something of its own.
    chosen = found[-1 if node.type == "state_variable_declaration" else 0] if found else None
    return "" if chosen is None else chosen.lastgroup or ""  # type: ignore[return-value]


_constant: Final = defines("const", "name", "")
_variable: Final = defines("var", "name", "")


def variable(node: Node, context: RuleContext) -> Iterator[Found]:
    """`uint256 public count;`, `uint256 constant LIMIT = 3;`."""
    is_constant = re.search(r"\bconstant\b", context.text(node).partition("=")[0]) is not None
    yield from (_constant if is_constant else _variable)(node, context)


_receive: Final = defines("fn", called="receive", enters=False)
_fallback: Final = defines("fn", called="fallback", enters=False)


def unnamed(node: Node, context: RuleContext) -> Iterator[Found]:
    """`receive() ..`, `fallback() ..`."""
    yield from (_receive if context.source.startswith(b"receive", node.start_byte) else _fallback)(node, context)


def import_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import "a.sol" as A;`, `import * as A from "a.sol";`, `import {B as C, D} from "a.sol";`."""
    path = next((context.text(each).strip("'\"") for each in reach(node, "source")), "")
    words = re.sub(r"\"[^\"]*\"|'[^']*'", " ", context.text(node))
    listed = re.search(r"\{([^}]*)\}", words)
    if not path:
        return
    for part in listed[1].split(",") if listed else [words]:
        name, _, alias = part.partition(" as ")
        local = re.match(r"\s*(\w+)", alias)
        if not listed or name.strip():
            yield Import(*lines_of(node), path, name.strip() if listed else "", local[1] if local else "")


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
        "import_directive": import_,
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
        "fallback_receive_definition": unnamed,
        "state_variable_declaration": variable,
        "constant_variable_declaration": defines("const", "name", ""),
        "user_defined_type_definition": defines("type", "name", ""),
    },
    visibility=visibility,
    imports=plain_imports(),
    uses=lexical_rules,
    types=WrittenTypes(variables="before_name", supertypes="keywords"),
)

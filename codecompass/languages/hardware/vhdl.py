"""VHDL: entities with their ports, architectures with signals and processes, packages, components, functions, types; `use`."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Definition, Descend, Found, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import Import
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DASHES, DOUBLE, NAME, any_of
from codecompass.languages.walk.node_rules import defines, descend, imports, written
from codecompass.languages.words import word_set


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="vhdl",
        comments_and_strings=any_of(DASHES, DOUBLE, r"'(?<!\w')[^'\n]'"),
        name=NAME,
        keywords=word_set(
            "abs access after alias all and architecture array assert attribute begin block body buffer bus case component",
            "configuration constant disconnect downto else elsif end entity exit file for function generate generic group",
            "guarded if impure in inertial inout is label library linkage literal loop map mod nand new next nor not null of",
            "on open or others out package port postponed procedure process protected pure range record register reject rem",
            "report return rol ror select severity shared signal sla sll sra srl subtype then to transport type unaffected",
            "units until use variable wait when while with xnor xor work std_logic std_logic_vector integer boolean natural",
            "positive unsigned signed",
        ),
        member_marks=".",
        own=frozenset(),
        above=frozenset(),
        keyword_argument=re.compile(r"[ \t]*+=>"),
    )


_type: Final = written("type", r"(?i)type\s+(\w+)", ".")


def type_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`type t is record ..`, `type t is protected ..`, whose routines are methods, `type t is (a, b)`."""
    text = context.text(node)
    listed = re.match(r"(?i)type\s+\w+\s+is\s*\(([^()]*)\)\s*;?$", text)
    is_protected = re.match(r"(?i)type\s+\w+\s+is\s+protected\b", text) is not None
    for item in _type(node, context):
        if isinstance(item, Definition):
            names = [] if listed is None else re.findall(r"\w+|'.'", listed[1])
            values = tuple(Definition(name, "const", node, signature=name, doc="") for name in names)
            yield replace(item, kind="class" if is_protected else "enum" if values else "type", members=values)


def label(node: Node, context: RuleContext) -> Iterator[Found]:
    """`lanes : for i in .. generate`: a named part of an architecture."""
    text = context.text(node)
    name = re.match(r"(\w+)\s*:", text)
    if name is None:
        yield Descend(node)
    else:
        yield Definition(name[1], "module", node, (node,), signature=text.partition("\n")[0])


def _path(item: Import) -> str:
    """Returns the name of the package: the second part of `work.name.all`."""
    parts = item.spec.split(".")
    return parts[1] if len(parts) > 1 else ""


_GENERATES: Final = "for_generate_statement if_generate_statement case_generate_statement block_statement"

VHDL = Language(
    grammar="vhdl",
    rules={
        **descend("design_unit context_clause declarative_part concurrent_statement_part entity_header"),
        **descend("generic_clause port_clause"),
        "use_clause": imports("selected_name"),
        "entity_declaration": defines("class", "name", "."),
        "architecture_body": defines("impl", "name", "."),
        "package_declaration": defines("module", "name", "."),
        "package_body": written("module", r"(?i)package\s+body\s+(\w+)", "."),
        "component_declaration": written("interface", r"(?i)component\s+(\w+)", "."),
        "function_declaration": written("fn", r"(?i)(?:(?:im)?pure\s+)?function\s+(\w+|\"[^\"]+\")"),
        "function_body": written("fn", r"(?i)(?:(?:im)?pure\s+)?function\s+(\w+|\"[^\"]+\")", "declarative_part"),
        "procedure_declaration": written("fn", r"(?i)procedure\s+(\w+)"),
        "procedure_body": written("fn", r"(?i)procedure\s+(\w+)", "declarative_part"),
        "process_statement": written("fn", r"(\w+)\s*:", "declarative_part"),
        "component_instantiation_statement": written("var", r"(\w+)\s*:"),
        "signal_declaration": written("var", r"(?i)signal\s+(\w+(?:\s*,\s*\w+)*)", several=True),
        "constant_declaration": written("const", r"(?i)constant\s+(\w+(?:\s*,\s*\w+)*)", several=True),
        "full_type_declaration": type_,
        **descend("record_type_definition protected_type_declaration protected_type_body"),
        "element_declaration": written("field", r"(\w+(?:\s*,\s*\w+)*)\s*:", several=True),
        "shared_variable_declaration": written("var", r"(?i)shared\s+variable\s+(\w+(?:\s*,\s*\w+)*)", several=True),
        "alias_declaration": written("type", r"(?i)alias\s+(\w+)"),
        "subtype_declaration": written("type", r"(?i)subtype\s+(\w+)"),
        "signal_interface_declaration": written("field", r"(?i)(?:signal\s+)?(\w+(?:\s*,\s*\w+)*)\s*:", several=True),
        "constant_interface_declaration": written(
            "field", r"(?i)(?:constant\s+)?(\\[^\\]+\\|\w+(?:\s*,\s*\w+)*)\s*:", several=True
        ),
        **dict.fromkeys(_GENERATES.split(), label),
        **descend("generate_statement_body package_header else_generate elsif_generate case_generate_alternative"),
        "type_interface_declaration": defines("type", "name", ""),
        "file_declaration": written("var", r"(?i)file\s+(\w+(?:\s*,\s*\w+)*)", several=True),
        "function_instantiation_declaration": defines("fn", "designator", ""),
        "procedure_instantiation_declaration": defines("fn", "designator", ""),
        "package_instantiation_declaration": defines("module", "name", ""),
        "configuration_declaration": defines("module", "name", ""),
        "ERROR": DESCEND,
    },
    imports=plain_imports(endings=(".vhd", ".vhdl"), path_of=_path),
    uses=lexical_rules,
    display=Display(line_comment="--"),
)

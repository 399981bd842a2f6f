"""Ada: packages, subprograms, types with their components, tasks and protected objects, constants, variables; `with`."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import DESCEND, Definition, Found, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import DASHES, NAME, any_of
from codecompass.languages.walk.node_rules import defines, descend, imports, reach, written
from codecompass.languages.words import word_set

_SUBPROGRAM: Final = r"(?i)(?:(?:not\s+)?overriding\s+)?(?:procedure|function)\s+([\w.]+|\"[^\"]+\")"
_TYPE: Final = r"(?i)(?:(?:task|protected)\s+)?(?:type\s+)?(\w+)"


def package(node: Node, context: RuleContext) -> Iterator[Found]:
    """`package A.B is`, `package body A.B is`."""
    inner = next(iter(reach(node, "package_declaration")), node) if node.type == "generic_package_declaration" else node
    name = context.field_text(inner, "name") or next(
        (context.text(each) for each in reach(inner, "package_specification/name")), ""
    )
    *owners, last = name.split(".")
    yield Definition(
        last, "module", node, (inner,), signature=context.text(inner).partition("\n")[0], qualifier=tuple(owners) or None
    )


_enumeration: Final = defines("enum", "identifier!", "enumeration_type_definition")
_type: Final = written("type", _TYPE, ".")


def type_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`type A is (B, C)` with its values, any other type with its components."""
    for found in (_enumeration if reach(node, "enumeration_type_definition") else _type)(node, context):
        yield replace(found, signature=context.text(node)) if isinstance(found, Definition) and found.kind == "enum" else found


def literal(node: Node, context: RuleContext) -> Iterator[Found]:
    """A value of an enumeration."""
    if context.enclosing == "enum":
        yield Definition(context.text(node), "const", node)


def instance(node: Node, context: RuleContext) -> Iterator[Found]:
    """`package A is new B (..)`, `function A is new B (..)`."""
    found = re.match(
        r"(?i)(?:(?:not\s+)?overriding\s+)?(package|procedure|function)\s+([\w.]+|\"[^\"]+\")", context.text(node)[:300]
    )
    if found is not None:
        yield Definition(found[2].rpartition(".")[2], "module" if found[1].lower() == "package" else "fn", node)


_constant: Final = written("const", r"(?i)(\w+(?:\s*,\s*\w+)*)\s*:\s*constant\b", several=True)
_single: Final = written("type", r"(?i)(?:task|protected)\s+(\w+)", ".")
_variable: Final = written("var", r"(?i)(\w+(?:\s*,\s*\w+)*)\s*:(?!\s*constant\b)", several=True)


def variable(node: Node, context: RuleContext) -> Iterator[Found]:
    """`A, B : T := value;`, `C : constant T := value;`, `task A ..`, `protected A ..`."""
    single = reach(node, "single_protected_declaration|single_task_declaration")
    if single:
        yield from _single(single[0], context)
        return
    yield from _constant(node, context)
    yield from _variable(node, context)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="ada",
        comments_and_strings=any_of(DASHES, r'"(?>(?:[^"\n]++|"")*)"?', r"'(?<!\w')[^'\n]'"),
        name=NAME,
        keywords=word_set(
            "abort abs abstract accept access aliased all and array at begin body case constant declare delay delta digits do",
            "else elsif end entry exception exit for function generic goto if in interface is limited loop mod new not null",
            "of or others out overriding package parallel pragma private procedure protected raise range record rem renames",
            "requeue return reverse select separate some subtype synchronized tagged task terminate then type until use when",
            "while with xor Integer Boolean",
        ),
        member_marks=".",
        own=frozenset(),
        above=frozenset(),
        keyword_argument=re.compile(r"[ \t]*+=>"),
    )


ADA = Language(
    grammar="ada",
    rules={
        **descend("compilation compilation_unit non_empty_declarative_part"),
        "with_clause": imports("selected_component|identifier"),
        "package_declaration": package,
        "package_body": package,
        "generic_package_declaration": package,
        "subprogram_body": written("fn", _SUBPROGRAM, "non_empty_declarative_part"),
        "subprogram_declaration": written("fn", _SUBPROGRAM),
        "generic_subprogram_declaration": written("fn", r"(?is)generic.*?\b(?:procedure|function)\s+(\w+)"),
        "expression_function_declaration": written("fn", _SUBPROGRAM),
        "null_procedure_declaration": written("fn", _SUBPROGRAM),
        "full_type_declaration": type_,
        "identifier": literal,
        "private_extension_declaration": written("type", _TYPE),
        "package_renaming_declaration": written("module", r"(?i)package\s+([\w.]+)"),
        "subprogram_renaming_declaration": written("fn", _SUBPROGRAM),
        "generic_instantiation": instance,
        "private_type_declaration": written("type", _TYPE),
        "record_type_definition": DESCEND,
        "record_definition": DESCEND,
        **descend("component_list variant_part variant_list variant subunit task_definition protected_definition"),
        **descend("task_type_declaration protected_type_declaration"),
        "component_declaration": written("field", r"(\w+(?:\s*,\s*\w+)*)\s*:", several=True),
        "subtype_declaration": written("type", r"(?i)subtype\s+(\w+)"),
        "exception_declaration": written("type", r"(\w+(?:\s*,\s*\w+)*)\s*:", several=True),
        "object_declaration": variable,
        "object_renaming_declaration": _variable,
        "exception_renaming_declaration": written("type", r"(\w+)\s*:"),
        "number_declaration": written("const", r"(\w+)\s*:"),
        "task_body": written("fn", r"(?i)task\s+body\s+(\w+)", "non_empty_declarative_part"),
        "protected_body": written("impl", r"(?i)protected\s+body\s+(\w+)", "."),
        "entry_body": written("method", r"(?i)entry\s+(\w+)"),
        "entry_declaration": written("method", r"(?i)entry\s+(\w+)"),
        "ERROR": DESCEND,
    },
    imports=plain_imports(endings=(".ads", ".adb"), path_of=lambda item: item.spec.lower().replace(".", "-")),
    uses=lexical_rules,
    display=Display(line_comment="--"),
)

"""F#: modules, types of all forms with their members, values and functions, exceptions; `open`."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Descend, Found, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import CHARACTER, DOUBLE_LINES, NAME, SLASHES, TRIPLE, any_of, declared
from codecompass.languages.walk.node_rules import defines, descend, imports, reach
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_MEMBER: Final = re.compile(r"(?:(?:static|abstract|member|override|default|val|mutable|private|inline)\s+)*(?:\w+\.)?(\w+)")


def member(node: Node, context: RuleContext) -> Iterator[Found]:
    """`member this.Name(..) = ..`, `abstract Name: T`, `static member Name = ..`."""
    text = context.text(node)
    found = _MEMBER.match(text)
    if found is not None and found[1] != "new":
        is_method = re.match(r"\s*[(<:]", text[found.end() :]) is not None or "abstract" in text[: found.end()]
        yield Definition(found[1], "method" if is_method else "field", node, signature=re.split(r"=|\n", text, maxsplit=1)[0])


def named(node: Node, context: RuleContext) -> Iterator[Found]:
    """`module A.B`, `namespace A.B`."""
    name = context.text(reach(node, "name|long_identifier!")[0]) if reach(node, "name|long_identifier!") else ""
    *owners, last = name.split(".")
    yield Definition(last, "module", node, (node,), signature=context.text(node).partition("\n")[0], qualifier=tuple(owners))


def value(node: Node, context: RuleContext) -> Iterator[Found]:
    """`let name .. = ..` of a module; one in a function or class is entered for what is in it."""
    left = reach(node, "function_declaration_left|value_declaration_left")
    text = context.text(left[0]) if left else ""
    found = re.match(r"(?:(?:\[<[^>]*>\]|rec|inline|mutable|private|internal|public)\s+)*(?:\(?\|)?(``[^`]+``|[\w']+)", text)
    if found is None or context.enclosing in ("class", "struct", "interface", "enum"):
        return
    is_function = left[0].type == "function_declaration_left" or re.match(r"\s*(?:[(\w]|<)", text[found.end() :]) is not None
    bodies = tuple(reach(node, "body"))
    if is_function:
        head = context.text(node).partition("\n")[0].split(" =")[0]
        yield Definition(found[1].strip("`"), "fn", node, bodies, signature=head)
    elif context.enclosing not in ("fn", "method", "test"):
        yield Definition(found[1].strip("`"), "const", node, signature=context.text(node).partition("\n")[0])


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    block = r"\(\*(?!\)).*?(?:\*\)|\Z)"
    return LexicalRules(
        family="fsharp",
        comments_and_strings=any_of(SLASHES, block, rf"\$(?P<code>{DOUBLE_LINES})", TRIPLE, DOUBLE_LINES, CHARACTER),
        interpolation=re.compile(r"\{([^{}]*+)\}"),
        name=NAME,
        keywords=word_set(
            "abstract and as assert base begin class default delegate do done downcast downto elif else end exception extern",
            "false finally fixed for fun function global if in inherit inline interface internal lazy let match member module",
            "mutable namespace new not null of open or override private public rec return select static struct then this to",
            "true try type upcast use val void when while with yield int string bool float unit list option seq async task",
        ),
        member_marks=".",
        own=frozenset({"this"}),
        built_in=word_set("Array List Map Math Option Seq Set String System"),
        declarations=(declared(r"^[ \t]+(?:let|use)!?[ \t]++(?:mutable[ \t]++)?(?P<names>\w++)[ \t]*+=(?P<value>[^\n]*+)"),),
        supertypes=SupertypeForms(statement=re.compile(r"^[ \t]+(?:inherit|interface)[ \t]+(?P<bases>[\w.]+)", re.MULTILINE)),
    )


FSHARP = Language(
    grammar="fsharp",
    rules={
        **descend(
            "declaration_expression type_definition union_type_cases record_fields type_extension_elements enum_type_cases"
        ),
        "namespace": named,
        "named_module": named,
        "module_defn": defines("module", "identifier!", "."),
        "import_decl": imports("long_identifier"),
        "record_type_defn": defines("struct", "type_name/type_name", "."),
        "record_field": defines("field", "identifier!", ""),
        "union_type_defn": defines("enum", "type_name/type_name", "."),
        "union_type_case": defines("const", "identifier!", ""),
        "enum_type_defn": defines("enum", "type_name/type_name", "."),
        "enum_type_case": defines("const", "identifier!", ""),
        "anon_type_defn": defines("class", "type_name/type_name", "."),
        "interface_type_defn": defines("interface", "type_name/type_name", "."),
        "type_abbrev_defn": defines("type", "type_name/type_name", ""),
        "delegate_type_defn": defines("type", "type_name/type_name", ""),
        "exception_definition": defines("type", "exception_name", ""),
        "function_or_value_defn": value,
        "member_defn": member,
        "interface_implementation": lambda node, _context: (Descend(node),),
    },
    imports=plain_imports(endings=(".fs",), separator="."),
    uses=lexical_rules,
    types=WrittenTypes(variables="colon", results="colon"),
    display=Display(attribute_starts=("[<",)),
)

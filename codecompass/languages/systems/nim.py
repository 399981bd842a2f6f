"""Nim: procedures of all kinds, types with their fields, constants, variables, templates and macros; imports."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Found, Language, RuleContext, lines_of
from codecompass.languages.nodes import Node
from codecompass.languages.records import FUNCTION_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import CHARACTER, DOUBLE, HASH, NAME, TRIPLE, after, any_of, loop, named_value
from codecompass.languages.walk.node_rules import defines, descend, reach
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes


def visibility(node: Node, _name: str, context: RuleContext) -> Visibility:
    """Returns whether a `*` is behind the name."""
    if context.enclosing in FUNCTION_LIKE:
        return ""
    if node.type == "enum_field_declaration":
        return context.scope_visibility
    return "public" if re.match(r"[^\n(=:]*\*", context.text(node)[:200]) else "private"


def type_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`Name = object`, `Name = enum a, b`, `Name = distinct int`."""
    text = context.text(node)
    kind: SymbolKind = "type"
    for word, each in (("enum", "enum"), ("object", "struct"), ("concept", "interface")):
        if re.search(rf"=\s*(?:ref\s+|ptr\s+)?{word}\b", text[:500]):
            kind = each  # type: ignore[assignment]
    for name in reach(node, "type_symbol_declaration/name")[:1]:
        yield Definition(
            context.text(name).rstrip("*"), kind, node, (node,), signature=text.partition("\n")[0].partition(" ##")[0]
        )


def imported(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import a, b/c`, `from a import b`, `include a`."""
    module = context.field_text(node, "module")
    for excepted in reach(node, "except_clause"):
        written = context.source[node.start_byte : excepted.start_byte].decode("utf-8", "replace").partition("import")[2]
        yield Import(*lines_of(node), "".join(written.split()))
    for each in (child for child in node.named_children if child.type == "expression_list"):
        for part in each.named_children:
            text = context.text(part)
            prefix, _, listed = text.rstrip("]").partition("[")
            for name in [prefix + one.strip() for one in listed.split(",")] if listed else [text]:
                if module:
                    yield Import(*lines_of(node), module, "" if part.type == "nil_literal" else name.strip(" `"))
                else:
                    spec, _, alias = name.partition(" as ")
                    yield Import(*lines_of(node), spec.strip('" ').replace(" ", ""), alias=alias.strip())


_procedure: Final = defines("fn", "name", "body", quotes="*`")
_field: Final = defines("field", "symbol_declaration_list/symbol_declaration/name", "", several=True, quotes="*`")
_DOCUMENTED: Final = re.compile(r"=\s*(?P<doc>(?:##[^\n]*\s*)+)\Z")


def procedure(node: Node, context: RuleContext) -> Iterator[Found]:
    """`proc name(..) = ..`, whose documentation is at the beginning of its body."""
    for found in _procedure(node, context):
        if isinstance(found, Definition) and found.bodies and reach(node, "documentation_comment"):
            head = context.source[node.start_byte : found.bodies[0].start_byte].decode("utf-8", "replace")
            documented = _DOCUMENTED.search(head)
            if documented is not None:
                doc = "\n".join(line.strip() for line in documented["doc"].splitlines())
                found = replace(found, signature=head[: documented.start()].rstrip(), doc=doc)
        yield found


def test(node: Node, context: RuleContext) -> Iterator[Found]:
    """`suite "title":` and `test "title":` of the unit tests."""
    called = context.text(node.named_child(0)) if node.named_child_count else ""
    titles = reach(node, "argument_list/interpreted_string_literal!/string_content!")
    if called in ("suite", "test") and titles:
        title = " ".join(context.text(titles[0]).split())[:200]
        signature = context.text(node).partition("\n")[0]
        yield Definition(
            title, "test", node, tuple(reach(node, "argument_list/statement_list")), signature=signature, visibility=""
        )


_NAMES: Final = "symbol_declaration_list/symbol_declaration/name"
_constant: Final = defines("const", _NAMES, "", several=True, quotes="*`")
_TUPLE: Final = "symbol_declaration_list/tuple_deconstruct_declaration/symbol_declaration/name"
_constants: Final = defines("const", _TUPLE, "", several=True, quotes="*`")
_variables: Final = defines("var", _TUPLE, "", several=True, quotes="*`")
_variable: Final = defines("var", _NAMES, "", several=True, quotes="*`")


def variable(node: Node, context: RuleContext) -> Iterator[Found]:
    """A declaration in a section of constants or of variables."""
    is_constant = node.parent is not None and node.parent.type == "const_section"
    yield from (_constant if is_constant else _variable)(node, context)
    yield from (_constants if is_constant else _variables)(node, context)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="nim",
        comments_and_strings=any_of(r"#\[.*?(?:\]#|\Z)", HASH, TRIPLE, DOUBLE, CHARACTER),
        name=NAME,
        keywords=word_set(
            "addr and as asm bind block break case cast concept const continue converter defer discard distinct div do elif",
            "else end enum except export finally for from func if import in include interface is isnot iterator let macro",
            "method mixin mod nil not notin object of or out proc ptr ref raise return shl shr static template try tuple type",
            "using var when while xor yield int float string bool char seq result true false void",
        ),
        member_marks=".",
        own=frozenset(),
        above=frozenset(),
        declarations=(
            named_value(),
            loop(after("for") + r"[ \t]++(?P<names>\w++)[ \t]++in[ \t](?P<value>[^\n:]*+)"),
        ),
        keyword_argument=re.compile(r"[ \t]*+[:=](?!=)"),
    )


NIM = Language(
    grammar="nim",
    rules={
        **descend("const_section type_section var_section let_section statement_list object_declaration"),
        **descend("field_declaration_list ref_type"),
        **descend("enum_declaration when if of_branch elif_branch else_branch variant_declaration"),
        "import_statement": imported,
        "import_from_statement": imported,
        "include_statement": imported,
        "type_declaration": type_,
        "field_declaration": _field,
        "variant_discriminator_declaration": _field,
        "call": test,
        "enum_field_declaration": defines("const", "symbol_declaration/name", "", quotes="*`"),
        "variable_declaration": variable,
        **dict.fromkeys(("proc_declaration", "func_declaration", "iterator_declaration", "converter_declaration"), procedure),
        "method_declaration": defines("method", "name", "body", quotes="*`"),
        "template_declaration": defines("macro", "name", "body", quotes="*`", enters=False),
        "macro_declaration": defines("macro", "name", "body", quotes="*`", enters=False),
    },
    visibility=visibility,
    imports=plain_imports(endings=(".nim",)),
    uses=lexical_rules,
    types=WrittenTypes(variables="colon", results="colon"),
    display=Display(line_comment="#"),
)

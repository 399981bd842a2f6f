"""Julia: modules, types with their fields, functions in both forms, macros, constants, test sets; imports."""

import re
from collections.abc import Iterator

from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Definition, Descend, Found, Language, RuleContext, first_child, leading_comment
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind
from codecompass.languages.uses import patterns
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms
from codecompass.languages.walk.node_rules import defines, descend, reach
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_WRAPPERS = frozenset({"binary_expression", "parametrized_type_expression", "typed_expression", "where_expression"})


def _target(node: Node | None) -> Node | None:
    """Returns what a head defines: the call or name in `f(x)::T where T`, `A{T} <: B`."""
    for _ in range(10):
        if node is None or node.type not in _WRAPPERS:
            break
        node = first_child(node)
    return node


def _define(kind: SymbolKind, head: Node | None, node: Node, bodies: tuple[Node, ...], context: RuleContext) -> Iterator[Found]:
    target = _target(head)
    if target is not None and target.type in ("call_expression", "macro_identifier"):
        target = _target(first_child(target))
    if target is None or target.type not in ("field_expression", "identifier", "operator"):
        return
    *owners, name = context.text(target).split(".")
    yield Definition(
        name.strip(":()"), kind, node, bodies, qualifier=(*context.scope_names, *owners) if owners and all(owners) else None
    )


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`function f(x) .. end`, `macro m(x) .. end`."""
    head = next(iter(reach(node, "signature")), None)
    kind: SymbolKind = "macro" if node.type == "macro_definition" else "method" if context.enclosing in CLASS_LIKE else "fn"
    yield from _define(kind, first_child(head), node, tuple(reach(node, "block")), context)


def type_(node: Node, context: RuleContext) -> Iterator[Found]:
    """`struct A{T} <: B`, `abstract type A end`."""
    head = next(iter(reach(node, "type_head")), None)
    kind: SymbolKind = "struct" if node.type == "struct_definition" else "interface"
    yield from _define(kind, first_child(head), node, tuple(reach(node, "block")), context)


def field(node: Node, context: RuleContext) -> Iterator[Found]:
    """A field of a type: `name`, `name::T`."""
    target = _target(node)
    if context.enclosing == "struct" and target is not None and target.type == "identifier":
        yield Definition(context.text(target), "field", node)


def assignment(node: Node, context: RuleContext) -> Iterator[Found]:
    """`f(x) = value`, `NAME = value`."""
    left = first_child(node)
    target, operator = _target(left), _infix(left)
    if target is None:
        return
    if operator is not None:
        yield Definition(context.text(operator), "fn", node)
    elif target.type == "call_expression":
        yield from _define("method" if context.enclosing in CLASS_LIKE else "fn", target, node, (), context)
    elif context.enclosing in (None, "module", "struct") and not (
        node.parent is not None and node.parent.type == "let_statement"
    ):
        is_constant = node.parent is not None and node.parent.type == "const_statement"
        kind: SymbolKind = "field" if context.enclosing == "struct" else "const" if is_constant else "var"
        several = target.type in ("open_tuple", "tuple_expression")
        for each in target.named_children if several else [target]:
            name = _target(each)
            if name is not None and name.type == "identifier":
                yield Definition(context.text(name), kind, node, signature=context.text(node.parent if is_constant else node))  # type: ignore[arg-type]


def _infix(left: Node | None) -> Node | None:
    """Returns the operator that `a + b = value` defines."""
    for _ in range(10):
        if left is None or left.type not in ("where_expression", "typed_expression"):
            break
        left = first_child(left)
    operators = [] if left is None or left.type != "binary_expression" else reach(left, "operator")
    return operators[0] if operators else None


def macro_call(node: Node, context: RuleContext) -> Iterator[Found]:
    """`@enum A b c`, `@testset "title" begin`; other macros are before a definition."""
    name = context.text(node.named_child(0)) if node.named_child_count else ""
    arguments = reach(node, "macro_argument_list|argument_list")
    if name == "@enum" and arguments:
        first, *others = arguments[0].named_children
        written = [each for one in others for each in (reach(one, "block/identifier|assignment") or [one])]
        names = [each if each.type == "identifier" else first_child(each) for each in written]
        members = tuple(Definition(context.text(each), "const", each) for each in names if each is not None)
        target = _target(first)
        if target is not None:
            yield Definition(context.text(target), "enum", node, members=members)
    elif name == "@testset" and (titles := reach(node, "macro_argument_list/string_literal")):
        bodies = tuple(each for each in arguments[0].named_children if each.type != "string_literal")
        yield Definition(" ".join(context.text(titles[0]).strip('"').split())[:200], "test", node, bodies)
    else:
        yield from map(Descend, arguments)


def call(node: Node, context: RuleContext) -> Iterator[Found]:
    """`include("file.jl")`, `include(joinpath(@__DIR__, "file.jl"))`."""
    path = reach(node, "argument_list/string_literal/content")
    if not path and all(
        context.text(each) == "@__DIR__"
        for each in reach(node, "argument_list/call_expression/argument_list/macrocall_expression")
    ):
        path = reach(node, "argument_list/call_expression/argument_list/string_literal/content")
    if path and context.source.startswith(b"include(", node.start_byte):
        line = node.start_point[0] + 1
        yield Import(line, line, "/".join(context.text(each) for each in path), kind="relative")


def using(node: Node, context: RuleContext) -> Iterator[Found]:
    """`using A, B.C`, `import A: f, g`, `using ..A`; a module in the same file leads nowhere."""
    line = node.start_point[0] + 1
    for each in node.named_children:
        chosen = each.type == "selected_import"
        module, alias = _renamed(each.named_child(0) if chosen and each.named_child_count else each, context)
        names = [_renamed(name, context) for name in each.named_children[1:]] if chosen else [("", alias)]
        for name, local in names:
            yield Import(line, line, module.lstrip("."), name, local)


def _renamed(node: Node, context: RuleContext) -> tuple[str, str]:
    """Returns the name and the alias in `name as alias`."""
    if node.type != "import_alias" or node.named_child_count < 2:
        return context.text(node), ""
    return context.text(node.named_child(0)), context.text(node.named_child(1))


def documentation(node: Node, context: RuleContext) -> str:
    """Returns the string or comment above a definition, or above the macro before it."""
    for each in (node, node.parent, node.parent and node.parent.parent):
        previous = None if each is None else each.prev_named_sibling
        if each is None or previous is None or each.start_point[0] != node.start_point[0]:
            continue
        if previous.type == "string_literal" and each.start_point[0] - previous.end_point[0] <= 1:
            return "\n".join(line for line in context.text(previous).splitlines() if not line.startswith("    "))
    return leading_comment(node, context)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    block = r"#=[^=]*+(?>(?:=++[^=#][^=]*+)*)=*+#?"
    strings = f"{patterns.TRIPLE}|{patterns.DOUBLE_LINES}"
    return LexicalRules(
        family="julia",
        comments_and_strings=patterns.any_of(block, patterns.HASH, rf"(?P<code>{strings})", patterns.CHARACTER),
        interpolation=re.compile(r"\$\(([^()]*+)\)|\$(?=[^\W\d])"),
        name=re.compile(r"[^\W\d][\w!]*"),
        keywords=word_set(
            "abstract as baremodule begin break catch const continue do else elseif end export false finally for function",
            "global if import in isa let local macro missing module mutable nothing outer primitive public quote return",
            "struct true try type using where while",
        ),
        member_marks=".",
        soft=word_set("as outer public type"),
        built_in=word_set("Base Core Main"),
        declarations=(
            patterns.declared(
                rf"^[ \t]+(?:(?:local|global)[ \t]++)?(?P<names>{patterns.NAMES})[ \t]*+=(?!=)[ \t]*+(?P<value>[^\n]*+)"
            ),
            patterns.loop(
                patterns.after("for") + rf"[ \t]++\(?(?P<names>{patterns.NAMES})\)?[ \t]*+(?:in\b|=|\u2208)(?P<value>[^\n]*+)"
            ),
        ),
        special_call=re.compile(r"\{[^{}()\n]*+\}\(|!?\.\("),
        supertypes=SupertypeForms(head=re.compile(r"\w++(?:\{[^{}\n]*+\})?[ \t]*+<:(?P<bases>[^\n;]*+)")),
    )


JULIA = Language(
    grammar="julia",
    rules={
        **descend("block compound_statement if_statement let_statement quote_statement const_statement"),
        **descend("global_statement else_clause elseif_clause"),
        "module_definition": defines("module", body="block"),
        "function_definition": function,
        "macro_definition": function,
        "struct_definition": type_,
        "abstract_definition": type_,
        "primitive_definition": type_,
        "typed_expression": field,
        "identifier": field,
        "assignment": assignment,
        "macrocall_expression": macro_call,
        "call_expression": call,
        "using_statement": using,
        "import_statement": using,
    },
    doc=documentation,
    imports=plain_imports(relative=("relative",), path_of=lambda item: item.spec if item.kind == "relative" else ""),
    uses=lexical_rules,
    types=WrittenTypes(variables="colon"),
    display=Display(attribute_starts=("@",), line_comment="#"),
)

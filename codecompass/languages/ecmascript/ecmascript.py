"""JavaScript, TypeScript and TSX: declarations, the members of classes, interfaces and enums, the tests of Jest, Vitest, Mocha,
QUnit, Node and the like, and the three `Language`s.

TSX has a separate grammar, because `<T>x` means something else in it.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.binding import Binding, Members
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.ecmascript.ecmascript_imports import ECMASCRIPT_IMPORTS, ecmascript_module
from codecompass.languages.ecmascript.ecmascript_modules import import_alias, imports, note_exports, re_exports
from codecompass.languages.ecmascript.ecmascript_routes import registered
from codecompass.languages.ecmascript.ecmascript_scopes import (
    AMBIENT,
    FUNCTIONS,
    body_holds_definitions,
    defined,
    doc_comment,
    function_bodies,
    head_end_of,
    is_bare_block,
    member_visibility,
    name_of,
    visibility_at,
)
from codecompass.languages.ecmascript.ecmascript_uses import script_rules, typescript_rules
from codecompass.languages.ecmascript.ecmascript_values import (
    SCRIPT_ENDINGS,
    array,
    call,
    callback,
    class_expression,
    default_export,
    expression_statement,
    object_literal,
    pair,
    returned,
    variables,
)
from codecompass.languages.language import (
    DESCEND,
    Descend,
    Found,
    Language,
    Rule,
    RuleContext,
    RuleFunction,
    body_of,
    children_in,
    first_child,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import SymbolKind
from codecompass.languages.templates.marked_strings import TAGGED_STRINGS
from codecompass.languages.walk.block_tests import BlockTestSyntax
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_TYPE_PARAMETERS: Final = lazy.pattern(rb"\n[ \t]*([ \t])<(?=(?:const\s+)?[A-Za-z_]\w*(?:\s+extends\b|\s*=|,|>\())")
_AFTER_TYPE: Final = lazy.pattern(rb"(?:[\w\])}]|(?<!=)>)$")
_LOOK_BACK: Final = 1_000
"""Bytes read above a line: enough for the comments above it and the end of the code before them."""


_USING: Final = lazy.pattern(
    rb"(?:^|[{;])[ \t]*+(?:for[ \t]*+(?:await[ \t]*+)?\([ \t]*+)?(?P<await>await[ \t]++)?(?P<using>using)"
    rb"(?=[ \t]++[A-Za-z_$][\w$]*+[ \t]*+(?::[^=\n]*+)?(?:=(?!=)|of\b))",
    re.MULTILINE,
)


def with_const(source: bytes) -> bytes:
    """Returns `source`, equally long, with `const` in place of `using` and `await using` before a variable."""
    if b"using " not in source:
        return source
    text = bytearray(source)
    for match in _USING.finditer(source):
        text[match.start("using") : match.end("using")] = b"const"
        if match["await"] is not None:
            text[match.start("await") : match.end("await")] = b" " * len(match["await"])
    return bytes(text)


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with a semicolon before each signature that begins with type parameters, and `const` for
    `using`."""
    source = with_const(source)
    if b" <" not in source and b"\t<" not in source:
        return source
    text = bytearray(source)
    for match in _TYPE_PARAMETERS.finditer(source):
        before = _code_above(source, match.start())
        if _AFTER_TYPE.search(before) and not before.endswith(b"extends"):
            text[match.start(1)] = ord(";")
    return bytes(text)


def _code_above(source: bytes, end: int) -> bytes:
    """Returns the last line before the byte `end` that is not only a comment, without the comment at its end."""
    for line in reversed(source[max(end - _LOOK_BACK, 0) : end].split(b"\n")):
        code = line.partition(b"//")[0].rstrip()
        if code:
            return code
    return b""


Declaration = Callable[[Node, RuleContext, Node, bool], Iterator[Found]]
"""Takes the declaration, the context, the statement around it (`export ...`, `declare ...`) and whether that exports it."""


def function(node: Node, context: RuleContext, outer: Node, is_exported: bool) -> Iterator[Found]:
    """A function, a generator, or the signature of an overload."""
    name = context.field_text(node, "name")
    bodies = function_bodies(node, context)
    if not bodies and is_script_constructor(name, node, context):
        bodies = body_of(node)
    visibility = visibility_at(name, is_exported, context)
    yield defined(name, "fn", outer, context, bodies, head_end=head_end_of(node), visibility=visibility)


def is_script_constructor(name: str, node: Node, context: RuleContext) -> bool:
    """Whether a function is an old-style constructor: `function View() { this.name = 1 }`."""
    is_candidate = name[:1].isupper() and context.path.endswith(SCRIPT_ENDINGS)
    return is_candidate and context.source.find(b"this.", node.start_byte, node.end_byte) >= 0


def type_with_body(kind: SymbolKind) -> Declaration:
    """Returns the declaration of a class, interface or enum."""

    def declaration(node: Node, context: RuleContext, outer: Node, is_exported: bool) -> Iterator[Found]:
        name = context.field_text(node, "name")
        visibility = visibility_at(name, is_exported, context)
        # `export @decorator class A` keeps the decorator in the head; `@decorator class A` does not.
        yield defined(name, kind, outer, context, body_of(node), visibility=visibility)

    return declaration


def type_alias(node: Node, context: RuleContext, outer: Node, is_exported: bool) -> Iterator[Found]:
    """`type A = ...`; the members of an object type are its fields."""
    name, value = context.field_text(node, "name"), node.child_by_field_name("value")
    visibility = visibility_at(name, is_exported, context)
    objects = tuple(object_types(value)) if value is not None else ()
    yield defined(name, "type", outer, context, objects, head_end=outer.end_byte, visibility=visibility)


def object_types(value: Node) -> Iterator[Node]:
    """The object types in `{...}`, `A & {...}` and `{...} | {...}`, in order."""
    pending = [value]
    while pending:
        node = pending.pop()
        if node.type == "object_type":
            yield node
        elif node.type in ("intersection_type", "union_type", "parenthesized_type"):
            pending.extend(reversed(node.named_children))


def namespace(node: Node, context: RuleContext, outer: Node, is_exported: bool) -> Iterator[Found]:
    """`namespace A.B {}` and `declare module 'm' {}`; everything in a declared one is exported."""
    name = name_of(node.child_by_field_name("name"), context)
    is_declared = outer.type == "ambient_declaration" or context.source.startswith(b"declare", outer.start_byte)
    if is_declared or (AMBIENT, *context.scope_names) in context.notes:
        context.notes[AMBIENT, *context.scope_names, name] = ""
    visibility = visibility_at(name, is_exported or node.type == "module", context)
    yield defined(name, "module", outer, context, body_of(node), visibility=visibility)


COMMON_DECLARATIONS: Final[Mapping[str, Declaration]] = {
    "function_declaration": function,
    "generator_function_declaration": function,
    "class_declaration": type_with_body("class"),
    "lexical_declaration": variables,
    "variable_declaration": variables,
}
TYPED_DECLARATIONS: Final[Mapping[str, Declaration]] = {
    "function_signature": function,
    "abstract_class_declaration": type_with_body("class"),
    "interface_declaration": type_with_body("interface"),
    "enum_declaration": type_with_body("enum"),
    "type_alias_declaration": type_alias,
    "internal_module": namespace,
    "module": namespace,
}
DECLARATIONS: Final[Mapping[str, Declaration]] = {**COMMON_DECLARATIONS, **TYPED_DECLARATIONS}


def plain(declaration: Declaration) -> RuleFunction:
    """Returns the rule for a declaration without `export` around it."""
    return lambda node, context: declaration(node, context, node, False)


def export_statement(node: Node, context: RuleContext) -> Iterator[Found]:
    """`export <declaration>`, `export default <expression>`, `export ... from 'm'`."""
    declaration, value = node.child_by_field_name("declaration"), node.child_by_field_name("value")
    if declaration is not None and declaration.type == "ambient_declaration":
        yield from ambient_declaration(declaration, context, node)
    elif declaration is not None and declaration.type in DECLARATIONS:
        yield from DECLARATIONS[declaration.type](declaration, context, node, True)
    elif declaration is not None:
        yield from import_alias(declaration, context)
    elif value is not None:
        yield from default_export(value, node, context)
    else:
        yield from re_exports(node, context)


def ambient_declaration(node: Node, context: RuleContext, outer: Node | None = None) -> Iterator[Found]:
    """`declare <declaration>`; the content of `declare global { ... }` is outside every module."""
    for child in node.named_children:
        if child.type in DECLARATIONS:
            yield from DECLARATIONS[child.type](child, context, outer or node, outer is not None)
        elif child.type == "statement_block":
            yield Descend(child)


def block(node: Node, context: RuleContext) -> Iterator[Found]:
    """A block that is not a function's body: its constants are local, its functions not; one around a script is transparent."""
    if is_bare_block(node, context):
        yield Descend(node)
    elif body_holds_definitions(node, context):
        yield Descend(node, "fn")


def loop(node: Node, context: RuleContext) -> Iterator[Found]:
    """A loop: the variables in its head are local."""
    body = node.child_by_field_name("body")
    if body is not None and body_holds_definitions(body, context):
        yield Descend(body, "fn")


def method(node: Node, context: RuleContext) -> Iterator[Found]:
    """A method with its body, and for a constructor the fields that it declares or sets."""
    name = name_of(node.child_by_field_name("name"), context)
    yield defined(name, "method", node, context, function_bodies(node, context), head_end=head_end_of(node))
    if name == "constructor" and context.enclosing == "class":
        yield from parameter_properties(node, context)
        if context.path.endswith(SCRIPT_ENDINGS):
            yield from fields_of_constructor(node, context)


def parameter_properties(node: Node, context: RuleContext) -> Iterator[Found]:
    """`constructor(private readonly a: A)` declares a field."""
    for parameter in children_in(node, "parameters"):
        pattern = parameter.child_by_field_name("pattern")
        if pattern is not None and pattern.type == "identifier":
            words = context.source[parameter.start_byte : pattern.start_byte].split()
            if any(word in PROPERTY_WORDS for word in words):
                name = context.text(pattern)
                yield defined(name, "field", parameter, context, visibility=member_visibility(parameter, name, context))


PROPERTY_WORDS: Final = (b"private", b"protected", b"public", b"readonly", b"override")


def fields_of_constructor(node: Node, context: RuleContext) -> Iterator[Found]:
    """The first assignment to each `this.x` in the constructor of a script's class, unless the class declares `x`."""
    pending = list(reversed(children_in(node, "body")))
    while pending:
        statement = pending.pop()
        if statement.type in ("if_statement", "else_clause", "statement_block", "try_statement"):
            pending.extend(reversed(statement.named_children))
            continue
        target = statement.named_children[0] if statement.named_child_count else statement
        while target.type == "assignment_expression":
            left, right = target.child_by_field_name("left"), target.child_by_field_name("right")
            if left is None or right is None:
                break
            owner, name = left.child_by_field_name("object"), context.field_text(left, "property")
            note = ("field", *context.scope_names, name)
            is_function = right.type in FUNCTIONS
            if owner is not None and owner.type == "this" and note not in context.notes and not is_function:
                context.notes[note] = ""
                yield defined(name, "field", statement, context)
            target = right


def signature(node: Node, context: RuleContext) -> Iterator[Found]:
    """A method without a body: in an interface, an abstract class, or before the overload that has one."""
    name = name_of(node.child_by_field_name("name"), context)
    yield defined(name, "method", node, context)


def construct_signature(node: Node, context: RuleContext) -> Iterator[Found]:
    """`new (...): T` in an interface."""
    yield defined("new", "method", node, context)


def field(node: Node, context: RuleContext) -> Iterator[Found]:
    """A field of a class; one whose value is a function is a method."""
    name_node = node.child_by_field_name("name") or node.child_by_field_name("property")
    name, value = name_of(name_node, context), node.child_by_field_name("value")
    context.notes["field", *context.scope_names, name] = ""
    if value is not None and value.type in FUNCTIONS:
        yield defined(name, "method", node, context, function_bodies(value, context), head_end=head_end_of(value))
    else:
        yield defined(name, "field", node, context)


def property_signature(node: Node, context: RuleContext) -> Iterator[Found]:
    """A property of an interface or object type."""
    yield defined(name_of(node.child_by_field_name("name"), context), "field", node, context)


def enum_member(node: Node, context: RuleContext) -> Iterator[Found]:
    """A member of an enum, with or without a value."""
    if context.enclosing == "enum":
        name = name_of(node.child_by_field_name("name") or node, context)
        yield defined(name, "const", node, context, visibility=context.scope_visibility)


def static_block(node: Node, _context: RuleContext) -> Iterator[Found]:
    """`static { ... }`: its variables are local, as in a function."""
    for body in body_of(node):
        yield Descend(body, "fn")


TRANSPARENT: Final = (
    *("ERROR", "arguments", "await_expression", "binary_expression", "catch_clause", "else_clause", "finally_clause"),
    *("if_statement", "labeled_statement", "member_expression", "new_expression", "parenthesized_expression"),
    *("sequence_expression", "switch_body", "switch_case", "switch_statement"),
    *("ternary_expression", "try_statement", "unary_expression", "assignment_expression"),
)

COMMON_RULES: Final[Mapping[str, Rule]] = {
    **dict.fromkeys(TRANSPARENT, DESCEND),
    **{kind: plain(declaration) for kind, declaration in COMMON_DECLARATIONS.items()},
    "export_statement": export_statement,
    "import_statement": imports,
    "expression_statement": expression_statement,
    "return_statement": returned,
    "statement_block": block,
    "for_in_statement": loop,
    "method_definition": method,
    "class_static_block": static_block,
    "call_expression": call,
    "arrow_function": callback,
    "function_expression": callback,
    "generator_function": callback,
    "class": class_expression,
    "object": object_literal,
    "pair": pair,
    "array": array,
}

TYPED_RULES: Final[Mapping[str, Rule]] = {
    **COMMON_RULES,
    **{kind: plain(declaration) for kind, declaration in TYPED_DECLARATIONS.items()},
    "ambient_declaration": ambient_declaration,
    "import_alias": import_alias,
    "public_field_definition": field,
    "abstract_method_signature": signature,
    "method_signature": signature,
    "construct_signature": construct_signature,
    "property_signature": property_signature,
    "enum_assignment": enum_member,
    "property_identifier": enum_member,
    "string": enum_member,
    "as_expression": DESCEND,
    "satisfies_expression": DESCEND,
    "non_null_expression": DESCEND,
}
SCRIPT_RULES: Final[Mapping[str, Rule]] = {**COMMON_RULES, "field_definition": field}

_HEAD: Final = lazy.pattern(
    rb"""
    \n[ \t]*+(?P<head>
        (?:describe|it|test|suite|context|specify|bench|xdescribe|xit|xtest|fdescribe|fit
            |await[ \t]+(?:t\.)?(?:it|test|describe|bench)|QUnit\.(?:module|test)|Deno\.test|t\.test)\b
        (?:\.(?!(?:each|for|skipIf|runIf)\b)\w+)*
        (?:\.(?:each|for|skipIf|runIf)\b|(?:<[^<>\n]*>)?\(\s*(?=["'`])))
    (?:(?:'([^'\\\n]*(?:\\.[^'\\\n]*)*)'|"([^"\\\n]*(?:\\.[^"\\\n]*)*)"|`([^`\\]*(?:\\.[^`\\]*)*)`)(?=\s*,))?
    """,
    re.VERBOSE,
)
_TITLES: Final = frozenset({"string", "template_string"})


def _title_of(statement: Node) -> tuple[int, int] | None:
    """Returns the byte range of the title in `it.each(table)("title", ...)`, `describe.skipIf(condition)("title", ...)`."""
    call = statement.named_children[0]
    if call.type == "await_expression" and call.named_child_count:
        call = call.named_children[0]
    arguments = call.child_by_field_name("arguments")
    first = first_child(arguments)
    if first is None or first.type not in _TITLES or first.end_byte - first.start_byte < 2:
        return None
    # In `it.each(["a", "b"])` without a title the arguments are the table.
    function = call.child_by_field_name("function")
    if function is None or function.type not in ("call_expression", "identifier"):
        return None
    return first.start_byte + 1, first.end_byte - 1


TESTS: Final = BlockTestSyntax(
    pattern=_HEAD,
    block=lazy.pattern(rb"=>|\bfunction\b"),
    computed=lazy.pattern(rb"\$\{"),
    nodes=frozenset({"await_expression", "call_expression", "expression_statement", "identifier", "member_expression"}),
    statements=frozenset({"expression_statement"}),
    title_of=_title_of,
)

BINDING: Final = Binding(
    containers_are_components=True,
    has_no_other_names=True,
    exports_imports=True,
    has_export_statements=True,
    declaration_endings=(".d.ts", ".d.mts", ".d.cts"),
)
MEMBERS: Final = Members(place="file", functions_are_properties=True)
TYPES: Final = WrittenTypes(
    variables="colon",
    results="colon",
    supertypes="keywords",
    first_argument_types=word_set("Omit Partial Required Readonly Pick NonNullable Exclude Extract"),
)
DISPLAY: Final = Display(attribute_starts=DECORATORS, imports="from")

JAVASCRIPT = Language(
    grammar="javascript",
    rules=SCRIPT_RULES,
    comment_starts=(b"//", b"/*"),
    prepare=with_const,
    tests=TESTS,
    registers=registered,
    path_module=ecmascript_module,
    imports=ECMASCRIPT_IMPORTS,
    before_walk=note_exports,
    doc=doc_comment,
    uses=script_rules,
    binding=BINDING,
    members=MEMBERS,
    types=TYPES,
    display=DISPLAY,
    regions=TAGGED_STRINGS,
)

TYPESCRIPT = replace(JAVASCRIPT, grammar="typescript", rules=TYPED_RULES, prepare=prepare, uses=typescript_rules)

TSX = replace(JAVASCRIPT, grammar="tsx", rules=TYPED_RULES)

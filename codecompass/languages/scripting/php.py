"""PHP: classes, interfaces, traits, enums with their members, functions, constants, variables of a script, `use` and includes."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.binding import Binding, Members
from codecompass.languages.display import Display
from codecompass.languages.language import (
    DESCEND,
    Definition,
    Descend,
    Found,
    Language,
    RuleContext,
    body_of,
    children_in,
    first_child,
    head_without_comments,
    lines_of,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.scripting.php_imports import PHP_IMPORTS
from codecompass.languages.scripting.php_routes import registered
from codecompass.languages.templates.marked_strings import HEREDOCS
from codecompass.languages.uses.lexical_rules import LexicalRules, SupertypeForms, TypeConditions
from codecompass.languages.uses.patterns import (
    BLOCK,
    COMMON_KEYWORDS,
    DOLLAR_NAME,
    DOUBLE_LINES,
    SINGLE_LINES,
    after,
    any_of,
    declared,
)
from codecompass.languages.walk.block_tests import QUOTED, BlockTestSyntax
from codecompass.languages.walk.source_text import enter_if_marked, holds_marker, marker_finder
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes


def in_namespace(name: str, context: RuleContext) -> str:
    """Returns the qualified name of a declaration outside types."""
    namespace = context.notes.get(("namespace",), "")
    return f"{namespace}\\{name}" if namespace else name


def in_class(name: str, context: RuleContext) -> str:
    """Returns the qualified name of a member (`A\\B::m`); in an anonymous class it is qualified by the enclosing function."""
    kinds, names = context.scope_kinds, context.scope_names
    for index in range(len(kinds) - 1, -1, -1):
        if kinds[index] in CLASS_LIKE:
            # A nameless scope has a kind but no name, so its index is after the last name.
            if index < len(names):
                return f"{in_namespace(names[index], context)}::{name}"
            break
    around = names[1:] if kinds[:1] == ("module",) else names
    return f"{in_namespace('::'.join(around), context)}::{name}" if around else name


def after_attributes(node: Node) -> Node:
    """Returns the first part of a declaration after its attributes, where the definition begins."""
    for child in node.children:
        if child.type not in ("attribute_list", "comment"):
            return child
    return node


def visibility_of(node: Node, context: RuleContext) -> Visibility:
    """Returns the visibility by the modifier of a member, public without one."""
    for child in node.children:
        if child.type == "visibility_modifier":
            word = context.text(child).lower()
            return "private" if word.startswith("private") else "protected" if word.startswith("protected") else "public"
        if child.type in ("name", "const_element", "property_element"):
            break
    return "public"


INCLUDES: Final = frozenset({"include_expression", "include_once_expression", "require_expression", "require_once_expression"})


def literal_of(node: Node, context: RuleContext) -> str:
    """Returns the value of a string without interpolation, else empty."""
    if node.type not in ("string", "encapsed_string") or node.named_child_count != 1:
        return ""
    content = node.named_children[0]
    return context.text(content).replace("\\\\", "\\").strip() if content.type == "string_content" else ""


def include(node: Node, context: RuleContext) -> Iterator[Found]:
    """`require 'x.php'`, and `require __DIR__ . '/x.php'`, which is `./x.php`."""
    value = first_child(node)
    while value is not None and value.type == "parenthesized_expression" and value.named_child_count:
        value = value.named_children[0]
    if value is None:
        return
    spec = literal_of(value, context)
    if value.type == "binary_expression" and context.field_text(value, "left") == "__DIR__":
        right = value.child_by_field_name("right")
        spec = "" if right is None else literal_of(right, context)
        spec = f".{spec}" if spec.startswith("/") else ""
    if spec:
        yield Import(*lines_of(node), spec, kind="relative")


def use(node: Node, context: RuleContext) -> Iterator[Found]:
    """`use A\\B as C, D`, `use A\\{B, C\\D}`, `use function A\\f`; a leading backslash has no meaning and is left out."""
    prefix = ""
    clauses = node.named_children
    group = node.child_by_field_name("body")
    if group is not None:
        prefix = "".join(context.text(child) for child in node.named_children if child.type == "namespace_name") + "\\"
        clauses = group.named_children
    for clause in clauses:
        names = [child for child in clause.named_children if child.type in ("name", "qualified_name")]
        if clause.type != "namespace_use_clause" or not names:
            continue
        spec, _, name = (prefix + context.text(names[0])).lstrip("\\").rpartition("\\")
        alias = context.field_text(clause, "alias")
        # An import in a group has the line of its clause, because the declaration may be long.
        where = clause if group is not None else node
        yield Import(*lines_of(where), spec or name, name if spec else "", alias)


MARKERS: Final = (b"class", b"define", b"enum", b"function", b"include", b"interface", b"new", b"require", b"trait")
DEFINITION: Final = lazy.pattern(
    rb"\b(?:new\s+(?:readonly\s+)?class\b|new\s*#\[|function\s+&?\s*\w|(?:class|enum|interface|trait)\s+\w+[^(;]{0,200}\{"
    rb"|define\s*\(|(?:include|require)(?:_once)?\b)"
)
"""Definitions for which a body or expression is entered: most hold only closures, which have no name."""

KIND_OF: Final[dict[str, SymbolKind]] = {
    "class_declaration": "class",
    "interface_declaration": "interface",
    "trait_declaration": "trait",
    "enum_declaration": "enum",
}
EXPRESSIONS: Final = word_set(
    "anonymous_function argument arguments array_creation_expression array_element_initializer arrow_function "
    "assignment_expression function_call_expression member_call_expression object_creation_expression "
    "parenthesized_expression return_statement scoped_call_expression"
)


def _between(start: int, end: int, context: RuleContext) -> str:
    return context.source[start:end].decode("utf-8", "replace")


def _define(
    node: Node, kind: SymbolKind, name: str, qualified_name: str, visibility: Visibility, context: RuleContext
) -> Definition:
    """Returns the definition of a declaration; its body, if any, is entered if it belongs to a type or holds a marker."""
    body = node.child_by_field_name("body")
    head = after_attributes(node)
    bodies: tuple[Node, ...] = ()
    if body is not None and (kind in CLASS_LIKE or holds_marker(body, context)):
        bodies = (body,)
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=bodies,
        start_line=head.start_point[0] + 1,
        signature=head_without_comments(node, head.start_byte, node.end_byte if body is None else body.start_byte, context),
        visibility=visibility,
        qualified_name=qualified_name,
    )


def namespace(node: Node, context: RuleContext) -> Iterator[Found]:
    """`namespace A\\B;` and `namespace A\\B { }`."""
    name = context.field_text(node, "name")
    context.notes["namespace",] = name
    if name:
        last = name.rsplit("\\", 1)[-1]
        yield Definition(name=last, kind="module", node=node, bodies=body_of(node), visibility="public", qualified_name=name)
    for body in () if name else body_of(node):
        yield Descend(body)


def type_declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """`class`, `interface`, `trait`, `enum`."""
    name = context.field_text(node, "name")
    yield _define(node, KIND_OF[node.type], name, in_namespace(name, context), "public", context)


def anonymous_class(node: Node, _context: RuleContext) -> Iterator[Found]:
    """`new class { }`: its members are in a nameless class."""
    for body in body_of(node):
        yield Descend(body, "class")


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`function name() { }` outside classes."""
    name = context.field_text(node, "name")
    yield _define(node, "fn", name, in_namespace(name, context), "public", context)


def method(node: Node, context: RuleContext) -> Iterator[Found]:
    """A method, and the properties declared by the parameters of a constructor."""
    name = context.field_text(node, "name")
    yield _define(node, "method", name, in_class(name, context), visibility_of(node, context), context)
    if name.lower() != "__construct":
        return
    for parameter in children_in(node, "parameters"):
        if parameter.type == "property_promotion_parameter":
            field = context.field_text(parameter, "name").lstrip("&$")
            yield _define(parameter, "field", field, in_class(field, context), visibility_of(parameter, context), context)


def elements(node: Node, context: RuleContext) -> Iterator[Found]:
    """`const A = 1, B = 2` and `public int $a = 1, $b`: a definition for each element."""
    is_property = node.type == "property_declaration"
    is_member = context.enclosing in CLASS_LIKE
    wanted = "property_element" if is_property else "const_element"
    head = after_attributes(node)
    found = [child for child in node.named_children if child.type == wanted]
    for element in found:
        name_node = element.child_by_field_name("name") or first_child(element)
        if name_node is None:
            continue
        name = context.text(name_node).lstrip("$")
        before = _between(head.start_byte, found[0].start_byte, context)
        yield Definition(
            name=name,
            kind="field" if is_property else "const",
            node=node if len(found) == 1 else element,
            start_line=(head if element is found[0] else element).start_point[0] + 1,
            signature=before + head_without_comments(element, element.start_byte, element.end_byte, context),
            visibility=visibility_of(node, context) if is_member else "public",
            qualified_name=in_class(name, context) if is_member else in_namespace(name, context),
        )


def enum_case(node: Node, context: RuleContext) -> Iterator[Found]:
    """`case Name = value;`."""
    name = context.field_text(node, "name")
    yield _define(node, "const", name, in_class(name, context), "public", context)


def statement(node: Node, context: RuleContext) -> Iterator[Found]:
    """`define('X', 1)` and the first assignment of a script's variable; other expressions are entered if they hold a marker."""
    expression = first_child(node)
    if expression is None:
        return
    if expression.type == "function_call_expression":
        name = _defined_constant(expression, context)
        if name:
            yield Definition(
                name=name.rsplit("\\", 1)[-1],
                kind="const",
                node=node,
                signature=context.text(node),
                visibility="public",
                qualified_name=name,
            )
            return
    elif expression.type == "assignment_expression" and not context.scope_kinds:
        yield from _script_variable(node, expression, context)
    if holds_marker(node, context):
        yield Descend(node)


def _defined_constant(call: Node, context: RuleContext) -> str:
    arguments = call.child_by_field_name("arguments")
    if context.field_text(call, "function").lstrip("\\").lower() != "define" or arguments is None:
        return ""
    first = first_child(arguments)
    return literal_of(first.named_children[0], context) if first is not None and first.named_child_count else ""


def _script_variable(node: Node, assignment: Node, context: RuleContext) -> Iterator[Found]:
    left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
    if left is None or right is None or left.type != "variable_name":
        return
    name = context.text(left).lstrip("$")
    if ("variable", name) in context.notes:
        return
    context.notes["variable", name] = ""
    is_function = right.type in ("anonymous_function", "arrow_function")
    body = right.child_by_field_name("body") if is_function else None
    yield Definition(
        name=name,
        kind="fn" if is_function else "var",
        node=node,
        signature=_between(node.start_byte, node.end_byte if body is None else body.start_byte, context).rstrip(" =>"),
        qualified_name=name,
    )


TESTS: Final = BlockTestSyntax(
    pattern=lazy.pattern(rb"\n[ \t]*+(?P<head>it|test|describe)\([ \t]*" + QUOTED),
    block=lazy.pattern(rb"\b(?:function|fn)\b"),
    computed=lazy.pattern(rb"\{\$"),
    nodes=frozenset({"expression_statement", "function_call_expression", "member_call_expression"}),
    statements=frozenset({"expression_statement"}),
)
"""Pest."""


_TO_END_OF_LINE: Final = r"[^\n?]*+(?>(?:\?(?!>)[^\n?]*+)*)"
"""A comment ends where the code ends."""

_TO_CODE: Final = r".*?(?:<\?(?:php\b|=)|\Z)"


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="php",
        built_in=word_set(
            "ArgumentCountError ArithmeticError ArrayAccess ArrayIterator ArrayObject Closure Countable DateInterval DatePeriod "
            "DateTime DateTimeImmutable DateTimeInterface DateTimeZone DOMDocument DOMXPath Error ErrorException Exception "
            "Generator InvalidArgumentException Iterator IteratorAggregate JsonException JsonSerializable Locale LogicException "
            "NumberFormatter PDO PDOException Phar ReflectionClass ReflectionException ReflectionFunction ReflectionMethod "
            "ReflectionNamedType ReflectionProperty RuntimeException SimpleXMLElement SplFileInfo SplObjectStorage stdClass "
            "Stringable Throwable Traversable TypeError UnexpectedValueException UnitEnum ValueError WeakMap WeakReference "
            "ZipArchive"
        ),
        comments_and_strings=any_of(
            rf"//{_TO_END_OF_LINE}",
            rf"#(?!\[){_TO_END_OF_LINE}",
            *(BLOCK, DOUBLE_LINES, SINGLE_LINES),
            r"<<<[ \t]*+(?P<mark>[\"']?)(?P<name>\w++)(?P=mark)(?P<rest>)(?P<body>\n.*?)(?:\n[ \t]*+(?P=name)\b|\Z)",
            rf"\?>{_TO_CODE}",
            rf"<(?<=\A<)(?!\?){_TO_CODE}",
        ),
        name=DOLLAR_NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "abstract and array as callable class clone const declare echo elseif empty enddeclare endfor endforeach endif "
            "endswitch endwhile enum extends final fn foreach function global goto implements include include_once instanceof "
            "insteadof interface isset list match namespace or print private protected public readonly require require_once "
            "static trait unset use var xor yield int float string bool void mixed parent",
        ),
        own=frozenset({"$this", "self", "static"}),
        above=frozenset({"parent"}),
        declarations=(
            declared(r"(?P<names>\$\w++)[ \t]*+=(?![=>])[ \t]*+(?P<value>[^\n;]*+)"),
            declared(after("as") + r"\s++(?:\$\w++\s*+=>\s*+)?(?P<names>\$\w++)"),
        ),
        parameters="type_first",
        namespace_roots=word_set("System"),
        supertypes=SupertypeForms(
            head=re.compile(r"[\w$]++\s*+(?::\s*+\w++\s++)?(?:extends|implements)\b(?P<bases>[^{;]*+)"),
            statement=re.compile(r"(?:^[ \t]++|\{[ \t]*+)use\b(?P<bases>[^;{}()]*+)[;{]", re.MULTILINE),
        ),
        conditions=TypeConditions(
            mark="instanceof",
            pattern=re.compile(r"(?P<value>\$\w++(?>(?:\??->\w++)*))\s++instanceof\s++\\?(?P<type>[\w\\]++)"),
        ),
    )


PHP = Language(
    grammar="php",
    rules={
        "namespace_definition": namespace,
        **dict.fromkeys(KIND_OF, type_declaration),
        "anonymous_class": anonymous_class,
        "function_definition": function,
        "method_declaration": method,
        "const_declaration": elements,
        "property_declaration": elements,
        "enum_case": enum_case,
        "expression_statement": statement,
        "namespace_use_declaration": use,
        **dict.fromkeys(INCLUDES, include),
        **dict.fromkeys(EXPRESSIONS, enter_if_marked),
        **dict.fromkeys(
            word_set("compound_statement else_clause foreach_statement if_statement try_statement ERROR"),
            DESCEND,
        ),
    },
    separator="\\",
    member_separator="::",
    comment_starts=(b"//", b"/*", b"#"),
    tests=TESTS,
    before_walk=marker_finder(MARKERS, DEFINITION),
    registers=registered,
    uses=lexical_rules,
    imports=PHP_IMPORTS,
    binding=Binding(declares="namespace", continues_namespaces=True, imports_are_per_file=True),
    members=Members(types_are_capitalised=True),
    types=WrittenTypes(variables="before_name", results="colon", supertypes="keywords"),
    display=Display(attribute_starts=("#[",), lexer_options={"startinline": True}),
    regions=HEREDOCS,
)

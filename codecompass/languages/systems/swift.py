"""Swift: types and actors, protocols, extensions, functions, initializers, properties, enum cases, imports."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.binding import Binding, Members
from codecompass.languages.display import DECORATORS, Display
from codecompass.languages.language import DESCEND, Definition, Descend, Found, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, FUNCTION_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.systems.swift_imports import SWIFT_IMPORTS, swift_module
from codecompass.languages.uses.lexical_rules import ImplicitParameter, LexicalRules, SupertypeForms
from codecompass.languages.uses.patterns import (
    BLOCK,
    COMMON_KEYWORDS,
    DOUBLE,
    NAME,
    SLASHES,
    TRIPLE,
    after,
    any_of,
    cast_after,
    declared,
    loop,
    named_value,
    supertypes_after_colon,
)
from codecompass.languages.walk.preparation import blank_matches, masked, resolve_conditionals
from codecompass.languages.walk.source_text import (
    MAX_VALUE_BYTES,
    comment_above,
    enter_function_if_marked,
    enter_if_marked,
    holds_marker,
    marker_finder,
    plain_code,
)
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_LITERALS: Final = lazy.pattern(
    rb"""//[^\n]*+ | /\*.*?(?:\*/|\Z) | \"\"\".*?(?:\"\"\"|\Z) | "(?:[^"\\\n]++|\\.)*+" """, re.DOTALL | re.VERBOSE
)
_DIRECTIVE: Final = lazy.pattern(rb"^[ \t]*#(if|elseif|else|endif|error|warning)\b[^\n]*", re.MULTILINE)
_UNDERSCORED: Final = lazy.pattern(rb"#(?=_\w)")
_UNSUPPORTED: Final = (
    (b"nonisolated(", lazy.pattern(rb"\b(nonisolated\(\w+\))")),
    (b"sending ", lazy.pattern(rb":\s*(sending)\s")),
    (b"await ", lazy.pattern(rb"\b(?:if|guard|while)\s+(?:let|var)\s[^\n{=]*=\s*((?:try[?!]?\s+)?await)\s")),
    (b"consume ", lazy.pattern(rb"[=(,]\s*(consume)\s+\w")),
)


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of what the grammar cannot parse."""
    code = masked(source, _LITERALS)
    text = bytearray(source)
    if b"#if" in code:
        resolve_conditionals(text, code, _DIRECTIVE, ends_with_line=True)
    blank_matches(text, bytes(code), _UNSUPPORTED)
    if b"#_" in code:
        for match in _UNDERSCORED.finditer(bytes(code)):
            text[match.start()] = 0x5F
    return bytes(text)


_KINDS: Final[dict[str, SymbolKind]] = {
    "class": "class",
    "actor": "class",
    "struct": "struct",
    "enum": "enum",
    "extension": "impl",
}
_VISIBILITIES: Final[dict[str, Visibility]] = {
    "open": "public",
    "public": "public",
    "package": "internal",
    "internal": "internal",
    "fileprivate": "private",
    "private": "private",
}
_LOCAL_MARKERS: Final = (b"func ", b"class ", b"struct ", b"enum ", b"actor ")
"""Markers of definitions inside function bodies."""


def _start(node: Node) -> Node:
    """Returns the first word of a declaration after its attributes."""
    for child in node.children:
        if child.type == "attribute":
            continue
        if child.type != "modifiers":
            return child
        for word in child.children:
            if word.type != "attribute":
                return word
    return node


def _visibility(node: Node, context: RuleContext) -> Visibility:
    enclosing = context.enclosing
    if enclosing in FUNCTION_LIKE:
        return ""
    first = node.children[0] if node.child_count else None
    if first is not None and first.type == "modifiers":
        for word in first.named_children:
            # `private(set)` applies to the setter only.
            if word.type == "visibility_modifier" and word.child_count == 1:
                return _VISIBILITIES.get(context.text(word), "internal")
    # Members of a protocol have its visibility; the modifier of an extension applies to all its members.
    return context.scope_visibility if enclosing in ("interface", "impl") else "internal"


def _define(
    node: Node, name: str, kind: SymbolKind, context: RuleContext, body: Node | None = None, end: int | None = None
) -> Definition:
    start = _start(node)
    bodies: tuple[Node, ...] = () if body is None else (body,)
    if body is not None and kind in FUNCTION_LIKE and not holds_marker(body, context):
        bodies = ()
    if end is None:
        end = node.end_byte if body is None else body.start_byte
    return Definition(
        name=name.strip("` "),
        kind=kind,
        node=node,
        bodies=bodies,
        signature=plain_code(context.source[start.start_byte : end]),
        visibility=_visibility(node, context),
        start_line=start.start_point[0] + 1,
    )


def type_of(node: Node, context: RuleContext) -> Iterator[Found]:
    """`class`, `struct`, `enum`, `actor`; an extension has the name of the type that it extends."""
    word, name_node = context.field_text(node, "declaration_kind"), node.child_by_field_name("name")
    if name_node is None:
        return
    *outer, name = context.text(name_node).partition("<")[0].split(".")
    definition = _define(node, name.strip("[]?() "), _KINDS.get(word, "class"), context, node.child_by_field_name("body"))
    if outer:
        definition = replace(definition, qualifier=(*context.scope_names, *outer))
    yield definition


def protocol(node: Node, context: RuleContext) -> Iterator[Found]:
    """A protocol and its requirements."""
    yield _define(node, context.field_text(node, "name"), "interface", context, node.child_by_field_name("body"))


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """Functions and operators; in a type they are methods."""
    kind: SymbolKind = "method" if context.enclosing in CLASS_LIKE else "fn"
    yield _define(node, context.field_text(node, "name"), kind, context, node.child_by_field_name("body"))


def special_method(node: Node, context: RuleContext) -> Iterator[Found]:
    """`init`, `deinit` and `subscript`, whose keyword is the name."""
    name = node.type.removesuffix("_declaration")
    body = node.child_by_field_name("body")
    end = None
    if name == "subscript":
        accessors = next((child for child in node.named_children if child.type == "computed_property"), None)
        end = None if accessors is None else accessors.start_byte
    yield _define(node, name, "method", context, body, end)


def enum_cases(node: Node, context: RuleContext) -> Iterator[Found]:
    """`case a, b(Int)`: a definition for each name, with the visibility of the enum."""
    names = node.children_by_field_name("name")
    start = _start(node)
    for name in names:
        text = context.source[start.start_byte : node.end_byte].decode("utf-8", "replace")
        yield Definition(
            name=context.text(name).strip("` "),
            kind="const",
            node=node,
            signature=text if len(names) == 1 else f"case {context.text(name)}",
            visibility=context.scope_visibility,
            start_line=start.start_point[0] + 1,
        )


def property_of(node: Node, context: RuleContext) -> Iterator[Found]:
    """`let` and `var` outside functions: each name of a list or a tuple."""
    if context.enclosing in FUNCTION_LIKE:
        if holds_marker(node, context):
            yield Descend(node)
        return
    patterns = node.children_by_field_name("name")
    if not patterns:
        return
    start = _start(node)
    end = _end_of_head(node)
    head = context.source[start.start_byte : end]
    words = head.split(None, 6)
    is_member = context.enclosing in CLASS_LIKE
    # A `let` of a type or file is a constant, one of an instance a field.
    is_constant = b"let" in words and (not is_member or b"static" in words)
    kind: SymbolKind = "const" if is_constant else "field" if is_member else "var"
    for pattern in patterns:
        for name in _names(pattern, context):
            yield Definition(
                name=name.strip("` "),
                kind=kind,
                node=node,
                signature=plain_code(head),
                visibility=_visibility(node, context),
                start_line=start.start_point[0] + 1,
            )


def _names(pattern: Node, context: RuleContext) -> list[str]:
    bound = pattern.child_by_field_name("bound_identifier")
    if bound is not None:
        return [context.text(bound)]
    found: list[str] = []
    pending = [pattern]
    while pending:
        node = pending.pop()
        if node.type == "simple_identifier":
            found.append(context.text(node))
        else:
            pending.extend(reversed(node.named_children))
    return found


def _end_of_head(node: Node) -> int:
    """Returns the byte where the signature ends: before accessors and long values, else at the end."""
    last = node.start_byte
    for child in node.children:
        if child.type in ("computed_property", "willset_didset_block"):
            return child.start_byte
        if child.type == "=" and node.end_byte - child.start_byte > MAX_VALUE_BYTES:
            return last
        last = child.end_byte
    return node.end_byte


def named_type(node: Node, context: RuleContext) -> Iterator[Found]:
    """`typealias` and `associatedtype`."""
    yield _define(node, context.field_text(node, "name"), "type", context)


def macro(node: Node, context: RuleContext) -> Iterator[Found]:
    """`macro name(...) -> Type = #externalMacro(...)`"""
    name = next((child for child in node.named_children if child.type == "simple_identifier"), None)
    definition = node.child_by_field_name("definition")
    if name is not None:
        yield _define(node, context.text(name), "macro", context, end=None if definition is None else definition.start_byte)


_IMPORT_KINDS: Final = frozenset({"class", "enum", "func", "let", "protocol", "struct", "typealias", "var"})


def imports(node: Node, context: RuleContext) -> Iterator[Found]:
    """`import A`, `import A.B`; `import struct A.B` imports one declaration of a module."""
    line = node.start_point[0] + 1
    path = next((child for child in node.named_children if child.type == "identifier"), None)
    if path is None:
        return
    written = "".join(context.text(path).split())
    if any(child.type in _IMPORT_KINDS for child in node.children) and "." in written:
        module, _, name = written.rpartition(".")
        yield Import(line, line, module, name)
    else:
        yield Import(line, line, written)


_ENTERED_IF_MARKED: Final = word_set(
    "assignment await_expression call_expression call_suffix control_transfer_statement if_statement try_expression "
    "value_argument"
)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="swift",
        has_overloads=True,
        block_argument="perhaps",
        built_in=word_set(
            "Any AnyObject Array Bool Bundle Calendar Character Data Date DateFormatter DispatchQueue Dictionary Double Error "
            "FileManager Float Int Int16 Int32 Int64 Int8 JSONDecoder JSONEncoder Locale NSError NSObject NotificationCenter "
            "NumberFormatter Operation OperationQueue Optional ProcessInfo Range Result Set String Substring Task Thread "
            "TimeInterval TimeZone Timer UInt UInt16 UInt32 UInt64 UInt8 URL URLComponents URLRequest URLResponse URLSession "
            "UUID UserDefaults Void"
        ),
        comments_and_strings=any_of(SLASHES, BLOCK, rf'"(?P<code>{TRIPLE[1:]}|{DOUBLE[1:]})'),
        interpolation=re.compile(r"\\\(([^()]*+(?:\([^()]*+\))?)\)"),
        name=NAME,
        keywords=word_set(
            COMMON_KEYWORDS,
            "associatedtype class deinit enum extension fileprivate func import init inout internal let open operator private "
            "precedencegroup protocol public rethrows static struct subscript typealias var defer fallthrough guard in repeat "
            "where as is nil super throws async await some any weak unowned lazy mutating override required convenience final",
        ),
        own=frozenset({"self", "Self"}),
        declarations=(
            named_value(),
            declared(r"\{\s*+(?:\[[^\[\]{}]*+\]\s*+)?\(?(?P<names>[\w\s,]{1,200})\)?\s++in\b"),
            loop(after("for") + r"\s++(?P<names>\w++|\([^()]*+\))\s++in\b(?P<value>[^\n]{0,200})"),
        ),
        has_implicit_members=True,
        namespace_roots=word_set("System"),
        implicit_parameter=ImplicitParameter("$0", re.compile(r"\$0")),
        casts=(cast_after(),),
        has_lists=True,
        has_numbered_fields=True,
        supertypes=SupertypeForms(head=supertypes_after_colon()),
    )


SWIFT = Language(
    grammar="swift",
    rules={
        "import_declaration": imports,
        "class_declaration": type_of,
        "protocol_declaration": protocol,
        "function_declaration": function,
        "protocol_function_declaration": function,
        "init_declaration": special_method,
        "deinit_declaration": special_method,
        "subscript_declaration": special_method,
        "property_declaration": property_of,
        "protocol_property_declaration": property_of,
        "enum_entry": enum_cases,
        "typealias_declaration": named_type,
        "associatedtype_declaration": named_type,
        "macro_declaration": macro,
        "statements": DESCEND,
        "lambda_literal": enter_function_if_marked,
        **dict.fromkeys(_ENTERED_IF_MARKED, enter_if_marked),
        "ERROR": DESCEND,
    },
    prepare=prepare,
    path_module=swift_module,
    imports=SWIFT_IMPORTS,
    before_walk=marker_finder(_LOCAL_MARKERS),
    doc=comment_above,
    uses=lexical_rules,
    binding=Binding(only_types_are_everywhere=True, directories_are_packages=True),
    members=Members(
        place="qualified",
        kinds_for_others=frozenset({"impl"}),
        opens_built_in_types=True,
        types_are_capitalised=True,
        functions_are_properties=True,
    ),
    types=WrittenTypes(variables="colon", results="arrow", supertypes="colon"),
    display=Display(attribute_starts=DECORATORS),
)

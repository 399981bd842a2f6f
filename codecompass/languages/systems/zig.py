"""Zig: functions, containers with their fields and members, error sets, constants and variables, tests, imports."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.language import DESCEND, Definition, Descend, Found, Language, RuleContext
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.systems.zig_imports import ZIG_IMPORTS, zig_module
from codecompass.languages.uses.lexical_rules import LexicalRules
from codecompass.languages.uses.patterns import CHARACTER, DOUBLE, NAME, SLASHES, after, any_of, declared
from codecompass.languages.walk.block_tests import MAX_TITLE
from codecompass.languages.walk.preparation import blank_matches, masked
from codecompass.languages.walk.source_text import (
    MAX_VALUE_BYTES,
    comment_above_byte,
    enter_if_marked,
    holds_marker,
    marker_finder,
    plain_code,
)
from codecompass.languages.words import word_set
from codecompass.languages.written_types import WrittenTypes

_LITERALS: Final = lazy.pattern(
    rb"""//[^\n]*+ | \\\\[^\n]*+ | "(?>(?:[^"\\\n]++|\\.)*)" | '(?>(?:[^'\\\n]|\\.)+)'""", re.DOTALL | re.VERBOSE
)
_UNSUPPORTED: Final = (
    (
        b",",
        lazy.pattern(
            rb"(?:^[ \t]*|[;{}]\s*)(?:comptime\s+)?(?:const|var)\s+\w+(?:\s*:[^,=;(){}]+)?"
            rb"((?:\s*,\s*(?:(?:const|var)\s+)?\w+(?:\s*:[^,=;(){}]+)?){1,12})\s*=(?!=)",
            re.MULTILINE,
        ),
    ),
    (b"switch", lazy.pattern(rb"(?:[=;{}(,>]|\breturn)\s*(\w+\s*:)\s*switch\b")),
    (b"continue", lazy.pattern(rb"\bcontinue\s*:\w+(\s+[^,;\n]+)(?=[,;])")),
)


def prepare(source: bytes) -> bytes:
    """Returns `source`, equally long, with blanks in place of what the grammar cannot parse."""
    text = bytearray(source)
    blank_matches(text, bytes(masked(source, _LITERALS)), _UNSUPPORTED)
    return bytes(text)


_CONTAINER_MARKERS: Final = (b"struct", b"enum", b"union", b"opaque", b"error{")
"""Markers of containers inside expressions."""

MAX_MERGED: Final = 50
"""Operators of an expression that is searched for error sets."""

_FUNCTIONS: Final = frozenset({"fn", "method", "test"})
_IMPORT: Final = lazy.pattern(rb'(?:\b(?:const|var)\s+(\w+)\s*(?::[^=;]*)?=\s*)?(?P<import>@import)\("([^"\n]*)"\)((?:\.\w+)*)')
_TEXTS: Final = frozenset({"LINESTRING", "STRINGLITERALSINGLE", "container_doc_comment", "doc_comment", "line_comment"})
"""Nodes whose text is not code."""


def _first_word(node: Node, context: RuleContext) -> int:
    """Returns the byte where a declaration begins: `pub` is before the node, not in it."""
    before = context.source[max(0, node.start_byte - 12) : node.start_byte]
    word = before.rstrip()
    return node.start_byte - (len(before) - len(word)) - 3 if word.endswith(b"pub") else node.start_byte


def _visibility(start: int, node: Node, context: RuleContext) -> Visibility:
    if context.enclosing in _FUNCTIONS:
        return ""
    return "public" if start < node.start_byte else "private"


def declaration(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function, constant or variable of a container; the file itself is a container."""
    for child in node.named_children:
        if child.type == "FnProto":
            yield from _function(node, child, context)
        elif child.type == "VarDecl":
            yield from _variable(node, child, context)
        elif child.type == "ErrorUnionExpr":
            # `usingnamespace @import("file.zig");`
            yield from _imports(child, context)


def _function(node: Node, prototype: Node, context: RuleContext) -> Iterator[Found]:
    body = next((child for child in node.named_children if child.type == "Block"), None)
    start = _first_word(node, context)
    head = context.source[start : node.end_byte if body is None else body.start_byte]
    yield Definition(
        name=_plain(context.field_text(prototype, "function")),
        kind="method" if context.enclosing in CLASS_LIKE else "fn",
        node=node,
        bodies=tuple(part for part in (prototype, body) if part is not None and holds_marker(part, context)),
        signature=plain_code(head),
        visibility=_visibility(start, node, context),
    )
    if body is not None and context.enclosing not in _FUNCTIONS:
        yield from _imports(body, context)


def _plain(name: str) -> str:
    return name[2:-1] if name.startswith('@"') else name


def _variable(node: Node, variable: Node, context: RuleContext) -> Iterator[Found]:
    value = _value(variable)
    start = _first_word(node, context)
    if value is not None and context.source.startswith(b"@import(", value.start_byte):
        yield from _imports(variable, context)
        if start == node.start_byte:
            # A private name for a module is only an import; a public one also re-exports the module.
            return
    name = _plain(context.field_text(variable, "variable_type_function"))
    container = None if value is None else _container(value)
    if container is not None:
        yield _define_container(name, node, container, start, context)
        return
    merged = () if value is None or value.type != "BinaryExpr" else tuple(_merged_error_sets(value))
    bodies = merged or ((value,) if value is not None and holds_marker(value, context) else ())
    end = node.end_byte
    if value is not None and node.end_byte - value.start_byte > MAX_VALUE_BYTES:
        end = value.start_byte
    yield Definition(
        name=name,
        kind="enum" if merged else _kind(name, variable),
        node=node,
        bodies=bodies,
        signature=plain_code(context.source[start:end]).rstrip("= "),
        visibility=_visibility(start, node, context),
    )


def _value(variable: Node) -> Node | None:
    is_after = False
    for child in variable.children:
        if is_after and child.is_named:
            return child
        is_after = is_after or child.type == "="
    return None


def _container(value: Node) -> Node | None:
    """Returns the container or error set that a value is; None for any other expression, even if it holds one."""
    node = value
    while node.type in ("ErrorUnionExpr", "SuffixExpr") and node.named_child_count == 1:
        node = node.named_children[0]
    return node if node.type in ("ContainerDecl", "ErrorSetDecl") else None


def _merged_error_sets(value: Node) -> list[Node]:
    """Returns the error sets that are written in `error{A} || Other || error{B}`, in source order."""
    found: list[Node] = []
    current = value
    for _ in range(MAX_MERGED):
        if current.type != "BinaryExpr" or not current.named_child_count:
            break
        found += reversed(current.named_children[1:])
        current = current.named_children[0]
    found.append(current)
    sets = [container for part in reversed(found) if (container := _container(part)) is not None]
    return [each for each in sets if each.type == "ErrorSetDecl"]


def _kind(name: str, variable: Node) -> SymbolKind:
    if any(child.type == "var" for child in variable.children):
        return "var"
    # By convention a name in title case is a type, unless the variable has a declared type.
    is_title = name[:1].isupper() and not name.isupper()
    return "type" if is_title and not any(child.type == ":" for child in variable.children) else "const"


def _define_container(name: str, node: Node, container: Node, start: int, context: RuleContext) -> Definition:
    kind: SymbolKind = "enum" if container.type == "ErrorSetDecl" else "struct"
    end = container.end_byte
    for child in container.children:
        if child.type == "ContainerDeclType":
            word = child.children[0].type if child.child_count else ""
            kind = "enum" if word == "enum" else "struct"
            # A field of a union may have no type; in a struct, such a field is the type of a tuple's element.
            context.notes[("union", len(context.scope_kinds) + 1)] = "union" if word == "union" else ""
        if child.type == "{":
            end = child.start_byte
            break
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=(container,),
        signature=plain_code(context.source[start:end]),
        visibility=_visibility(start, node, context),
    )


def local_variable(node: Node, context: RuleContext) -> Iterator[Found]:
    """A variable of a function is local; a container as its value is a definition."""
    value = _value(node)
    if value is None or not holds_marker(value, context):
        return
    container = _container(value)
    if container is None:
        yield Descend(value)
        return
    name = _plain(context.field_text(node, "variable_type_function"))
    yield _define_container(name, node, container, node.start_byte, context)


def field(node: Node, context: RuleContext) -> Iterator[Found]:
    """A field of a struct or union, a tag of an enum; the elements of a tuple have no names and are left out."""
    is_tag = context.enclosing == "enum"
    member = node.child_by_field_name("field_member")
    first = next((child for child in node.children if child.type != "doc_comment"), None)
    if first is None:
        return
    name = context.text(first if member is None else member)
    has_bare_names = is_tag or context.notes.get(("union", len(context.scope_kinds))) == "union"
    if member is None and not (has_bare_names and name != "_" and re.fullmatch(r'\w+|@"[^"]*"', name)):
        return
    doc = next((context.text(child) for child in node.named_children if child.type == "doc_comment"), "")
    yield Definition(
        name=_plain(name),
        kind="const" if is_tag else "field",
        node=node,
        signature=plain_code(context.source[first.start_byte : node.end_byte]),
        visibility="public",
        doc=doc or None,
        start_line=first.start_point[0] + 1,
    )


def error_name(node: Node, context: RuleContext) -> Iterator[Found]:
    """One name of an error set."""
    if context.enclosing == "enum":
        yield Definition(_plain(context.text(node)), "const", node, signature=context.text(node), visibility="public")


def test(node: Node, context: RuleContext) -> Iterator[Found]:
    """`test "name" { ... }`; a test without a name is left out."""
    body = next((child for child in node.named_children if child.type == "Block"), None)
    title = next((child for child in node.named_children if child.type in ("STRINGLITERALSINGLE", "IDENTIFIER")), None)
    if body is not None:
        yield from _imports(body, context)
    if title is None or body is None:
        return
    yield Definition(
        name=" ".join(context.text(title).strip('"').split())[:MAX_TITLE].strip(),
        kind="test",
        node=node,
        bodies=(body,) if holds_marker(body, context) else (),
        signature=plain_code(context.source[node.start_byte : body.start_byte]),
        visibility="private",
    )


def anonymous_container(node: Node, _context: RuleContext) -> Iterator[Found]:
    """`return struct { ... }`: its functions are methods in a nameless scope."""
    yield Descend(node, "struct")


def _imports(node: Node, context: RuleContext) -> Iterator[Import]:
    """Yields every `@import` in a node: `const name = @import("file.zig").Thing`."""
    source, start, end = context.source, node.start_byte, node.end_byte
    if source.find(b"@import", start, end) < 0:
        return
    for match in _IMPORT.finditer(source, start, end):
        at = match.start("import")
        inside = node.descendant_for_byte_range(at, at + 1)
        if inside is not None and inside.type in _TEXTS:
            continue
        line = node.start_point[0] + 1 + source.count(b"\n", start, at)
        local, spec, name = ((part or b"").decode("utf-8", "replace") for part in match.group(1, 3, 4))
        name = name.removeprefix(".")
        yield Import(line, line, spec, name, "" if local == (name or spec) else local)


def doc_of(node: Node, context: RuleContext) -> str:
    """Returns the comment above the declaration, without `//!` lines, which are about the file."""
    comment = comment_above_byte(context.source, _first_word(node, context))
    return "\n".join(line for line in comment.splitlines() if not line.lstrip().startswith("//!"))


_FUNCTION_LINE: Final = lazy.pattern(
    rb"^([ \t]*)((?:pub\s+)?(?:(?:export|inline|noinline|extern(?:\s+\"\w*\")?)\s+)*fn\s+(\w+)\s*\([^\n]*)", re.MULTILINE
)


def recover(root: Node, context: RuleContext) -> Iterator[Definition]:
    """Yields functions that begin a line: after an error the grammar skips the rest of a container."""
    source = context.source
    line, counted = 1, 0
    for match in _FUNCTION_LINE.finditer(source):
        indent, head, name = match.groups()
        line += source.count(b"\n", counted, match.start(2))
        counted, last = match.start(2), line
        if head.rstrip().endswith(b"{"):
            closing = source.find(b"\n" + indent + b"}", match.end())
            last += source.count(b"\n", match.start(2), closing + 1) if closing >= 0 else 0
        yield Definition(
            name=name.decode(),
            kind="fn",
            node=root,
            signature=plain_code(head.partition(b"{")[0]),
            visibility="public" if head.startswith(b"pub") else "private",
            doc=comment_above_byte(source, match.start(2)),
            start_line=line,
            end_line=last,
        )


_ENTERED_IF_MARKED: Final = word_set(
    "AssignExpr BinaryExpr Block BlockExpr ErrorUnionExpr FieldInit FieldOrFnCall FnCallArguments ForStatement IfStatement "
    "InitList LabeledStatement LabeledTypeExpr LoopStatement ParamDecl ParamDeclList ParamType Statement SuffixExpr SwitchExpr "
    "SwitchProng"
)


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="zig",
        built_in=word_set("builtin std"),
        comments_and_strings=any_of(SLASHES, r"\\\\[^\n]*+", DOUBLE, CHARACTER),
        name=NAME,
        keywords=word_set(
            "addrspace align allowzero and anyframe anytype asm break callconv catch comptime const continue defer else enum "
            "errdefer error export extern fn for if inline linksection noalias noinline nosuspend opaque or orelse packed pub "
            "resume return struct suspend switch test threadlocal try union unreachable usingnamespace var volatile while true "
            "false null undefined void"
        ),
        own=frozenset(),
        declarations=(
            declared(
                after("const var") + r"\s++(?P<names>\w++)(?:\s*+:\s*+(?P<type>[^=;\n]{1,200}+))?\s*+=\s*+(?P<value>[^\n;]*+)"
            ),
            declared(r"\|(?P<names>[^|\n]*+)\|"),
        ),
        keyword_argument=re.compile(r":(?!:)"),
        namespace_roots=word_set("std"),
        keys_of_type="braces",
    )


ZIG = Language(
    grammar="zig",
    rules={
        "Decl": declaration,
        "VarDecl": local_variable,
        "ContainerField": field,
        "IDENTIFIER": error_name,
        "TestDecl": test,
        "ContainerDecl": anonymous_container,
        "ComptimeDecl": DESCEND,
        **dict.fromkeys(_ENTERED_IF_MARKED, enter_if_marked),
        "ERROR": DESCEND,
    },
    prepare=prepare,
    recover=recover,
    path_module=zig_module,
    imports=ZIG_IMPORTS,
    before_walk=marker_finder(_CONTAINER_MARKERS),
    doc=doc_of,
    uses=lexical_rules,
    types=WrittenTypes(variables="colon", results="arrow"),
)

"""Lua: functions in all their forms, module variables and fields, the classes of LuaCATS annotations, `require`.

Most Lua modules are a local table that the file returns. Its members are qualified by the module's path; the local name of the
table is left out if it is a placeholder (`M`).
"""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.binding import Binding
from codecompass.languages.display import Display
from codecompass.languages.language import (
    DESCEND,
    HEAD_BYTES,
    Definition,
    Descend,
    Found,
    Language,
    RuleContext,
    body_of,
    children_in,
    first_child,
    head_without_comments,
    leading_comment,
    lines_of,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import FUNCTION_LIKE, Import, SymbolKind, Visibility
from codecompass.languages.scripting.lua_imports import LUA_IMPORTS, lua_module
from codecompass.languages.uses.expressions import MAX_RECEIVER, UNKNOWN
from codecompass.languages.uses.lexical_rules import LexicalRules, NamingStrings
from codecompass.languages.uses.patterns import DASHES, DOUBLE, NAME, SINGLE, after, any_of, declared
from codecompass.languages.walk.block_tests import QUOTED, BlockTestSyntax
from codecompass.languages.walk.source_text import enter_if_marked, holds_marker, offsets
from codecompass.languages.words import word_set

MARKERS: Final = (b"function", b"require", b"dofile")

PLACEHOLDERS: Final = frozenset({"M", "_M", "m", "mod", "module", "Module", "_"})
PROTECTED_CALLS: Final = frozenset({"pcall", "xpcall"})


def note_module(root: Node, context: RuleContext) -> None:
    """Notes the variable that the file returns (or `return setmetatable(M, ...)`), and the offsets of markers."""
    context.marker_offsets = offsets(context.source, MARKERS)
    last = root.named_children[-1] if root.named_child_count else None
    if last is None or last.type != "return_statement" or not last.named_child_count:
        return
    value: Node | None = last.named_children[0]
    if value is not None and value.type == "expression_list":
        value = first_child(value)
    if value is not None and value.type == "function_call" and context.field_text(value, "name") == "setmetatable":
        arguments = value.child_by_field_name("arguments")
        value = first_child(arguments)
    if value is not None and value.type == "identifier":
        context.notes["module table",] = context.text(value)


def _in_function(context: RuleContext) -> bool:
    return context.enclosing in FUNCTION_LIKE


def _define(
    parts: list[str],
    kind: SymbolKind,
    node: Node,
    context: RuleContext,
    *,
    is_local: bool = False,
    bodies: tuple[Node, ...] = (),
    signature_end: int | None = None,
    parameters: Node | None = None,
) -> Definition:
    """Returns the definition of `parts`. A name with dots is qualified by the module, not by the enclosing scopes."""
    owner = parts[:-1]
    visibility: Visibility = "private" if is_local else "public"
    if not owner:
        owner = list(context.scope_names)
        if owner and not is_local:
            visibility = context.scope_visibility or visibility
    elif owner[0] == "self" or (owner[0] == context.notes.get(("module table",)) and owner[0] in PLACEHOLDERS):
        owner = owner[1:]
    if parameters is not None:
        signature_end = parameters.end_byte
    end = min(node.end_byte if signature_end is None else signature_end, node.start_byte + HEAD_BYTES)
    return Definition(
        name=parts[-1],
        kind=kind,
        node=node,
        bodies=bodies,
        signature=head_without_comments(node, node.start_byte, end, context),
        visibility=visibility,
        qualified_name=".".join((*context.module, *owner, parts[-1])),
    )


def function(node: Node, context: RuleContext) -> Iterator[Found]:
    """`function a.b:c()`, `local function f()`."""
    name = node.child_by_field_name("name")
    parts = [] if name is None else parts_of(name, context)
    if not parts or name is None:
        return
    yield _define(
        parts,
        "method" if name.type == "method_index_expression" else "fn",
        node,
        context,
        is_local=context.source.startswith(b"local", node.start_byte),
        bodies=body_of(node),
        parameters=node.child_by_field_name("parameters"),
    )


def declaration(node: Node, context: RuleContext) -> Iterable[Found]:
    """`local a, b <const> = 1, 2`; in a function only if it holds a definition."""
    return () if _in_function(context) and not holds_marker(node, context) else _declared(node, context)


def _declared(node: Node, context: RuleContext) -> Iterator[Found]:
    for child in node.named_children:
        if child.type == "assignment_statement":
            yield from _assigned(child, node, context, is_local=True)
        elif child.type == "variable_list" and not _in_function(context):
            for target in child.children_by_field_name("name"):
                context.notes["variable", context.text(target)] = ""
                yield _define([context.text(target)], "var", node, context, is_local=True)


def assignment(node: Node, context: RuleContext) -> Iterable[Found]:
    """`a.b = 1`, `f = function() end`; in a function only if it holds a definition."""
    if _in_function(context) and not holds_marker(node, context):
        return ()
    return _assigned(node, node, context, is_local=False)


def _assigned(node: Node, whole: Node, context: RuleContext, *, is_local: bool) -> Iterator[Found]:
    targets: list[Node] = []
    constants: set[int] = set()
    values: list[Node] = []
    for child in node.named_children:
        if child.type == "variable_list":
            targets = child.children_by_field_name("name")
            # An attribute follows its name.
            for attribute in child.children_by_field_name("attribute"):
                before = [index for index, target in enumerate(targets) if target.end_byte <= attribute.start_byte]
                if before and b"const" in context.source[attribute.start_byte : attribute.end_byte]:
                    constants.add(before[-1])
        elif child.type == "expression_list":
            values = child.children_by_field_name("value")
    is_guarded = len(values) == 1 and len(targets) > 1 and context.field_text(values[0], "name") == "pcall"
    if is_guarded and require_call(values[0], context) is not None:
        # `local ok, name = pcall(require, "x")`: the second variable is the import.
        targets = targets[1:2]
    for index, target in enumerate(targets):
        value = values[index] if index < len(values) else None
        parts = parts_of(target, context)
        yield from _assigned_name(parts, value, whole, context, is_local=is_local, is_constant=index in constants)


def _assigned_name(
    parts: list[str], value: Node | None, whole: Node, context: RuleContext, *, is_local: bool, is_constant: bool
) -> Iterator[Found]:
    """One name with its value: an import, a function, or at module level a variable or a field."""
    if value is not None and parts:
        imported = require_call(value, context)
        if imported is not None:
            spec, name, kind = imported
            alias = parts[-1] if parts[-1] != (name or spec.rsplit(".", 1)[-1]) else ""
            yield Import(*lines_of(whole), spec, name, alias, kind)
            if is_local:
                return
        function = wrapped_function(value, context)
        if function is not None:
            if KEY_NAME.fullmatch(parts[-1]) is None:
                yield from inside_body(function, context)
                return
            parameters = function.child_by_field_name("parameters")
            yield _define(parts, "fn", whole, context, is_local=is_local, bodies=body_of(function), parameters=parameters)
            return
    bodies = (value,) if value is not None and holds_marker(value, context) else ()
    if not parts or _in_function(context):
        for body in bodies:
            yield Descend(body)
        return
    # A second assignment defines nothing, nor does one to a table of other code (`vim.o.wrap = true`).
    is_known = ("variable", parts[0]) in context.notes
    if KEY_NAME.fullmatch(parts[-1]) is None or is_known != (len(parts) > 1):
        for body in bodies:
            yield Descend(body)
        return
    if len(parts) == 1:
        context.notes["variable", parts[0]] = ""
    is_constant = is_constant or (len(parts[-1]) > 1 and parts[-1].isupper())
    kind_of: SymbolKind = "const" if is_constant else "field" if len(parts) > 1 else "var"
    # A table with functions is long, and the functions are symbols of their own.
    end = bodies[0].start_byte if bodies and bodies[0].type == "table_constructor" else None
    yield _define(parts, kind_of, whole, context, is_local=is_local, bodies=bodies, signature_end=end)


def wrapped_function(value: Node, context: RuleContext) -> Node | None:
    """Returns the function that a value is, or that is the only argument of a call (`vim.schedule_wrap(function() end)`).

    A protected call returns the results of the function instead, so it does not count.
    """
    if value.type == "function_call" and context.field_text(value, "name") not in PROTECTED_CALLS:
        arguments = value.child_by_field_name("arguments")
        if arguments is not None and arguments.named_child_count == 1:
            value = arguments.named_children[0]
    return value if value.type == "function_definition" else None


def table_field(node: Node, context: RuleContext) -> Iterator[Found]:
    """`a = function() end` and `["a"] = { ... }` in a table, if the value is or holds a function."""
    if not holds_marker(node, context):
        return
    name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
    is_computed = context.source.startswith(b"[", node.start_byte) and name is not None and name.type != "string"
    literal = "" if name is None or is_computed else literal_of(name, context)
    if value is None or KEY_NAME.fullmatch(literal) is None:
        yield Descend(node)
    elif value.type == "function_definition":
        parameters = value.child_by_field_name("parameters")
        yield _define([literal], "fn", node, context, bodies=body_of(value), parameters=parameters)
    elif value.type == "table_constructor" and not _in_function(context):
        yield _define([literal], "field", node, context, bodies=(value,), signature_end=value.start_byte)
    else:
        yield Descend(node)


def inside_body(node: Node, context: RuleContext) -> Iterator[Found]:
    """A function without a name, or a loop: its variables are local."""
    for body in body_of(node):
        if holds_marker(body, context):
            yield Descend(body, "fn")


def branch(node: Node, context: RuleContext) -> Iterator[Found]:
    """`if` and `do`: transparent at module level; in a function entered only if they hold a marker."""
    if not _in_function(context) or holds_marker(node, context):
        yield Descend(node)


def call(node: Node, context: RuleContext) -> Iterable[Found]:
    """`require "x"` as a statement or in an expression; any other call is entered if it holds a marker."""
    # Most statements are calls without markers. For their sake this function is not a generator, which would be slower.
    if not holds_marker(node, context):
        return ()
    imported = require_call(node, context)
    if imported is None:
        return (Descend(node),)
    spec, name, kind = imported
    arguments = node.child_by_field_name("arguments")
    found = Import(*lines_of(node), spec, name, "", kind)
    return (found,) if arguments is None else (found, Descend(arguments))


KEY_NAME: Final = lazy.pattern(r"[^\s()'\"]+")
"""A key in brackets that is a name: `["textDocument/hover"]` is one, the title of a test is not."""


def parts_of(target: Node, context: RuleContext) -> list[str]:
    """Returns the parts of `a.b["c"]:d`; empty when a part is not a literal."""
    parts: list[str] = []
    node: Node | None = target
    while node is not None and node.type in ("dot_index_expression", "method_index_expression", "bracket_index_expression"):
        field = node.child_by_field_name("method" if node.type == "method_index_expression" else "field")
        is_computed = node.type == "bracket_index_expression" and field is not None and field.type != "string"
        name = "" if field is None or is_computed else literal_of(field, context)
        if not name:
            return []
        parts.append(name)
        node = node.child_by_field_name("table")
    if node is None or node.type != "identifier":
        return []
    return [context.text(node), *reversed(parts)]


def literal_of(node: Node, context: RuleContext) -> str:
    if node.type == "identifier":
        return context.text(node)
    content = node.child_by_field_name("content") if node.type == "string" else None
    return context.text(content).strip() if content is not None else ""


ANNOTATION: Final = lazy.pattern(r"^---\s*@(class|alias|enum)\s+(?:\([^)]*\)\s*)?([\w.]+)")

ANNOTATION_LINE: Final = lazy.pattern(r"^\s*--+\s*(?:[@|]|stylua:|luacheck:|selene:).*$", re.MULTILINE)

LONG_COMMENT: Final = lazy.pattern(r"--\[=*\[|\]=*\]\s*$", re.MULTILINE)


def comment_above(node: Node, context: RuleContext) -> str:
    """Returns the prose of the comment above, without annotations (`---@param`)."""
    outer: Node | None = node
    # An assignment with `local` is a child of the declaration below the comment.
    while outer is not None and outer.prev_named_sibling is None and outer.type == "assignment_statement":
        outer = outer.parent
    if outer is None:
        return ""
    text = leading_comment(outer, context)
    return LONG_COMMENT.sub("", ANNOTATION_LINE.sub("", text)) if text else ""


def annotation(node: Node, context: RuleContext) -> Iterable[Found]:
    """`---@class Name`, `---@alias Name`, `---@enum Name`: types defined in comments, with all lines of the annotation."""
    start = node.start_byte
    if b"@" not in context.source[start + 3 : start + 6]:
        return ()
    match = ANNOTATION.match(context.text(node))
    if match is None:
        return ()
    last, following = node, node.next_named_sibling
    while following is not None and following.type == "comment" and following.start_point[0] == last.end_point[0] + 1:
        text = context.text(following)
        if not text.startswith("---") or ANNOTATION.match(text):
            break
        last, following = following, following.next_named_sibling
    kind: SymbolKind = "class" if match[1] == "class" else "enum" if match[1] == "enum" else "type"
    found = Definition(
        name=match[2].rsplit(".", 1)[-1],
        kind=kind,
        node=node,
        end_line=last.start_point[0] + 1,
        signature=context.text(node).removeprefix("---"),
        visibility="public",
        doc=comment_above(node, context),
        qualified_name=match[2],
    )
    return (found,)


def require_call(value: Node, context: RuleContext) -> tuple[str, str, str] | None:
    """Returns module, field and kind of `require("x").y`; None for anything else.

    Only the first field counts: `require("x").y.z` and `require("x").y()` both import `y`.
    """
    name = ""
    node: Node | None = value
    while node is not None:
        if node.type == "function_call":
            callee = node.child_by_field_name("name")
            word = "" if callee is None else context.text(callee) if callee.type == "identifier" else ""
            if word in ("require", "dofile", "pcall"):
                spec = _argument(node, word, context)
                return (spec, name, "relative" if word == "dofile" else "module") if spec else None
            node = callee
        elif node.type in ("dot_index_expression", "method_index_expression"):
            field = node.child_by_field_name("field" if node.type == "dot_index_expression" else "method")
            name = "" if field is None else context.text(field)
            node = node.child_by_field_name("table")
        else:
            return None
    return None


def _argument(call_node: Node, word: str, context: RuleContext) -> str:
    values = children_in(call_node, "arguments")
    if word == "pcall":
        values = values[1:] if values and context.text(values[0]) == "require" else []
    return literal_of(values[0], context) if values and values[0].type == "string" else ""


TESTS: Final = BlockTestSyntax(
    pattern=lazy.pattern(rb"\n[ \t]*+(?P<head>describe|context|insulate|expose|it|spec|test)\b[ \t]*\(?[ \t]*" + QUOTED),
    block=lazy.pattern(rb"\bfunction\b"),
    nodes=frozenset({"function_call"}),
)
"""Busted."""

_REQUIRED: Final = lazy.pattern(
    r"(?:require\s*+(?:\(\s*+)?|pcall\(\s*+require\s*+,\s*+)(?P<quote>[\"'])(?P<module>[\w./-]++)(?P=quote)(?:\s*+\))?"
)
"""A call that returns a module by its name, or as the second of two results."""


def _is_required(names: str, value: str) -> bool:
    return value.startswith("require") or (value.startswith("pcall(require") and "," in names)


def _required(text: str, written: str, _before: int, last: int) -> str:
    """Returns the expression for the module of a `require` whose last character is at `last`; '' if there is none."""
    begin = text.rfind("require", max(last - MAX_RECEIVER, 0), last)
    found = _REQUIRED.fullmatch(written, begin, last + 1) if begin >= 0 else None
    return f'"{found["module"]}"' if found is not None else ""


def _results(value: str, whole: str, n_names: int) -> list[str] | None:
    """Returns what the names are in `ok, module = pcall(require, ..)`."""
    return [UNKNOWN, whole, *[UNKNOWN] * (n_names - 2)] if value.startswith("pcall") else None


def lexical_rules() -> LexicalRules:
    """Returns what its uses look like."""
    return LexicalRules(
        family="lua",
        built_in=word_set("bit bit32 coroutine debug io jit math os package string table utf8"),
        comments_and_strings=any_of(
            r"--\[(?P<long>=*+)\[.*?(?:\](?P=long)\]|\Z)",
            r"\[(?P<text>=*+)\[.*?(?:\](?P=text)\]|\Z)",
            *(DASHES, DOUBLE, SINGLE),
        ),
        name=NAME,
        keywords=word_set(
            "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"
        ),
        declarations=(
            declared(after("local") + r"\s++(?P<names>\w++(?>(?:\s*+,\s*+\w++)*))(?:\s*+=\s*+(?P<value>[^\n]*+))?"),
            declared(after("for") + r"\s++(?P<names>[\w\s,]{1,200}?)(?:=|\bin\b)"),
            declared(after("function") + r"[\w.:\s]{0,200}+\((?P<names>[^()]*+)\)"),
        ),
        several_results=_results,
        has_method_colon=True,
        naming_strings=NamingStrings(mark="require", are_in=_is_required, ending=_required, module=_REQUIRED),
    )


LUA = Language(
    grammar="lua",
    rules={
        "function_declaration": function,
        "variable_declaration": declaration,
        "assignment_statement": assignment,
        "field": table_field,
        "function_call": call,
        "comment": annotation,
        **dict.fromkeys(("function_definition", "for_statement", "while_statement"), inside_body),
        **dict.fromkeys(
            ("arguments", "binary_expression", "expression_list", "parenthesized_expression", "return_statement"),
            enter_if_marked,
        ),
        **dict.fromkeys(
            ("dot_index_expression", "method_index_expression", "table_constructor", "unary_expression"), enter_if_marked
        ),
        **dict.fromkeys(("do_statement", "else_statement", "if_statement"), branch),
        "block": DESCEND,
        "ERROR": DESCEND,
    },
    nested_markers=MARKERS,
    comment_starts=(b"--",),
    tests=TESTS,
    path_module=lua_module,
    imports=LUA_IMPORTS,
    before_walk=note_module,
    doc=comment_above,
    uses=lexical_rules,
    binding=Binding(imports_are_calls=True, module_table=lua_module),
    display=Display(line_comment="--"),
)

"""Properties of JavaScript and TypeScript nodes that their rules need: name, signature, visibility, whether a node holds
definitions, and whether it only wraps a module (then its content counts as top level).
"""

from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

from codecompass.languages.ecmascript.ecmascript_modules import EXPORTED, text_of_string
from codecompass.languages.language import (
    Definition,
    Descend,
    Found,
    RuleContext,
    children_in,
    first_child,
    head_without_comments,
    leading_comment,
)
from codecompass.languages.nodes import Node
from codecompass.languages.records import CLASS_LIKE, SymbolKind, Visibility

FUNCTIONS: Final = frozenset({"arrow_function", "function_expression", "generator_function"})

AMBIENT: Final = "ambient"
"""First part of the note that everything in a namespace is exported implicitly."""

_MARKERS_AT_TOP: Final = (b"=>", b"function", b"class", b"require(", b"import(", b") {", b"){")
_MARKERS_IN_FUNCTIONS: Final = (
    b"=>",
    b"function",
    b"class ",
    b"require(",
    b"import(",
    b"return {",
    b"interface ",
    b"enum ",
    b"type ",
)
LINE_BYTES: Final = 200
_DECLARED: Final = frozenset({b"", b"export", b"declare", b"const", b"export const"})


def holds_definitions(node: Node, context: RuleContext) -> bool:
    """Whether an expression or statement may hold definitions. A text search, which makes most walks unnecessary."""
    if in_function(context):
        return body_holds_definitions(node, context)
    find, start, end = context.source.find, node.start_byte, node.end_byte
    return any(find(mark, start, end) >= 0 for mark in _MARKERS_AT_TOP)


def body_holds_definitions(body: Node, context: RuleContext) -> bool:
    """Whether a function's body holds named functions, types or imports; callbacks without a name are not enough.

    Test files are nested callbacks: without this check all of their statements would be walked.
    """
    marks = context.marker_offsets
    if marks is None:
        marks = context.marker_offsets = tuple(sorted(_definition_offsets(context.source)))
    at = bisect_left(marks, body.start_byte)
    return at < len(marks) and marks[at] < body.end_byte


def _definition_offsets(source: bytes) -> Iterator[int]:
    for word in _MARKERS_IN_FUNCTIONS:
        at = source.find(word)
        while at >= 0:
            if _is_definition(source, word, at):
                yield at
            at = source.find(word, at + len(word))


def _is_definition(source: bytes, word: bytes, at: int) -> bool:
    if word in (b"=>", b"interface ", b"enum ", b"type "):
        # A line of generated code can be as long as the file.
        nearby = max(at - LINE_BYTES, 0)
        before = source[max(source.rfind(b"\n", nearby, at) + 1, nearby) : at].strip()
        if word == b"=>":
            # An assigned function, or the end of parameters that began on a line above; `= list.map(x => ...)` is neither.
            value = before.partition(b" = ")[2]
            is_parameters = value.startswith((b"(", b"<", b"async")) or value.strip(b" $_").isalnum()
            return is_parameters or b"=(" in before or b"=async" in before or before.startswith(b")")
        return before in _DECLARED
    if word == b"function":
        after = source[at + len(word) : at + len(word) + 3].strip(b" *")
        return after[:1] not in (b"", b"(") or source[max(at - 8, 0) : at].rstrip().endswith((b"=", b":", b"async"))
    return True


def in_function(context: RuleContext) -> bool:
    """Whether definitions here are local to a function or block."""
    return "fn" in context.scope_kinds or "method" in context.scope_kinds


def name_of(node: Node | None, context: RuleContext) -> str:
    """Returns the name of a member: a string without its quotes, a computed name with its brackets (`[Symbol.iterator]`)."""
    if node is None:
        return ""
    if node.type == "string":
        return text_of_string(node, context)
    if node.type == "computed_property_name":
        inner = first_child(node)
        if inner is not None and inner.type == "string":
            return text_of_string(inner, context)
    return context.text(node)


def visibility_at(name: str, is_exported: bool, context: RuleContext) -> Visibility:
    """Returns the visibility of a declaration: public if it is exported, directly or in a list, and so is its namespace."""
    if context.enclosing is None:
        is_global = context.path.endswith((".d.ts", ".d.mts", ".d.cts"))
        return "public" if is_exported or is_global or (EXPORTED, name) in context.notes else "internal"
    if context.enclosing == "module" and (is_exported or (AMBIENT, *context.scope_names) in context.notes):
        return context.scope_visibility
    return "internal"


ACCESS: Final[dict[str, Visibility]] = {"private": "private", "protected": "protected", "public": "public"}


def member_visibility(node: Node, name: str, context: RuleContext) -> Visibility:
    """Returns the visibility of a member: by its modifier or `#`, else that of the definition it belongs to."""
    if name.startswith("#"):
        return "private"
    for child in node.named_children[:3]:
        if child.type == "accessibility_modifier":
            access = ACCESS.get(context.text(child), "public")
            return access if access != "public" else context.scope_visibility
    if context.enclosing in CLASS_LIKE or context.enclosing in ("const", "var", "field", "type"):
        return context.scope_visibility
    return visibility_at(name, is_exported=False, context=context)


def doc_comment(node: Node, context: RuleContext) -> str:
    """Returns the comment above a definition and, for a method, above its decorators, which are separate nodes."""
    above = context.source[max(node.start_byte - LINE_BYTES, 0) : node.start_byte].rstrip()
    last_line = above[above.rfind(b"\n") + 1 :].lstrip()
    # Finding siblings is slow in a deep tree, and most definitions have no comment: so the text is checked first.
    if not last_line.endswith((b"*/", b")")) and b"//" not in last_line and not last_line.startswith(b"@"):
        return ""
    previous = node.prev_named_sibling
    while previous is not None and previous.type == "decorator":
        node, previous = previous, previous.prev_named_sibling
    return leading_comment(node, context)


def defined(
    name: str,
    kind: SymbolKind,
    node: Node,
    context: RuleContext,
    bodies: tuple[Node, ...] = (),
    *,
    head_end: int | None = None,
    visibility: Visibility | None = None,
    qualifier: tuple[str, ...] | None = None,
) -> Definition:
    """Returns the definition of `node` without the decorators at its start; its signature ends at byte `head_end`."""
    line, start = node.start_point[0] + 1, node.start_byte
    first = node.child(0) if node.child_count else None
    if first is not None and first.type == "decorator":
        rest = next((child for child in node.children if child.type not in ("decorator", "comment")), node)
        line, start = rest.start_point[0] + 1, rest.start_byte
    end = head_end if head_end is not None else bodies[0].start_byte if bodies else node.end_byte
    signature = head_without_comments(node, start, end, context).rstrip()
    return Definition(
        name=name,
        kind=kind,
        node=node,
        bodies=bodies,
        signature=signature.removesuffix("=>"),
        visibility=member_visibility(node, name, context) if visibility is None else visibility,
        start_line=line,
        qualifier=qualifier,
    )


WRAPPERS: Final = frozenset(
    {"parenthesized_expression", "as_expression", "satisfies_expression", "non_null_expression", "await_expression"}
)


def unwrapped(value: Node | None) -> Node | None:
    """Returns the expression inside parentheses, `as T`, `satisfies T`, `!` and the targets of `a = b = value`."""
    while value is not None:
        if value.type in WRAPPERS and value.named_child_count:
            value = value.named_children[0]
        elif value.type == "assignment_expression":
            value = value.child_by_field_name("right")
        else:
            break
    return value


def function_bodies(function: Node, context: RuleContext) -> tuple[Node, ...]:
    """Returns what to walk in a function: its body if it holds definitions, or the object that an arrow function returns."""
    body = function.child_by_field_name("body")
    if body is None:
        return ()
    if body.type == "statement_block":
        return (body,) if body_holds_definitions(body, context) else ()
    if not holds_definitions(body, context):
        return ()
    value = unwrapped(body)
    if value is not None and value.type == "object":
        return (value,)
    # The body is an expression; the parameters beside it have no rules.
    return (function,)


def head_end_of(function: Node) -> int:
    """Returns the byte where the signature of a function ends: at its body."""
    body = function.child_by_field_name("body")
    return function.end_byte if body is None else body.start_byte


_CALLS: Final = frozenset({"apply", "bind", "call"})
_BEFORE_A_STATEMENT: Final = (b";", b"}", b"{", b"'", b'"', b"*/")


def invoked_function(value: Node | None, context: RuleContext) -> Node | None:
    """Returns the function that `(function () {})()`, `function () {}()` or `(() => {}).call(this)` calls."""
    if value is None or value.type != "call_expression":
        return None
    called = unwrapped(value.child_by_field_name("function"))
    if called is not None and called.type == "member_expression" and context.field_text(called, "property") in _CALLS:
        called = unwrapped(called.child_by_field_name("object"))
    return called if called is not None and called.type in FUNCTIONS else None


def module_wrapper(call: Node, context: RuleContext) -> Iterator[Found] | None:
    """Returns the content of the functions that wrap a module, if `call` calls one; None for any other call."""
    if in_function(context):
        return None
    invoked = invoked_function(call, context)
    if invoked is None and not context.source.startswith(b"define(", call.start_byte):
        return None
    return _in_wrapper(call, invoked, context)


def _in_wrapper(call: Node, invoked: Node | None, context: RuleContext) -> Iterator[Found]:
    inner = [unwrapped(argument) for argument in children_in(call, "arguments")]
    for function in (invoked, *inner):
        if function is None or not holds_definitions(function, context):
            continue
        if function.type not in FUNCTIONS:
            yield Descend(function)
            continue
        name, body = context.field_text(function, "name"), function.child_by_field_name("body")
        if name:
            yield defined(name, "fn", function, context, head_end=head_end_of(function), visibility="internal")
        if body is not None:
            yield Descend(body, "module")


def bodies_of(value: Node, context: RuleContext) -> tuple[Node, ...]:
    """Returns what to walk in the value of a variable: the body of an immediately invoked function, else the value itself."""
    invoked = None if in_function(context) else invoked_function(value, context)
    if invoked is None:
        return (value,) if holds_definitions(value, context) else ()
    body = invoked.child_by_field_name("body")
    return (body,) if body is not None and body_holds_definitions(body, context) else ()


def is_bare_block(block: Node, context: RuleContext) -> bool:
    """Whether a block at the top of a script is a statement by itself, not the body of `if (...)`, `else`, `try` or the like."""
    if in_function(context):
        return False
    start = block.start_byte
    before = context.source[max(start - LINE_BYTES, 0) : start].rstrip()
    while before[before.rfind(b"\n") + 1 :].lstrip().startswith(b"//"):
        before = before[: before.rfind(b"\n") + 1].rstrip()
    return before.endswith(_BEFORE_A_STATEMENT) or (not before and start < LINE_BYTES)

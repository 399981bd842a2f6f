"""Functions and blocks that stand around a script to keep its names to itself: what is in them counts as the file's own.

`{ ... }`, `(function () { ... })()`, `!function () { ... }.call(this)`, the two functions of the universal module definition,
and the factory of `define([...], function () { ... })`. A function that is called where it is written, and whose result is
kept (`const store = (() => { ... })()`), is the body of what keeps it.
"""

from collections.abc import Iterator
from typing import Final

from codecompass.store.languages.base import Context, Found, Inside, Node
from codecompass.store.languages.ecmascript_scopes import (
    FUNCTIONS,
    LINE_BYTES,
    bare,
    body_holds_definitions,
    defined,
    head_end_of,
    holds_definitions,
    in_function,
)

_CALLS: Final = frozenset({"apply", "bind", "call"})
_BEFORE_A_STATEMENT: Final = (b";", b"}", b"{", b"'", b'"', b"*/")


def invoked_function(value: Node | None, context: Context) -> Node | None:
    """Returns the function that `(function () {})()`, `function () {}()` or `(() => {}).call(this)` calls."""
    if value is None or value.type != "call_expression":
        return None
    called = bare(value.child_by_field_name("function"))
    if called is not None and called.type == "member_expression" and context.field_text(called, "property") in _CALLS:
        called = bare(called.child_by_field_name("object"))
    return called if called is not None and called.type in FUNCTIONS else None


def wrapped(call: Node, context: Context) -> Iterator[Found] | None:
    """Returns what stands in the functions around a module when `call` calls them, None for any other call."""
    if in_function(context):
        return None
    invoked = invoked_function(call, context)
    if invoked is None and not context.source.startswith(b"define(", call.start_byte):
        return None
    return _in_wrapper(call, invoked, context)


def _in_wrapper(call: Node, invoked: Node | None, context: Context) -> Iterator[Found]:
    arguments = call.child_by_field_name("arguments")
    inner = [] if arguments is None else [bare(argument) for argument in arguments.named_children]
    for function in (invoked, *inner):
        if function is None or not holds_definitions(function, context):
            continue
        if function.type not in FUNCTIONS:
            yield Inside(function)
            continue
        name, body = context.field_text(function, "name"), function.child_by_field_name("body")
        if name:
            yield defined(name, "fn", function, context, head_end=head_end_of(function), visibility="internal")
        if body is not None:
            yield Inside(body, "module")


def bodies_of(value: Node, context: Context) -> tuple[Node, ...]:
    """Returns what to walk in the value of a variable: the body of a function called on the spot, else the value itself."""
    invoked = None if in_function(context) else invoked_function(value, context)
    if invoked is None:
        return (value,) if holds_definitions(value, context) else ()
    body = invoked.child_by_field_name("body")
    return (body,) if body is not None and body_holds_definitions(body, context) else ()


def is_bare_block(block: Node, context: Context) -> bool:
    """Whether a block stands for itself at the top of a script, and not after `if (...)`, `else`, `try` or the like."""
    if in_function(context):
        return False
    start = block.start_byte
    before = context.source[max(start - LINE_BYTES, 0) : start].rstrip()
    while before[before.rfind(b"\n") + 1 :].lstrip().startswith(b"//"):
        before = before[: before.rfind(b"\n") + 1].rstrip()
    return before.endswith(_BEFORE_A_STATEMENT) or (not before and start < LINE_BYTES)

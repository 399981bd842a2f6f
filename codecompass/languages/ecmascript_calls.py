"""Calls of JavaScript and TypeScript that define something: named callbacks, default exports, and the blocks of test frameworks
(`describe`, `it`, `test` and the like in Jest, Vitest, Mocha, QUnit, Node).
"""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.languages.block_tests import BlockTestSyntax
from codecompass.languages.ecmascript_modules import lines_of, required_module
from codecompass.languages.ecmascript_scopes import (
    FUNCTIONS,
    bodies_of,
    body_holds_definitions,
    defined,
    function_bodies,
    head_end_of,
    in_function,
    module_wrapper,
    unwrapped,
)
from codecompass.languages.ecmascript_values import note_extended, object_literal
from codecompass.languages.language import Context, Descend, Found, Node
from codecompass.languages.records import Import


def call(node: Node, context: Context) -> Iterator[Found]:
    """A call: `require('m')` and `import('m')` are imports, others may have functions among their arguments."""
    if context.source.startswith((b"require(", b"import("), node.start_byte):
        spec = required_module(node, context)
        if spec is not None:
            yield Import(*lines_of(node), spec)
            return
    inside = module_wrapper(node, context)
    if inside is not None:
        yield from inside
        return
    if not in_function(context):
        note_extended(node, context)
    if body_holds_definitions(node, context):
        yield Descend(node)
    elif not in_function(context):
        # Callbacks that define no names are skipped; they are most of a test file.
        arguments = node.child_by_field_name("arguments")
        for argument in arguments.named_children if arguments is not None else ():
            if argument.type == "object":
                yield from object_literal(argument, context)


def callback(node: Node, context: Context) -> Iterator[Found]:
    """A function in an expression: a definition if it has a name, else a nameless scope."""
    name = context.field_text(node, "name")
    bodies = function_bodies(node, context)
    if name:
        yield defined(name, "fn", node, context, bodies, head_end=head_end_of(node), visibility="internal")
    else:
        for body in bodies:
            yield Descend(body, "fn")


def class_expression(node: Node, context: Context) -> Iterator[Found]:
    """A class in an expression, with or without a name."""
    name, body = context.field_text(node, "name"), node.child_by_field_name("body")
    if name:
        yield defined(name, "class", node, context, () if body is None else (body,), visibility="internal")
    elif body is not None:
        yield Descend(body, "class")


def default_export(value: Node, statement: Node, context: Context) -> Iterator[Found]:
    """`export default <expression>`: a symbol named `default`, as importers call it, unless the value has a name."""
    inner_value = unwrapped(value)
    if inner_value is None or inner_value.type == "identifier":
        return
    name = context.field_text(inner_value, "name") if inner_value.type in (*FUNCTIONS, "class") else ""
    if inner_value.type == "class":
        body = inner_value.child_by_field_name("body")
        class_body = () if body is None else (body,)
        yield defined(name or "default", "class", statement, context, class_body, visibility="public")
    elif inner_value.type in FUNCTIONS:
        bodies, end = function_bodies(inner_value, context), head_end_of(inner_value)
        yield defined(name or "default", "fn", statement, context, bodies, head_end=end, visibility="public")
    else:
        inside, end = bodies_of(inner_value, context), statement.end_byte
        yield defined("default", "const", statement, context, inside, head_end=end, visibility="public")


_HEAD: Final = re.compile(
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
    first = arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
    if first is None or first.type not in _TITLES or first.end_byte - first.start_byte < 2:
        return None
    # In `it.each(["a", "b"])` without a title the arguments are the table.
    function = call.child_by_field_name("function")
    if function is None or function.type not in ("call_expression", "identifier"):
        return None
    return first.start_byte + 1, first.end_byte - 1


TESTS: Final = BlockTestSyntax(
    pattern=_HEAD,
    block=re.compile(rb"=>|\bfunction\b"),
    computed=re.compile(rb"\$\{"),
    nodes=frozenset({"await_expression", "call_expression", "expression_statement", "identifier", "member_expression"}),
    statements=frozenset({"expression_statement"}),
    title_of=_title_of,
)

"""Tests of JavaScript and TypeScript: `describe`, `it`, `test` and their kin (Jest, Vitest, Mocha, QUnit, Node)."""

import re
from typing import Final

from codecompass.store.languages.base import Node
from codecompass.store.languages.block_tests import BlockHeads

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
    """The title of `it.each(table)("title", ...)`, `describe.skipIf(condition)("title", ...)`."""
    call = statement.named_children[0]
    if call.type == "await_expression" and call.named_child_count:
        call = call.named_children[0]
    arguments = call.child_by_field_name("arguments")
    first = arguments.named_children[0] if arguments is not None and arguments.named_child_count else None
    if first is None or first.type not in _TITLES or first.end_byte - first.start_byte < 2:
        return None
    # `it.each(["a", "b"])` without a title has the table as its arguments.
    function = call.child_by_field_name("function")
    if function is None or function.type not in ("call_expression", "identifier"):
        return None
    return first.start_byte + 1, first.end_byte - 1


TESTS: Final = BlockHeads(
    pattern=_HEAD,
    block=re.compile(rb"=>|\bfunction\b"),
    computed=re.compile(rb"\$\{"),
    nodes=frozenset({"await_expression", "call_expression", "expression_statement", "identifier", "member_expression"}),
    statements=frozenset({"expression_statement"}),
    title_of=_title_of,
)

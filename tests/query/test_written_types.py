"""A written type tells what a receiver is, in each language."""

import pytest

from codecompass.protocol.requests import FindReferences
from codecompass.query import find_references
from tests.query.type_cases import CASES


@pytest.mark.parametrize("case", CASES)
def test_a_receiver_is_what_written_types_say(case, index_of, state):
    files, target, wanted = CASES[case]

    reply = find_references(index_of(files), FindReferences(symbol_name=target, confidence="exact"), state)

    assert sorted({each.line_start for each in reply.references}) == wanted


def test_a_member_may_have_the_name_of_a_keyword(index_of, state):
    snapshot = index_of(
        {
            "a.ts": "export class Z { number() { return 1 } delete() {} }\nconst z = new Z()\nz.number()\nz.delete()\n",
            "a.kt": "class Box { fun get(): Int = 1 }\nfun go(box: Box) { box.get() }\n",
        }
    )

    def lines(name):
        return [each.line_start for each in find_references(snapshot, FindReferences(symbol_name=name), state).references]

    assert (lines("Z.number"), lines("Z.delete"), lines("Box.get")) == ([3], [4], [2])

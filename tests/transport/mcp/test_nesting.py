import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codecompass.transport.mcp.unusual_json import MAX_DEPTH, nests_too_deeply
from codecompass.units import MIB


def nested(depth, opening=b"[", closing=b"]", innermost=b""):
    return opening * depth + innermost + closing * depth


@pytest.mark.parametrize(
    ("opening", "closing", "innermost"), [(b"[", b"]", b""), (b'{"a":', b"}", b"1"), (b' [ 0, "]" , ', b"]", b"0")]
)
def test_the_bound_itself_is_allowed_and_one_level_more_is_not(opening, closing, innermost):
    assert not nests_too_deeply(nested(MAX_DEPTH, opening, closing, innermost))
    assert nests_too_deeply(nested(MAX_DEPTH + 1, opening, closing, innermost))


def test_values_side_by_side_are_not_deep():
    assert not nests_too_deeply(b"[" + b",".join([b'{"a":[]}'] * MAX_DEPTH) + b"]")


@pytest.mark.parametrize("text", ["[" * 500, '"' * 3 + "[" * 500, "\\" * 3 + '"' + "[" * 500, "\\" * 4 + "{" * 500, "\n[" * 500])
def test_brackets_in_a_string_are_text(text):
    deep = nested(MAX_DEPTH)

    assert not nests_too_deeply(json.dumps({"query": text}).encode())
    assert nests_too_deeply(b'{"a":' + json.dumps(text).encode() + b',"b":' + deep + b"}")


@pytest.mark.parametrize("piece", [b"[", b"{", b"[]", b'\\"', b"\\\\", b'\\"[', b"x"])
def test_a_string_without_an_end_is_looked_through_once(piece):
    """Rescanning from each quote in it would take hours for the largest message."""
    frame = b"[" * MAX_DEPTH + b'"' + piece * (4 * MIB // len(piece))

    assert not nests_too_deeply(frame)
    assert nests_too_deeply(b"[" + frame)


@pytest.mark.parametrize("lead", range(1, 14))
@pytest.mark.parametrize("text", ['["]', "\\\\[", '\\"[', '\\\\\\"['])
def test_a_long_message_is_looked_through_as_a_short_one_is(text, lead):
    strings = json.dumps({"a" * lead: [text] * 30_000}).encode()

    assert not nests_too_deeply(strings)
    assert nests_too_deeply(b"[" + strings + b"," + nested(MAX_DEPTH) + b"]")


def depth_of(value):
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth_of, inner), default=0)


DEEP = st.recursive(
    st.integers() | st.text('[]{}"\\', max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text('[]{}"\\', max_size=3), inner, max_size=3),
    max_leaves=15,
)


@given(DEEP, st.integers(0, MAX_DEPTH + 1))
def test_the_depth_is_that_of_the_value(value, n_around):
    frame = nested(n_around, innermost=json.dumps(value, separators=(",", ":")).encode())

    assert nests_too_deeply(frame) == (n_around + depth_of(value) > MAX_DEPTH)

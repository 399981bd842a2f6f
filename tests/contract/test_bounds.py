"""Every argument of every tool has a bound, and every text within it is answered.

The arguments are read from the tools' definitions, so that new ones are tested too.
"""

import json
from typing import Final

import pytest
import trio

from codecompass.errors import CodeCompassError, InvalidInput
from codecompass.protocol import requests
from codecompass.protocol.arguments import ARGUMENTS
from codecompass.protocol.decode import decode
from codecompass.transport.tools.listing import TOOLS
from tests.support.sample import SAMPLE
from tests.support.served import serving as serving_process
from tests.support.serving import open_serving

pytestmark = pytest.mark.invariant(
    "Every text from outside has a limit that is checked before the text is used; up to that limit it is answered, "
    "whatever its shape"
)

HANG_SECONDS: Final = 60
"""A guard against hanging calls, not a performance limit: each call takes a fraction of a second."""

TEXTS: Final = [
    (tool.name, name)
    for tool in TOOLS
    for name, schema in tool.arguments["properties"].items()
    if schema["type"] == "string" and "enum" not in schema
]
"""Text arguments; those with an enum are bounded by its values."""

SHAPES: Final = {
    "dots": "a.",
    "question marks": "?",
    "any directories": "**/",
    "parentheses": "(",
    "braces": "{",
    "brackets": "[",
    "slashes": "a/",
    "humps": "aB",
    "underscores": "a_",
    "colons": "a::",
    "words": "a ",
    "commas": "a,",
    "exclamation marks": "!a,",
    "lines": "a\n",
    "one letter": "a",
    "any characters": ".",
    "backslashes": "\\",
    "letters of a class": "\\w",
    "large classes": "\\pL",
    "options": "a?",
    "repeated choices": "(a|b)*",
    "quotes": '"',
    "generics": "<a",
    "calls": "a(",
    "frames": "at a.b(c.py:1)\n",
    "lambdas": "lambda$a$1",
    "log lines": "12:00:00 INFO a.b - ",
    "dashes": "-",
    "NULs": "\0",
    "lone surrogates": "\ud83d",
    "right to left": "\u202e",
    "combining characters": "e\u0301",
    "marks alone": "\u0301",
    "ideographs": "\u4e2d",
    "letters with a strange case": "\u017f",
    "pairs of surrogates": "\N{GRINNING FACE}",
}


def filled(unit, length):
    return (unit * (length // len(unit) + 1))[:length]


def with_required(tool, name, value):
    """Returns the arguments of a call that differs from a harmless one in a single argument."""
    required = next(each for each in TOOLS if each.name == tool).arguments.get("required", ())
    return {**dict.fromkeys(required, "main"), name: value}


@pytest.mark.parametrize(("tool", "name"), TEXTS)
def test_one_character_above_the_bound_is_refused_with_the_bound_before_anything_is_done_with_it(tool, name):
    bound = ARGUMENTS[tool][name].max_length
    for unit in ("a", "a/", "\0", "\ud83d", "\u4e2d"):
        for length in (bound + 1, 4_000_000):
            with pytest.raises(InvalidInput) as caught:
                decode(tool, with_required(tool, name, filled(unit, length)))

            assert caught.value.data["field"] == name
            assert f"{bound:,} " in caught.value.message
            assert len(caught.value.message) < 1_000
            json.dumps(caught.value.data).encode()


@pytest.mark.parametrize(("tool", "name"), TEXTS)
def test_a_list_counts_as_the_text_that_it_makes(tool, name):
    for value in (["a"] * (requests.MAX_WORDS + 1), [""] * 1_000_000, ["a" * ARGUMENTS[tool][name].max_length, "b"]):
        with pytest.raises(CodeCompassError) as caught:
            decode(tool, with_required(tool, name, value))

        assert caught.value.code == "invalid_input"


@pytest.mark.parametrize("tool", [tool.name for tool in TOOLS])
def test_names_of_arguments_and_values_of_other_types_are_bounded_too(tool):
    for arguments in (
        {"a" * 4_000_000: 1},
        {"workspac" * 500_000: 1},
        dict.fromkeys(("limit", "wait_seconds", "max_tokens", "force", "docs"), "0" * 1000000 + "x"),
        {"limit": " " * 1_000_000 + "x"},
    ):
        with pytest.raises(CodeCompassError) as caught:
            decode(tool, arguments)

        assert caught.value.code == "invalid_input"
        assert len(caught.value.message) < 1_000
        assert len(json.dumps(caught.value.data)) < 2_000


@pytest.mark.parametrize("name", ["limit", "timeout_ms"])
@pytest.mark.parametrize("unit", ["0", " ", "9", ".0", "0 "])
def test_a_number_as_text_is_read_in_one_pass(name, unit):
    """With a quadratic algorithm a text of this length took seconds."""
    value = filled(unit, 16_383) + "x"

    with pytest.raises(InvalidInput):
        decode("search_code", {"query": "x", name: value})


@pytest.fixture(scope="module")
def home(indexed_home):
    return indexed_home("small", SAMPLE)


@pytest.fixture
async def small(home):
    async with open_serving(home) as serving:
        yield serving


@pytest.mark.slow
@pytest.mark.parametrize("mode", [mode for mode in requests.SEARCH_MODES if mode != "auto"])  # auto is the default, tested below
async def test_every_shape_of_a_query_is_answered_at_the_bound(small, mode):
    for shape, unit in SHAPES.items():
        query = filled(unit, ARGUMENTS["search_code"]["query"].max_length)
        with trio.fail_after(HANG_SECONDS):
            answer = await small.answer("search_code", query=query, mode=mode)

        assert answer.error is None or answer.error.code == "invalid_input", (shape, answer.error)


@pytest.mark.slow
@pytest.mark.parametrize(("tool", "name"), TEXTS)
async def test_every_shape_of_every_argument_is_answered_at_the_bound(small, tool, name):
    bound = ARGUMENTS[tool][name].max_length
    for shape, unit in SHAPES.items():
        with trio.fail_after(HANG_SECONDS):
            answer = await small.answer(tool, **with_required(tool, name, filled(unit, bound)))

        assert answer.error is None or answer.error.code != "internal_error", (shape, answer.error)
        json.loads(answer.payload)


@pytest.mark.slow
async def test_a_server_answers_all_of_them_and_a_ping_between_them(tmp_path):
    """Over the real byte stream: each text at and above its bound, lone surrogates, and the largest message."""
    async with serving_process(tmp_path) as client:
        answer = await client.answer(client.ask("initialize", OPENING))
        assert "result" in answer
        client.send(method="notifications/initialized")
        for tool, name in TEXTS:
            bound = ARGUMENTS[tool][name].max_length
            for value, is_refused in (
                (filled("\ud83d", bound), False),
                (filled("a.", bound + 1), True),
                (filled("a/", 3_800_000), True),
            ):
                id_ = client.ask("tools/call", {"name": tool, "arguments": with_required(tool, name, value)})
                ping = client.ask("ping")
                assert "result" in await client.answer(ping)
                result = (await client.answer(id_))["result"]
                if is_refused:
                    error = json.loads(result["content"][0]["text"])["error"]
                    assert (error["code"], error["data"]["field"]) == ("invalid_input", name)


OPENING: Final = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

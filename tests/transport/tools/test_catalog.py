"""The contract of the tools: what `tools/list` contains, its size, and how a call ends whatever happens in it."""

import inspect
import json
import re
from pathlib import Path

import msgspec
import pytest

from codecompass.errors import CodeCompassError, ErrorBody, InvalidInput, WorkspaceBusy
from codecompass.settings import ServerSettings
from codecompass.transport.call_records import Measures
from codecompass.transport.deferred import DeferredServer
from codecompass.transport.mcp.core import _encoded_tools
from codecompass.transport.mcp.protocol import HANDSHAKE_REVISIONS, MODERN_REVISION
from codecompass.transport.product.product_surface import WHAT_IT_IS, instructions, product_surface
from codecompass.transport.tools.catalog import Catalog
from codecompass.transport.tools.listing import GROUPS, NOT_IN_CORE, NOT_IN_CORE_OF, TOOLS, describe, listed_names
from codecompass.transport.tools.services import Services
from tests.support.routing import Client, IdleWorkspaces
from tests.support.serving import answer_of
from tests.support.tools import LISTED, THE_TEN
from tests.support.tools import TOOLS as SAMPLES

LARGEST = {"default": 12_000, "core": 5_000}
"""Bytes of `tools/list`, which every client puts into each conversation."""

DOCUMENTATION = Path(__file__).parents[3] / "docs" / "tools.md"

each_tool = pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)


class BrokenRouter:
    """Raises the given failure."""

    def __init__(self, failure: BaseException) -> None:
        self.failure = failure

    async def route(self, request, caller):
        raise self.failure


def catalog(failure=None):
    services = Services(
        workspaces=IdleWorkspaces(),
        router=BrokenRouter(failure),
        commits=None,
        cold_answers=None,
        state=None,
        default_limit=10,
    )
    return Catalog(services, Measures())


def encoded(listing, revision=MODERN_REVISION):
    return [json.loads(bytes(tool)) for tool in _encoded_tools(describe(listing), revision)]


# what is listed


def test_the_ten_tools_are_listed_by_default_and_the_choice_by_name():
    assert {tool.name for tool in describe("default")} == {*THE_TEN, "find_references", "get_call_graph"}
    assert ServerSettings().tools == "default"
    assert {tool.name for tool in describe("ten")} == set(THE_TEN)
    assert {tool.name for tool in describe("core")} == set(GROUPS["core"])
    not_in_default = {"diff_context", "list_refs", "read_file", "index_repository"}
    assert {tool.name for tool in describe("all")} == {*GROUPS["default"], *not_in_default}
    assert [tool.name for tool in describe(" sync_repo , locate_symbol")] == ["locate_symbol", "sync_repo"]
    assert {tool.name for tool in describe("core,index_repository")} == {*GROUPS["core"], "index_repository"}


def test_the_order_is_always_the_same():
    names = [tool.name for tool in TOOLS]

    assert [tool.name for tool in describe("all")] == names
    assert [tool.name for tool in describe(",".join(reversed(names)))] == names


@pytest.mark.parametrize("listing", ["twelve", "", "search_code,", "search_code,serch", "*", "TEN"])
def test_a_listing_of_what_there_is_not_is_refused_with_what_there_is(listing):
    with pytest.raises(InvalidInput) as caught:
        listed_names(listing)

    assert "search_code" in caught.value.data["allowed"]


def test_tools_that_are_not_listed_are_known_all_the_same():
    tools = product_surface(DeferredServer(None), "core").tools

    assert tools.knows("index_repository")
    assert tools.knows("health_check")
    assert not tools.knows("search")


# the contract of each


@each_tool
def test_a_tool_has_all_that_a_client_needs_to_choose_it(tool):
    assert re.fullmatch(r"[a-z_]{1,32}", tool.name)
    assert tool.title
    assert 150 <= len(tool.description) <= 260
    (listed,) = [each for each in encoded("all") if each["name"] == tool.name]
    assert listed["annotations"]["openWorldHint"] is False
    assert listed["annotations"]["readOnlyHint"] is tool.is_read_only
    assert tool.is_read_only is (tool.name not in ("index_repo", "sync_repo", "index_repository"))
    if not tool.is_read_only:
        assert listed["annotations"] | {"destructiveHint": False, "idempotentHint": True} == listed["annotations"]


def test_descriptions_say_when_another_tool_is_the_better_one():
    mentions = re.compile("|".join(tool.name for tool in TOOLS))
    for tool in TOOLS:
        assert mentions.search(tool.description) or re.search(r"\b[Nn]ot?\b", tool.description), tool.name


SEARCHED = (
    "go to definition",
    "jump to definition",
    "find references",
    "usages",
    "grep",
    "where is",
    "search code",
    "explore",
    "outline",
    "class members",
)
"""Phrases that people and models search for among tools; a host shows only the beginning of each description."""


@each_tool
def test_a_tool_is_found_by_the_words_of_its_name(tool):
    """Hosts that load tools on request look for the words of a query, and do not always split names into words."""
    said = f"{tool.title} {tool.description}".lower()

    assert [word for word in tool.name.split("_") if word not in ("get", "find", "context") and word[:5] not in said] == []


@pytest.mark.parametrize("words", SEARCHED)
def test_what_people_search_for_is_at_the_beginning_of_a_description_or_in_a_hint(words):
    shown = [f"{tool.description[:160]} {tool.meta['anthropic/searchHint']}".lower() for tool in TOOLS]

    assert any(words in each for each in shown)


def test_the_two_main_tools_are_shown_whole_by_hosts_that_show_few():
    assert [tool.name for tool in TOOLS if tool.meta.get("anthropic/alwaysLoad")] == ["search_code", "locate_symbol"]


@pytest.mark.parametrize("answers", ["json", "text"])
def test_the_instructions_are_short_and_begin_with_what_matters(answers):
    """One host repeats them for each tool, another shows only the first paragraph."""
    first = WHAT_IT_IS.partition("\n\n")[0]

    assert all(len(instructions(listing, answers).encode()) < 1_200 for listing in GROUPS)
    assert "\n" not in first
    assert len(first) < 260
    assert {"search_code", "locate_symbol", "grep"} <= set(re.findall(r"\w+", first))


@each_tool
def test_an_input_schema_is_inline_and_bounded(tool):
    schema = tool.arguments

    assert schema["type"] == "object"
    assert "additionalProperties" not in schema, "a host would refuse a misspelt one without saying which was meant"
    assert {"workspace", "project_id", "ref"} <= set(schema["properties"])
    assert not {"workspace", "ref"} & set(schema.get("required", ()))
    assert "$ref" not in json.dumps(schema)
    for name, described in schema["properties"].items():
        assert described["type"] in ("string", "integer", "boolean"), name
        if described["type"] == "integer":
            assert described["minimum"] < described["maximum"], name
        if described["type"] == "string":
            assert described.get("enum") or 0 < described["maxLength"] <= 16_384, name


def test_the_list_for_models_leaves_out_what_only_programs_use():
    whole = {tool["name"]: set(tool["inputSchema"]["properties"]) for tool in encoded("all")}
    short = {tool["name"]: set(tool["inputSchema"]["properties"]) for tool in encoded("core")}

    for name, shown in short.items():
        assert whole[name] - shown == whole[name] & (NOT_IN_CORE | NOT_IN_CORE_OF.get(name, frozenset())), name
    for tool in encoded("core") + encoded("default"):
        texts = [each for each in tool["inputSchema"]["properties"].values() if each["type"] == "string" and "enum" not in each]
        assert all(each["maxLength"] > 0 for each in texts)


def test_the_list_for_models_answers_for_a_branch_for_subtypes_and_for_another_commit():
    core = {tool["name"]: tool["inputSchema"]["properties"] for tool in encoded("core")}

    assert {"base", "head", "path", "symbol", "max_tokens"} <= core["diff_context"].keys()
    assert "subtypes" in core["find_references"]["relation"]["enum"]
    assert {"ref", "include_tests", "offset", "limit"} <= core["find_references"].keys()
    assert all("ref" in core[name] for name in core.keys() - {"diff_context", "index_status"})
    assert all("workspace" in arguments for arguments in core.values())


@pytest.mark.parametrize("answers", ["json", "text"])
@pytest.mark.parametrize("listing", ["core", "default", "all"])
def test_instructions_name_only_tools_and_arguments_that_are_listed(listing, answers):
    words = set(re.findall(r"[a-z]+(?:_[a-z]+)*", instructions(listing, answers)))
    listed = {tool["name"]: tool["inputSchema"]["properties"].keys() for tool in encoded(listing)}
    arguments = {name for properties in listed.values() for name in properties}
    all_arguments = {name for tool in TOOLS for name in tool.arguments["properties"]}
    plain_words = {"name", "path", "query", "symbol", "head", "base", "role", "scope", "docs", "compact", "language", "limit"}

    assert words & {tool.name for tool in TOOLS} <= listed.keys()
    assert words & all_arguments - plain_words <= arguments


@each_tool
def test_an_output_schema_names_top_level_keys_that_the_answers_have(tool):
    keys = {field.encode_name for field in msgspec.structs.fields(SAMPLES[tool.name].reply)}

    assert tool.output["type"] == "object"
    assert set(tool.output["properties"]) <= keys
    assert "metadata" in tool.output["properties"]


def test_the_tests_know_every_tool():
    assert {name: sample.is_read_only for name, sample in SAMPLES.items()} == {tool.name: tool.is_read_only for tool in TOOLS}
    assert {tool.name for tool in describe("default")} == set(LISTED)


@pytest.mark.parametrize("revision", [*HANDSHAKE_REVISIONS, MODERN_REVISION])
@pytest.mark.parametrize("group", LARGEST)
def test_the_list_of_tools_is_small(group, revision):
    tools = _encoded_tools(describe(group), revision)

    size = len(b'{"tools":[' + b",".join(bytes(tool) for tool in tools) + b"]}")

    assert size <= LARGEST[group]


def test_the_documentation_names_every_error_code_that_there_is():
    import codecompass.errors

    codes = {
        each.code for _, each in inspect.getmembers(codecompass.errors, inspect.isclass) if issubclass(each, CodeCompassError)
    }

    text = DOCUMENTATION.read_text()

    assert {code for code in codes if f"`{code}`" not in text} == set()


# how a call ends


async def call(failure, tool="index_status", **arguments):
    answer = answer_of(await catalog(failure=failure).call(tool, arguments, Client()))
    return answer, json.loads(answer.payload)


async def test_an_error_of_ours_goes_out_with_its_code_and_values():
    answer, payload = await call(WorkspaceBusy("the workspace is busy. Call again.", retry_after_ms=50))

    assert answer.error == ErrorBody("workspace_busy", "the workspace is busy. Call again.", {"retry_after_ms": 50})
    assert payload == {
        "error": {"code": "workspace_busy", "message": "the workspace is busy. Call again.", "data": {"retry_after_ms": 50}},
        "metadata": {"codecompass_protocol_version": "1.0"},
    }


async def test_a_defect_is_an_answer_too_and_tells_nothing_but_its_kind():
    answer, payload = await call(ZeroDivisionError("secret"))

    assert answer.error.code == "internal_error"
    assert "ZeroDivisionError" in payload["error"]["message"]
    assert "secret" not in answer.payload.decode()


async def test_an_error_of_ours_in_the_group_of_a_nursery_keeps_its_code():
    answer, _ = await call(ExceptionGroup("tasks", [ExceptionGroup("tasks", [WorkspaceBusy("busy. Call again.")])]))

    assert answer.error.code == "workspace_busy"


async def test_warnings_of_decoding_are_in_the_metadata_of_an_error():
    _, payload = await call(WorkspaceBusy("busy. Call again."), tool="search_code", query="x", limit=1000)

    assert payload["metadata"]["warnings"] == ["limit 1000 is out of the range 1..100; 100 was used"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"project_id": "My_Project"},
        {"project_id": "-a"},
        {"project_id": "a-"},
        {"project_id": "a--b"},
        {"project_id": "client-a\n"},
        {"project_id": "a" * 51},
        {"project_id": ""},
        {"project_id": "é"},
        {"project_id": "'; DROP TABLE projects; --"},
        {"project_id": 7},
        {"workspace": "a\0b"},
        {"workspace": ["/"]},
        {"workspace": 1},
        {"unknown": 1},
    ],
)
async def test_arguments_that_cannot_be_right_reach_no_router(arguments):
    answer, payload = await call(AssertionError("routed"), **arguments)

    assert answer.error.code == "invalid_input"
    assert payload["error"]["data"]["field"] == next(iter(arguments))


async def test_the_refusal_of_a_project_name_is_that_of_the_contract():
    _, payload = await call(AssertionError("routed"), project_id="My_Project")

    assert payload["error"]["message"].startswith("Project identifier must be lowercase alphanumeric with hyphens")
    assert payload["error"]["data"] == {
        "field": "project_id",
        "value": "My_Project",
        "constraint": "Must match pattern: ^[a-z0-9]+(-[a-z0-9]+)*$",
    }

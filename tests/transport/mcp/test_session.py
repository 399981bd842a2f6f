"""One in-memory session: its input and output in both eras. The official types validate every frame."""

import json

import pytest

from codecompass.transport.mcp.core import SessionLimits
from codecompass.transport.mcp.protocol import (
    HANDSHAKE_REVISIONS,
    META_CAPABILITIES,
    META_REVISION,
    MODERN_REVISION,
    STRUCTURED_REVISION,
    TASKS_EXTENSION,
)
from tests.transport.harness import connected, modern, settled
from tests.transport.sample_tools import sample_core


@pytest.fixture
async def line():
    core, _tools = sample_core()
    async with connected(core) as line:
        yield line


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
async def test_initialize_echoes_each_revision_of_the_handshake_era(line, revision):
    result = await line.initialize(revision)

    assert result["protocolVersion"] == revision
    assert result["serverInfo"]["name"] == "codecompass"
    assert len(result["instructions"].encode()) < 2048


@pytest.mark.parametrize("revision", [MODERN_REVISION, "2099-01-01", "", "1.0"])
async def test_initialize_with_any_other_revision_offers_the_newest_of_its_era(line, revision):
    assert (await line.initialize(revision))["protocolVersion"] == "2025-11-25"


async def test_discover_says_what_initialize_says(line):
    discovered = await line.result("server/discover", modern())
    initialized = await line.initialize()

    assert discovered["supportedVersions"] == [MODERN_REVISION]
    assert discovered["instructions"] == initialized["instructions"]
    assert "io.modelcontextprotocol/tasks" in discovered["capabilities"].pop("extensions")
    assert discovered["capabilities"] == initialized["capabilities"]


async def test_discover_without_meta_is_told_what_is_missing(line):
    fault = await line.fault("server/discover")

    assert (fault["code"], fault["data"]["field"]) == (-32602, META_REVISION)


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
async def test_tools_are_listed_with_the_members_of_the_revision(line, revision):
    await line.initialize(revision)

    tool = (await line.result("tools/list"))["tools"][0]

    assert ("outputSchema" in tool) == ("title" in tool) == (revision >= STRUCTURED_REVISION)
    assert ("annotations" in tool) == (revision >= "2025-03-26")


@pytest.mark.parametrize("revision", HANDSHAKE_REVISIONS)
async def test_structured_content_is_the_text_for_those_who_know_it(line, revision):
    await line.initialize(revision)

    result = await line.tool("echo", {"text": "é\n\u2028"})

    assert json.loads(result["content"][0]["text"]) == {"text": "é\n\u2028"}
    assert ("structuredContent" in result) == (revision >= STRUCTURED_REVISION)
    assert result.get("structuredContent", {"text": "é\n\u2028"}) == {"text": "é\n\u2028"}


async def test_the_text_is_the_same_bytes_in_both_eras(line):
    old = await line.tool("echo", {"text": "x", "n": 1.5})
    new = await line.result("tools/call", modern({"name": "echo", "arguments": {"text": "x", "n": 1.5}}))

    assert old["content"] == new["content"]
    assert new["structuredContent"] == json.loads(new["content"][0]["text"])


async def test_a_failing_tool_answers_with_text_alone(line):
    await line.initialize()

    result = await line.tool("fail")

    assert result["isError"]
    assert "structuredContent" not in result
    assert json.loads(result["content"][0]["text"])["error"]["code"] == "invalid_input"
    assert json.loads(result["content"][0]["text"])["error"]["data"] == {"field": "query"}
    assert "_meta" not in result


async def test_a_defect_in_a_tool_costs_one_request(line):
    assert (await line.fault("tools/call", {"name": "crash"}))["code"] == -32603
    assert await line.result("ping") == {}


@pytest.mark.parametrize("params", [{"name": "nope"}, {}, {"name": 5}, {"name": "echo", "arguments": []}])
async def test_an_unknown_tool_and_malformed_params_are_invalid_params(line, params):
    for each in (params, modern(params)):
        fault = await line.fault("tools/call", each)

        assert (fault["code"], fault["data"]["code"]) == (-32602, "invalid_input")


@pytest.mark.parametrize("method", ["nope", "", "server/discover2", "logging/setLevel", "tasks/list", "tasks/result"])
async def test_an_unknown_method_is_not_found(line, method):
    assert (await line.fault(method))["code"] == -32601
    assert (await line.fault(method, modern()))["code"] == -32601


@pytest.mark.parametrize("method", ["initialize", "ping", "resources/subscribe", "resources/unsubscribe"])
async def test_methods_of_the_handshake_era_are_gone_in_the_modern_one(line, method):
    assert (await line.fault(method, modern()))["code"] == -32601


@pytest.mark.parametrize("key", [META_REVISION, META_CAPABILITIES])
async def test_a_modern_request_needs_its_meta(line, key):
    params = modern({"name": "echo"})
    params["_meta"][key] = 5

    assert (await line.fault("tools/call", params))["data"]["field"] == key


@pytest.mark.parametrize("revision", ["2025-11-25", "2099-01-01"])
async def test_an_unsupported_revision_is_told_the_supported_ones(line, revision):
    fault = await line.fault("tools/list", modern(**{META_REVISION: revision}))

    assert fault["code"] == -32022
    assert fault["data"]["supported"] == [MODERN_REVISION]
    assert fault["data"]["requested"] == revision


async def test_eras_mix_on_one_connection(line):
    await line.initialize("2024-11-05")

    new = await line.result("tools/call", modern({"name": "echo"}))
    old = await line.tool("echo")

    assert "structuredContent" in new
    assert "structuredContent" not in old


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list", "prompts/list"])
async def test_lists_fit_one_page_and_refuse_foreign_cursors(line, method):
    assert "nextCursor" not in await line.result(method)
    assert (await line.result(method, modern()))["ttlMs"] > 0
    for cursor in ("", "x", "ZnJvbTowMQ==", "ZnJvbTo5OTk=", "é"):
        assert (await line.fault(method, {"cursor": cursor}))["code"] == -32602


async def test_bytes_that_are_no_message_are_answered_and_survived(line):
    line.push(b"\xff\xfe garbage")
    line.push(b"[]")
    line.push(b'{"jsonrpc":"2.0","id":"q","method":4}')

    assert "id" not in await line.next()
    assert (await line.next())["error"]["code"] == -32600
    assert (await line.next())["id"] == "q"
    assert await line.result("ping") == {}


async def test_a_bad_progress_token_is_refused(line):
    fault = await line.fault("tools/call", {"name": "echo", "_meta": {"progressToken": [1]}})

    assert fault["data"]["field"] == "progressToken"


async def test_a_cancelled_request_frees_its_work_and_is_not_answered(core, tools):
    async with connected(core) as line:
        for params in ({"name": "hold"}, modern({"name": "hold"})):
            id_ = line.ask("tools/call", params)
            await settled()
            assert tools.n_holding == 1

            line.send(method="notifications/cancelled", params={"requestId": id_, "reason": "changed my mind"})
            await settled()

            assert tools.n_holding == 0
            assert await line.result("ping") == {}
            assert all(message["id"] != id_ for message in line.seen if "id" in message)


async def test_a_cancellation_right_behind_its_request_finds_it(core, tools):
    async with connected(core) as line:
        id_ = line.ask("tools/call", {"name": "hold"})
        line.send(method="notifications/cancelled", params={"requestId": id_})
        await settled()

        assert tools.n_holding == 0
        assert line.pending() == []


@pytest.mark.parametrize("params", [{"requestId": 99}, {"requestId": None}, {}, {"requestId": [1]}])
async def test_a_cancellation_of_nothing_is_ignored(line, params):
    line.send(method="notifications/cancelled", params=params)
    line.send(method="notifications/unheard_of", params=params)

    assert await line.result("ping") == {}


async def test_an_id_in_flight_cannot_be_used_twice_but_again_afterwards(core, tools):
    async with connected(core) as line:
        line.ask("tools/call", {"name": "hold"}, id_="same")
        line.ask("tools/call", {"name": "echo"}, id_="same")
        assert (await line.next())["error"]["code"] == -32600
        tools.released.set()
        assert "result" in await line.next()

        line.ask("ping", id_="same")

        assert (await line.next())["result"] == {}


async def test_an_integer_and_a_text_are_different_ids(core, tools):
    async with connected(core) as line:
        line.ask("tools/call", {"name": "hold"}, id_=1)
        line.ask("tools/call", {"name": "hold"}, id_="1")
        await settled()

        assert tools.n_holding == 2


async def test_work_waits_for_its_turn_and_pings_do_not():
    core, tools = sample_core(SessionLimits(working=4, in_flight=10))
    async with connected(core) as line:
        ids = [line.ask("tools/call", {"name": "hold", "arguments": {"n": n}}) for n in range(10)]
        await settled()

        assert tools.n_holding == 4
        assert await line.result("ping") == {}
        tools.released.set()
        for n, id_ in enumerate(ids):
            assert (await line.answer(id_))["result"]["content"][0]["text"] == f'{{"n":{n}}}'
        assert tools.most_holding == 4


async def test_a_request_too_many_is_refused_at_once_and_can_be_tried_again():
    core, tools = sample_core(SessionLimits(working=1, in_flight=3))
    async with connected(core) as line:
        for _ in range(3):
            line.ask("tools/call", {"name": "hold"})

        fault = await line.fault("tools/call", {"name": "echo"})

        assert fault["code"] == 1429
        assert fault["data"]["is_retryable"]
        assert fault["data"]["retry_after_ms"] > 0
        tools.released.set()
        await settled()
        assert "content" in await line.tool("echo")


async def test_sixty_four_requests_are_each_answered_once(core):
    async with connected(core) as line:
        ids = [line.ask("tools/call", {"name": "echo", "arguments": {"n": n}}) for n in range(64)]

        for n, id_ in enumerate(ids):
            text = (await line.answer(id_))["result"]["content"][0]["text"]
            assert json.loads(text) == {"n": n}

        await settled()
        assert line.pending() == []


async def test_hints_are_given_once_a_session(core):
    async with connected(core) as line:
        hints = [json.loads((await line.tool("hint"))["content"][0]["text"])["hint"] for _ in range(3)]

    assert hints == [True, False, False]


@pytest.mark.parametrize("capabilities", [{"experimental": True, "extensions": 5}, {"roots": None}, {"unheard_of": {}}])
async def test_odd_capabilities_are_as_good_as_none(capabilities, core):
    async with connected(core) as line:
        await line.initialize(**capabilities)

        assert (await line.tool("where"))["isError"]


TOO_LONG = "a/" * 500_000


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("initialize", {"protocolVersion": TOO_LONG, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}),
        ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {"experimental": {"x": TOO_LONG}}}),
        ("initialize", {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x" * 1001, "version": "1"}}),
        ("tools/list", {"cursor": TOO_LONG}),
        ("tools/call", {"name": TOO_LONG}),
        ("tools/call", {"name": "echo", "arguments": dict.fromkeys(map(str, range(101)))}),
        ("tools/call", {"name": "echo", "_meta": {"progressToken": TOO_LONG}}),
        ("resources/read", {"uri": TOO_LONG}),
        ("resources/subscribe", {"uri": TOO_LONG}),
        ("resources/unsubscribe", {"uri": TOO_LONG}),
        ("prompts/get", {"name": TOO_LONG}),
        ("prompts/get", {"name": "greet", "arguments": {"text": TOO_LONG}}),
        ("prompts/get", {"name": "greet", "arguments": {"text": [[]]}}),
        ("completion/complete", {"ref": {"type": TOO_LONG}, "argument": {"name": "a", "value": "b"}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": TOO_LONG}, "argument": {"name": "a", "value": "b"}}),
        ("completion/complete", {"ref": {"type": "ref/prompt", "name": "a"}, "argument": {"name": "a", "value": TOO_LONG}}),
        ("completion/complete", {"ref": {"type": "ref/resource", "uri": TOO_LONG}, "argument": {"name": "a", "value": "b"}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_what_is_too_long_in_a_message_is_a_fault_under_its_id(line, method, params):
    fault = await line.fault(method, params)

    assert (fault["code"], fault["data"]["code"]) == (-32602, "invalid_input")
    assert len(json.dumps(fault)) < 1_000


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("tasks/get", {"taskId": TOO_LONG}),
        ("subscriptions/listen", {"notifications": {"taskIds": [TOO_LONG]}}),
        ("subscriptions/listen", {"notifications": {"resourceSubscriptions": [TOO_LONG]}}),
        ("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["a"] * 1001}}),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_so_is_it_in_the_modern_era(line, method, params):
    fault = await line.fault(method, modern(params, capabilities={"extensions": {TASKS_EXTENSION: {}}}))

    assert (fault["code"], fault["data"]["code"]) == (-32602, "invalid_input")

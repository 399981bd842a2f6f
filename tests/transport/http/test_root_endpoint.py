"""`POST /`: every status and code that it promises, and requests as `curl` sends them."""

import pytest

from codecompass.errors import InvalidInput
from tests.transport.harness import modern
from tests.transport.http.client import ask, call, connect, message
from tests.transport.http.serving import serving, wait_holding
from tests.transport.sample_tools import advance, sample_core

DEEP = b'{"a":' * 20_000


@pytest.mark.parametrize("content_type", ["application/json", "application/json; charset=utf-8", "Application/JSON", None])
async def test_a_call_is_answered_with_what_every_transport_answers(content_type, core):
    async with serving(core) as server:
        answer = await ask(server.port, "POST", "/", call("echo", {"text": "x"}), content_type=content_type)

    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["id"] == 1
    assert answer.json()["result"]["content"] == [{"type": "text", "text": '{"text":"x"}'}]


@pytest.mark.parametrize(
    ("body", "id_", "number"),
    [
        (b"{", None, -32700),
        (b"", None, -32700),
        (b"\xff\xfe", None, -32700),
        (DEEP, None, -32700),
        (b"[]", None, -32600),
        (b"[" + message("ping") + b"]", None, -32600),
        (b'"text"', None, -32600),
        (b'{"id":1,"method":"ping"}', 1, -32600),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', 1, -32600),
        (b'{"jsonrpc":"2.0","id":1}', 1, -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', None, -32600),
        (b'{"jsonrpc":"2.0","id":"a","method":7}', "a", -32600),
    ],
)
async def test_what_is_no_message_is_a_bad_request_with_the_code_of_the_contract(body, id_, number, core):
    async with serving(core) as server:
        answer = await ask(server.port, "POST", "/", body, content_type="application/json")

    assert answer.status == 400
    said = answer.json()
    assert (said["jsonrpc"], said["id"]) == ("2.0", id_)
    assert said["error"]["code"] == "invalid_input"
    assert said["error"]["data"]["jsonrpc_code"] == number
    assert said["error"]["message"]


async def test_an_error_of_a_well_formed_message_is_a_success_of_http(core):
    async with serving(core) as server, connect(server.port) as client:
        unknown_method = await client.request("POST", "/", message("nope"))
        unknown_tool = await client.request("POST", "/", call("nope"))
        failed_tool = await client.request("POST", "/", call("fail"))
        defect = await client.request("POST", "/", call("crash"))

    assert [each.status for each in (unknown_method, unknown_tool, failed_tool, defect)] == [200, 200, 200, 200]
    assert unknown_method.json()["error"]["code"] == -32601
    assert unknown_tool.json()["error"]["code"] == -32602
    assert unknown_tool.json()["error"]["data"]["code"] == "invalid_input"
    assert failed_tool.json()["result"]["isError"]
    assert failed_tool.said()["error"]["code"] == "invalid_input"
    assert defect.json()["error"]["data"]["code"] == "internal_error"


async def test_a_session_is_neither_needed_nor_made(core):
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    async with serving(core) as server, connect(server.port) as client:
        opened = await client.request("POST", "/", message("initialize", params))
        listed = await client.request("POST", "/", message("tools/list"))
        sessions = server.transport.load().sessions

    assert opened.json()["result"]["protocolVersion"] == "2025-11-25"
    assert "mcp-session-id" not in opened.headers
    assert listed.json()["result"]["tools"]
    assert sessions == 0


@pytest.mark.parametrize(
    "body",
    [
        b'{"jsonrpc":"2.0","method":"notifications/initialized"}',
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
        b'{"jsonrpc":"2.0","method":"no/such/notification"}',
        b'{"jsonrpc":"2.0","id":9,"result":{}}',
    ],
)
async def test_what_wants_no_answer_gets_none(body, core):
    async with serving(core) as server:
        answer = await ask(server.port, "POST", "/", body)

    assert (answer.status, answer.body) == (202, b"")


async def test_nothing_but_the_answer_is_sent_although_progress_was_asked_for(core, tools):
    advance(tools.job, stage="parsing", files_total=10, files_scanned=3)
    body = call("index", {"wait_seconds": 0}, _meta={"progressToken": 7})
    async with serving(core) as server:
        answer = await ask(server.port, "POST", "/", body, accept="application/json, text/event-stream")

    assert answer.headers["content-type"] == "application/json"
    assert answer.said()["status"] == "running"


async def test_a_client_of_the_modern_era_needs_no_headers_here(core):
    async with serving(core) as server, connect(server.port) as client:
        found = await client.request("POST", "/", message("server/discover", modern()))
        called = await client.request("POST", "/", message("tools/call", modern({"name": "echo", "arguments": {"text": "x"}})))

    assert found.json()["result"]["supportedVersions"]
    assert called.json()["result"]["resultType"] == "complete"


async def test_a_client_of_the_modern_era_cancels_by_going_away(core, tools):
    async with serving(core) as server:
        async with connect(server.port) as client:
            await client.send("POST", "/", message("tools/call", modern({"name": "hold", "arguments": {}})))
            await wait_holding(tools, 1)
        await wait_holding(tools, 0)
        await server.wait_load(requests=0, connections=0)


async def test_a_client_of_the_handshake_era_does_not(core, tools):
    async with serving(core) as server:
        async with connect(server.port) as client:
            await client.send("POST", "/", call("hold"))
            await wait_holding(tools, 1)
        await ask(server.port, "POST", "/", call("echo", {"text": "later"}))
        assert tools.n_holding == 1
        tools.released.set()
        await server.wait_load(requests=0, connections=0)


async def test_a_client_that_has_nothing_more_to_say_is_answered(core, tools):
    """A client that closes its sending direction after the request, as in: printf ... | nc."""
    async with serving(core) as server, connect(server.port) as client:
        await client.send("POST", "/", call("hold", {"text": "x"}))
        await wait_holding(tools, 1)
        await client.stream.send_eof()
        tools.released.set()
        assert (await client.head()).status == 200
        assert b'\\"text\\":\\"x\\"' in await client.rest()


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("project_path=/srv/repo", 200),
        ("project_path=%2Fsrv%2Fa%20b", 200),
        ("project_path=/bad/path", 400),
        ("project_path=/srv/repo&project_path=/srv/other", 400),
        ("other=1", 200),
    ],
)
async def test_the_project_of_the_query_counts_for_one_request(query, status):
    async def check(path):
        if path == "/bad/path":
            raise InvalidInput(f"Project path does not exist: {path}", field="project_path")

    core, _tools = sample_core()
    async with serving(core, check=check) as server, connect(server.port) as client:
        named = await client.request("POST", f"/?{query}", call("hint"))
        plain = await client.request("POST", "/", call("hint"))

    assert named.status == status
    assert plain.said()["project_path"] is None
    if query == "project_path=/bad/path":
        assert named.json()["error"]["message"] == "Project path does not exist: /bad/path"
        assert named.json()["error"]["code"] == "invalid_input"
    elif query.startswith("project_path=%2F"):
        assert named.said()["project_path"] == "/srv/a b"

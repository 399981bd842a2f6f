"""`/mcp`: both eras on one path, each request on its own; which clients cancel by disconnecting, and which do not."""

import pytest

from codecompass.transport.http.limits import HttpLimits
from tests.transport.harness import modern
from tests.transport.http.client import JSON, ask, call, connect, initialize, message, modern_headers, send_modern
from tests.transport.http.serving import serving, wait_holding
from tests.transport.sample_tools import advance, finish


def modern_call(tool, arguments=None, **meta):
    return message("tools/call", modern({"name": tool, "arguments": arguments or {}}, **meta))


async def test_a_request_of_the_modern_era_stands_alone(core):
    async with serving(core) as server, connect(server.port) as client:
        answer = await client.request("POST", "/mcp", modern_call("echo", {"text": "x"}), **modern_headers("tools/call", "echo"))
        sessions = server.transport.load().sessions

    assert (answer.status, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json()["result"]["structuredContent"] == {"text": "x"}
    assert answer.json()["result"]["resultType"] == "complete"
    assert "mcp-session-id" not in answer.headers
    assert sessions == 0


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"mcp_method": "tools/list"}, 400, -32020),
        ({"mcp_method": None}, 400, -32020),
        ({"mcp_name": "other"}, 400, -32020),
        ({"mcp_name": None}, 400, -32020),
        ({"mcp_protocol_version": "2025-11-25"}, 400, None),
        ({"mcp_protocol_version": "2030-01-01"}, 400, -32020),
        ({"mcp_name": "=?base64?ZWNobw==?="}, 200, None),
    ],
)
async def test_headers_repeat_what_the_body_says(headers, status, code, core):
    given = {**modern_headers("tools/call", "echo"), **headers}
    async with serving(core) as server:
        answer = await ask(server.port, "POST", "/mcp", modern_call("echo"), **given)

    assert answer.status == status
    if code is not None:
        assert answer.json()["error"]["code"] == code


async def test_an_unknown_method_and_an_unknown_revision_have_statuses_of_their_own(core):
    newer = message("tools/list", {"_meta": {**modern()["_meta"], "io.modelcontextprotocol/protocolVersion": "2030-01-01"}})
    async with serving(core) as server, connect(server.port) as client:
        unknown = await client.request("POST", "/mcp", message("no/such", modern()), **modern_headers("no/such"))
        removed = await client.request("POST", "/mcp", message("ping", modern()), **modern_headers("ping"))
        future = await client.request(
            "POST", "/mcp", newer, **{**modern_headers("tools/list"), "mcp_protocol_version": "2030-01-01"}
        )

    assert [(each.status, each.json()["error"]["code"]) for each in (unknown, removed, future)] == [
        (404, -32601),
        (404, -32601),
        (400, -32022),
    ]
    assert future.json()["error"]["data"]["requested"] == "2030-01-01"


@pytest.mark.parametrize(
    "body",
    [
        b"{",
        b"[]",
        b'"x"',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":' + b'{"a":' * 9_000 + b"1" + b"}" * 9_002,
    ],
)
async def test_what_is_no_message_has_standard_codes_and_status_400(body, core):
    async with serving(core) as server:
        answer = await ask(server.port, "POST", "/mcp", body, **JSON)

    assert answer.status == 400
    assert answer.json()["error"]["code"] in (-32700, -32600)
    assert answer.json()["error"]["data"]["code"] == "invalid_input"


@pytest.mark.parametrize("content_type", ["text/plain", None])
async def test_the_media_type_is_needed_here(content_type, core):
    async with serving(core) as server:
        answer = await ask(server.port, "POST", "/mcp", message("ping"), content_type=content_type)

    assert answer.status == 415


async def test_progress_makes_the_answer_a_stream_and_ends_with_it(core, tools):
    async with serving(core) as server, connect(server.port) as client:
        await send_modern(client, "tools/call", {"name": "index", "arguments": {"wait_seconds": 20}}, progressToken="mine")
        head = await client.head()
        first = await client.event()
        advance(tools.job, stage="finalizing")
        finish(tools.job)
        told = [first]
        while (event := await client.event()) is not None:
            told.append(event)

    assert (head.status, head.headers["content-type"]) == (200, "text/event-stream")
    assert "no-cache" in head.headers["cache-control"]
    assert {each["params"]["progressToken"] for each in told[:-1]} == {"mine"}
    done = [each["params"]["progress"] for each in told[:-1]]
    assert done == sorted(set(done))
    assert done[-1] == 100
    assert told[-1]["result"]["structuredContent"]["status"] == "published"


async def test_a_client_that_takes_no_stream_is_answered_without_progress(core, tools):
    finish(tools.job)
    body = modern_call("index", {"wait_seconds": 20}, progressToken=1)
    async with serving(core) as server:
        answer = await ask(
            server.port, "POST", "/mcp", body, **{**modern_headers("tools/call", "index"), "accept": "application/json"}
        )

    assert answer.headers["content-type"] == "application/json"
    assert answer.json()["result"]["structuredContent"]["status"] == "published"


async def test_a_silent_stream_shows_that_it_is_alive(core):
    async with serving(core, limits=HttpLimits(comment=0.05, linger=0.1, stop=1)) as server, connect(server.port) as client:
        await send_modern(client, "subscriptions/listen", {"notifications": {}})
        await client.head()
        texts = [await client.text()]
        while not (any(b"acknowledged" in text for text in texts) and texts[-1].startswith(b":")):
            texts.append(await client.text())


async def test_a_client_of_the_modern_era_cancels_by_going_away(core, tools):
    async with serving(core) as server:
        async with connect(server.port) as client:
            await send_modern(client, "tools/call", {"name": "hold", "arguments": {}})
            await wait_holding(tools, 1)
        await wait_holding(tools, 0)
        await server.wait_load(requests=0, connections=0)


async def test_one_that_goes_in_the_middle_of_its_stream_cancels_too(core, tools):
    async with serving(core) as server:
        async with connect(server.port) as client:
            await send_modern(client, "tools/call", {"name": "index", "arguments": {"wait_seconds": 20}}, progressToken=1)
            await client.head()
            await client.event()
        await server.wait_load(requests=0, connections=0)
    assert not tools.job.state.has_ended


async def test_a_client_of_the_handshake_era_does_not_cancel_by_going_away(core, tools):
    async with serving(core) as server, connect(server.port) as client:
        id_ = await initialize(client)
        async with connect(server.port) as other:
            await other.send("POST", "/mcp", call("hold"), mcp_session_id=id_, **JSON)
            await wait_holding(tools, 1)
        assert (await client.request("POST", "/mcp", message("ping"), mcp_session_id=id_, **JSON)).status == 200
        assert tools.n_holding == 1
        tools.released.set()
        await server.wait_load(requests=0)


async def test_one_that_cancels_in_words_gets_the_end_of_its_request(core, tools):
    cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}'
    async with serving(core) as server, connect(server.port) as client, connect(server.port) as other:
        id_ = await initialize(client)
        await other.send("POST", "/mcp", call("hold", id_=7), mcp_session_id=id_, **JSON)
        await wait_holding(tools, 1)
        assert (await client.request("POST", "/mcp", cancel, mcp_session_id=id_, **JSON)).status == 202
        assert (await other.head()).status == 200
        assert await other.event() is None
        assert tools.n_holding == 0


async def test_the_client_is_asked_for_its_roots_on_the_stream_of_its_request(core):
    async with serving(core) as server, connect(server.port) as client, connect(server.port) as other:
        id_ = await initialize(client, roots={})
        await client.send("POST", "/mcp", call("where"), mcp_session_id=id_, **JSON)
        assert (await client.head()).headers["content-type"] == "text/event-stream"
        asked = await client.event()
        answer = b'{"jsonrpc":"2.0","id":"%s","result":{"roots":[{"uri":"file:///srv/x"}]}}' % asked["id"].encode()
        assert (await other.request("POST", "/mcp", answer, mcp_session_id=id_, **JSON)).status == 202
        result = (await client.event())["result"]

    assert asked["method"] == "roots/list"
    assert result["structuredContent"] == {"roots": ["/srv/x"]}


async def test_listeners_are_told_of_the_jobs_that_they_named(core, tools):
    uri = "codecompass://jobs/abc123"
    async with serving(core) as server, connect(server.port) as client:
        params = {"notifications": {"resourceSubscriptions": [uri, "codecompass://jobs/nope"], "toolsListChanged": True}}
        await send_modern(client, "subscriptions/listen", params, id_="sub")
        assert (await client.head()).headers["content-type"] == "text/event-stream"
        agreed = await client.event()
        advance(tools.job, stage="parsing", files_total=10, files_scanned=3)
        told = await client.event()

    assert agreed["method"] == "notifications/subscriptions/acknowledged"
    assert agreed["params"]["notifications"] == {"resourceSubscriptions": [uri]}
    assert (told["method"], told["params"]["uri"]) == ("notifications/resources/updated", uri)
    assert told["params"]["_meta"] == {"io.modelcontextprotocol/subscriptionId": "sub"}


async def test_a_listener_that_goes_leaves_nothing_behind(core):
    async with serving(core) as server:
        for _ in range(3):
            async with connect(server.port) as client:
                params = {"notifications": {"resourceSubscriptions": ["codecompass://jobs/abc123"]}}
                await send_modern(client, "subscriptions/listen", params)
                await client.head()
                await client.event()
        await server.wait_load(requests=0, connections=0)


@pytest.mark.parametrize("path", ["/mcp?project_path=/srv/a%20b", "/mcp?project_path=/srv/a+b"])
async def test_the_project_of_the_query_counts_for_its_request_in_both_eras(path, core):
    async with serving(core) as server, connect(server.port) as client:
        id_ = await initialize(client)
        old = await client.request("POST", path, call("hint"), mcp_session_id=id_, **JSON)
        plain = await client.request("POST", "/mcp", call("hint"), mcp_session_id=id_, **JSON)
        new = await client.request("POST", path, modern_call("hint"), **modern_headers("tools/call", "hint"))

    assert old.said()["project_path"] == new.said()["project_path"] == "/srv/a b"
    assert plain.said()["project_path"] is None

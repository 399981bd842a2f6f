"""Sessions of the handshake era: opened by `initialize`, limited in number, ended by the client, by time, or to make room."""

import pytest
import trio

from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.mcp.core import SessionLimits
from tests.transport.http.client import JSON, ask, call, connect, initialize, message
from tests.transport.http.serving import serving, wait_holding
from tests.transport.sample_tools import advance, finish, sample_core

NOTHING = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'


async def test_a_session_has_an_id_that_cannot_be_guessed_and_lives_until_it_is_deleted(core):
    async with serving(core) as server, connect(server.port) as client:
        ids = {await initialize(client) for _ in range(3)}
        id_ = ids.pop()
        assert (await client.request("POST", "/mcp", NOTHING, mcp_session_id=id_, **JSON)).status == 202
        assert (await client.request("POST", "/mcp", message("ping"), mcp_session_id=id_, **JSON)).json()["result"] == {}
        assert (await client.request("DELETE", "/mcp", mcp_session_id=id_)).status == 204
        for method, body in (("POST", message("ping")), ("GET", b""), ("DELETE", b"")):
            assert (await client.request(method, "/mcp", body, mcp_session_id=id_, **JSON)).status == 404
        await server.wait_load(sessions=2)

    assert len(ids) == 2
    assert all(len(each) >= 32 and each.isascii() and each.isprintable() for each in ids)


@pytest.mark.parametrize("method", ["POST", "DELETE"])
async def test_a_request_of_a_session_has_to_name_it(method, core):
    async with serving(core) as server:
        unnamed = await ask(server.port, method, "/mcp", message("ping"), **JSON)
        unknown = await ask(server.port, method, "/mcp", message("ping"), mcp_session_id="nope", **JSON)

    assert (unnamed.status, unknown.status) == (400, 404)
    assert "initialize" in unknown.json()["error"]["message"]


async def test_an_opening_that_fails_leaves_no_session(core):
    async with serving(core) as server:
        answer = await ask(server.port, "POST", "/mcp", message("initialize", {"capabilities": 7}), **JSON)
        await server.wait_load(sessions=0)

    assert "error" in answer.json()
    assert "mcp-session-id" not in answer.headers


async def test_the_revision_of_the_header_is_checked(core):
    async with serving(core) as server, connect(server.port) as client:
        id_ = await initialize(client)
        good = await client.request(
            "POST", "/mcp", message("ping"), mcp_session_id=id_, mcp_protocol_version="2025-11-25", **JSON
        )
        bad = await client.request("POST", "/mcp", message("ping"), mcp_session_id=id_, mcp_protocol_version="1999-01-01", **JSON)

    assert (good.status, bad.status) == (200, 400)


async def test_a_session_that_nobody_uses_ends(core):
    async with serving(core, limits=HttpLimits(session_idle=0.1, linger=0.1, stop=1)) as server, connect(server.port) as client:
        id_ = await initialize(client)
        await server.wait_load(sessions=0)
        assert (await client.request("POST", "/mcp", message("ping"), mcp_session_id=id_, **JSON)).status == 404


async def test_a_session_that_listens_or_works_is_used(core, tools):
    # Longer than it takes to use a session that was just opened, also on a busy machine.
    limits = HttpLimits(session_idle=2, linger=0.1, stop=1)
    async with (
        serving(core, limits=limits) as server,
        connect(server.port) as one,
        connect(server.port) as other,
        connect(server.port) as third,
    ):
        listening, working = await initialize(one), await initialize(other)
        await one.send("GET", "/mcp", mcp_session_id=listening)
        await one.head()
        await other.send("POST", "/mcp", call("hold"), mcp_session_id=working, **JSON)
        await wait_holding(tools, 1)
        await initialize(third)
        await server.wait_load(sessions=2)
        assert (await third.request("POST", "/mcp", message("ping"), mcp_session_id=working, **JSON)).status == 200
        tools.released.set()
        await other.head()
        await server.wait_load(sessions=1)


async def test_a_session_too_many_takes_the_place_of_the_one_that_was_idle_for_longest(core):
    async with serving(core, limits=HttpLimits(sessions=2, linger=0.1, stop=1)) as server, connect(server.port) as client:
        first, second = await initialize(client), await initialize(client)
        await client.request("POST", "/mcp", message("ping"), mcp_session_id=first, **JSON)
        third = await initialize(client)
        found = [
            (await client.request("POST", "/mcp", message("ping"), mcp_session_id=id_, **JSON)).status
            for id_ in (first, second, third)
        ]

    assert found == [200, 404, 200]


async def test_sessions_that_are_opened_together_are_not_too_many_either(core):
    async def open_one():
        statuses.add((await ask(server.port, "POST", "/mcp", message("initialize", params), **JSON)).status)
        most.append(server.transport.load().sessions)

    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    most, statuses = [], set()
    async with serving(core, limits=HttpLimits(sessions=5, linger=0.1, stop=1)) as server, trio.open_nursery() as nursery:
        for _ in range(30):
            nursery.start_soon(open_one)

    assert max(most) == 5
    assert statuses <= {200, 503}


async def test_a_session_too_many_is_refused_while_all_are_in_use(core, tools):
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    async with serving(core, limits=HttpLimits(sessions=1, linger=0.1, stop=1)) as server, connect(server.port) as client:
        id_ = await initialize(client)
        await client.send("POST", "/mcp", call("hold"), mcp_session_id=id_, **JSON)
        await wait_holding(tools, 1)
        refused = await ask(server.port, "POST", "/mcp", message("initialize", params), **JSON)
        tools.released.set()
        assert (await client.head()).status == 200

    assert refused.status == 503
    assert refused.json()["error"]["data"]["is_retryable"]


async def test_the_end_of_a_session_is_the_end_of_what_it_does():
    core, tools = sample_core(SessionLimits(grace_seconds=0.1))
    async with serving(core) as server, connect(server.port) as client, connect(server.port) as other:
        id_ = await initialize(client)
        await other.send("POST", "/mcp", call("hold"), mcp_session_id=id_, **JSON)
        await wait_holding(tools, 1)
        assert (await client.request("DELETE", "/mcp", mcp_session_id=id_)).status == 204
        await wait_holding(tools, 0)
        await server.wait_load(sessions=0, requests=0)


async def test_those_who_asked_for_it_are_told_of_a_job_on_their_stream(core, tools):
    """Rule R2 (b)."""
    async with serving(core) as server, connect(server.port) as client, connect(server.port) as stream:
        id_ = await initialize(client, experimental={"progress": {}})
        await stream.send("GET", "/mcp", mcp_session_id=id_)
        assert (await stream.head()).headers["content-type"] == "text/event-stream"
        answer = await client.request("POST", "/mcp", call("index"), mcp_session_id=id_, **JSON)
        advance(tools.job, stage="parsing", files_total=10, files_scanned=3)
        told = [await stream.event()]
        finish(tools.job)
        while told[-1]["params"]["value"]["kind"] != "end":
            told.append(await stream.event())

    assert answer.json()["result"]["structuredContent"]["status"] == "running"
    assert {each["params"]["progressToken"] for each in told} == {"index-job-abc123"}
    assert "percentage" not in told[-1]["params"]["value"]


async def test_those_who_did_not_are_told_nothing(core, tools):
    uri = "codecompass://jobs/abc123"
    async with serving(core) as server, connect(server.port) as client, connect(server.port) as stream:
        id_ = await initialize(client)
        await stream.send("GET", "/mcp", mcp_session_id=id_)
        await stream.head()
        await client.request("POST", "/mcp", call("index"), mcp_session_id=id_, **JSON)
        advance(tools.job, stage="parsing", files_total=10, files_scanned=3)
        await client.request("POST", "/mcp", message("resources/subscribe", {"uri": uri}), mcp_session_id=id_, **JSON)
        finish(tools.job)
        first = await stream.event()

    assert first["method"] == "notifications/resources/updated"
    assert first["params"]["uri"] == uri


async def test_a_newer_stream_takes_the_place_of_the_one_before(core, tools):
    async with serving(core) as server, connect(server.port) as client, connect(server.port) as one, connect(server.port) as two:
        id_ = await initialize(client, notifications={})
        await one.send("GET", "/mcp", mcp_session_id=id_)
        await one.head()
        await two.send("GET", "/mcp", mcp_session_id=id_)
        await two.head()
        assert await one.event() is None
        await client.request("POST", "/mcp", call("index"), mcp_session_id=id_, **JSON)
        finish(tools.job)
        assert (await two.event())["params"]["progressToken"] == "index-job-abc123"


async def test_a_stream_needs_a_session(core):
    async with serving(core) as server:
        without = await ask(server.port, "GET", "/mcp", mcp_protocol_version="2025-11-25")
        unknown = await ask(server.port, "GET", "/mcp", mcp_session_id="nope")

    assert (without.status, without.headers["allow"]) == (405, "POST")
    assert unknown.status == 404

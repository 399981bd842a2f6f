"""The HTTP+SSE transport of 2024-11-05 on `/mcp`: a stream from the server, and an inbox for messages to it."""

from contextlib import asynccontextmanager

import trio

from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.mcp.core import SessionLimits
from tests.transport.http.client import JSON, ask, call, connect, message
from tests.transport.http.serving import PATIENCE, large_answer, serving, wait_holding
from tests.transport.sample_tools import finish, sample_core

INITIALIZE = {"protocolVersion": "2024-11-05", "clientInfo": {"name": "test", "version": "1"}}


@asynccontextmanager
async def opened(server, query="", **options):
    """Yields the stream and the inbox's address."""
    async with connect(server.port, **options) as stream:
        await stream.send("GET", f"/mcp{query}", accept="text/event-stream")
        head = await stream.head()
        assert (head.status, head.headers["content-type"]) == (200, "text/event-stream")
        first = await stream.text()
        assert first.startswith(b"event: endpoint\ndata: /mcp?sessionId=")
        yield stream, first.partition(b"data: ")[2].decode()


async def test_requests_go_into_the_inbox_and_answers_come_down_the_stream(core):
    async with serving(core) as server, opened(server) as (stream, inbox), connect(server.port) as client:
        opening = message("initialize", {**INITIALIZE, "capabilities": {}}, id_=0)
        assert (await client.request("POST", inbox, opening, **JSON)).status == 202
        assert (await stream.event())["result"]["protocolVersion"] == "2024-11-05"
        for n in range(3):
            assert (await client.request("POST", inbox, call("echo", {"text": str(n)}, id_=n), **JSON)).status == 202
        texts = [(await stream.event())["result"]["content"][0]["text"] for _ in range(3)]
        assert server.transport.load().sse_connections == 1

    assert sorted(texts) == ['{"text":"0"}', '{"text":"1"}', '{"text":"2"}']


async def test_the_client_is_asked_for_its_roots_and_told_of_its_jobs(core, tools):
    async with serving(core) as server, opened(server) as (stream, inbox), connect(server.port) as client:
        capabilities = {"roots": {}, "notifications": {}}
        await client.request("POST", inbox, message("initialize", {**INITIALIZE, "capabilities": capabilities}), **JSON)
        await stream.event()
        await client.request("POST", inbox, call("where", id_=2), **JSON)
        asked = await stream.event()
        answer = b'{"jsonrpc":"2.0","id":"%s","result":{"roots":[{"uri":"file:///srv/x"}]}}' % asked["id"].encode()
        await client.request("POST", inbox, answer, **JSON)
        assert (await stream.event())["result"]["content"][0]["text"] == '{"roots":["/srv/x"]}'
        await client.request("POST", inbox, call("index", id_=3), **JSON)
        assert (await stream.event())["id"] == 3
        finish(tools.job)
        told = await stream.event()

    assert told["params"]["progressToken"] == "index-job-abc123"


async def test_a_client_that_closes_its_stream_takes_its_requests_with_it(core, tools):
    async with serving(core) as server, connect(server.port) as client:
        async with opened(server) as (_stream, inbox):
            await client.request("POST", inbox, call("hold"), **JSON)
            await wait_holding(tools, 1)
        await wait_holding(tools, 0)
        await server.wait_load(sse_connections=0)
        assert (await client.request("POST", inbox, call("echo"), **JSON)).status == 404


async def test_an_inbox_that_nobody_has_opened_is_not_found(core):
    async with serving(core) as server:
        assert (await ask(server.port, "POST", "/mcp?sessionId=nope", call("echo"), **JSON)).status == 404
        assert (await ask(server.port, "POST", "/mcp?sessionId=", call("echo"), **JSON)).status == 404
        assert (await ask(server.port, "POST", "/mcp?sessionId=a&sessionId=b", call("echo"), **JSON)).status == 400


async def test_the_project_of_the_stream_counts_for_all_its_requests(core):
    async with serving(core) as server, opened(server, "?project_path=/srv/x") as (stream, inbox):
        await ask(server.port, "POST", inbox, call("hint"), **JSON)
        assert '"project_path":"/srv/x"' in (await stream.event())["result"]["content"][0]["text"]


async def test_what_is_no_message_is_answered_on_the_stream(core):
    async with serving(core) as server, opened(server) as (stream, inbox):
        assert (await ask(server.port, "POST", inbox, b"{", **JSON)).status == 202
        assert (await stream.event())["error"]["code"] == -32700


async def test_a_silent_stream_shows_that_it_is_alive(core):
    async with serving(core, limits=HttpLimits(comment=0.05, linger=0.1, stop=1)) as server, opened(server) as (stream, _inbox):
        assert (await stream.text()).startswith(b":")


async def test_a_stream_that_nobody_reads_is_given_up_and_its_inbox_says_so():
    core, tools = sample_core(SessionLimits(write_seconds=0.2, queued_frames=1, working=1, in_flight=1))
    tools._hint = large_answer
    limits = HttpLimits(write=0.2, linger=0.1, stop=1)
    async with serving(core, limits=limits) as server, opened(server, receive_bytes=4096) as (_stream, inbox):
        async with connect(server.port) as client:
            statuses = []
            with trio.move_on_after(PATIENCE):
                while not statuses or statuses[-1] == 202:
                    statuses.append((await client.request("POST", inbox, call("hint", id_=len(statuses)), **JSON)).status)
        await server.wait_load(sse_connections=0, requests=0)

    assert statuses[-1] in (404, 503)

"""One TCP connection and what can go wrong with it: slow heads, large heads, garbage, clients that do not read."""

import pytest
import trio

from codecompass.transport.http.limits import HttpLimits
from tests.transport.http.client import JSON, ask, call, connect, initialize, message, send_modern
from tests.transport.http.serving import LARGE, PATIENCE, large_answer, serving, wait_holding

QUICK = HttpLimits(head=1, idle=1, body=1, write=0.5, linger=0.2, stop=1)
"""Long enough for a complete request of a busy machine."""

MANY = 1100
"""Requests; more than hypercorn's default limit for one connection."""


async def test_a_connection_is_used_for_as_many_requests_as_come(core):
    async with serving(core) as server, connect(server.port) as client:
        for n in range(MANY):
            answer = await client.request("POST", "/", message("ping", id_=n))
            assert answer.json() == {"jsonrpc": "2.0", "id": n, "result": {}}
        assert server.transport.load().connections_accepted == 1


async def test_requests_that_come_together_are_answered_in_order(core):
    bodies = [message("ping", id_=n) for n in range(20)]
    together = b"".join(
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%s" % (len(each), each) for each in bodies
    )
    async with serving(core) as server, connect(server.port) as client:
        await client.stream.send_all(together + b"GET /nope HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        data = await client.wait_closed()

    places = [data.index(b'"id":%d,' % n) for n in range(20)]
    assert places == sorted(places)
    assert data.count(b"HTTP/1.1 200") == 20
    assert data.count(b"HTTP/1.1 404") == 1


async def test_a_client_that_wants_it_so_is_left_after_one_answer(core):
    async with serving(core) as server, connect(server.port) as client:
        await client.send("POST", "/", message("ping"), connection="close")
        assert (await client.wait_closed()).startswith(b"HTTP/1.1 200")


async def test_an_old_client_is_served_too(core):
    async with serving(core) as server, connect(server.port) as client:
        body = message("ping")
        await client.stream.send_all(b"POST / HTTP/1.0\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
        assert b'"result":{}' in await client.wait_closed()


@pytest.mark.parametrize(
    "begun",
    [b"", b"P", b"POST / HTTP/1.1\r\nhost: local", b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"],
    ids=["nothing", "a letter", "half a head", "half a body"],
)
async def test_a_request_that_does_not_get_on_is_given_up(begun, core):
    async with serving(core, limits=QUICK) as server, connect(server.port) as client:
        if begun:
            await client.stream.send_all(begun)
        await client.wait_closed()
        await server.wait_load(connections=0, requests=0)


async def test_a_head_that_comes_a_byte_at_a_time_does_not_buy_more_time(core):
    async with serving(core, limits=QUICK) as server:
        began = trio.current_time()  # the server counts from when it accepts the connection, which is later
        async with connect(server.port) as client:
            await client.stream.send_all(b"GET /health HTTP/1.1\r\n")
            with trio.fail_after(PATIENCE):
                while await is_open(client):
                    pass
        took = trio.current_time() - began

    assert took >= QUICK.head


async def test_a_connection_that_is_not_used_is_closed(core):
    async with serving(core, limits=QUICK) as server, connect(server.port) as client:
        assert (await client.request("POST", "/", message("ping"))).status == 200
        assert await client.wait_closed() == b""
        await server.wait_load(connections=0)


async def test_a_connection_with_a_request_under_way_is_never_idle(core, tools):
    async with serving(core, limits=QUICK) as server, connect(server.port) as client:
        await client.send("POST", "/", call("hold"))
        await wait_holding(tools, 1)
        async with connect(server.port) as unused:
            assert (await unused.request("POST", "/", message("ping"))).status == 200
            await unused.wait_closed()
        tools.released.set()
        assert (await client.head()).status == 200


@pytest.mark.parametrize("size", [20_000, 200_000])
async def test_a_head_that_is_too_large_is_refused(size, core):
    async with serving(core) as server, connect(server.port) as client:
        with trio.fail_after(PATIENCE):
            try:
                await client.stream.send_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * size + b"\r\n\r\n")
            except trio.BrokenResourceError:
                pass
        assert (await client.wait_closed()).startswith(b"HTTP/1.1 431")
        await server.wait_load(connections=0)


@pytest.mark.parametrize(
    "garbage",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\0" * 100,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: a\r\nhost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: -5\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: gzip\r\n\r\n",
        b"POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /\xff\xfe HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx\r\n y: z\r\n\r\n",
    ],
)
async def test_garbage_costs_its_own_connection_alone(garbage, core):
    async with serving(core, limits=QUICK) as server, connect(server.port) as client:
        await client.stream.send_all(garbage)
        await client.wait_closed()
        assert (await ask(server.port, "POST", "/", call("echo"))).status == 200
        await server.wait_load(requests=0)


@pytest.mark.parametrize(
    "lengths", [("transfer-encoding: chunked", "content-length: 5"), ("Content-Length: 5", "Transfer-Encoding: chunked")]
)
@pytest.mark.parametrize("method", ["POST /", "GET /health", "POST /mcp"])
async def test_a_request_with_two_lengths_is_refused_and_nothing_behind_it_is_read(lengths, method, core):
    """RFC 9112, section 6.1: the bytes that one of the lengths hides may be a smuggled request."""
    hidden = b"0\r\n\r\nPOST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: %d\r\n\r\n" % len(call("echo")) + call("echo")
    async with serving(core) as server, connect(server.port) as client:
        head = f"{method} HTTP/1.1\r\nhost: localhost\r\n{lengths[0]}\r\n{lengths[1]}\r\n\r\n"
        await client.stream.send_all(head.encode() + hidden)
        said = await client.wait_closed()
        await server.wait_load(connections=0)

    assert said.startswith(b"HTTP/1.1 400")
    assert said.count(b"HTTP/1.1") == 1


async def test_a_wish_for_another_protocol_is_ignored(core):
    async with serving(core) as server, connect(server.port) as client:
        answer = await client.request(
            "GET", "/nope", upgrade="h2c", connection="Upgrade, HTTP2-Settings", http2_settings="AAMAAABk"
        )

    assert answer.status == 404


async def test_a_client_that_does_not_read_is_given_up_and_holds_nobody_else_up(core, tools):
    tools._hint = large_answer
    async with serving(core, limits=QUICK) as server, connect(server.port, receive_bytes=4096) as client:
        await client.send("POST", "/", call("hint"))
        await server.wait_load(requests=1)
        assert (await ask(server.port, "POST", "/", call("echo"))).status == 200
        await server.wait_load(connections=0, requests=0)


async def test_a_client_that_reads_slowly_gets_all_of_it(core, tools):
    tools._hint = large_answer
    async with serving(core, limits=HttpLimits(write=60, stop=1)) as server, connect(server.port, receive_bytes=65_536) as client:
        await client.send("POST", "/", call("hint"))
        assert (await client.head()).status == 200
        assert len(await client.rest()) > LARGE


async def test_a_stream_of_events_that_nobody_reads_ends_the_request_of_the_modern_era(core, tools):
    tools._hint = large_answer
    async with serving(core, limits=QUICK) as server, connect(server.port, receive_bytes=4096) as client:
        await send_modern(client, "tools/call", {"name": "hint", "arguments": {}})
        await server.wait_load(requests=1)
        await server.wait_load(connections=0, requests=0)


async def test_a_session_outlives_a_client_that_does_not_read(core, tools):
    tools._hint = large_answer
    async with serving(core, limits=QUICK) as server:
        async with connect(server.port, receive_bytes=4096) as client:
            id_ = await initialize(client)
            await client.send("POST", "/mcp", call("hint"), mcp_session_id=id_, **JSON)
            await server.wait_load(requests=1)
            await server.wait_load(connections=0, requests=0)
        answer = await ask(server.port, "POST", "/mcp", call("echo", {"text": "x"}), mcp_session_id=id_, **JSON)

    assert answer.said() == {"text": "x"}


async def is_open(client):
    """Sends one more header and returns whether the server still has the connection open."""
    try:
        await client.stream.send_all(b"x: y\r\n")
        with trio.move_on_after(0.02):
            return bool(await client.stream.receive_some(1000))
    except trio.BrokenResourceError:
        return False
    return True

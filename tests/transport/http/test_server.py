"""All connections of a server: how many it accepts, and a stop within its deadline, whatever the clients do."""

import pytest
import trio
import trio.testing

from codecompass.transport.http.limits import HttpLimits
from tests.transport.harness import modern
from tests.transport.http.client import JSON, UPGRADE, call, connect, initialize, masked, message, modern_headers
from tests.transport.http.serving import PATIENCE, large_answer, serving, wait_holding

STOP = 0.5
SLACK = 30.0
"""Seconds, for a busy machine; a stop that hangs would never end."""

ROUNDS = 3


async def test_a_connection_too_many_is_told_to_come_again(core, tools):
    async with (
        serving(core, limits=HttpLimits(connections=2, stop=1)) as server,
        connect(server.port) as one,
        connect(server.port) as other,
    ):
        for busy in (one, other):
            await busy.send("POST", "/", call("hold"))
        await wait_holding(tools, 2)
        async with connect(server.port) as late:
            refused = await late.wait_closed()
        load = server.transport.load()
        tools.released.set()
        assert (await one.head()).status == 200

    assert refused.startswith(b"HTTP/1.1 503")
    assert b"retry-after: 1" in refused
    assert (load.connections, load.connections_refused) == (2, 1)


async def test_one_that_is_not_used_makes_room(core):
    async with (
        serving(core, limits=HttpLimits(connections=2, stop=1)) as server,
        connect(server.port) as idle,
        connect(server.port) as used,
    ):
        for client in (idle, used):
            assert (await client.request("POST", "/", message("ping"))).status == 200
        async with connect(server.port) as late:
            assert (await late.request("POST", "/", message("ping"))).status == 200
        assert await idle.wait_closed() == b""
        assert (await used.request("POST", "/", message("ping"))).status == 200


async def test_one_that_has_only_just_come_does_not(core):
    async with (
        serving(core, limits=HttpLimits(connections=2, head=5, idle=60, stop=1)) as server,
        connect(server.port) as idle,
    ):
        assert (await idle.request("POST", "/", message("ping"))).status == 200
        async with connect(server.port) as fresh:
            await server.wait_load(connections=2)
            async with connect(server.port) as late:
                assert (await late.request("POST", "/", message("ping"))).status == 200
            assert (await fresh.request("POST", "/", message("ping"))).status == 200
            assert await idle.wait_closed() == b""


async def test_an_idle_server_stops_at_once(core):
    async with serving(core, limits=HttpLimits(stop=60)) as server, connect(server.port) as client, connect(server.port):
        assert (await client.request("POST", "/", message("ping"))).status == 200
        assert await server.stop() < SLACK


async def test_what_is_under_way_is_answered_and_nothing_new_is_taken(core, tools):
    async with serving(core, limits=HttpLimits(stop=60)) as server, connect(server.port) as client:
        await client.send("POST", "/", call("hold", {"text": "x"}))
        await wait_holding(tools, 1)
        server.core.stop()
        await trio.testing.wait_all_tasks_blocked()
        with pytest.raises(ConnectionRefusedError):
            async with connect(server.port):
                pass
        tools.released.set()
        assert (await client.head()).status == 200
        assert b"isError" in await client.rest()
        assert await client.wait_closed() == b""


async def test_listeners_of_the_modern_era_are_told_that_it_is_over(core):
    body = message("subscriptions/listen", modern({"notifications": {}}))
    async with serving(core, limits=HttpLimits(stop=60)) as server, connect(server.port) as client:
        await client.send("POST", "/mcp", body, **modern_headers("subscriptions/listen"))
        assert (await client.head()).status == 200
        assert (await client.event())["method"] == "notifications/subscriptions/acknowledged"
        server.core.stop()
        assert (await client.event())["result"]["resultType"] == "complete"
        assert await client.event() is None


async def test_streams_of_the_handshake_era_end(core):
    async with (
        serving(core, limits=HttpLimits(stop=60)) as server,
        connect(server.port) as client,
        connect(server.port) as stream,
        connect(server.port) as old,
    ):
        id_ = await initialize(client)
        await stream.send("GET", "/mcp", mcp_session_id=id_, accept="text/event-stream")
        await old.send("GET", "/mcp", accept="text/event-stream")
        assert (await stream.head()).status == (await old.head()).status == 200
        assert b"endpoint" in await old.text()
        await server.stop()
        assert await stream.event() is None
        assert await old.event() is None


async def test_websockets_are_told_that_the_server_goes(core):
    async with serving(core, limits=HttpLimits(stop=60, linger=0.2)) as server, connect(server.port) as client:
        await client.send("GET", "/ws", **UPGRADE)
        assert (await client.head()).status == 101
        server.core.stop()
        assert (await client.wait_closed()).endswith((1001).to_bytes(2, "big") + b"the server ends")


@pytest.mark.invariant("A shutdown meets its deadline, whatever clients fail to do")
@pytest.mark.parametrize("round_", range(ROUNDS))
async def test_a_stop_keeps_its_deadline_whatever_clients_do_not_do(round_, core, tools):
    """Half-sent heads and bodies, answers and streams that nobody reads, work that does not end: all at once."""
    tools._hint = large_answer
    async with serving(core, limits=HttpLimits(stop=STOP)) as server, trio.open_nursery() as nursery:

        async def stall(begin, *, ready):
            async with connect(server.port, receive_bytes=4096) as client:
                await begin(client)
                ready.set()
                await trio.sleep_forever()

        async def with_session(client):
            id_ = await initialize(client)
            await client.send("POST", "/mcp", call("hint"), mcp_session_id=id_, **JSON)

        async def with_listener(client):
            id_ = await initialize(client)
            await client.send("GET", "/mcp", mcp_session_id=id_)

        async def with_old_stream(client):
            await client.send("GET", "/mcp", accept="text/event-stream")
            await client.head()
            path = (await client.text()).split(b"data: ")[1].decode()
            async with connect(server.port) as other:
                for n in range(3):
                    assert (await other.request("POST", path, call("hint", id_=n), **JSON)).status == 202

        async def with_websocket(client):
            await client.send("GET", "/ws", **UPGRADE)
            await client.head()
            for _ in range(3):
                await client.stream.send_all(masked(call("hint")))

        stalls = {
            "half a head": lambda client: client.stream.send_all(b"POST / HTTP/1.1\r\nhost:"),
            "half a body": lambda client: client.stream.send_all(
                b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{"
            ),
            "an answer": lambda client: client.send("POST", "/", call("hint")),
            "a modern answer": lambda client: client.send(
                "POST",
                "/mcp",
                message("tools/call", modern({"name": "hint", "arguments": {}})),
                **modern_headers("tools/call", "hint"),
            ),
            "work": lambda client: client.send("POST", "/", call("hold")),
            "a session": with_session,
            "a listener": with_listener,
            "an old stream": with_old_stream,
            "a websocket": with_websocket,
        }
        waiting = []
        for begin in stalls.values():
            for _ in range(2):
                ready = trio.Event()
                waiting.append(ready)
                nursery.start_soon(lambda begin=begin, ready=ready: stall(begin, ready=ready))
        with trio.fail_after(PATIENCE):
            for ready in waiting:
                await ready.wait()
        await wait_holding(tools, 2)
        await server.wait_load(connections=2 * len(stalls))

        took = await server.stop()
        nursery.cancel_scope.cancel()

    assert took < STOP + core.limits.grace_seconds + SLACK
    assert server.transport.load().connections == 0
    assert server.transport.load().sessions == 0

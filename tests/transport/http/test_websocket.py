"""`/ws`: each socket is a connection with everything that stdio offers."""

import json
from functools import partial

import pytest
import trio
from structlog.testing import capture_logs
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Request

from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.mcp.core import SessionLimits
from tests.support import wire
from tests.transport.harness import modern
from tests.transport.http.client import UPGRADE, call, connect, masked, message
from tests.transport.http.serving import PATIENCE, serving, wait_holding
from tests.transport.sample_tools import advance, finish, sample_core

INITIALIZE = {"protocolVersion": "2025-11-25", "clientInfo": {"name": "test", "version": "1"}}


def open_socket(server, query="", **options):
    return wire.open_websocket(f"http://127.0.0.1:{server.port}", f"/ws{query}", **options)


async def received(socket):
    with trio.fail_after(PATIENCE):
        return json.loads(await socket.get_message())


async def result(socket, body):
    await socket.send_message(body.decode())
    return (await received(socket))["result"]


async def test_a_message_is_a_frame_and_the_subprotocol_is_agreed_on(core):
    async with serving(core) as server, open_socket(server) as socket:
        assert socket.subprotocol == "mcp"
        assert (await result(socket, call("echo", {"text": "é"})))["content"][0]["text"] == '{"text":"é"}'
        assert server.transport.load().websockets == 1


async def test_a_client_that_offers_no_subprotocol_is_given_none(core):
    async with serving(core) as server, open_socket(server, subprotocols=()) as socket:
        assert socket.subprotocol is None
        assert await result(socket, message("ping")) == {}


async def test_both_eras_are_spoken_on_one_socket(core):
    async with serving(core) as server, open_socket(server) as socket:
        opened = await result(socket, message("initialize", {**INITIALIZE, "capabilities": {}}))
        found = await result(socket, message("server/discover", modern(), id_=2))
        old = await result(socket, call("echo", {"text": "x"}, id_=3))

    assert opened["protocolVersion"] == "2025-11-25"
    assert found["resultType"] == "complete"
    assert old["structuredContent"] == {"text": "x"}


async def test_the_client_is_asked_for_its_roots(core):
    async with serving(core) as server, open_socket(server) as socket:
        await result(socket, message("initialize", {**INITIALIZE, "capabilities": {"roots": {}}}))
        await socket.send_message(call("where", id_=2).decode())
        asked = await received(socket)
        assert asked["method"] == "roots/list"
        await socket.send_message(
            json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"roots": [{"uri": "file:///srv/x"}]}})
        )
        answer = (await received(socket))["result"]

    assert answer["structuredContent"] == {"roots": ["/srv/x"]}


async def test_those_who_asked_for_it_are_told_of_a_job_after_the_answer(core, tools):
    """Rule R2 (b)."""
    async with serving(core) as server, open_socket(server) as socket:
        await result(socket, message("initialize", {**INITIALIZE, "capabilities": {"notifications": {}}}))
        await socket.send_message(call("index", id_=2).decode())
        assert (await received(socket))["id"] == 2
        first = await received(socket)
        advance(tools.job, stage="finalizing")
        finish(tools.job)
        last = first
        while last["params"]["value"]["kind"] != "end":
            last = await received(socket)

    assert first["params"]["progressToken"] == last["params"]["progressToken"] == "index-job-abc123"


async def test_a_cancelled_request_is_not_answered(core, tools):
    async with serving(core) as server, open_socket(server) as socket:
        await socket.send_message(call("hold", id_=5).decode())
        await wait_holding(tools, 1)
        await socket.send_message('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}')
        await wait_holding(tools, 0)
        assert await result(socket, message("ping", id_=6)) == {}


async def test_requests_run_beside_each_other(core, tools):
    async with serving(core) as server, open_socket(server) as socket:
        await socket.send_message(call("hold", id_=1).decode())
        await wait_holding(tools, 1)
        await socket.send_message(message("ping", id_=2).decode())
        assert (await received(socket))["id"] == 2


async def test_too_many_requests_on_one_socket_are_refused_and_pings_are_not():
    core, tools = sample_core(SessionLimits(in_flight=2))
    async with serving(core) as server, open_socket(server) as socket:
        for id_ in (1, 2):
            await socket.send_message(call("hold", id_=id_).decode())
        await wait_holding(tools, 2)
        await socket.send_message(call("echo", id_=3).decode())
        refused = await received(socket)
        assert await result(socket, message("ping", id_=4)) == {}

    assert (refused["id"], refused["error"]["code"]) == (3, 1429)
    assert refused["error"]["data"]["retry_after_ms"] > 0


async def test_a_client_that_goes_takes_its_requests_with_it(core, tools):
    async with serving(core) as server:
        async with open_socket(server) as socket:
            await socket.send_message(call("hold").decode())
            await wait_holding(tools, 1)
        await wait_holding(tools, 0)
        await server.wait_load(websockets=0, connections=0)


async def test_a_client_that_vanishes_takes_its_requests_with_it(core, tools):
    async with serving(core) as server:
        async with connect(server.port) as client:
            await client.send("GET", "/ws", **UPGRADE)
            assert (await client.head()).status == 101
            await client.stream.send_all(masked(call("hold")))
            await wait_holding(tools, 1)
        await wait_holding(tools, 0)
        await server.wait_load(websockets=0, connections=0)


@pytest.mark.parametrize("path", ["/srv/repo", "/srv/a b"])
async def test_the_project_of_the_address_counts_for_all_requests(path, core):
    async with serving(core) as server, open_socket(server, f"?project_path={path.replace(' ', '%20')}") as socket:
        for id_ in (1, 2):
            answer = await result(socket, call("hint", id_=id_))
            assert json.loads(answer["content"][0]["text"])["project_path"] == path


async def test_what_is_no_message_is_answered_with_the_standard_codes(core):
    async with serving(core) as server, open_socket(server) as socket:
        await socket.send_message("{")
        broken = await received(socket)
        await socket.send_message(b"[]")
        batch = await received(socket)

    assert (broken["error"]["code"], batch["error"]["code"]) == (-32700, -32600)
    assert broken["error"]["data"]["code"] == "invalid_input"


async def test_a_message_that_is_too_large_ends_the_socket(core, tools):
    async with serving(core, limits=HttpLimits(body_bytes=1000, linger=0.2, stop=1)) as server, connect(server.port) as client:
        await client.send("GET", "/ws", **UPGRADE)
        assert (await client.head()).status == 101
        await client.stream.send_all(masked(call("hold").ljust(1000)))
        await wait_holding(tools, 1)
        await client.stream.send_all(masked(b"x" * 1001))
        said = await client.wait_closed()
        await server.wait_load(websockets=0, connections=0)

    assert said.endswith(b"\x88\x02" + (1009).to_bytes(2, "big"))


@pytest.mark.parametrize(
    "data",
    [
        masked(b"\xff\xfe"),
        b"\x81\x05hello",
        masked(b"x", opcode=5),
        masked(b"x" * 200, opcode=9),
    ],
    ids=["not UTF-8", "not masked", "unknown kind", "large ping"],
)
async def test_what_is_no_frame_ends_the_socket_with_why(data, core):
    async with serving(core, limits=HttpLimits(linger=0.2, stop=1)) as server, connect(server.port) as client:
        await client.send("GET", "/ws", **UPGRADE)
        assert (await client.head()).status == 101
        await client.stream.send_all(data)
        assert (await client.wait_closed()).endswith(b"\x88\x02" + (1002).to_bytes(2, "big"))
        await server.wait_load(websockets=0, connections=0)


async def test_a_message_that_is_never_completed_is_given_up(core):
    async with serving(core, limits=HttpLimits(body=0.5, linger=0.2, stop=1)) as server, connect(server.port) as client:
        await client.send("GET", "/ws", **UPGRADE)
        assert (await client.head()).status == 101
        await client.stream.send_all(masked(b'{"jsonrpc":', is_last=False))
        await client.wait_closed()
        await server.wait_load(websockets=0, connections=0)


async def test_a_socket_on_which_nothing_is_said_stays_open(core):
    async with serving(core, limits=HttpLimits(body=1, idle=1, head=1, stop=1)) as server, open_socket(server) as socket:
        async with connect(server.port) as unused:
            await unused.wait_closed()  # all of these times are over
        assert await result(socket, message("ping")) == {}


async def test_compressed_frames_are_not_agreed_to(core):
    """A few kilobytes of compressed data can expand a thousandfold."""
    async with serving(core) as server, connect(server.port) as client:
        await client.send("GET", "/ws", sec_websocket_extensions="permessage-deflate; client_max_window_bits", **UPGRADE)
        head = await client.head()

    assert head.status == 101
    assert "sec-websocket-extensions" not in head.headers


async def test_half_a_surrogate_pair_is_answered_under_the_id_of_the_request(core):
    async with serving(core) as server, open_socket(server) as socket:
        await socket.send_message(call("echo", {"text": "x"}, id_="a").decode().replace('"x"', r'"x\ud83d"'))
        answer = await received(socket)

    assert answer["id"] == "a"
    assert json.loads(answer["result"]["content"][0]["text"]) == {"text": "x\ufffd"}


@pytest.mark.parametrize("more", [b"\xff" * 50, b"GET / HTTP/1.1\r\n\r\n"])
async def test_bytes_that_come_before_the_connection_is_accepted_are_no_failure_of_the_server(more, core):
    with capture_logs() as entries:
        async with serving(core) as server, await trio.open_tcp_stream("127.0.0.1", server.port) as stream:
            await stream.send_all(wire.UPGRADE + more)
            with trio.fail_after(PATIENCE):
                while await stream.receive_some():
                    pass

    assert [entry for entry in entries if entry["log_level"] in ("error", "critical")] == []


async def test_a_client_of_the_tests_closes_in_peace_when_a_ping_comes_after_its_closing_frame():
    was_closed = trio.Event()

    async def serve(stream):
        server = WSConnection(ConnectionType.SERVER)
        while data := await stream.receive_some(1 << 16):
            server.receive_data(data)
            for event in server.events():
                if isinstance(event, Request):
                    await stream.send_all(server.send(AcceptConnection(subprotocol="mcp")))
                elif isinstance(event, CloseConnection):
                    await stream.send_all(b"\x89\x00" + server.send(event.response()))  # preceded by an empty ping
                    was_closed.set()

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        async with wire.websocket_client(f"http://127.0.0.1:{port}") as client:
            await client.send(method="notifications/initialized")
        nursery.cancel_scope.cancel()

    assert was_closed.is_set()

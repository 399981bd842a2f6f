"""The bridge's connection to a server that may send anything."""

import base64
import hashlib
import random
from functools import partial

import h11
import trio
import trio.testing

from codecompass.projects.detection import RoutingRules
from codecompass.transport.bridge.link import BridgeLink, LinkLimits
from codecompass.transport.bridge.target import bridge_target
from tests.fuzz.mutations import damaged, frame

SEED = 45
N_CONNECTIONS = 150
LIMITS = LinkLimits(connect=0.3, silence=0.05, pong=0.05, close=0.1, first_pause=0.0001, longest_pause=0.0002)
ACCEPT_KEY = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
"""RFC 6455, section 1.3."""


def accepted(request: bytes) -> bytes:
    """Returns a server's response to the opening handshake."""
    reader = h11.Connection(h11.SERVER)
    reader.receive_data(request)
    headers = dict(reader.next_event().headers)
    accept = base64.b64encode(hashlib.sha1(headers[b"sec-websocket-key"] + ACCEPT_KEY).digest())
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
        b"sec-websocket-protocol: mcp\r\nsec-websocket-accept: " + accept + b"\r\n\r\n"
    )


def server_frame(payload: bytes) -> bytes:
    """Returns a text frame as a server sends it."""
    length = bytes([len(payload)]) if len(payload) < 126 else b"\x7e" + len(payload).to_bytes(2, "big")
    return b"\x81" + length + payload


async def test_whatever_a_server_sends_costs_its_own_connection_at_most():
    n_connections, n_delivered, n_lost = 0, 0, 0
    enough = trio.Event()

    async def hostile(stream):
        nonlocal n_connections
        n_connections += 1
        rng = random.Random(f"{SEED}/{n_connections}")
        if n_connections >= N_CONNECTIONS:
            enough.set()
        try:
            heading = accepted(await stream.receive_some(1 << 16))
            frames = b"".join(server_frame(frame(rng)) for _ in range(3)) + b"\x88\x02\x03\xe9"
            said = damaged(rng, heading + frames) if rng.random() < 0.4 else heading + damaged(rng, frames)
            await stream.send_all(said)
            if rng.random() < 0.5:
                await stream.receive_some(1 << 16)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass

    async def take(message):
        nonlocal n_delivered
        n_delivered += 1

    async def lose(trouble):
        nonlocal n_lost
        n_lost += 1

    async def open_nothing(socket):
        await trio.lowlevel.checkpoint()

    with trio.fail_after(240):
        async with trio.open_nursery() as nursery:
            (listener,) = await nursery.start(partial(trio.serve_tcp, hostile, 0, host="127.0.0.1"))
            target = bridge_target(f"127.0.0.1:{listener.socket.getsockname()[1]}", RoutingRules())
            link = BridgeLink(target, LIMITS, opening=open_nothing, deliver=take, on_lost=lose)
            nursery.start_soon(link.run)
            await enough.wait()
            nursery.cancel_scope.cancel()

    assert n_delivered > N_CONNECTIONS // 4
    assert n_lost > N_CONNECTIONS // 4


async def test_a_request_waits_for_the_end_of_an_attempt_before_a_server_counts_as_absent():
    asked, answer = trio.Event(), trio.Event()

    async def slow(stream):
        request = await stream.receive_some(1 << 16)
        asked.set()
        await answer.wait()
        await stream.send_all(accepted(request))
        await stream.receive_some(1 << 16)

    async def nothing(_):
        await trio.lowlevel.checkpoint()

    found = []
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            (listener,) = await nursery.start(partial(trio.serve_tcp, slow, 0, host="127.0.0.1"))
            target = bridge_target(f"127.0.0.1:{listener.socket.getsockname()[1]}", RoutingRules())
            limits = LinkLimits(connect=60, patience=0)
            link = BridgeLink(target, limits, opening=nothing, deliver=nothing, on_lost=nothing)
            nursery.start_soon(link.run)
            await asked.wait()

            async def wait():
                found.append(await link.wait_open())
                nursery.cancel_scope.cancel()

            nursery.start_soon(wait)
            await trio.testing.wait_all_tasks_blocked()
            answer.set()

    assert found[0] is not None

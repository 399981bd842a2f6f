"""Arbitrary bytes over HTTP and WebSockets cause no defect, no dead server and no leaked task (reproducible by seed)."""

import json
import random
from collections import Counter

import h11
import pytest
import trio
from trio_websocket import ConnectionClosed

from codecompass.transport.mcp.jsonrpc import RpcRequest, parse
from codecompass.units import MIB
from tests.fuzz.fuzzed import PATIENT_LIMITS, fuzzed
from tests.fuzz.mutations import damaged, frame, http_request
from tests.support.sample import SAMPLE
from tests.support.wire import JSON_HEADERS, UPGRADE, http_connection, open_websocket, websocket_frame

SEED = 500
N_FRAMES = 2_000
N_REQUESTS = 1_500
N_MESSAGES = 1_500
"""In CI; `make soak` multiplies all three by 20, which makes 100,000."""

N_CLIENTS = 40
PATIENCE = 120

STATUSES = {200, 202, 204, 400, 403, 404, 405, 406, 408, 413, 415, 421, 426, 429, 431, 501, 503, 505}


@pytest.fixture
async def server(repository):
    repository.write(SAMPLE)
    repository.commit()
    async with fuzzed(repository, PATIENT_LIMITS) as server:
        yield server


@pytest.fixture
async def hurried(repository):
    """A server that soon gives up what is incomplete."""
    repository.write(SAMPLE)
    repository.commit()
    async with fuzzed(repository) as server:
        yield server


async def test_what_looks_like_a_broken_response_is_refused_in_words(server):
    """Found by the tests below: status 500 on /mcp, and no body on /."""
    bodies = [b'{"jsonrpc":"2.0","result":{}}', b'{"jsonrpc":"1.0","id":1,"error":{}}', b'{"jsonrpc":"","params":{}}', b"{}"]
    async with http_connection(server.url) as http:
        for target in ("/", "/mcp"):
            for body in bodies:
                answer = await http.request("POST", target, body, JSON_HEADERS)

                assert answer.status == 400
                assert answer.message()["error"]["message"]


async def test_methods_are_case_sensitive(server):
    """Found by the tests below: the answer to `hEAD` had no body."""
    for method in ("hEAD", "get", "Post"):
        async with http_connection(server.url) as http:
            answer = await http.request(method, "/health")

            assert answer.status == 405
            assert answer.headers["allow"] == "GET"
            assert answer.message()["error"]["message"]


async def in_parallel(n_cases, work):
    """Calls `work(rng)` for each case, with many clients at once; a failure names its case."""
    waiting = iter(range(n_cases))

    async def client():
        for number in waiting:
            try:
                await work(random.Random(f"{SEED}/{number}"))
            except Exception as error:
                error.add_note(f"case {number}")
                raise

    with trio.fail_after(300 + n_cases / 5):
        async with trio.open_nursery() as nursery:
            for _ in range(N_CLIENTS):
                nursery.start_soon(client)


@pytest.mark.soak
@pytest.mark.timeout(3600)  # `make soak` takes twenty times as long
async def test_damaged_messages_in_sound_requests_are_answered_with_json_rpc(server, soak_scale):
    seen = Counter()

    async def post(rng):
        body = damaged(rng, frame(rng))
        target = rng.choice(["/", "/mcp"])
        try:
            async with http_connection(server.url) as http:
                answer = await http.request("POST", target, body, JSON_HEADERS)
        except (trio.BrokenResourceError, OSError):
            # Refused and closed before all of it was read: the system may then drop the answer with the connection.
            seen["reset"] += 1
            return
        seen[answer.status] += 1
        assert answer.status in STATUSES, (answer.status, body, answer.body)
        message = parse(body, max_bytes=4 * MIB)
        if answer.status == 202:
            assert answer.body == b""
            return
        reply = answer.message()
        assert reply["jsonrpc"] == "2.0", (body, answer.body)
        if isinstance(message, RpcRequest) and answer.status == 200:
            assert reply["id"] == message.id, (body, answer.body)

    await in_parallel(N_FRAMES * soak_scale, post)

    assert seen[200] > N_FRAMES // 20, seen
    assert seen[400] > N_FRAMES // 20, seen


@pytest.mark.invariant("Malformed bytes affect at most their own connection")
@pytest.mark.soak
@pytest.mark.timeout(3600)  # `make soak` takes twenty times as long
async def test_damaged_requests_are_answered_or_dropped_and_never_with_a_defect(hurried, soak_scale):
    seen = Counter()

    async def throw(rng):
        data = http_request(rng)
        if rng.random() < 0.8:
            data = damaged(rng, data)
        stream = await trio.open_tcp_stream("127.0.0.1", hurried.port)
        try:
            cut = rng.randrange(len(data) + 1)
            await stream.send_all(data[:cut])
            if rng.random() < 0.2:
                await trio.lowlevel.checkpoint()
            await stream.send_all(data[cut:])
            if rng.random() < 0.2:
                return  # disconnects without reading anything
            if rng.random() < 0.2:
                await stream.send_eof()
            answer = await first_answer(stream, "HEAD" if data.startswith(b"HEAD ") else "GET")
        except (trio.BrokenResourceError, OSError):
            seen["reset"] += 1
            return
        except h11.RemoteProtocolError:
            seen["cut"] += 1  # the request was longer than declared, and its rest could not be read
            return
        finally:
            await trio.aclose_forcefully(stream)
        if answer is None:
            seen["closed"] += 1
            return
        status, body = answer
        seen[status] += 1
        assert status in STATUSES | {101}, (status, data, body)

    await in_parallel(N_REQUESTS * soak_scale, throw)

    assert seen[200] > N_REQUESTS // 50, seen
    assert seen[400] > N_REQUESTS // 50, seen
    assert seen["cut"] < N_REQUESTS * soak_scale // 50, seen
    print(seen)


async def first_answer(stream, method):
    """Returns the status and body of the first response; None if the server closes without one."""
    reader = h11.Connection(h11.CLIENT)
    reader.send(h11.Request(method=method, target="/", headers=[("host", "x")]))
    reader.send(h11.EndOfMessage())
    status, body = None, b""
    with trio.fail_after(PATIENCE):
        while True:
            event = reader.next_event()
            match event:
                case h11.NEED_DATA:
                    data = await stream.receive_some(1 << 16)
                    if not data and status is None:
                        return None
                    reader.receive_data(data)
                case h11.InformationalResponse():
                    if event.status_code == 101:
                        return 101, b""
                case h11.Response():
                    status = event.status_code
                    if dict(event.headers).get(b"content-type", b"").startswith(b"text/event-stream"):
                        return status, b""  # it may be endless
                case h11.Data():
                    body += bytes(event.data)
                case h11.EndOfMessage() | h11.ConnectionClosed() | h11.PAUSED:
                    return status, body


@pytest.mark.soak
@pytest.mark.timeout(3600)  # `make soak` takes twenty times as long
async def test_damaged_messages_over_a_websocket_leave_the_connection_as_it_was(server, soak_scale):
    n_in_one = 25

    async def converse(rng):
        async with open_websocket(f"http://127.0.0.1:{server.port}") as socket:
            for _ in range(n_in_one):
                data = damaged(rng, frame(rng))
                try:
                    await socket.send_message(data.decode())
                except UnicodeDecodeError:
                    await socket.send_message(data)
            await socket.send_message(json.dumps({"jsonrpc": "2.0", "id": "last", "method": "ping"}))
            with trio.fail_after(PATIENCE):
                while True:
                    reply = json.loads(await socket.get_message())
                    assert reply["jsonrpc"] == "2.0"
                    if reply.get("id") == "last":
                        break

    await in_parallel(N_MESSAGES * soak_scale // n_in_one, converse)


@pytest.mark.soak
@pytest.mark.timeout(3600)  # `make soak` takes twenty times as long
async def test_damaged_websocket_frames_end_their_own_connection_at_most(server, soak_scale):
    async def throw(rng):
        stream = await trio.open_tcp_stream("127.0.0.1", server.port)
        try:
            await stream.send_all(UPGRADE)
            assert (await stream.receive_some(1 << 16)).startswith(b"HTTP/1.1 101 ")
            frames = b"".join(websocket_frame(frame(rng), rng.randbytes(4)) for _ in range(3))
            await stream.send_all(damaged(rng, frames))
            if rng.random() < 0.5:
                await stream.send_eof()
                with trio.fail_after(PATIENCE):
                    while await stream.receive_some(1 << 16):
                        pass
        except (trio.BrokenResourceError, ConnectionClosed):
            pass
        finally:
            await trio.aclose_forcefully(stream)

    await in_parallel(N_MESSAGES * soak_scale // 5, throw)

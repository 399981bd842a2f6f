"""HTTP exchanges: each receives one message and sends its frames, with the statuses that each era requires."""

import json

import pytest
import trio
import trio.testing

from codecompass.transport.mcp.envelope import HttpHeaders, decoded_header
from codecompass.transport.mcp.jsonrpc import Fault
from codecompass.transport.mcp.outgoing import OutgoingClosed
from codecompass.transport.mcp.protocol import MODERN_REVISION
from codecompass.transport.mcp.session import ClientSession, Delivery
from tests.transport.harness import modern, settled
from tests.transport.sample_tools import finish, sample_core


class Exchanged:
    """An Outgoing that records the frames."""

    def __init__(self, *, can_push=True):
        self.can_push = can_push
        self.frames = []
        self.n_finished = 0
        self.finished = trio.Event()
        self.is_closed = False

    async def send(self, frame):
        await trio.lowlevel.checkpoint()
        if self.is_closed:
            raise OutgoingClosed
        self.frames.append(frame)

    def finish(self):
        self.n_finished += 1
        self.finished.set()

    @property
    def message(self):
        (frame,) = self.frames
        return json.loads(frame.body)


def body(method, params=None, id_=1):
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, "params": params or {}}).encode()


def headers(method, name=None, revision=MODERN_REVISION):
    return HttpHeaders(revision=revision, method=method, name=name)


async def post(frame, *, headers=None, can_push=True, project_path=None):
    core, _tools = sample_core()
    out = Exchanged(can_push=can_push)
    received = await ClientSession(core, "http").receive(frame, Delivery(out=out, headers=headers, project_path=project_path))
    assert out.n_finished == 1
    return received, out


@pytest.mark.parametrize(
    ("frame", "given", "code", "status"),
    [
        (b"{", headers("x"), -32700, 400),
        (b"[]", headers("x"), -32600, 400),
        (b'{"jsonrpc":"2.0","id":"srv-1","result":{}}', headers("x"), -32600, 400),
        (body("tools/list"), headers("tools/list"), -32602, 400),
        (body("tools/list", modern()), headers("tools/list", revision=None), -32020, 400),
        (body("tools/list", modern()), headers("tools/list", revision="2099-01-01"), -32020, 400),
        (body("tools/list", modern()), headers("Tools/list"), -32020, 400),
        (body("tools/list", modern()), headers(None), -32020, 400),
        (body("tools/call", modern({"name": "echo"})), headers("tools/call"), -32020, 400),
        (body("tools/call", modern({"name": "echo"})), headers("tools/call", "fail"), -32020, 400),
        (body("tools/call", modern({"name": "echo"})), headers("tools/call", "=?base64?!?="), -32020, 400),
        (body("resources/read", modern({"uri": "codecompass://x"})), headers("resources/read", "codecompass://x"), -32602, 400),
        (
            body("tools/list", modern(**{"io.modelcontextprotocol/protocolVersion": "2099-01-01"})),
            headers("tools/list", revision="2099-01-01"),
            -32022,
            400,
        ),
        (body("tools/list"), headers("tools/list", revision="1999-01-01"), -32022, 400),
        (body("tools/list"), headers("tools/list", revision=""), -32022, 400),
        (body("nope", modern()), headers("nope"), -32601, 404),
        (body("initialize", modern()), headers("initialize"), -32601, 404),
        (body("tasks/get", modern({"taskId": "x"})), headers("tasks/get", "x"), -32021, 400),
        (body("tools/call", modern({"name": "crash"})), headers("tools/call", "crash"), -32603, 200),
        (body("nope"), headers("nope", revision="2025-11-25"), -32601, 200),
        (body("nope"), None, -32601, 200),
        (b"{", None, -32700, 400),
    ],
)
async def test_faults_have_the_code_and_the_status_of_their_era(frame, given, code, status):
    _received, out = await post(frame, headers=given)

    assert (out.message["error"]["code"], out.frames[0].http_status) == (code, status)


@pytest.mark.parametrize("name", ["echo", "=?base64?ZWNobw==?="])
async def test_a_modern_call_is_answered_with_one_frame(name):
    params = modern({"name": "echo", "arguments": {"text": "é"}})

    received, out = await post(body("tools/call", params), headers=headers("tools/call", name))

    assert received == "request"
    assert out.frames[0].kind == "response"
    assert out.message["result"]["structuredContent"] == {"text": "é"}


@pytest.mark.parametrize(("revision", "is_structured"), [("2025-03-26", False), ("2025-06-18", True), ("2025-11-25", True)])
async def test_the_header_tells_the_revision_where_there_is_no_session(revision, is_structured):
    _received, out = await post(body("tools/call", {"name": "echo"}), headers=headers(None, revision=revision))

    assert ("structuredContent" in out.message["result"]) == is_structured


async def test_the_root_takes_bare_calls_and_modern_ones_without_headers():
    for params in ({"name": "hint"}, modern({"name": "hint"})):
        _received, out = await post(body("tools/call", params), can_push=False, project_path="/srv/x")

        payload = json.loads(out.message["result"]["content"][0]["text"])
        assert (payload["project_path"], payload["transport"]) == ("/srv/x", "http")


async def test_nothing_but_the_response_goes_where_nothing_can_be_pushed(autojump_clock, core, tools):
    out = Exchanged(can_push=False)
    session = ClientSession(core, "http")
    async with trio.open_nursery() as nursery:
        call = body("tools/call", {"name": "index", "arguments": {"wait_seconds": 50}, "_meta": {"progressToken": 1}})
        nursery.start_soon(session.receive, call, Delivery(out=out))
        await trio.sleep(10)
        finish(tools.job)

    assert [frame.kind for frame in out.frames] == ["response"]


async def test_progress_comes_before_the_response_on_the_same_exchange(autojump_clock, core, tools):
    out = Exchanged()
    session = ClientSession(core, "http")
    async with trio.open_nursery() as nursery:
        params = modern({"name": "index", "arguments": {"wait_seconds": 50}}, progressToken=7)
        nursery.start_soon(session.receive, body("tools/call", params), Delivery(out=out))
        await trio.sleep(1)
        finish(tools.job)

    assert [frame.kind for frame in out.frames] == ["notification", "notification", "response"]


async def test_notifications_are_accepted_without_a_frame():
    for given in (None, headers("notifications/cancelled")):
        frame = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}'

        received, out = await post(frame, headers=given)

        assert (received, out.frames) == ("notification", [])


async def test_a_modern_client_that_disconnects_cancels_its_work(core, tools):
    out = Exchanged()
    async with trio.open_nursery() as nursery:
        call = body("tools/call", modern({"name": "hold"}))
        nursery.start_soon(ClientSession(core, "http").receive, call, Delivery(out=out))
        await settled()
        assert tools.n_holding == 1
        nursery.cancel_scope.cancel()

    assert (tools.n_holding, out.frames, out.n_finished) == (0, [], 1)


async def test_a_session_of_the_handshake_era_outlives_its_exchanges(core, tools):
    async with trio.open_nursery() as nursery:
        session = ClientSession(core, "http", nursery=nursery)

        async def exchange(frame, **more):
            out = Exchanged()
            await session.receive(frame, Delivery(out=out, headers=headers(None, revision="2025-11-25"), **more))
            return out

        params = {"protocolVersion": "2025-11-25", "capabilities": {"roots": {}}, "clientInfo": {"name": "t", "version": "1"}}
        assert (await exchange(body("initialize", params))).message["result"]["protocolVersion"] == "2025-11-25"
        called = await exchange(body("tools/call", {"name": "where"}, id_=2))
        await settled()
        (request,) = called.frames
        assert request.kind == "request"

        answer = {"jsonrpc": "2.0", "id": json.loads(request.body)["id"], "result": {"roots": [{"uri": "file:///a"}]}}
        assert (await exchange(json.dumps(answer).encode())).frames == []
        with trio.fail_after(60):
            await called.finished.wait()

        assert json.loads(json.loads(called.frames[-1].body)["result"]["content"][0]["text"]) == {"roots": ["/a"]}
        assert called.n_finished == 1
        tools.released.set()


async def test_the_stream_of_a_session_carries_what_it_asked_to_follow(autojump_clock, core, tools):
    async with trio.open_nursery() as nursery:
        session = ClientSession(core, "http", nursery=nursery)
        delivery = Delivery(out=Exchanged())
        params = {"protocolVersion": "2025-11-25", "capabilities": {"notifications": {}}}
        await session.receive(body("initialize", params), delivery)
        stream = Exchanged()
        session.client.stream = stream
        await session.receive(body("tools/call", {"name": "index"}, id_=2), delivery)
        await trio.sleep(1)
        finish(tools.job)
        await trio.sleep(1)

    assert [json.loads(frame.body)["params"]["value"]["kind"] for frame in stream.frames] == ["report", "end"]


async def test_a_client_that_is_gone_costs_nothing_but_its_own_request(core, tools):
    async with trio.open_nursery() as nursery:
        session = ClientSession(core, "http", nursery=nursery)
        gone = Exchanged()
        await session.receive(body("tools/call", {"name": "hold"}), Delivery(out=gone))
        gone.is_closed = True
        tools.released.set()
        await settled()
        assert (gone.frames, gone.n_finished, session.n_in_flight) == ([], 1, 0)

        out = Exchanged()
        await session.receive(body("ping", id_=2), Delivery(out=out))
        assert out.message["result"] == {}


async def test_an_id_is_free_as_soon_as_its_answer_is_on_the_way(core):
    """A fast client reuses the id before our own send has returned."""
    async with trio.open_nursery() as nursery:
        session = ClientSession(core, "http", nursery=nursery)
        first, second = Exchanged(), Exchanged()
        send = first.send

        async def send_slowly(frame):
            await send(frame)
            await session.receive(body("tools/call", {"name": "echo"}), Delivery(out=second))
            await second.finished.wait()

        first.send = send_slowly
        await session.receive(body("tools/call", {"name": "echo"}), Delivery(out=first))
        with trio.fail_after(60):
            await first.finished.wait()

    assert "result" in first.message
    assert "result" in second.message


async def test_a_listener_that_is_gone_leaves_nothing_behind(autojump_clock, core, tools):
    out = Exchanged()
    async with trio.open_nursery() as nursery:
        session = ClientSession(core, "http", nursery=nursery)
        params = modern({"notifications": {"resourceSubscriptions": ["codecompass://jobs/abc123"]}})
        await session.receive(body("subscriptions/listen", params), Delivery(out=out))
        await settled()
        out.is_closed = True
        finish(tools.job)
        await settled()

        # The stream of a disconnected client ends at the next notification, or when the server stops.
        core.stop()
        await settled()
        assert (session.n_in_flight, out.n_finished) == (0, 1)


@pytest.mark.parametrize("value", ["=?base64?!!?=", "=?base64?/w==?="])
def test_a_broken_encoded_header_is_a_mismatch(value):
    with pytest.raises(Fault):
        decoded_header(value)

"""How connections end: the input ends, the server stops, the client does not read."""

import pytest
import trio
import trio.testing

from codecompass.transport.mcp.connection import Input, serve_connection
from codecompass.transport.mcp.core import SessionLimits
from codecompass.transport.mcp.jsonrpc import oversized
from tests.transport.harness import Line, connected, modern, settled
from tests.transport.sample_tools import advance, sample_core


async def test_the_end_of_input_ends_the_connection_and_cancels_what_runs(autojump_clock, core, tools):
    async with connected(core) as line:
        line.ask("tools/call", {"name": "hold"})
        await settled()
        began = trio.current_time()

    assert line.end == "end_of_input"
    assert tools.n_holding == 0
    assert trio.current_time() - began <= core.limits.grace_seconds


async def test_requests_from_a_pipe_are_answered_after_its_end(autojump_clock, core):
    async with connected(core) as line:
        id_ = line.ask("tools/call", {"name": "echo", "arguments": {"text": "x"}})
        line.hang_up()

        assert "result" in await line.answer(id_)

    assert line.end == "end_of_input"


async def test_an_idle_connection_ends_at_once(autojump_clock, core):
    async with connected(core) as line:
        await line.initialize()
        began = trio.current_time()

    assert trio.current_time() == began


async def test_a_stop_lets_what_runs_end_and_takes_nothing_new(autojump_clock, core, tools):
    async with connected(core) as line:
        id_ = line.ask("tools/call", {"name": "hold"})
        await settled()
        core.stop()
        await settled()
        tools.released.set()

        assert "result" in await line.answer(id_)

    assert line.end == "stopped"


async def test_a_stop_ends_streams_of_notifications_with_a_result(autojump_clock, core):
    async with connected(core) as line:
        id_ = line.ask("subscriptions/listen", modern({"notifications": {}}))
        await line.until("notifications/subscriptions/acknowledged")
        core.stop()

        result = (await line.answer(id_))["result"]

    assert result["_meta"]["io.modelcontextprotocol/subscriptionId"] == id_
    assert line.end == "stopped"


async def test_a_stop_does_not_wait_for_work_that_does_not_end(autojump_clock, core, tools):
    async with connected(core) as line:
        line.ask("tools/call", {"name": "hold"})
        await settled()
        core.stop()
        await line.ended.wait()

    assert line.end == "stopped"
    assert tools.n_holding == 0


async def test_a_client_that_does_not_read_loses_its_connection_and_nobody_else_does(autojump_clock):
    core, tools = sample_core(SessionLimits(queued_frames=4, write_seconds=10))
    async with connected(core) as other, connected(core) as stalled:
        stalled.reading = trio.Event()
        for _ in range(20):
            stalled.ask("ping")
        stalled.ask("tools/call", {"name": "hold"})

        with trio.fail_after(60):
            while not stalled.ended.is_set():
                await trio.sleep(1)
                assert await other.result("ping") == {}

        assert stalled.end == "client_gone"
        assert tools.n_holding == 0


async def test_a_slow_client_gets_everything_in_order(autojump_clock):
    core, _tools = sample_core(SessionLimits(queued_frames=2, write_seconds=10))
    async with connected(core) as line:
        line.reading = trio.Event()
        ids = [line.ask("ping") for _ in range(20)]
        await trio.sleep(5)
        line.reading.set()

        assert [(await line.next())["id"] for _ in ids] == ids


async def test_a_slow_client_does_not_slow_a_job(autojump_clock):
    core, tools = sample_core(SessionLimits(queued_frames=1, write_seconds=1000))
    async with connected(core) as line:
        await line.initialize(experimental={"progress": {}})
        await line.tool("index")
        line.reading = trio.Event()
        for n in range(100):
            advance(tools.job, stage="parsing", files_parsed=n, files_total=100)
            await trio.sleep(0.5)
        line.reading.set()
        await settled()

        assert len(line.pending()) < 5


@pytest.mark.parametrize("error", [trio.BrokenResourceError, OSError, trio.ClosedResourceError])
async def test_a_broken_line_ends_the_connection_quietly(autojump_clock, error, core):
    async def receive():
        raise error

    async def write(body):
        raise AssertionError

    assert await serve_connection(core, "websocket", receive=receive, write=write) == "client_gone"


async def test_a_write_that_fails_cancels_what_runs(autojump_clock, core, tools):
    line = Line()

    async def write(body):
        raise BrokenPipeError

    line.ask("tools/call", {"name": "hold"})
    line.ask("ping")

    assert await serve_connection(core, "stdio", receive=line.receive, write=write) == "client_gone"
    assert tools.n_holding == 0


async def test_what_a_transport_could_not_frame_is_answered(autojump_clock, core):
    line = Line()
    inputs = iter([Input(malformed=oversized(100)), None])

    async def receive():
        return next(inputs)

    assert await serve_connection(core, "stdio", receive=receive, write=line.write) == "end_of_input"
    assert (await line.next())["error"]["data"]["limit"] == 100

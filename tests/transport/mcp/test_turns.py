"""Turns of the clients of one server: who runs next, and who no longer counts."""

import json
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
import trio
import trio.testing

from codecompass.transport.mcp.session import ClientSession, Delivery
from codecompass.transport.mcp.turns import ADVANTAGE_SECONDS, LONG_SECONDS, MAX_RUNNING, Turns
from tests.transport.harness import connected, settled
from tests.transport.mcp.test_exchange import Exchanged
from tests.transport.sample_tools import finish, sample_core


class Asking:
    """Requests that run until they are told to end; `began` names them in the order in which they ran."""

    def __init__(self, nursery, size):
        self.turns = Turns(size)
        self.began = []
        self.held = {}
        self._nursery = nursery
        self._ends = {}

    async def ask(self, client, name, *, scope=None):
        """Begins a request and waits until it runs or waits."""

        async def run():
            with scope or trio.CancelScope():
                async with self.turns.taken(client) as turn:
                    self.began.append(name)
                    self.held[name] = turn
                    await end.wait()

        end = self._ends[name] = trio.Event()
        self._nursery.start_soon(run)
        await trio.testing.wait_all_tasks_blocked()

    async def end(self, name):
        self._ends[name].set()
        await trio.testing.wait_all_tasks_blocked()


@asynccontextmanager
async def asking(size=1):
    async with trio.open_nursery() as nursery:
        yield Asking(nursery, size)
        nursery.cancel_scope.cancel()


@pytest.mark.invariant("A client that asks little is not held back by one that asks much")
async def test_a_client_that_asks_once_comes_before_the_many_of_another(mock_clock):
    async with asking() as asked:
        for n in range(20):
            await asked.ask("flood", f"flood {n}")
        await asked.ask("agent", "question")
        for _ in range(3):
            await asked.end(asked.began[-1])

    assert asked.began == ["flood 0", "question", "flood 1", "flood 2"]


async def test_clients_that_all_ask_much_take_turns(mock_clock):
    async with asking(size=2) as asked:
        for client in "abc":
            for n in range(4):
                await asked.ask(client, f"{client}{n}")
        for n in range(10):
            await asked.end(asked.began[n])
            mock_clock.jump(0.01)

    assert asked.began == ["a0", "a1", "b0", "c0", "a2", "b1", "c1", "a3", "b2", "c2", "b3", "c3"]


async def test_ever_new_clients_do_not_overtake_one_that_waits_for_longer_than_their_advantage(mock_clock):
    async with asking() as asked:
        for n in range(3):
            await asked.ask("many", f"many {n}")
        for n in range(5):
            await asked.ask(f"new {n}", f"new {n}")
            mock_clock.jump(0.4 * ADVANTAGE_SECONDS)
            await asked.end(asked.began[-1])

    # It had its last turn at 0, and `new 3` came after 1.2 times the advantage.
    assert asked.began == ["many 0", "new 0", "new 1", "new 2", "many 1", "new 3"]


async def test_a_request_that_waits_for_something_else_lets_another_run(mock_clock):
    async with asking() as asked:
        await asked.ask("a", "waits for a job")
        await asked.ask("b", "next")
        assert asked.began == ["waits for a job"]

        asked.held["waits for a job"].give_back()
        asked.held["waits for a job"].give_back()
        await trio.testing.wait_all_tasks_blocked()

        assert asked.began == ["waits for a job", "next"]
        await asked.end("waits for a job")
        assert asked.turns.n_running == 1


async def test_requests_that_take_long_hold_nobody_back(mock_clock):
    async with asking() as asked:
        for n in range(3):
            await asked.ask("stuck", f"stuck {n}")
        await asked.ask("agent", "question")
        assert asked.began == ["stuck 0"]

        for _ in range(2):
            mock_clock.jump(LONG_SECONDS)
            await trio.testing.wait_all_tasks_blocked()

        assert asked.began == ["stuck 0", "question", "stuck 1"]
        assert asked.turns.n_running == 1


async def test_a_cancelled_request_leaves_no_trace(mock_clock):
    async with asking() as asked:
        running, waiting = trio.CancelScope(), trio.CancelScope()
        await asked.ask("a", "runs", scope=running)
        await asked.ask("b", "waits", scope=waiting)
        await asked.ask("b", "stays")
        waiting.cancel()
        await trio.testing.wait_all_tasks_blocked()
        assert asked.turns.n_waiting == 1

        running.cancel()
        await trio.testing.wait_all_tasks_blocked()

        assert asked.began == ["runs", "stays"]
        assert (asked.turns.n_running, asked.turns.n_waiting) == (1, 0)


async def test_what_is_known_of_clients_is_forgotten(mock_clock):
    turns = Turns()
    for n in range(1_000):
        async with turns.taken(n):
            mock_clock.jump(ADVANTAGE_SECONDS / 10)

    assert len(turns._last) <= 12


async def test_one_session_that_fills_the_server_does_not_hold_back_another(mock_clock):
    core, tools = sample_core()
    async with connected(core) as flood, connected(core) as agent:
        ids = [flood.ask("tools/call", {"name": "hold", "arguments": {"n": n}}) for n in range(200)]
        await settled()
        assert tools.n_holding == MAX_RUNNING

        question = agent.ask("tools/call", {"name": "echo", "arguments": {"n": 1}})
        await settled()
        assert agent.pending() == []
        flood.send(method="notifications/cancelled", params={"requestId": ids[0]})

        assert "content" in (await agent.answer(question))["result"]
        await settled()
        assert tools.n_holding == MAX_RUNNING
        mock_clock.autojump_threshold = 0


async def test_requests_without_a_session_take_the_turns_of_their_connection(mock_clock):
    core, tools = sample_core()
    answered = []

    async def post(connection, name, n):
        message = {"jsonrpc": "2.0", "id": n, "method": "tools/call", "params": {"name": name, "arguments": {"n": n}}}
        out = Exchanged()
        delivery = Delivery(out=out, connection=connection)
        await ClientSession(core, "http").receive(json.dumps(message).encode(), delivery)
        answered.append(n)

    async with trio.open_nursery() as nursery:
        for n in range(2 * MAX_RUNNING):
            nursery.start_soon(post, "127.0.0.1:1", "hold", n)
            await settled()
        nursery.start_soon(post, "127.0.0.1:1", "echo", 100)
        await settled()
        nursery.start_soon(post, "127.0.0.1:2", "echo", 200)
        await settled()
        assert (answered, tools.n_holding) == ([], MAX_RUNNING)
        tools.released.set()

    assert answered.index(200) < answered.index(100)


async def test_sessions_that_have_much_in_flight_are_read_one_message_a_step(mock_clock):
    n_steps = 40
    core, tools = sample_core()
    async with AsyncExitStack() as stack:
        floods = [await stack.enter_async_context(connected(core)) for _ in range(10)]
        for flood in floods:
            for n in range(250):
                flood.ask("tools/call", {"name": "hold", "arguments": {"n": n}})

        def n_unread():
            return [flood.n_unread for flood in floods]

        while max(n_unread()) > 250 - core.limits.working - 1:
            await trio.lowlevel.checkpoint()
        before = sum(n_unread())
        for _ in range(n_steps):
            await trio.lowlevel.checkpoint()

        # Each session may have been between two messages.
        assert 0 < before - sum(n_unread()) <= n_steps + len(floods)
        tools.released.set()
        mock_clock.autojump_threshold = 0


async def test_calls_that_wait_for_a_job_do_not_hold_back_other_clients(mock_clock):
    core, tools = sample_core()
    async with connected(core) as waiting, connected(core) as agent:
        for _ in range(MAX_RUNNING):
            waiting.ask("tools/call", {"name": "index", "arguments": {"wait_seconds": 60}})
        await settled()

        assert "content" in await agent.tool("echo", {"n": 1})
        assert waiting.pending() == []
        finish(tools.job)
        await settled()
        assert len(waiting.pending()) == MAX_RUNNING
        mock_clock.autojump_threshold = 0

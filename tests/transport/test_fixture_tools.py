"""What the session supports beyond what the product uses, tested with the tools of the conformance suite."""

from contextlib import asynccontextmanager

import pytest
import trio

from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.protocol import TASKS_EXTENSION
from codecompass.transport.tools.listing import listed_names
from tests.transport.fixture_surface import fixture_surface
from tests.transport.fixture_tasks import TaskTools
from tests.transport.fixture_tools import HANDLERS
from tests.transport.harness import connected, modern

MAX_ROUNDS = 5
"""The number of rounds within which a tool must have requested all its input."""

EVERYTHING = {"elicitation": {}, "sampling": {}, "roots": {}, "extensions": {TASKS_EXTENSION: {}}}
ANSWERS = {
    "elicitation/create": {"action": "accept", "content": {"name": "Ada", "confirm": True, "username": "ada"}},
    "sampling/createMessage": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Paris"}},
    "roots/list": {"roots": [{"uri": "file:///srv"}]},
}


ASKING = ("test_input_required", "test_streaming", "test_missing")
MODERN_TOOLS = {name for name in HANDLERS if name.startswith(ASKING)}
"""Tools that request input in their result, or need the capabilities that a request declares."""


@asynccontextmanager
async def fixture_line():
    async with trio.open_nursery() as nursery:
        async with connected(Core(fixture_surface(nursery))) as line:
            yield line
        nursery.cancel_scope.cancel()


async def helpful(line, id_):
    """Returns the response, answering the server's requests until it arrives."""
    while True:
        message = await line.next()
        if "method" in message and "id" in message:
            line.send(id=message["id"], result=ANSWERS[message["method"]])
        elif message.get("id") == id_:
            return message


@pytest.mark.parametrize("name", sorted(HANDLERS.keys() - MODERN_TOOLS))
async def test_each_tool_works_in_the_handshake_era(autojump_clock, name):
    async with fixture_line() as line:
        await line.initialize(elicitation={}, sampling={}, roots={})

        message = await helpful(line, line.ask("tools/call", {"name": name, "_meta": {"progressToken": name}}))

    assert message["result"]["content"]


@pytest.mark.parametrize("name", [*HANDLERS, *TaskTools.NAMES])
async def test_each_tool_works_in_the_modern_era(autojump_clock, name):
    async with fixture_line() as line:
        params = {"name": name, "arguments": {"seconds": 2, "name": "Ada"}}
        result = await line.result("tools/call", modern(params, capabilities=EVERYTHING))
        for _ in range(MAX_ROUNDS):
            if result["resultType"] != "input_required":
                break
            answers = {key: ANSWERS[request["method"]] for key, request in result["inputRequests"].items()}
            again = modern({**params, "inputResponses": answers}, capabilities=EVERYTHING)
            result = await line.result("tools/call", again)
        if result["resultType"] == "task":
            task = {"taskId": result["taskId"]}
            get = modern(task, capabilities=EVERYTHING)
            while (result := await line.result("tasks/get", get))["status"] == "working":  # noqa: ASYNC110 (as a client polls)
                await trio.sleep(0.5)

    assert result.get("content") or result.get("status") == "completed"


def test_the_product_has_none_of_these_tools():
    assert not listed_names("all") & {*HANDLERS, *TaskTools.NAMES}

"""The calling client, as the tools see it."""

import json

import pytest

from codecompass.transport.mcp.protocol import META_CLIENT
from tests.transport.harness import connected, modern
from tests.transport.sample_tools import sample_core


async def hint(line, params):
    return json.loads((await line.result("tools/call", params))["content"][0]["text"])["hint"]


@pytest.mark.parametrize(("client", "is_hinted"), [("test", True), ("claude-code", False), ("", True)])
async def test_the_client_that_the_hint_recommends_is_not_given_it(client, is_hinted, core):
    """In both eras: from `clientInfo` of the handshake, or of each request."""
    async with connected(core) as line:
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": client, "version": "1"}}
        await line.result("initialize", params)
        line.send(method="notifications/initialized")
        old = await hint(line, {"name": "hint", "arguments": {}})
    async with connected(sample_core()[0]) as line:
        new = await hint(line, modern({"name": "hint", "arguments": {}}, **{META_CLIENT: {"name": client, "version": "1"}}))

    assert (old, new) == (is_hinted, is_hinted)

"""The official Python client over in-memory streams, in each of its modes: hosts built on it behave the same way."""

from contextlib import asynccontextmanager

import pytest
import trio

from codecompass.transport.mcp.connection import Input, serve_connection
from tests.transport.sample_tools import advance, finish, sample_core

pytestmark = pytest.mark.interaction

MODES = ["auto", "legacy", "2026-07-28"]


@asynccontextmanager
async def official(core, mode, **options):
    """Yields an official client connected to one of our connections."""
    import anyio
    from mcp import Client
    from mcp.shared.message import SessionMessage
    from mcp.types import jsonrpc_message_adapter

    @asynccontextmanager
    async def transport():
        to_client, from_server = anyio.create_memory_object_stream(100)
        to_server, from_client = anyio.create_memory_object_stream(100)

        async def receive():
            try:
                message = (await from_client.receive()).message
            except anyio.EndOfStream:
                return None
            return Input(message.model_dump_json(by_alias=True, exclude_unset=True).encode())

        async def write(body):
            await to_client.send(SessionMessage(jsonrpc_message_adapter.validate_json(body)))

        with to_client, from_client, from_server, to_server:
            async with trio.open_nursery() as nursery:

                async def serve():
                    await serve_connection(core, "stdio", receive=receive, write=write)

                nursery.start_soon(serve)
                yield from_server, to_server
                nursery.cancel_scope.cancel()

    with trio.fail_after(60):
        async with Client(transport(), mode=mode, **options) as client:
            yield client


@pytest.mark.parametrize("mode", MODES)
async def test_it_lists_calls_and_tells_errors_apart(mode):
    from mcp import MCPError

    core, _tools = sample_core()
    async with official(core, mode) as client:
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert (await client.list_tools()).tools[0].name == "echo"
        answer = await client.call_tool("echo", {"text": "x"})
        assert (answer.is_error, answer.structured_content) == (False, {"text": "x"})
        assert (await client.call_tool("fail", {})).is_error
        with pytest.raises(MCPError):
            await client.call_tool("nope", {})
        assert (await client.read_resource("codecompass://workspaces")).contents
        assert (await client.get_prompt("explain_symbol", {"symbol": "f"})).messages


@pytest.mark.parametrize("mode", MODES)
async def test_it_names_its_roots_when_it_is_asked(mode):
    from mcp.types import ListRootsResult, Root

    async def roots(context):
        return ListRootsResult(roots=[Root(uri="file:///srv/repo")])

    core, _tools = sample_core()
    async with official(core, mode, list_roots_callback=roots) as client:
        answer = await client.call_tool("where", {})

    assert answer.structured_content == {"roots": ["/srv/repo"]}


@pytest.mark.parametrize("mode", MODES)
async def test_it_is_told_of_progress(mode, core, tools):
    told = []

    async def on_progress(done, total, message):
        told.append((done, total, message))
        if len(told) == 1:
            advance(tools.job, stage="finalizing")
            finish(tools.job)

    async with official(core, mode) as client:
        answer = await client.call_tool("index", {"wait_seconds": 20}, progress_callback=on_progress)

    assert answer.structured_content == {"job_id": "abc123", "status": "published"}
    assert told[0] == (0, 100, "Scanning files: 0 discovered")
    assert told[-1] == (100, 100, "Indexed 3891 files, 12847 symbols in 14.2s")


@pytest.mark.parametrize("mode", MODES)
async def test_it_gives_work_back_when_it_is_cancelled(mode, core, tools):
    async with official(core, mode) as client:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(client.call_tool, "hold", {})
            while not tools.n_holding:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        while tools.n_holding:
            await trio.lowlevel.checkpoint()

        assert (await client.call_tool("echo", {"text": "x"})).structured_content == {"text": "x"}

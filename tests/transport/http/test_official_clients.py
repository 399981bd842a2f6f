"""The official Python client against the real command, in each of its modes and over each HTTP transport that it supports."""

import json
from contextlib import asynccontextmanager

import pytest
import trio

from tests.transport.http.command import http_command

pytestmark = [pytest.mark.interaction, pytest.mark.slow]

MODES = [
    ("/mcp", "auto"),
    ("/mcp", "legacy"),
    ("/mcp", "2026-07-28"),
    ("sse", "auto"),
    ("sse", "legacy"),
    ("/", "auto"),
    ("/", "legacy"),
]
"""The path to which the client connects (`sse`: the older transport on `/mcp`), and how it chooses the era."""

N_FILES = 120
PROGRESS_AT_LEAST = 3


@pytest.fixture
def project(tmp_path):
    """A project large enough that indexing takes noticeable time."""
    directory = tmp_path / "backend"
    directory.mkdir()
    for n in range(N_FILES):
        (directory / f"module_{n}.py").write_text(f"def function_{n}(value):\n    return value\n" * 20)
    return directory


@asynccontextmanager
async def official(url, path, mode, **options):
    """Yields an official client connected over HTTP."""
    from mcp import Client
    from mcp.client.sse import sse_client

    target = sse_client(f"{url}/mcp") if path == "sse" else f"{url}{path}"
    with trio.fail_after(240):
        async with Client(target, mode=mode, **options) as client:
            yield client


@pytest.fixture
def home(tmp_path):
    """An empty store."""
    directory = tmp_path / "home"
    directory.mkdir()
    return directory


@pytest.mark.parametrize(("path", "mode"), MODES)
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # the client leaves its streams open when cancelled
async def test_it_does_all_that_a_host_does(home, project, path, mode):
    """Tools, progress, roots, errors, cancellation: on one server, with one client after another."""
    from mcp import MCPError
    from mcp.types import ListRootsResult, Root

    told = []

    async def roots(context):
        return ListRootsResult(roots=[Root(uri=project.as_uri())])

    async def on_progress(done, total, message):
        told.append((done, total, message))

    async with (
        http_command(home, "--auto-workspace", "--allowed-root", project) as server,
        official(server.url, path, mode, list_roots_callback=roots) as client,
    ):
        assert client.protocol_version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
        assert next(tool.name for tool in (await client.list_tools()).tools) == "search_code"

        named = {"workspace": str(project)} if path == "/" else {}
        indexed = await client.call_tool("index_repo", {**named, "wait_seconds": 50}, progress_callback=on_progress)
        assert not indexed.is_error, indexed
        found = await client.call_tool("locate_symbol", {"name": "function_7", **named})
        assert not found.is_error, found
        assert json.loads(found.content[0].text)["results"][0]["path"] == "module_7.py"
        assert json.loads(found.content[0].text)["metadata"]["workspace"] == str(project)

        failed = await client.call_tool("search_code", {"query": "x", "workspace": "/"})
        assert failed.is_error
        assert "workspace_not_allowed" in failed.content[0].text
        with pytest.raises(MCPError):
            await client.call_tool("no_such_tool", {})

        with trio.move_on_after(0.05):
            await client.call_tool("index_repo", {**named, "force": True, "wait_seconds": 50})
        assert str(project) in (await client.call_tool("index_status", named)).content[0].text

    if path == "/":
        assert told == []
    else:
        assert len(told) >= PROGRESS_AT_LEAST
        assert [done for done, _, _ in told] == sorted({done for done, _, _ in told})
        assert told[-1][:2] == (100, 100)
        assert told[-1][2].startswith(f"Indexed {N_FILES} files")

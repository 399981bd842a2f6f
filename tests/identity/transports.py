"""Every transport, each over its own processes, as one function from a tool and its arguments to its text."""

import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from tests.support.live import http_server, started
from tests.support.waiting import until
from tests.support.wire import Posting, http_connection, modern, pipe_client, sse_client, websocket_client

TRANSPORTS = (
    "stdio",
    "stdio, modern",
    "POST /",
    "/mcp",
    "/mcp, modern",
    "SSE",
    "SSE, modern",
    "/ws",
    "/ws, modern",
    "bridge",
    "bridge, modern",
)

MASKED = {
    "uptime_seconds": r"\d+",
    "started_at": r'"[^"]*"',
    "created_at": r'"[^"]*"',
    "updated_at": r'"[^"]*"',
    "finished_at": r'"[^"]*"',
    "last_indexed_at": r'"[^"]*"',
    "duration_seconds": r"[0-9.e-]+",
    "duration_ms": r"\d+",
    "job_id": r'"[0-9a-f]{12}"',
    "progress_token": r'"index-job-[0-9a-f]{12}"',
    "recent_jobs": r"\[[^]]*\]",
}
"""Fields that always differ, with patterns of their values: times, job ids, and the list of recent jobs.

A server may scan a project when it starts, which only that list shows.
"""

_FIELDS = re.compile("|".join(f'"{name}":(?:{value})' for name, value in MASKED.items()))

_IN_TEXT = re.compile(r"(?<=job )[0-9a-f]{12}|(?<=last indexed: )\S+|(?<=, up )[0-9.]+ s|, [0-9.]+ s$", re.MULTILINE)
"""The same fields in text answers."""

Tell = Callable[[str, dict[str, object]], Awaitable[str]]


def masked(text: str) -> str:
    """Returns an answer with these fields masked."""
    return _IN_TEXT.sub("_", _FIELDS.sub(lambda field: field[0].partition(":")[0] + ":_", text))


def told(message: dict) -> str:
    """Returns the content of a response: the outcome and text of a tool, or the protocol error."""
    if "error" in message:
        return "error " + json.dumps(message["error"], sort_keys=True)
    (content,) = message["result"]["content"]
    is_error = message["result"]["isError"]
    if "structuredContent" in message["result"]:  # not in the oldest revisions
        assert not is_error
        assert message["result"]["structuredContent"] == json.loads(content["text"])
    return f"{'failed' if is_error else 'done'} {content['text']}"


@asynccontextmanager
async def server(home: Path) -> AsyncIterator[str]:
    """Yields the URL of a server over HTTP."""
    async with http_server(home=home) as running:
        yield running.url


@asynccontextmanager
async def teller(transport: str, home: Path, url: str | None = None) -> AsyncIterator[Tell]:
    """Yields the function for one transport. Without the URL of a server it starts one over `home`."""
    way, _, era = transport.partition(", ")
    async with AsyncExitStack() as stack:
        if url is None and way != "stdio":
            url = await stack.enter_async_context(server(home))
        match way:
            case "stdio":
                client = await stack.enter_async_context(
                    pipe_client(await stack.enter_async_context(started("serve-mcp", "--no-prewarm", home=home)))
                )
            case "bridge":
                client = await stack.enter_async_context(
                    pipe_client(await stack.enter_async_context(started("serve-mcp", "--connect", url, home=home)))
                )
            case "/ws":
                client = await stack.enter_async_context(websocket_client(url))
            case "SSE":
                client = await stack.enter_async_context(sse_client(url))
            case _:
                http = await stack.enter_async_context(http_connection(url))
                client = Posting(http, "/" if way == "POST /" else "/mcp", is_modern=bool(era))
        if not era and way != "POST /":
            await client.initialize()

        async def tell(tool: str, arguments: dict[str, object]) -> str:
            params = {"name": tool, "arguments": arguments}
            return told(await client.call("tools/call", modern(params) if era else params))

        await _settle(tell)
        yield tell


async def _settle(tell: Tell) -> None:
    """Waits until the server's watcher is running and it knows the index."""

    async def is_settled() -> bool:
        status = (await tell("index_status", {})).partition(" ")[2]
        health = (await tell("health_check", {})).partition(" ")[2]
        return _is_settled(status, health)

    await until(is_settled)


def _is_settled(status: str, health: str) -> bool:
    if not status.startswith("{"):
        return ": ready, fresh, on " in status and ": ready, fresh, live, " in health and "\njob " not in health
    decoded = json.loads(health)
    states = {(each["index_status"], each.get("residency")) for each in decoded["projects"]}
    is_fresh = json.loads(status)["metadata"]["freshness_status"] == "fresh"
    return is_fresh and states == {("ready", "live")} and not decoded["active_job"]

"""Runs in an environment that has only the 1.x client: reads the work from stdin and writes the results to stdout, as JSON."""

import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import McpError

DEADLINE_SECONDS = 240

CONNECTIONS = []


@asynccontextmanager
async def connected(work, environment, base, *options, **session_options):
    """Yields a session with its own server."""
    parameters = StdioServerParameters(command=work["command"], args=["serve-mcp", *options], env=environment, cwd=base)
    frames = []
    CONNECTIONS.append(frames)
    with (Path(base) / "stderr").open("a") as errors:
        async with stdio_client(parameters, errors) as (source, sink):
            to_client, from_server = anyio.create_memory_object_stream(1000)
            to_server, from_client = anyio.create_memory_object_stream(1000)

            async def receive():
                async with to_client:
                    async for message in source:
                        if isinstance(message, Exception):
                            raise message
                        frames.append((True, message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)))
                        await to_client.send(message)

            async def send():
                async for message in from_client:
                    frames.append((False, message.message.model_dump(mode="json", by_alias=True, exclude_unset=True)))
                    await sink.send(message)

            async with anyio.create_task_group() as group:
                group.start_soon(receive)
                group.start_soon(send)
                async with ClientSession(from_server, to_server, **session_options) as session:
                    yield session, await session.initialize()
                group.cancel_scope.cancel()


async def main():
    work = json.load(sys.stdin)
    with anyio.fail_after(DEADLINE_SECONDS):
        json.dump(await see(work), sys.stdout)


async def see(work):
    """Does the work and returns the results."""
    seen = {"answers": [], "progress": [], "connections": CONNECTIONS}
    async with connected(work, work["environment"], work["base"], "--workspace", work["root"]) as (session, opened):
        seen["revision"] = opened.protocolVersion
        seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
        for tool, arguments in work["calls"]:
            answer = await session.call_tool(tool, arguments)
            seen["answers"].append(
                {"is_error": answer.isError, "text": answer.content[0].text, "structured": answer.structuredContent}
            )

        async def on_progress(done, total, message):
            seen["progress"].append((done, total, message))

        arguments = {"force": True, "wait_seconds": 50}
        seen["job"] = (await session.call_tool("index_repo", arguments, progress_callback=on_progress)).structuredContent
        refused = await session.call_tool("search_code", {"query": "x", "mode": "telepathy"})
        assert refused.isError
        seen["tool_error"] = json.loads(refused.content[0].text)
        try:
            await session.call_tool("no_such_tool", {})
        except McpError as error:
            seen["unknown_tool"] = error.error.code

    async def roots(context):
        return types.ListRootsResult(roots=[types.Root(uri=Path(work["root"]).as_uri())])

    async with connected(work, work["environment"], work["base"], list_roots_callback=roots) as (session, _):
        answer = await session.call_tool("index_status", {})
        seen["workspace_by_roots"] = answer.structuredContent["metadata"]["workspace"]

    held = work["held"]
    async with connected(work, held["environment"], held["base"], "--workspace", held["root"]) as (session, _):
        async with anyio.create_task_group() as group:
            group.start_soon(session.call_tool, "index_repo", {"wait_seconds": 50})
            while not (Path(held["base"]) / "reached").exists():  # noqa: ASYNC110 (another process: nothing wakes us)
                await anyio.sleep(0.01)
            cancelled = types.CancelledNotification(
                method="notifications/cancelled", params=types.CancelledNotificationParams(requestId=session._request_id - 1)
            )
            await session.send_notification(types.ClientNotification(cancelled))
            group.cancel_scope.cancel()
        health = (await session.call_tool("health_check", {})).structuredContent
        seen["active_job_after_cancel"] = health["active_job"]["status"]
        (Path(held["base"]) / "go").touch()
        seen["joined"] = (await session.call_tool("sync_repo", {"wait_seconds": 50})).structuredContent["status"]
    return seen


if __name__ == "__main__":
    anyio.run(main)

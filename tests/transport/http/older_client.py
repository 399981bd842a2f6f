"""Does what a host with the official Python client 1.x does; a separate program because it runs in another environment.

python older_client.py http|sse|websocket URL PROJECT prints one JSON object with what it received.
"""

import json
import sys
from pathlib import Path

import anyio
from mcp import ClientSession, McpError, types


def transport(kind, url):
    if kind == "http":
        from mcp.client.streamable_http import streamablehttp_client

        return streamablehttp_client(url)
    if kind == "sse":
        from mcp.client.sse import sse_client

        return sse_client(url)
    from mcp.client.websocket import websocket_client

    return websocket_client(url)


async def main(kind, url, project):
    progress = []

    async def roots(context):
        return types.ListRootsResult(roots=[types.Root(uri=Path(project).as_uri())])

    async def on_progress(done, total, message):
        progress.append([done, total, message])

    with anyio.fail_after(240):
        async with transport(kind, url) as streams, ClientSession(*streams[:2], list_roots_callback=roots) as session:
            opened = await session.initialize()
            tools = [tool.name for tool in (await session.list_tools()).tools]
            indexed = await session.call_tool("index_repo", {"wait_seconds": 50}, progress_callback=on_progress)
            found = await session.call_tool("locate_symbol", {"name": "function_7"})
            failed = await session.call_tool("search_code", {"query": "x", "workspace": "/"})
            try:
                await session.call_tool("no_such_tool", {})
                unknown = None
            except McpError as error:
                unknown = error.error.code
            with anyio.move_on_after(0.05):
                await session.call_tool("index_repo", {"force": True, "wait_seconds": 50})
            await session.send_ping()
            seen = {
                "revision": opened.protocolVersion,
                "tools": tools,
                "indexed": [indexed.isError, indexed.content[0].text],
                "found": [found.isError, found.content[0].text, found.structuredContent],
                "failed": [failed.isError, failed.content[0].text],
                "unknown": unknown,
                "progress": progress,
            }
    print(json.dumps(seen))


if __name__ == "__main__":
    anyio.run(main, *sys.argv[1:])

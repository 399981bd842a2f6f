"""Many good and bad clients on every transport at once. Each answer must belong to its own request and workspace."""

import json
import random
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager

import trio
from trio_websocket import ConnectionClosed
from wsproto.utilities import LocalProtocolError

from codecompass.transport.http.limits import HttpLimits
from tests.support.live import started
from tests.support.tools import QUESTIONS, TOOLS
from tests.support.wire import (
    JSON_HEADERS,
    UPGRADE,
    Posting,
    http_connection,
    modern,
    pipe_client,
    sse_client,
    websocket_client,
    websocket_frame,
)

CALLS = [
    *((name, TOOLS[name].arguments(symbol="Order", path="src/shop/orders.py")) for name in QUESTIONS),
    ("search_code", {"query": "too many items", "mode": "literal", "detail_level": "context"}),
    ("search_code", {"query": "valid.te", "mode": "regex", "limit": 3}),
    ("locate_symbol", {"name": "validate", "detail_level": "location"}),
    ("locate_symbol", {"name": "nobody"}),
    ("get_file_outline", {"path": "src/none.py"}),
    ("search_code", {}),
]
CLIENTS = (
    *["stdio"] * 2,
    *["POST /"] * 10, *["/mcp"] * 12, *["/mcp, modern"] * 14, *["SSE"] * 8, *["/ws"] * 8, *["/ws, modern"] * 6, *["bridge"] * 4,
)  # fmt: skip
"""64 clients."""

PROCESSES = ("stdio", "bridge")
"""Clients that keep one connection for the whole run, because each needs a process."""

RETRYABLE = {"session_busy", "workspace_busy", "server_unreachable"}
"""The last one comes from a bridge whose server does not answer a handshake in time, as on a very busy machine."""
GONE = (OSError, trio.BrokenResourceError, trio.ClosedResourceError, ConnectionClosed, LocalProtocolError)


class Load:
    """The clients of one server. `n_answered` counts the correctly answered requests."""

    def __init__(self, url, home, workspaces, *, seed, n_requests):
        self.url, self.home, self.workspaces = url, home, workspaces
        self.seed = seed
        self.n_requests = n_requests
        self.n_begun = self.n_answered = 0
        self.outcomes = Counter()
        self.n_answers = Counter()

    async def run(self, *, clients=CLIENTS):
        """Returns once the requests are answered. Raises AssertionError for a wrong answer."""
        await self.fill()
        async with trio.open_nursery() as others:
            for number, bad in enumerate((stalls, vanishes, throws_garbage, never_reads, opens_and_leaves) * 2):
                others.start_soon(self._again_and_again, bad, number)
            others.start_soon(self._edit)
            async with trio.open_nursery() as good:
                for number, kind in enumerate(clients):
                    good.start_soon(self._client, kind, random.Random(f"{self.seed}/{number}"))
            others.cancel_scope.cancel()

    async def fill(self):
        """Opens the maximum number of sessions and abandons them: from then on each new one replaces an old one."""
        async with http_connection(self.url) as http:
            for _ in range(HttpLimits().sessions):
                await Posting(http, "/mcp").initialize()

    async def _client(self, kind, rng):
        """Sends requests, and sometimes reconnects."""
        way, _, era = kind.partition(", ")
        while self.n_begun < self.n_requests:
            async with connected(way, self.url, self.home, is_modern=bool(era)) as client:
                for _ in range(self.n_requests if way in PROCESSES else rng.randrange(20, 200)):
                    if self.n_begun >= self.n_requests:
                        break
                    await self._ask(client, kind, rng, is_wrapped=bool(era) and way == "/ws")
                duplicates = [id_ for id_, n in getattr(client, "n_answers", {}).items() if n != 1]
                assert not duplicates, f"answered twice over {kind}: {duplicates}"
                self.outcomes["connections"] += 1

    async def _ask(self, client, kind, rng, *, is_wrapped):
        self.n_begun += 1
        tool, arguments = rng.choice(CALLS)
        workspace = rng.choice(self.workspaces)
        params = {"name": tool, "arguments": {**arguments, "workspace": str(workspace.root)}}
        message = await client.call("tools/call", modern(params) if is_wrapped else params)
        assert message is not None, f"lost over {kind}: {params}"
        if "error" in message:
            assert message["error"]["data"]["code"] in RETRYABLE, (kind, message)
            self.outcomes["busy"] += 1
        else:
            answer = json.loads(message["result"]["content"][0]["text"])
            code = answer["error"]["code"] if message["result"]["isError"] else "ok"
            self.outcomes[code] += 1
            if code not in RETRYABLE:
                assert answer["metadata"].get("workspace", str(workspace.root)) == str(workspace.root), (kind, params, answer)
                assert code in expected(tool, arguments), (kind, params, answer)
        self.n_answered += 1

    async def _edit(self):
        """Keeps indexing busy: changes files and starts jobs."""
        rng = random.Random(self.seed)
        async with http_connection(self.url) as http:
            client = Posting(http, "/")
            while True:
                workspace = rng.choice(self.workspaces)
                workspace.write(
                    {f"src/shop/more_{rng.randrange(5)}.py": f"def more_{rng.randrange(1000)}():\n    return 1\n" * 20}
                )
                tool = rng.choice(["sync_repo", "sync_repo", "index_repo"])
                arguments = {"workspace": str(workspace.root), "force": rng.random() < 0.05}
                message = await client.call("tools/call", {"name": tool, "arguments": arguments})
                self.outcomes[f"jobs {'refused' if message['result']['isError'] else 'begun'}"] += 1
                await trio.sleep(0.2)

    async def _again_and_again(self, bad, number):
        rng = random.Random(f"{self.seed}/bad/{number}")
        while True:
            try:
                await bad(self.url, rng, str(rng.choice(self.workspaces).root))
            except GONE:
                pass
            self.outcomes[bad.__name__] += 1
            await trio.sleep(rng.random() * 0.2)


def expected(tool, arguments):
    """Returns the outcomes that a call may have during indexing."""
    if not arguments and tool == "search_code":
        return {"invalid_input"}
    if arguments.get("path") == "src/none.py":
        return {"file_not_found"}
    return {"ok"}


@asynccontextmanager
async def connected(way, url, home, *, is_modern):
    """Yields a client with its session opened, if it needs one."""
    async with AsyncExitStack() as stack:
        match way:
            case "stdio":  # a separate server, over the same indexes
                server = await stack.enter_async_context(started("serve-mcp", "--no-prewarm", home=home))
                client = await stack.enter_async_context(pipe_client(server))
            case "bridge":
                bridge = await stack.enter_async_context(started("serve-mcp", "--connect", url, home=home))
                client = await stack.enter_async_context(pipe_client(bridge))
            case "/ws":
                client = await stack.enter_async_context(websocket_client(url))
            case "SSE":
                client = await stack.enter_async_context(sse_client(url))
            case _:
                http = await stack.enter_async_context(http_connection(url))
                client = Posting(http, "/" if way == "POST /" else "/mcp", is_modern=is_modern)
        has_session = not is_modern and way != "POST /"
        if has_session:
            await client.initialize()
        yield client
        if has_session and way == "/mcp":
            await client.close()


# Bad clients.


async def stalls(url, rng, workspace):
    """Sends half of a request, then nothing for a while."""
    async with http_connection(url) as http:
        await http.stream.send_all(b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 500\r\n\r\n{")
        await trio.sleep(rng.random())


async def vanishes(url, rng, workspace):
    """Sends a request and disconnects before the answer."""
    async with http_connection(url) as http:
        params = {"name": "search_code", "arguments": {"query": "price", "workspace": workspace}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": modern(params)}).encode()
        target = rng.choice(["/", "/mcp"])
        headers = [
            *JSON_HEADERS,
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", "tools/call"),
            ("mcp-name", "search_code"),
        ]
        await http.begin("POST", target, body, headers)
        await trio.sleep(rng.random() * 0.01)


async def throws_garbage(url, rng, workspace):
    """Sends random bytes, as HTTP and as messages."""
    async with http_connection(url) as http:
        await http.stream.send_all(rng.randbytes(rng.randrange(1, 3000)))
        with trio.move_on_after(1):
            await http.stream.receive_some(1 << 16)
    async with http_connection(url) as http:
        await http.request("POST", rng.choice(["/", "/mcp"]), rng.randbytes(rng.randrange(1, 3000)), JSON_HEADERS)


async def never_reads(url, rng, workspace):
    """Sends many requests over a WebSocket and reads no answer."""
    async with http_connection(url) as http:
        params = {"name": "search_code", "arguments": {"query": "price", "detail_level": "context", "workspace": workspace}}
        await http.stream.send_all(UPGRADE)
        for number in range(40):
            message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params}
            await http.stream.send_all(websocket_frame(json.dumps(message).encode()))
        await trio.sleep(rng.random())


async def opens_and_leaves(url, rng, workspace):
    """Opens a session or a stream, and never uses it."""
    if rng.random() < 0.5:
        async with sse_client(url):
            await trio.sleep(rng.random() * 0.1)
    else:
        async with http_connection(url) as http:
            await Posting(http, "/mcp").initialize()

"""An in-memory client: pushes bytes into a connection as a transport would, and receives each frame that the server sends."""

import json
import math
from contextlib import asynccontextmanager

import trio
import trio.testing

from codecompass.transport.mcp.connection import Input, serve_connection
from codecompass.transport.mcp.protocol import META_CAPABILITIES, META_CLIENT, META_REVISION, MODERN_REVISION
from tests.transport.official import Judge

PATIENCE = 60
"""Seconds until a test gives up waiting."""


class Line:
    """The client's end of one connection."""

    patience = PATIENCE

    def __init__(self, judge=None):
        self.judge = Judge() if judge is None else judge
        self.end = None
        self.ended = trio.Event()
        self.seen = []
        self.reading = trio.Event()
        self.reading.set()
        self._to_server, self._from_client = trio.open_memory_channel(math.inf)
        self._to_client, self._from_server = trio.open_memory_channel(math.inf)
        self._n_sent = 0

    async def receive(self):
        try:
            return Input(await self._from_client.receive())
        except trio.EndOfChannel:
            return None

    async def write(self, body):
        await self.reading.wait()
        self._to_client.send_nowait(body)

    def push(self, frame: bytes):
        """Sends raw bytes."""
        self._to_server.send_nowait(frame)

    def send(self, **message):
        """Sends a message, adding the JSON-RPC version."""
        message = {"jsonrpc": "2.0", **message}
        self.judge.sent(message)
        self.push(json.dumps(message).encode())

    def ask(self, method, params=None, *, id_=None):
        """Sends a request and returns its id."""
        if id_ is None:
            self._n_sent += 1
            id_ = self._n_sent
        self.send(id=id_, method=method, **({} if params is None else {"params": params}))
        return id_

    @property
    def n_unread(self):
        """How many sent messages the server has not read."""
        return self._from_client.statistics().current_buffer_used

    def hang_up(self):
        """Closes the sending direction."""
        self._to_server.close()

    async def next(self):
        """Returns the next message of any kind."""
        with trio.fail_after(self.patience):
            message = self.judge.received(await self._from_server.receive())
        self.seen.append(message)
        return message

    async def answer(self, id_):
        """Returns the response to a request; messages received before it are in `seen`."""
        for message in self.seen:
            if "method" not in message and message.get("id") == id_:
                return message
        while True:
            message = await self.next()
            if "method" not in message and message.get("id") == id_:
                return message

    async def call(self, method, params=None):
        """Returns the response to a new request."""
        return await self.answer(self.ask(method, params))

    async def result(self, method, params=None):
        """Returns the result of a new request."""
        message = await self.call(method, params)
        assert "result" in message, message
        return message["result"]

    async def fault(self, method, params=None):
        """Returns the error of a new request."""
        message = await self.call(method, params)
        assert "error" in message, message
        return message["error"]

    async def tool(self, name, arguments=None, **params):
        """Returns the result of a tool call."""
        return await self.result("tools/call", {"name": name, "arguments": arguments or {}, **params})

    async def initialize(self, revision="2025-11-25", **capabilities):
        """Opens a session of the handshake era."""
        result = await self.answer(self.ask_to_initialize(revision, **capabilities))
        assert "result" in result, result
        self.send(method="notifications/initialized")
        return result["result"]

    def ask_to_initialize(self, revision="2025-11-25", **capabilities):
        """Sends `initialize` and returns the id of the request."""
        client = {"name": "test", "version": "1"}
        return self.ask("initialize", {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client})

    async def until(self, method):
        """Returns the next request or notification from the server with this method."""
        while True:
            message = await self.next()
            if message.get("method") == method:
                return message

    def pending(self):
        """Returns the messages that have already arrived."""
        messages = []
        while True:
            try:
                messages.append(self.judge.received(self._from_server.receive_nowait()))
            except (trio.WouldBlock, trio.EndOfChannel):
                self.seen += messages
                return messages


def modern(params=None, *, capabilities=None, **meta):
    """Returns the parameters of a request in the modern era."""
    return {
        **(params or {}),
        "_meta": {
            META_REVISION: MODERN_REVISION,
            META_CAPABILITIES: capabilities or {},
            META_CLIENT: {"name": "test", "version": "1"},
            **meta,
        },
    }


@asynccontextmanager
async def connected(core, transport="stdio"):
    """Yields a Line to a connection that is served until the block ends."""
    line = Line()

    async def serve():
        line.end = await serve_connection(core, transport, receive=line.receive, write=line.write)
        line.ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(serve)
        yield line
        line.hang_up()
        line.reading.set()
        with trio.fail_after(PATIENCE):
            await line.ended.wait()


async def settled():
    """Waits until every task is blocked, so that nothing more happens without external events."""
    await trio.testing.wait_all_tasks_blocked()

"""Clients that speak the protocol over every transport without a protocol library: bytes are sent, messages received.

All have `call(method, params)`, which returns the response message; those with a stream answer `roots/list`.
"""

import json
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import h11
import trio
from trio_websocket import ConnectionClosed, WebSocketConnection, wrap_client_stream
from wsproto.utilities import LocalProtocolError

from codecompass.transport.mcp.protocol import META_CAPABILITIES, META_CLIENT, META_REVISION, MODERN_REVISION
from tests.support.live import Process

PATIENCE = 120
"""Seconds after which a client gives up."""

CLOSE_SECONDS = 5

READ_BYTES = 1 << 16
REVISION = "2025-11-25"


def modern(params=None, **capabilities):
    """Returns parameters of the modern era."""
    meta = {META_REVISION: MODERN_REVISION, META_CAPABILITIES: capabilities, META_CLIENT: {"name": "test", "version": "1"}}
    return {**(params or {}), "_meta": meta}


def opening(**capabilities):
    """Returns the parameters of `initialize`."""
    return {"protocolVersion": REVISION, "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}}


class Duplex:
    """A bidirectional connection. `n_answers` counts the responses by id."""

    def __init__(self, write: Callable[[bytes], Awaitable[None]], *, roots=()):
        self._write = write
        self._roots = roots
        self._waiting = {}
        self._n_sent = 0
        self.n_answers = Counter()
        self.heard = []
        self._arrived = trio.Event()
        self.is_over = trio.Event()

    async def send(self, **message):
        await self.push(json.dumps({"jsonrpc": "2.0", **message}).encode())

    async def push(self, frame: bytes):
        """Sends raw bytes."""
        await self._write(frame)

    async def ask(self, method, params=None, *, id_=None):
        """Sends a request and returns its id."""
        if id_ is None:
            self._n_sent += 1
            id_ = self._n_sent
        self._waiting[id_] = [trio.Event(), None]
        await self.send(id=id_, method=method, **({} if params is None else {"params": params}))
        return id_

    async def answer(self, id_):
        """Returns the response to a request; None if the connection has ended without one."""
        event, _ = self._waiting[id_]
        with trio.fail_after(PATIENCE):
            if not self.is_over.is_set():
                await event.wait()
        return self._waiting.pop(id_)[1]

    async def call(self, method, params=None):
        return await self.answer(await self.ask(method, params))

    async def initialize(self, **capabilities):
        """Opens a session of the handshake era."""
        if self._roots:
            capabilities = {"roots": {}, **capabilities}
        answer = await self.call("initialize", opening(**capabilities))
        await self.send(method="notifications/initialized")
        return answer

    async def until(self, method):
        """Removes and returns the first message from the server with this method."""
        with trio.fail_after(PATIENCE):
            while True:
                for message in self.heard:
                    if message["method"] == method:
                        self.heard.remove(message)
                        return message
                await self._arrived.wait()

    async def take(self, frame: bytes):
        """Handles a message from the server; called by the reader."""
        message = json.loads(frame)
        if "method" not in message:
            id_ = message.get("id")
            self.n_answers[id_] += 1
            if id_ in self._waiting:
                self._waiting[id_][1] = message
                self._waiting[id_][0].set()
            else:
                self.heard.append({"method": "response", **message})
        elif message["method"] == "roots/list" and self._roots is not None:
            roots = [{"uri": root.as_uri()} for root in self._roots]
            await self.send(id=message["id"], result={"roots": roots})
        else:
            self.heard.append(message)
        self._arrived.set()
        self._arrived = trio.Event()

    def end(self):
        """Marks the end of input; called by the reader."""
        self.is_over.set()
        for event, _ in self._waiting.values():
            event.set()


@asynccontextmanager
async def pipe_client(process: Process, *, roots=()) -> AsyncIterator[Duplex]:
    """Yields a client of a process on stdio; closes its input after the block."""

    async def write(frame):
        await process.process.stdin.send_all(frame + b"\n")

    client = Duplex(write, roots=roots)

    async def read():
        begun = b""
        async for data in process.process.stdout:
            *lines, begun = (begun + data).split(b"\n")
            for line in lines:
                await client.take(line)
        client.end()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(read)
        yield client
        await process.process.stdin.aclose()
        nursery.cancel_scope.cancel()


@asynccontextmanager
async def open_websocket(url: str, path="/ws", *, subprotocols=("mcp",)) -> AsyncIterator[WebSocketConnection]:
    """Yields a WebSocket to an HTTP server. It is closed after the block, forcibly after CLOSE_SECONDS.

    Raises ConnectionError if there is no opening handshake within PATIENCE: the library would wait for ever for a server that was
    killed before it.
    """
    host, _, port = url.removeprefix("http://").rpartition(":")
    stream = await trio.open_tcp_stream(host, int(port))
    is_closing = False
    try:
        async with trio.open_nursery() as nursery:
            socket = None
            with trio.move_on_after(PATIENCE):
                socket = await wrap_client_stream(
                    nursery, stream, f"{host}:{port}", path, subprotocols=list(subprotocols), max_message_size=1 << 24
                )
            if socket is None:
                raise ConnectionError("no opening handshake")
            yield socket
            is_closing = True
            with trio.move_on_after(CLOSE_SECONDS):
                await socket.aclose()
            nursery.cancel_scope.cancel()
    except* LocalProtocolError:
        # If a ping arrives after our closing frame, the library's reader tries to answer it, which is no longer allowed.
        if not is_closing:
            raise
    finally:
        # The library leaves the stream open if the opening handshake fails or is cancelled.
        await trio.aclose_forcefully(stream)


@asynccontextmanager
async def websocket_client(url: str, *, roots=()) -> AsyncIterator[Duplex]:
    """Yields a client over `/ws`."""
    async with open_websocket(url) as socket, trio.open_nursery() as nursery:
        client = Duplex(lambda frame: socket.send_message(frame.decode()), roots=roots)

        async def read():
            try:
                while True:
                    await client.take((await socket.get_message()).encode())
            except ConnectionClosed:
                client.end()

        nursery.start_soon(read)
        yield client
        nursery.cancel_scope.cancel()


class Answer:
    """A complete HTTP response."""

    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    def message(self):
        """Returns the JSON-RPC response in the body, or the last one of an event stream."""
        if self.headers.get("content-type", "").startswith("text/event-stream"):
            return json.loads([data for event, data in events(self.body) if event == "message"][-1])
        assert self.body, (self.status, self.headers)
        return json.loads(self.body)


def events(body: bytes):
    """Yields the (event, data) pairs of a complete event stream."""
    for block in body.decode().replace("\r\n", "\n").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and not line.startswith(":"))
        if "data" in fields:
            yield fields.get("event", "message"), fields["data"]


class Http:
    """A persistent connection, for one request at a time."""

    def __init__(self, stream: trio.SocketStream, host: str):
        self.stream = stream
        self._host = host
        self._h11 = h11.Connection(h11.CLIENT)

    async def request(self, method, target, body=b"", headers=()) -> Answer:
        """Sends a request and returns the whole response."""
        with trio.fail_after(PATIENCE):
            await self.begin(method, target, body, headers)
            head = await self._next()
            assert isinstance(head, h11.Response), head
            pieces = []
            while not isinstance(event := await self._next(), h11.EndOfMessage):
                pieces.append(bytes(event.data))
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
        return Answer(head.status_code, {name.decode(): value.decode() for name, value in head.headers}, b"".join(pieces))

    async def begin(self, method, target, body=b"", headers=()):
        """Sends a request."""
        given = [("host", self._host), ("content-length", str(len(body))), *headers]
        for event in (h11.Request(method=method, target=target, headers=given), h11.Data(body), h11.EndOfMessage()):
            await self.stream.send_all(self._h11.send(event))

    async def stream_body(self):
        """Yields the events of a response as they arrive, the head first."""
        while not isinstance(event := await self._next(), h11.EndOfMessage | h11.ConnectionClosed):
            yield event

    @property
    def is_usable(self):
        return self._h11.our_state is h11.IDLE

    async def _next(self):
        while (event := self._h11.next_event()) is h11.NEED_DATA:
            self._h11.receive_data(await self.stream.receive_some(READ_BYTES))
        return event


@asynccontextmanager
async def http_connection(url: str) -> AsyncIterator[Http]:
    """Yields a connection to a server."""
    host, _, port = url.removeprefix("http://").rpartition(":")
    stream = await trio.open_tcp_stream(host, int(port))
    try:
        yield Http(stream, f"{host}:{port}")
    finally:
        await trio.aclose_forcefully(stream)


JSON_HEADERS = [("content-type", "application/json"), ("accept", "application/json, text/event-stream")]


class Posting:
    """A client that sends each request as a separate POST: to `/`, or to `/mcp` in either era."""

    def __init__(self, http: Http, target: str, *, is_modern=False, query=""):
        self._http = http
        self._target = target + query
        self._is_modern = is_modern
        self._session = []
        self._n_sent = 0
        self.statuses = Counter()

    async def call(self, method, params=None):
        self._n_sent += 1
        params = params or {}
        headers = [*JSON_HEADERS, *self._session]
        if self._is_modern:
            params = modern(params)
            headers += [("mcp-protocol-version", MODERN_REVISION), ("mcp-method", method)]
            if "name" in params:
                headers.append(("mcp-name", params["name"]))
        body = json.dumps({"jsonrpc": "2.0", "id": self._n_sent, "method": method, "params": params}).encode()
        answer = await self._http.request("POST", self._target, body, headers)
        self.statuses[answer.status] += 1
        message = answer.message()
        assert message.get("id") == self._n_sent, message
        if method == "initialize":
            self._session = [("mcp-session-id", answer.headers["mcp-session-id"]), ("mcp-protocol-version", REVISION)]
        return message

    async def notify(self, method):
        answer = await self._http.request(
            "POST", self._target, json.dumps({"jsonrpc": "2.0", "method": method}).encode(), [*JSON_HEADERS, *self._session]
        )
        assert answer.status == 202, answer.body

    async def initialize(self, **capabilities):
        """Opens a session of the handshake era."""
        answer = await self.call("initialize", opening(**capabilities))
        await self.notify("notifications/initialized")
        return answer

    async def close(self):
        """Ends the session."""
        return await self._http.request("DELETE", self._target, b"", self._session)


UPGRADE = (
    b"GET /ws HTTP/1.1\r\nhost: 127.0.0.1\r\nupgrade: websocket\r\nconnection: upgrade\r\n"
    b"sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
"""A WebSocket handshake sent by hand, for behaviour that a library does not allow."""


def websocket_frame(payload: bytes, key: bytes = b"\0\0\0\0") -> bytes:
    """Returns a client's text frame."""
    length = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    return b"\x81" + length + key + bytes(byte ^ key[place % 4] for place, byte in enumerate(payload))


@asynccontextmanager
async def sse_client(url: str, *, roots=()) -> AsyncIterator[Duplex]:
    """Yields a client of the older HTTP+SSE transport: one stream from the server, a POST for each message to it."""
    async with http_connection(url) as down, http_connection(url) as up, trio.open_nursery() as nursery:
        await down.begin("GET", "/mcp", b"", [("accept", "text/event-stream")])
        endpoint = trio.Event()
        place = ""

        async def write(frame):
            async with lock:
                answer = await up.request("POST", place, frame, JSON_HEADERS)
                assert answer.status == 202, (answer.status, answer.body)

        lock = trio.Lock()
        client = Duplex(write, roots=roots)

        async def read():
            nonlocal place
            begun = b""
            async for event in down.stream_body():
                if not isinstance(event, h11.Data):
                    assert event.status_code == 200, event
                    continue
                *blocks, begun = (begun + bytes(event.data)).split(b"\n\n")
                for name, data in events(b"\n\n".join(blocks)):
                    if name == "endpoint":
                        place = data
                        endpoint.set()
                    else:
                        await client.take(data.encode())
            client.end()
            endpoint.set()

        nursery.start_soon(read)
        with trio.fail_after(PATIENCE):
            await endpoint.wait()
        if client.is_over.is_set():
            raise ConnectionError("the stream ended before it named its endpoint")
        yield client
        nursery.cancel_scope.cancel()

"""A client that sends exactly what a test specifies: HTTP/1.1 (h11), event streams and arbitrary bytes."""

import json
from contextlib import asynccontextmanager

import h11
import trio
from msgspec import Struct

from tests.transport.harness import modern

PATIENCE = 60
PIECE_BYTES = 64 * 1024


class Head(Struct, frozen=True):
    """Status and headers of a response. Header names are in lower case."""

    status: int
    headers: dict[str, str]


class Answer(Struct, frozen=True):
    """A complete response."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self):
        return json.loads(self.body)

    def said(self):
        """Returns the decoded answer of a tool."""
        return json.loads(self.json()["result"]["content"][0]["text"])

    def events(self):
        """Returns the messages of an event stream."""
        return [message for message in map(parsed_event, self.body.split(b"\n\n")) if message is not None]


def parsed_event(text: bytes):
    """Returns the message in one event; None for a comment."""
    lines = [line.removeprefix(b"data: ") for line in text.split(b"\n") if line.startswith(b"data: ")]
    return json.loads(b"\n".join(lines)) if lines else None


class Conversation:
    """One connection, which carries one request at a time."""

    def __init__(self, stream: trio.SocketStream, port: int) -> None:
        self.stream = stream
        self._host = f"127.0.0.1:{port}"
        self._http = h11.Connection(h11.CLIENT)
        self._text = b""

    async def send(self, method: str, path: str, body: bytes = b"", **headers: str | None) -> None:
        """Sends a request. Headers that are None are omitted."""
        if self._http.states == {h11.CLIENT: h11.DONE, h11.SERVER: h11.DONE}:
            self._http.start_next_cycle()
        given = {"host": self._host, **({"content-length": str(len(body))} if method == "POST" or body else {})}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        said = [(name, value) for name, value in given.items() if value is not None]
        data = self._http.send(h11.Request(method=method, target=path, headers=said))
        data += self._http.send(h11.Data(data=body)) if body else b""
        data += self._http.send(h11.EndOfMessage())
        await self.stream.send_all(data)

    async def head(self) -> Head:
        """Returns the head of the response."""
        event = await self._next()
        assert isinstance(event, h11.Response | h11.InformationalResponse), event
        return Head(event.status_code, {name.decode(): value.decode() for name, value in event.headers})

    async def rest(self) -> bytes:
        """Returns the body of the response."""
        pieces = []
        while isinstance(event := await self._next(), h11.Data):
            pieces.append(bytes(event.data))
        return b"".join(pieces)

    async def request(self, method: str, path: str, body: bytes = b"", **headers: str | None) -> Answer:
        """Returns the answer to a request."""
        await self.send(method, path, body, **headers)
        head = await self.head()
        return Answer(head.status, head.headers, await self.rest())

    async def event(self):
        """Returns the next message of an event stream; None at its end."""
        while True:
            text, found, rest = self._text.partition(b"\n\n")
            if found:
                self._text = rest
                if (message := parsed_event(text)) is not None:
                    return message
                continue
            event = await self._next()
            if not isinstance(event, h11.Data):
                return None
            self._text += bytes(event.data)

    async def text(self) -> bytes:
        """Returns the raw text of the next event of a stream."""
        while b"\n\n" not in self._text:
            event = await self._next()
            assert isinstance(event, h11.Data), event
            self._text += bytes(event.data)
        text, _, self._text = self._text.partition(b"\n\n")
        return text

    async def wait_closed(self) -> bytes:
        """Returns the bytes received until the server closes the connection."""
        data = b""
        with trio.fail_after(PATIENCE):
            try:
                while piece := await self.stream.receive_some(PIECE_BYTES):
                    data += piece
            except trio.BrokenResourceError:
                pass
        return data

    async def _next(self):
        with trio.fail_after(PATIENCE):
            while (event := self._http.next_event()) is h11.NEED_DATA:
                self._http.receive_data(await self.stream.receive_some(PIECE_BYTES))
        return event


@asynccontextmanager
async def connect(port: int, *, receive_bytes: int | None = None):
    """Yields a connection. `receive_bytes` is the size of the socket's receive buffer, for clients that do not read."""
    socket = trio.socket.socket()
    if receive_bytes is not None:
        socket.setsockopt(trio.socket.SOL_SOCKET, trio.socket.SO_RCVBUF, receive_bytes)
    with trio.fail_after(PATIENCE):
        try:
            await socket.connect(("127.0.0.1", port))
        except OSError:
            socket.close()
            raise
    stream = trio.SocketStream(socket)
    try:
        yield Conversation(stream, port)
    finally:
        await trio.aclose_forcefully(stream)


async def ask(port: int, method: str, path: str, body: bytes = b"", **headers: str | None) -> Answer:
    """Returns the answer to one request, sent on a new connection."""
    async with connect(port) as conversation:
        return await conversation.request(method, path, body, **headers)


def message(method: str, params: object = None, *, id_: object = 1) -> bytes:
    """Returns an encoded request."""
    return json.dumps({"jsonrpc": "2.0", "id": id_, "method": method, **({} if params is None else {"params": params})}).encode()


def call(tool: str, arguments: object = None, *, id_: object = 1, **params) -> bytes:
    """Returns an encoded tool call of the handshake era."""
    return message("tools/call", {"name": tool, "arguments": arguments or {}, **params}, id_=id_)


JSON = {"content_type": "application/json", "accept": "application/json, text/event-stream"}


UPGRADE = {
    "upgrade": "websocket",
    "connection": "Upgrade",
    "sec_websocket_key": "AAAAAAAAAAAAAAAAAAAAAA==",
    "sec_websocket_version": "13",
}
"""The headers of a WebSocket's opening handshake."""


def masked(payload: bytes, opcode: int = 1, *, is_last: bool = True) -> bytes:
    """Returns a WebSocket frame as a client sends it. The mask is all zeros, so the payload is readable."""
    assert len(payload) < 65_536
    length = bytes([0x80 | len(payload)]) if len(payload) < 126 else b"\xfe" + len(payload).to_bytes(2, "big")
    return bytes([opcode | (0x80 if is_last else 0)]) + length + b"\0\0\0\0" + payload


def modern_headers(method: str, name: str | None = None) -> dict[str, str | None]:
    """Returns the headers of a request in the modern era."""
    return {**JSON, "mcp_protocol_version": "2026-07-28", "mcp_method": method, "mcp_name": name}


async def send_modern(
    conversation: Conversation, method: str, params=None, *, id_=1, capabilities=None, name=None, **meta
) -> None:
    """Sends a request of the modern era to `/mcp`."""
    body = message(method, modern(params, capabilities=capabilities, **meta), id_=id_)
    name = name or (params or {}).get("name")
    await conversation.send("POST", "/mcp", body, **modern_headers(method, name))


async def initialize(conversation: Conversation, revision="2025-11-25", path="/mcp", **capabilities) -> str:
    """Opens a session of the handshake era and returns its id."""
    params = {"protocolVersion": revision, "capabilities": capabilities, "clientInfo": {"name": "test", "version": "1"}}
    answer = await conversation.request("POST", path, message("initialize", params), **JSON)
    assert answer.status == 200, answer
    return answer.headers["mcp-session-id"]

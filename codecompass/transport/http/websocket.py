"""`/ws`: one WebSocket is one connection, one text message is one JSON-RPC message. The subprotocol is called `mcp`."""

from collections.abc import Sequence
from typing import Final

import trio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, WebsocketScope

from codecompass.transport.http.request import BAD_REQUEST, JSON_TYPE, Header, Heading, HttpRefusal, ProjectPaths
from codecompass.transport.mcp.connection import Input, serve_connection
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.protocol import WEBSOCKET_SUBPROTOCOL

_GOING_AWAY: Final = 1001
"""The server stops. RFC 6455, section 7.4.1."""


class WebSocketEndpoint:
    """All WebSockets of a server."""

    def __init__(self, core: Core, project_paths: ProjectPaths) -> None:
        self._core = core
        self._project_paths = project_paths
        self.n_open = 0

    async def handle(self, heading: Heading, scope: WebsocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        """Serves a connection until the client disconnects or the server stops. Raises HttpRefusal before it is accepted."""
        offered = scope["subprotocols"]
        if offered and WEBSOCKET_SUBPROTOCOL not in offered:
            raise HttpRefusal(BAD_REQUEST, "the subprotocol is called mcp. Offer it, or none.")
        path = await self._project_paths.checked(heading)
        await receive()  # the opening handshake, which hypercorn has read
        await send({"type": "websocket.accept", "subprotocol": WEBSOCKET_SUBPROTOCOL if offered else None, "headers": []})

        async def receive_frame() -> Input:
            event = await receive()
            if event["type"] != "websocket.receive":
                raise trio.BrokenResourceError("the client closed the connection")
            text = event["text"]
            return Input((event["bytes"] or b"") if text is None else text.encode("utf-8", "surrogatepass"))

        async def write(body: bytes) -> None:
            await send({"type": "websocket.send", "bytes": None, "text": body.decode()})

        self.n_open += 1
        try:
            await serve_connection(
                self._core, "websocket", receive=receive_frame, write=write, project_path=path, identity=heading.identity
            )
        finally:
            self.n_open -= 1
        await send({"type": "websocket.close", "code": _GOING_AWAY, "reason": "the server ends"})


async def reject(send: ASGISendCallable, status: int, body: bytes, more: Sequence[Header] = ()) -> None:
    """Answers an opening handshake with an HTTP response instead of a WebSocket."""
    named = (("content-type", JSON_TYPE), ("content-length", str(len(body))), *more)
    headers = [(name.encode("ascii"), value.encode("latin-1")) for name, value in named]
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": body, "more_body": False})

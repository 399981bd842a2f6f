"""hypercorn's HTTP/1.1 protocol, with what it leaves open closed. Bytes and events, no socket.

No HTTP/2 and no compressed WebSocket frames; heads of a bounded size, however they come; a WebSocket that breaks the protocol
is told so; the head of a response leaves together with the beginning of its body.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import h11
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.events import Response, StreamClosed
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.ws_stream import WSStream
from hypercorn.typing import AppWrapper, TaskGroup, WorkerContext
from hypercorn.typing import ConnectionState as SharedState
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection
from wsproto.frame_protocol import CloseReason

_FIRST_FINAL: Final = 200
_BAD_REQUEST: Final = 400
_HEAD_TOO_LARGE: Final = 431
_NO_METHOD: Final = b"UNKNOWN"
_UNSPECIFIED: Final = ("", 0)


class Http11(H11Protocol):
    """The protocol of one connection. `send` gets bytes to write, and says when the connection is idle, busy or over."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        tasks: TaskGroup,
        send: Callable[[Event], Awaitable[None]],
    ) -> None:
        super().__init__(app, config, context, tasks, SharedState({}), False, _UNSPECIFIED, _UNSPECIFIED, self._send_together)
        self._forward = send
        self._head = b""
        self._is_head = False

    async def stream_send(self, event: StreamEvent) -> None:
        """Sends what a response or a WebSocket says."""
        stream = self.stream
        if isinstance(event, StreamClosed) and isinstance(stream, WSStream) and _is_conversing(stream):
            # Its frames cannot be read, and hypercorn would leave without a word.
            await self.send(RawData(stream.connection.send(CloseConnection(code=CloseReason.PROTOCOL_ERROR))))
        self._is_head = isinstance(event, Response) and event.status_code >= _FIRST_FINAL
        await super().stream_send(event)

    async def _send_together(self, event: Event) -> None:
        """Keeps the head of a response back for what follows it at once: two writes cost the system twice as much as one."""
        if isinstance(event, RawData) and self._is_head:
            self._head += event.data
            return
        head, self._head = self._head, b""
        if isinstance(event, RawData):
            event = RawData(head + event.data)
        elif head:
            await self._forward(RawData(head))
        await self._forward(event)

    async def _check_protocol(self, event: h11.Request) -> None:
        """Ignores a wish for HTTP/2: it has streams of its own, which would escape all that is counted per connection."""

    async def _create_stream(self, request: h11.Request) -> None:
        n_bytes = len(request.target) + sum(len(name) + len(value) for name, value in request.headers)
        if n_bytes > self.config.h11_max_incomplete_size:
            # h11 looks at the size only as long as the head is not complete, and it can come in one piece.
            await self._refuse(_HEAD_TOO_LARGE)
            return
        names = {name for name, _ in request.headers}
        if b"transfer-encoding" in names and b"content-length" in names:
            # Somebody between the client and us may have taken the other one of the two lengths: what follows on this connection
            # could be a request that nobody has sent. RFC 9112, section 6.1.
            await self._refuse(_BAD_REQUEST)
            return
        # A compressed frame of a few kilobytes can become a thousand times as large before its size is looked at.
        headers = [(name, value) for name, value in request.headers if name != b"sec-websocket-extensions"]
        # Methods are case-sensitive. hypercorn takes `hEAD` for HEAD and leaves the body out, which h11 then misses.
        method = request.method if request.method.isupper() else _NO_METHOD
        if len(headers) != len(request.headers) or method != request.method:
            request = h11.Request(method=method, target=request.target, headers=headers, http_version=request.http_version)
        await super()._create_stream(request)

    async def _refuse(self, status: int) -> None:
        await self._send_error_response(status)
        await self.send(Closed())


def _is_conversing(stream: WSStream) -> bool:
    return stream.handshake.accepted and stream.connection.state is ConnectionState.OPEN

"""hypercorn's HTTP/1.1 protocol with its gaps closed, and the tasks that its protocol classes start. Without the socket."""

from collections.abc import Awaitable, Callable
from typing import Final, Self

import h11
import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData
from hypercorn.protocol.events import Event as StreamEvent
from hypercorn.protocol.events import Response, StreamClosed
from hypercorn.protocol.h11 import H11Protocol
from hypercorn.protocol.ws_stream import WSStream
from hypercorn.typing import AppWrapper, ASGIReceiveEvent, ASGISendEvent, Scope, TaskGroup, WorkerContext
from hypercorn.typing import ConnectionState as SharedState
from wsproto.connection import ConnectionState
from wsproto.events import CloseConnection
from wsproto.frame_protocol import CloseReason

from codecompass.log import get_logger

_ENDS: Final = ("http.disconnect", "websocket.disconnect")

Put = Callable[[ASGIReceiveEvent], Awaitable[None]]
Send = Callable[[ASGISendEvent | None], Awaitable[None]]


class ConnectionTasks:
    """The tasks of a connection: those in `handlers` are waited for, those in `helpers` are cancelled with the connection."""

    def __init__(self, handlers: trio.Nursery, helpers: trio.Nursery) -> None:
        self._handlers: Final = handlers
        self._helpers: Final = helpers

    async def spawn_app(self, app: AppWrapper, config: Config, scope: Scope, send: Send) -> Put:
        """Starts the handler of a request. Returns the function that sends events to it."""
        sender, receiver = trio.open_memory_channel[ASGIReceiveEvent](config.max_app_queue_size)
        self._handlers.start_soon(_handle, app, scope, receiver, send)

        async def put(event: ASGIReceiveEvent) -> None:
            if event["type"] in _ENDS:
                sender.close()
                return
            try:
                await sender.send(event)
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass

        return put

    def spawn(self, func: Callable[..., Awaitable[None]], *args: object) -> None:
        """Starts a task that runs as long as the connection."""
        self._helpers.start_soon(func, *args)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        return None


async def _handle(app: AppWrapper, scope: Scope, receiver: "trio.MemoryReceiveChannel[ASGIReceiveEvent]", send: Send) -> None:
    async def receive() -> ASGIReceiveEvent:
        try:
            return await receiver.receive()
        except trio.EndOfChannel:
            return {"type": "http.disconnect"}

    try:
        with receiver:
            await app(scope, receive, send, trio.to_thread.run_sync, trio.from_thread.run)
        await send(None)
    except h11.LocalProtocolError as error:
        # What the client sent after the head was invalid: no response can be sent on this connection.
        get_logger(__name__).info("http_client_lost", path=scope.get("path"), cause=str(error))
        await send(None)
    except Exception:  # noqa: BLE001 (the boundary of a request: it must not end the connections of others)
        get_logger(__name__).exception("http_handler_failed", path=scope.get("path"))
        await send(None)


_FIRST_FINAL: Final = 200
_BAD_REQUEST: Final = 400
_HEAD_TOO_LARGE: Final = 431
_NO_METHOD: Final = b"UNKNOWN"
_UNSPECIFIED: Final = ("", 0)


class Http11(H11Protocol):
    """The protocol of one connection. `send` gets the bytes to write, and events that say whether the connection is idle, busy or
    closed. `peer` is the address and port of the other end."""

    def __init__(
        self,
        app: AppWrapper,
        config: Config,
        context: WorkerContext,
        tasks: TaskGroup,
        send: Callable[[Event], Awaitable[None]],
        peer: tuple[str, int] = _UNSPECIFIED,
    ) -> None:
        super().__init__(app, config, context, tasks, SharedState({}), False, peer, _UNSPECIFIED, self._send_together)
        self._forward = send
        self._head = b""
        self._is_head = False

    async def stream_send(self, event: StreamEvent) -> None:
        """Sends an event of a response or a WebSocket."""
        stream = self.stream
        if isinstance(event, StreamClosed) and isinstance(stream, WSStream) and _is_conversing(stream):
            # Its frames are invalid, and hypercorn would close it without a close frame.
            await self.send(RawData(stream.connection.send(CloseConnection(code=CloseReason.PROTOCOL_ERROR))))
        self._is_head = isinstance(event, Response) and event.status_code >= _FIRST_FINAL
        await super().stream_send(event)

    async def _send_together(self, event: Event) -> None:
        """Sends the head of a response together with what follows it: two system calls cost twice as much as one."""
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
        """Ignores upgrades to HTTP/2: its streams would bypass the limits that count per connection."""

    async def _create_stream(self, request: h11.Request) -> None:
        n_bytes = len(request.target) + sum(len(name) + len(value) for name, value in request.headers)
        if n_bytes > self.config.h11_max_incomplete_size:
            # h11 checks the size only while the head is incomplete, but it can arrive in one piece.
            await self._refuse(_HEAD_TOO_LARGE)
            return
        names = {name for name, _ in request.headers}
        if b"transfer-encoding" in names and b"content-length" in names:
            # A proxy may have used the other one of the two lengths: what follows on this connection could be taken for a request
            # that was never sent. RFC 9112, section 6.1.
            await self._refuse(_BAD_REQUEST)
            return
        # A compressed frame of a few kilobytes can grow a thousandfold before its size is checked.
        headers = [(name, value) for name, value in request.headers if name != b"sec-websocket-extensions"]
        # Methods are case-sensitive. hypercorn takes `hEAD` for HEAD and omits the body, which h11 then expects.
        method = request.method if request.method.isupper() else _NO_METHOD
        if len(headers) != len(request.headers) or method != request.method:
            request = h11.Request(method=method, target=request.target, headers=headers, http_version=request.http_version)
        await super()._create_stream(request)

    async def _refuse(self, status: int) -> None:
        await self._send_error_response(status)
        await self.send(Closed())


def _is_conversing(stream: WSStream) -> bool:
    return stream.handshake.accepted and stream.connection.state is ConnectionState.OPEN

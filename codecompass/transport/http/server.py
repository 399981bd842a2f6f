"""The connections on our sockets: bounded in number, ended by a deadline.

sockets -> HttpServer.serve -> one HttpConnection each -> app        stop: no new ones, idle ones end, then all
"""

import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import trio
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper

from codecompass.log import get_logger
from codecompass.transport.http.connection import HttpConnection
from codecompass.transport.http.limits import HttpLimits
from codecompass.units import SECONDS

WEBSOCKET_PING_SECONDS: Final = 20 * SECONDS
"""Routers and proxies forget connections that are silent for a minute."""

QUEUED_EVENTS: Final = 2
"""Pieces of a body, or WebSocket messages, that wait for their handler: each can be as large as a message may be."""

_FULL: Final = b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


class HttpServer:
    """The connections of one server."""

    def __init__(self, app: AppWrapper, limits: HttpLimits) -> None:
        self._app = app
        self._limits = limits
        self._config = _configuration(limits)
        self._context = WorkerContext(None)
        self._connections: set[HttpConnection] = set()
        self._log = get_logger(__name__)
        self.n_accepted = 0
        self.n_refused = 0

    @property
    def n_open(self) -> int:
        """Connections there are now."""
        return len(self._connections)

    async def serve(
        self,
        sockets: Sequence[socket.socket],
        stopping: Callable[[], Awaitable[None]],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serves until `stopping` returns, and then for `HttpLimits.stop` seconds at most. Closes the sockets."""
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(each)) for each in sockets]
        async with trio.open_nursery() as connections:
            async with trio.open_nursery() as accepting:
                accepting.start_soon(self._accept, listeners, connections)
                task_status.started()
                await stopping()
                accepting.cancel_scope.cancel()
            await self._context.terminated.set()
            for connection in self._connections:
                connection.stop_if_idle()
            connections.cancel_scope.deadline = trio.current_time() + self._limits.stop

    async def _accept(self, listeners: "list[trio.SocketListener]", connections: trio.Nursery) -> None:
        await trio.serve_listeners(self._serve_one, listeners, handler_nursery=connections)

    async def _serve_one(self, stream: trio.SocketStream) -> None:
        self.n_accepted += 1
        if len(self._connections) >= self._limits.connections and not self._make_room():
            self.n_refused += 1
            self._log.warning("too_many_connections", open=len(self._connections))
            await _refuse(stream)
            return
        connection = HttpConnection(stream, self._app, self._config, self._context, self._limits)
        self._connections.add(connection)
        try:
            await connection.serve()
        finally:
            self._connections.discard(connection)

    def _make_room(self) -> bool:
        """Ends the connection that has been idle for longest: clients expect that of one they do not use."""
        idle = [(connection.idle_since, connection) for connection in self._connections if connection.idle_since is not None]
        if not idle:
            return False
        _, longest = min(idle, key=lambda pair: pair[0] or 0.0)
        longest.stop_if_idle()
        self._connections.discard(longest)
        return True


async def _refuse(stream: trio.SocketStream) -> None:
    with trio.move_on_after(1):
        try:
            await stream.send_all(_FULL)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass
    await trio.aclose_forcefully(stream)


def _configuration(limits: HttpLimits) -> Config:
    config = Config()
    config.errorlog = None  # what it has to say is said by us, in our log
    config.accesslog = None
    config.include_server_header = False
    config.keep_alive_max_requests = sys.maxsize
    config.h11_max_incomplete_size = limits.head_bytes
    config.websocket_max_message_size = limits.body_bytes
    config.websocket_ping_interval = WEBSOCKET_PING_SECONDS
    config.max_app_queue_size = QUEUED_EVENTS
    return config

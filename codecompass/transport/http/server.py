"""The listening sockets, opened before anything else so that a port in use is reported in one sentence, and their connections:
bounded in number, and ended by a deadline.
"""

import errno
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final

import trio
from hypercorn.config import Config
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper

from codecompass.errors import InvalidInput
from codecompass.log import get_logger
from codecompass.nurseries import open_nursery
from codecompass.transport.http.connection import HttpConnection
from codecompass.transport.http.limits import HttpLimits
from codecompass.units import SECONDS

BACKLOG: Final = 128

_KEEP_ALIVE_SECONDS: Final = 30
_PORT_ATTEMPTS: Final = 10


def open_sockets(bind: str, port: int) -> tuple[socket.socket, ...]:
    """Returns listening sockets on all addresses of `bind`, on one port; port 0 takes a free one. Blocking.

    Raises InvalidInput, with advice, for an address that is not of this machine or a port that is taken or forbidden.
    """
    try:
        found = socket.getaddrinfo(bind.strip("[]"), port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (OSError, UnicodeError, OverflowError) as error:
        raise InvalidInput(f"--bind {bind}: no such address. Use 127.0.0.1, or one of this machine.", field="bind") from error
    targets = list(dict.fromkeys((family, address) for family, _, _, _, address in found))
    for attempt in range(_PORT_ATTEMPTS):
        sockets: list[socket.socket] = []
        try:
            for family, address in targets:
                chosen = sockets[0].getsockname()[1] if sockets else port
                sockets.append(_listening(family, (address[0], chosen, *address[2:])))
        except OSError as error:
            for each in sockets:
                each.close()
            is_last = attempt == _PORT_ATTEMPTS - 1
            if port == 0 and error.errno == errno.EADDRINUSE and not is_last:
                continue  # free on one address of the name, taken on another
            raise _refused(bind, port, error) from error
        return tuple(sockets)
    raise AssertionError("the last attempt returns or raises")


def _listening(family: int, address: tuple[object, ...]) -> socket.socket:
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        if family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        if sys.platform == "linux":
            # Inherited by accepted sockets: a peer that vanished is noticed even when nothing is written to it.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEP_ALIVE_SECONDS)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEP_ALIVE_SECONDS // 3)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3)
        listener.bind(address)
        listener.listen(BACKLOG)
    except BaseException:
        listener.close()
        raise
    return listener


def _refused(bind: str, port: int, error: OSError) -> InvalidInput:
    if error.errno == errno.EADDRINUSE:
        return InvalidInput(f"Port {port} is already in use. Choose a different port with --port.", field="port", value=port)
    if error.errno in (errno.EACCES, errno.EPERM):
        return InvalidInput(f"Port {port} needs more rights than this user has. Choose one above 1023 with --port.", field="port")
    reason = os.strerror(error.errno) if error.errno else str(error)
    return InvalidInput(f"--bind {bind}: {reason}. Use 127.0.0.1, or an address of this machine.", field="bind")


def bound_url(sockets: Sequence[socket.socket]) -> str:
    """Returns the URL of a server on these sockets for clients on this machine."""
    host, port = sockets[0].getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


WEBSOCKET_PING_SECONDS: Final = 20 * SECONDS
"""Routers and proxies drop connections that are silent for a minute."""

QUEUED_EVENTS: Final = 2
"""Pieces of a body, or WebSocket messages, queued for their handler: each can be as large as a whole message."""

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
        """Number of open connections."""
        return len(self._connections)

    async def serve(
        self,
        sockets: Sequence[socket.socket],
        stopping: Callable[[], Awaitable[None]],
        *,
        task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Serves until `stopping` returns, and then at most `HttpLimits.stop` seconds. Closes the sockets."""
        listeners = [trio.SocketListener(trio.socket.from_stdlib_socket(each)) for each in sockets]
        async with open_nursery() as connections:
            async with open_nursery() as accepting:
                serve = partial(trio.serve_listeners, self._serve_one, listeners, handler_nursery=connections)
                accepting.start_soon(serve)
                task_status.started()
                await stopping()
                accepting.cancel_scope.cancel()
            await self._context.terminated.set()
            for connection in self._connections:
                connection.stop_if_idle()
            connections.cancel_scope.deadline = trio.current_time() + self._limits.stop

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
        """Ends the connection that has been idle longest, which clients expect of unused ones. Returns False if none is idle."""
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
    config.errorlog = None  # our log has the same events
    config.accesslog = None
    config.include_server_header = False
    config.keep_alive_max_requests = sys.maxsize
    config.h11_max_incomplete_size = limits.head_bytes
    config.websocket_max_message_size = limits.body_bytes
    config.websocket_ping_interval = WEBSOCKET_PING_SECONDS
    config.max_app_queue_size = QUEUED_EVENTS
    return config

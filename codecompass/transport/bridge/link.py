"""One WebSocket to the server, reconnected whenever it is lost. Knows nothing about the messages on it.

    connecting --handshake, opening--> open --lost--> connecting ...      pauses between attempts grow, up to a bound

A caller that needs the connection while it is down starts the next attempt at once, and gets its outcome.
"""

import math
from collections.abc import Awaitable, Callable
from typing import Final

import trio
from msgspec import Struct
from trio_websocket import ConnectionClosed, ConnectionRejected, HandshakeError, WebSocketConnection, wrap_client_stream
from wsproto.utilities import LocalProtocolError

from codecompass.errors import cause_of
from codecompass.log import get_logger
from codecompass.nurseries import open_nursery
from codecompass.transport.bridge.failures import LinkFailure, lost, unreachable
from codecompass.transport.bridge.target import BridgeTarget
from codecompass.transport.mcp.protocol import WEBSOCKET_SUBPROTOCOL
from codecompass.units import MIB, MILLISECONDS, SECONDS


class LinkLimits(Struct, frozen=True, kw_only=True):
    """Bounds of a connection to the server, times in seconds."""

    connect: float = 5 * SECONDS
    """The time for a whole attempt to connect."""
    send: float = 10 * SECONDS
    """The time to send one message; the server may not read."""
    silence: float = 20 * SECONDS
    """After this time without a message the server is sent a ping."""
    pong: float = 10 * SECONDS
    """How long the server may take to answer a ping."""
    close: float = 200 * MILLISECONDS
    """The time for the closing handshake."""
    first_pause: float = 50 * MILLISECONDS
    """The pause after the first failed attempt; it doubles with each further one."""
    longest_pause: float = 5 * SECONDS
    """The upper bound of the pause."""
    patience: float = 3 * SECONDS
    """How long requests wait for the connection. If it has been down for longer, they wait for the end of one attempt only."""
    glance: float = 500 * MILLISECONDS
    """How long requests wait that can be answered without the connection."""
    message_bytes: int = 16 * MIB
    """The largest message that is accepted: answers are much smaller."""


class Refused(Exception):
    """The server answers, but this session cannot continue with it."""

    def __init__(self, failure: LinkFailure) -> None:
        super().__init__(failure.message)
        self.failure: Final = failure


_GONE: Final = (ConnectionClosed, HandshakeError, LocalProtocolError, OSError, trio.BrokenResourceError, trio.ClosedResourceError)


class BridgeLink:
    """The connection to the server.

    `opening` is called with each new connection before it is used otherwise, and may raise Refused; `deliver` gets each received
    message, one at a time; `on_lost` is called when an open connection is lost.
    """

    def __init__(
        self,
        target: BridgeTarget,
        limits: LinkLimits,
        *,
        opening: Callable[[WebSocketConnection], Awaitable[None]],
        deliver: Callable[[str | bytes], Awaitable[None]],
        on_lost: Callable[[LinkFailure], Awaitable[None]],
    ) -> None:
        self._target = target
        self._limits = limits
        self._opening = opening
        self._deliver = deliver
        self._on_lost = on_lost
        self._socket: WebSocketConnection | None = None
        self.failure = unreachable(target, TimeoutError("it has not answered yet"))
        self._scope = trio.CancelScope()
        self._is_used = False
        self._wanted = trio.Event()
        self._changed = trio.Event()
        self._n_begun = 0
        self._n_failed = 0
        self._down_since = trio.current_time()
        self._heard_at = 0.0
        self._is_delivering = False
        self._log = get_logger(__name__)

    @property
    def socket(self) -> WebSocketConnection | None:
        """The open connection; None if there is none."""
        return self._socket if self._socket is not None and self._socket.closed is None else None

    async def run(self) -> None:
        """Connects, and reconnects, until cancelled; closes the connection then."""
        pause = self._limits.first_pause
        while True:
            self._wanted = trio.Event()
            self._n_begun += 1
            was_open = await self._connect()
            self._n_failed = self._n_begun
            self._notify()
            pause = self._limits.first_pause if was_open else min(2 * pause, self._limits.longest_pause)
            # Even with callers that wait for it, attempts never follow each other without a pause.
            await trio.sleep(self._limits.first_pause)
            with trio.move_on_after(pause):
                await self._wanted.wait()

    async def wait_open(self, *, briefly: bool = False) -> WebSocketConnection | None:
        """Returns the connection; None if there is none within the limits, for the reason in `failure`.

        `briefly` is for requests that can be answered without it: waits for one attempt, at most `glance` seconds.
        """
        limits = self._limits
        seen, give_up_at = self._n_begun, self._down_since + (0 if briefly else limits.patience)
        self._wanted.set()
        # On a busy machine a running server may answer late: only an attempt that has ended shows that there is none.
        with trio.move_on_after(limits.glance if briefly else limits.patience + limits.connect):
            while self.socket is None:
                is_hopeless = trio.current_time() >= give_up_at or not self.failure.is_retryable
                if self._n_failed > seen and is_hopeless:
                    break
                self._wanted.set()
                await self._changed.wait()
        return self.socket

    async def send(self, socket: WebSocketConnection, frame: bytes) -> bool:
        """Sends a message; returns whether it was sent. Closes a connection that does not accept it."""
        try:
            with trio.fail_after(self._limits.send):
                await socket.send_message(frame.decode())
        except (trio.TooSlowError, *_GONE):
            # A part of it may have been sent: the server could not parse anything after it.
            if socket is self._socket:
                self._scope.cancel()
            return False
        return True

    async def _connect(self) -> bool:
        """Makes one connection and uses it until it ends. Returns whether it was open."""
        cause: BaseException | None = None
        self._is_used = False
        with trio.CancelScope() as self._scope:
            try:
                await self._connect_and_use()
            except Exception as error:  # noqa: BLE001 (the boundary: whatever a server says costs one connection)
                cause = cause_of(error, Refused, ConnectionRejected)
        self._socket = None
        if self._is_used:
            self._down_since = trio.current_time()
            self._set_failure(unreachable(self._target, ConnectionResetError(0, "the connection was lost")))
            await self._on_lost(lost(self._target))
        elif isinstance(cause, Refused):
            self._set_failure(cause.failure)
        else:
            self._set_failure(unreachable(self._target, cause or TimeoutError("it ended the connection")))
        return self._is_used

    async def _connect_and_use(self) -> None:
        """Replaces the library's own way to connect, which neither closes the socket after every failure nor has a time limit."""
        target, limits = self._target, self._limits
        with trio.fail_after(limits.connect) as opening:
            stream: trio.SocketStream | trio.SSLStream[trio.SocketStream]
            if target.is_encrypted:
                stream = await trio.open_ssl_over_tcp_stream(target.host, target.port, https_compatible=True)
            else:
                stream = await trio.open_tcp_stream(target.host, target.port)
            try:
                if isinstance(stream, trio.SSLStream):
                    await stream.do_handshake()  # the library would wait forever if the certificate is refused
                async with open_nursery() as reader:
                    socket = await wrap_client_stream(
                        reader,
                        stream,
                        target.authority,
                        target.resource,
                        subprotocols=[WEBSOCKET_SUBPROTOCOL],
                        max_message_size=limits.message_bytes,
                    )
                    await self._opening(socket)
                    opening.deadline = math.inf
                    self._is_used = True
                    self._open(socket)
                    await self._use(socket)
                    with trio.move_on_after(limits.close):
                        await socket.aclose()
                    reader.cancel_scope.cancel()
            finally:
                with trio.CancelScope(shield=True):
                    await trio.aclose_forcefully(stream)

    def _open(self, socket: WebSocketConnection) -> None:
        self._log.info("server_connected", url=self._target.url, attempts=self._n_begun)
        self._socket = socket
        self._notify()

    def _set_failure(self, failure: LinkFailure) -> None:
        if failure != self.failure:
            self._log.warning("server_gone", url=self._target.url, reason=failure.reason, cause=failure.message)
        self.failure = failure

    def _notify(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def _use(self, socket: WebSocketConnection) -> None:
        async with open_nursery() as nursery:
            nursery.start_soon(self._watch, socket, nursery)
            try:
                while True:
                    message = await socket.get_message()
                    self._heard_at, self._is_delivering = trio.current_time(), True
                    await self._deliver(message)
                    self._is_delivering = False
            except _GONE:
                pass
            nursery.cancel_scope.cancel()

    async def _watch(self, socket: WebSocketConnection, nursery: trio.Nursery) -> None:
        """Ends a connection whose peer vanished without closing it, as happens behind a tunnel."""
        while True:
            await trio.sleep(self._limits.silence)
            if self._is_delivering or trio.current_time() - self._heard_at < self._limits.silence:
                continue
            answered = trio.Event()
            nursery.start_soon(_ping, socket, answered)
            while not answered.is_set():
                with trio.move_on_after(self._limits.pong):
                    await answered.wait()
                # While our own client does not read, the pong is queued behind messages for it.
                if not answered.is_set() and not self._is_delivering:
                    self._log.info("server_silent", url=self._target.url)
                    nursery.cancel_scope.cancel()
                    return


async def _ping(socket: WebSocketConnection, answered: trio.Event) -> None:
    try:
        await socket.ping()
    except _GONE:
        return  # the reader finds out as well
    answered.set()

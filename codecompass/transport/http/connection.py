"""One TCP connection: hypercorn's HTTP/1.1 and WebSocket state machines over a trio stream, with a deadline on every wait.

    idle --first byte--> head --complete--> busy --answered--> idle          ends: client | a deadline | the server's stop

hypercorn's own TCP server shields its writes from cancellation without a timeout: one client that does not read would keep the
server from stopping. Its protocol classes are sound, so they are used (`http/protocol.py`), but the socket is handled here.
"""

import math
from typing import Final, Literal

import trio
from hypercorn.config import Config
from hypercorn.events import Closed, Event, RawData, Updated
from hypercorn.protocol.ws_stream import WSStream
from hypercorn.trio.worker_context import WorkerContext
from hypercorn.typing import AppWrapper

from codecompass.log import get_logger
from codecompass.nurseries import open_nursery
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.protocol import ConnectionTasks, Http11
from codecompass.units import KIB, MIB

PIECE_BYTES: Final = 64 * KIB
"""Bytes that are read or written at a time."""

LINGER_BYTES: Final = 16 * MIB
"""Bytes that are read and discarded from a refused client that continues to send, so that it can read the reason."""

Phase = Literal["idle", "head", "busy"]


class HttpConnection:
    """Serves one client until it disconnects. `context.terminated` is set when the server stops."""

    def __init__(
        self, stream: trio.SocketStream, app: AppWrapper, config: Config, context: WorkerContext, limits: HttpLimits
    ) -> None:
        self._stream = stream
        self._app = app
        self._config = config
        self._context = context
        self._limits = limits
        self._write_lock = trio.Lock()
        self._phase: Phase = "idle"
        self._since = trio.current_time()
        self._reading = trio.CancelScope()
        self._deadline = math.inf
        self._is_closing = False
        self._protocol: Http11
        self._log = get_logger(__name__)

    @property
    def idle_since(self) -> float | None:
        """The trio time since which it has no request; None while it has one."""
        return self._since if self._phase == "idle" else None

    async def serve(self) -> None:
        """Serves requests until the connection is closed. If cancelled, closes at once."""
        self._enter("idle", self._limits.head)
        try:
            async with open_nursery() as helpers:
                async with open_nursery() as handlers:
                    tasks = ConnectionTasks(handlers, helpers)
                    self._protocol = Http11(self._app, self._config, self._context, tasks, self._send, _peer_of(self._stream))
                    await self._read()
                    await self._protocol.handle(Closed())
                helpers.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await trio.aclose_forcefully(self._stream)

    def stop_if_idle(self) -> None:
        """Ends a connection without a request in flight; a busy one ends after its answer."""
        if self._phase != "busy":
            self._reading.cancel()

    async def _read(self) -> None:
        n_discarded = 0
        while True:
            with trio.CancelScope(deadline=self._deadline) as self._reading:
                try:
                    data = bytes(await self._stream.receive_some(PIECE_BYTES))
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return
            if self._reading.cancelled_caught:
                return
            if self._is_closing:
                n_discarded += len(data)
                if not data or n_discarded > LINGER_BYTES:
                    return
                continue
            if self._phase == "idle" and data:
                self._enter("head", self._limits.head)
            await self._feed(data)
            if not data:
                return

    async def _feed(self, data: bytes) -> None:
        """Passes data to the protocol. A failure there closes this connection alone."""
        try:
            await self._protocol.handle(RawData(data))
        except Exception:  # noqa: BLE001 (a defect in the libraries below must not end the server)
            self._log.exception("http_connection_failed")
            await self._close()
        stream = self._protocol.stream
        if not isinstance(stream, WSStream):
            return
        if stream.closed or stream.buffer.length > stream.buffer.max_length:
            # Refused, or its message is too big: hypercorn would continue to read, and to buffer what it reads.
            await self._close()
        elif stream.buffer.value is None:
            self._enter("busy", math.inf)
        elif self._deadline == math.inf:
            # A message must be complete in time once it has begun, like the body of a request.
            self._enter("busy", self._limits.body)

    async def _send(self, event: Event) -> None:
        match event:
            case RawData():
                await self._write(event.data)
            case Updated():
                if event.idle:
                    self._enter("idle", self._limits.idle)
                else:
                    self._enter("busy", math.inf)
            case Closed():
                await self._close()

    async def _write(self, data: bytes) -> None:
        """Writes all of `data`. If the client is gone or does not read, closes the connection; nothing is written after that."""
        async with self._write_lock:
            view = memoryview(data)
            try:
                while view:
                    with trio.fail_after(self._limits.write):
                        await self._stream.send_all(view[:PIECE_BYTES])
                    view = view[PIECE_BYTES:]
            except trio.TooSlowError:
                self._log.info("client_gone", reason="it does not read")
            except (trio.BrokenResourceError, trio.ClosedResourceError):
                pass
            except trio.Cancelled:
                # A part of it may have been sent: the client could not parse anything after it.
                self._stream.socket.close()
                raise
            else:
                return
            await trio.aclose_forcefully(self._stream)
        await self._protocol.handle(Closed())

    async def _close(self) -> None:
        """Sends EOF, and gives the client a moment to read what it was sent."""
        if self._is_closing:
            return
        self._is_closing = True
        async with self._write_lock:
            try:
                await self._stream.send_eof()
            except (trio.BrokenResourceError, trio.ClosedResourceError, OSError):
                pass
        self._enter("busy", self._limits.linger)

    def _enter(self, phase: Phase, seconds: float) -> None:
        self._phase = phase
        self._since = trio.current_time()
        self._deadline = self._since + seconds
        self._reading.deadline = self._deadline


def _peer_of(stream: trio.SocketStream) -> tuple[str, int]:
    """Returns the address and port of the peer; empty and 0 if it has disconnected already."""
    try:
        host, port = stream.socket.getpeername()[:2]
    except OSError:
        return "", 0
    return host, port

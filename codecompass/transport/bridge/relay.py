"""A stdio process that forwards messages to a running server, so that several editors share one warm index.

    fd 0 -> parse -> BridgeSession, table of requests -> queue -> BridgeLink -> server
    fd 1 <- FrameWriter <------------------------------------------- BridgeLink <-

Invariants: each request of the client is answered once, by the server or, if it is gone, by an error that says what to do next
(at the start by the stand-in, which gives a server's first answers); a message is sent over at most one connection; the process
ends with its input and not with the server.
"""

from pathlib import Path
from typing import Final

import msgspec
import trio
from msgspec import UNSET, Raw, Struct, UnsetType
from trio_websocket import WebSocketConnection

from codecompass.nurseries import open_nursery
from codecompass.transport.bridge.failures import LinkFailure, changed_revision
from codecompass.transport.bridge.link import BridgeLink, LinkLimits, Refused
from codecompass.transport.bridge.session import BridgeSession, revision_of
from codecompass.transport.bridge.stand_in import StandIn
from codecompass.transport.bridge.target import BridgeTarget
from codecompass.transport.mcp.connection import Receive, cancelled_when_set
from codecompass.transport.mcp.core import SessionLimits
from codecompass.transport.mcp.jsonrpc import (
    EMPTY_OBJECT,
    Malformed,
    Notification,
    RequestId,
    Response,
    RpcRequest,
    encode_fault,
    encode_request,
    encode_result,
    parse,
)
from codecompass.transport.mcp.outgoing import FrameWriter, OutgoingClosed, OutgoingFrame
from codecompass.transport.mcp.protocol import (
    CANCELLED,
    META_REVISION,
    PING,
    ROOTS_LIST,
)
from codecompass.transport.mcp.session import duplicate_id, session_busy
from codecompass.transport.mcp.unusual_json import without_lone_surrogates
from codecompass.transport.mcp.wire import CancelledParams
from codecompass.transport.stdio import Pipes, open_frames

MAX_ASKED: Final = 64
"""Unanswered requests of the server to the client; beyond that the oldest is dropped."""

_OWN_ID: Final = "codecompass-bridge"
"""The id of the requests that open a new connection. The client has none in flight on it then."""


class _Head(Struct):
    """The members that a bridge reads of a server's message."""

    id: RequestId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET


class _ErrorResponse(Struct, frozen=True):
    id: RequestId
    error: Raw
    jsonrpc: str = "2.0"


class _Root(Struct, frozen=True):
    uri: str


class _Roots(Struct, frozen=True):
    roots: tuple[_Root, ...]


class _Asked(Struct):
    """An unanswered request of the client. `socket` is the connection over which it was sent."""

    request: RpcRequest
    frame: bytes
    socket: WebSocketConnection | None = None


_HEADS: Final = msgspec.json.Decoder(_Head)
_CANCELLED: Final = msgspec.json.Decoder(CancelledParams)
_ENCODER: Final = msgspec.json.Encoder()


class Bridge:
    """Connects one client to one server. Must be created inside trio; `stop` makes `serve` return soon."""

    def __init__(self, target: BridgeTarget, *, limits: SessionLimits | None = None, link: LinkLimits | None = None) -> None:
        self._target = target
        self._limits = limits or SessionLimits()
        self.stopping: Final = trio.Event()
        self._session = BridgeSession()
        self._stand_in = StandIn(self._limits)
        self._asked: dict[RequestId, _Asked] = {}
        self._asked_of_client: dict[str, RequestId] = {}
        self._n_connections = 0
        self._answered = trio.Event()
        self._queue, self._queued = trio.open_memory_channel[_Asked | bytes](self._limits.queued_frames)
        self._link = BridgeLink(
            target, link or LinkLimits(), opening=self._open_session, deliver=self._deliver, on_lost=self._lose
        )
        self._writer: FrameWriter

    def stop(self) -> None:
        """Stops reading from the client."""
        self.stopping.set()

    async def serve(self, pipes: Pipes) -> None:
        """Serves until the input ends, the client no longer reads, or `stop` is called. Leaves the descriptors open."""
        limits = self._limits
        async with open_frames(pipes, limits.frame_bytes) as (receive, write), open_nursery() as everything:
            self._writer = FrameWriter(write, capacity=limits.queued_frames, deadline_seconds=limits.write_seconds)
            everything.start_soon(self._write, everything.cancel_scope)
            async with open_nursery() as server_side:
                server_side.start_soon(self._link.run)
                server_side.start_soon(self._forward)
                await self._read(receive)
                await self._drain()
                server_side.cancel_scope.cancel()
            self._writer.close()
            everything.cancel_scope.deadline = trio.current_time() + limits.grace_seconds

    # from the client

    async def _read(self, receive: Receive) -> None:
        async with cancelled_when_set(self.stopping):
            try:
                while (incoming := await receive()) is not None:
                    frame = without_lone_surrogates(incoming.frame)
                    message = incoming.malformed or parse(frame, max_bytes=self._limits.frame_bytes)
                    match message:
                        case Malformed():
                            if message.is_answerable:
                                await self._reply(encode_fault(message.id, message.fault))
                        case Response():
                            await self._take_response(message)
                        case Notification():
                            await self._take_notification(message, frame)
                        case RpcRequest():
                            await self._take_request(message, frame)
            except (OSError, trio.BrokenResourceError, trio.ClosedResourceError):
                pass

    async def _take_request(self, request: RpcRequest, frame: bytes) -> None:
        if request.id in self._asked:
            await self._reply(encode_fault(request.id, duplicate_id()))
        elif len(self._asked) >= self._limits.in_flight + self._limits.listening:
            await self._reply(encode_fault(request.id, session_busy()))
        elif request.method == PING and self._link.socket is None and META_REVISION.encode() not in bytes(request.params):
            # Checks whether this process is alive: a host that gets no answer ends it.
            await self._reply(encode_result(request.id, EMPTY_OBJECT))
        else:
            asked = self._asked[request.id] = _Asked(request, frame)
            await self._queue.send(asked)

    async def _take_notification(self, notification: Notification, frame: bytes) -> None:
        self._session.notified(notification)
        if notification.method == CANCELLED:
            try:
                asked = self._asked.pop(_CANCELLED.decode(notification.params).request_id, None)
            except msgspec.DecodeError:
                return
            self._answered.set()
            if asked is None or asked.socket is None:
                return
        await self._pass_on(frame)

    async def _take_response(self, response: Response) -> None:
        original = self._asked_of_client.pop(response.id, None) if isinstance(response.id, str) else None
        if original is None:
            return  # the server's request came over a connection that has ended
        if response.error is not None:
            await self._pass_on(_ENCODER.encode(_ErrorResponse(original, response.error)))
        else:
            await self._pass_on(encode_result(original, response.result))

    async def _pass_on(self, frame: bytes) -> None:
        """Queues a message that only has a meaning on the current connection; drops it if there is none."""
        if self._link.socket is not None:
            await self._queue.send(frame)

    async def _forward(self) -> None:
        """Sends the queued messages in order."""
        with self._queued:
            async for item in self._queued:
                if isinstance(item, bytes):
                    if self._link.socket is not None:
                        await self._link.send(self._link.socket, item)
                elif self._asked.get(item.request.id) is item:
                    await self._forward_request(item)

    async def _forward_request(self, asked: _Asked) -> None:
        can_do_without = self._stand_in.can_answer(asked.request)
        socket = await self._link.wait_open(briefly=can_do_without)
        if self._asked.get(asked.request.id) is not asked:
            return  # cancelled meanwhile
        if socket is None and can_do_without and self._link.failure.is_retryable:
            await self._deliver(await self._stand_in.answer(asked.frame))
        elif socket is None:
            await self._fail([asked], self._link.failure)
        else:
            asked.socket = socket
            if not await self._link.send(socket, asked.frame):
                await self._fail([asked], self._link.failure)

    # from the server

    async def _open_session(self, socket: WebSocketConnection) -> None:
        """Restores the client's session on a new connection. Raises Refused, ConnectionClosed."""
        self._n_connections += 1
        self._asked_of_client.clear()
        opening = self._session.opening(_OWN_ID)
        if opening is None:
            return
        answer = await self._exchange(socket, opening)
        revision = revision_of(Raw(b"{}") if answer.result is UNSET else answer.result)
        if revision != self._session.revision:
            raise Refused(changed_revision(self._target, revision or "another protocol", self._session.revision))
        ready = self._session.ready()
        if ready is not None:
            await socket.send_message(ready.decode())
        for subscription in self._session.subscriptions(_OWN_ID):
            await self._exchange(socket, subscription)

    async def _exchange(self, socket: WebSocketConnection, frame: bytes) -> _Head:
        await socket.send_message(frame.decode())
        while True:
            message = await socket.get_message()
            head = _head(message)
            if head is not None and head.id == _OWN_ID and head.method is UNSET:
                return head
            await self._deliver(message)

    async def _deliver(self, message: str | bytes) -> None:
        body = message.encode() if isinstance(message, str) else message
        head = _head(body)
        if head is None:
            return
        if head.method is UNSET:
            if head.id is not UNSET:
                asked = self._asked.pop(head.id, None)
                if asked is None:
                    return  # cancelled
                if head.result is not UNSET:
                    self._session.answered(asked.request, head.result)
                self._answered.set()
        elif head.id is not UNSET:
            await self._ask_client(head.id, head.method, head.params)
            return
        await self._reply(body)

    async def _ask_client(self, id_: RequestId, method: str, params: Raw | UnsetType) -> None:
        if method == ROOTS_LIST and self._target.is_pinned and self._target.project is not None:
            roots = _Roots((_Root(Path(self._target.project).as_uri()),))
            if self._link.socket is not None:
                await self._link.send(self._link.socket, encode_result(id_, roots))
            return
        # A restarted server counts from one again, and the client may still answer a request of the old one.
        name = f"{self._n_connections}/{id_}"
        self._asked_of_client[name] = id_
        if len(self._asked_of_client) > MAX_ASKED:
            del self._asked_of_client[next(iter(self._asked_of_client))]
        await self._reply(encode_request(name, method, params))

    async def _lose(self, failure: LinkFailure) -> None:
        """Answers the requests in flight on the lost connection with an error."""
        await self._fail([asked for asked in self._asked.values() if asked.socket is not None], failure)

    async def _fail(self, requests: list[_Asked], failure: LinkFailure) -> None:
        failed = [asked.request.id for asked in requests if self._asked.get(asked.request.id) is asked]
        for id_ in failed:
            del self._asked[id_]
        for id_ in failed:
            await self._reply(encode_fault(id_, failure.fault(self._target)))
        self._answered.set()

    # to the client

    async def _drain(self) -> None:
        """Waits a moment for the requests in flight; then answers the remaining ones with an error if there is no connection."""
        with trio.move_on_after(self._limits.grace_seconds):
            while self._asked:
                self._answered = trio.Event()
                await self._answered.wait()
        if self._link.socket is None:
            with trio.move_on_after(self._limits.grace_seconds):
                await self._fail(list(self._asked.values()), self._link.failure)

    async def _reply(self, body: bytes) -> None:
        try:
            # A line break in JSON is white space between tokens.
            await self._writer.send(OutgoingFrame(body.replace(b"\n", b" "), "response"))
        except OutgoingClosed:
            pass  # the client is gone, and this process is about to end

    async def _write(self, everything: trio.CancelScope) -> None:
        try:
            await self._writer.run()
        except OutgoingClosed:
            everything.cancel()


def _head(message: str | bytes) -> _Head | None:
    try:
        return _HEADS.decode(message)
    except (msgspec.DecodeError, RecursionError):
        return None

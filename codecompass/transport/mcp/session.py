"""ClientSession: one client on any transport. Messages come in as bytes, answers go out as frames.

    bytes --read--> Response      -> the task that waits for it
                     Notification  -> cancel, roots
                     Request       -> envelope -> method -> admitted -> task -> result | fault -> Outgoing

Every request is answered exactly once, or not at all if the client has cancelled it. A transport only calls `receive` for each
message; requests run in the session's nursery or, without one, within the call.
"""

import time
from collections.abc import Hashable
from typing import Final, Literal

import msgspec
import trio
from msgspec import Struct

from codecompass.log import get_logger
from codecompass.projects.caller import Identity, TransportName
from codecompass.tracing import TraceSender
from codecompass.transport.mcp.client import Client
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.envelope import HttpHeaders, RequestEnvelope, open_envelope
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import (
    Fault,
    Malformed,
    Notification,
    RequestId,
    Response,
    RpcRequest,
    encode_fault,
    encode_result,
    internal_error,
    method_not_found,
    read,
)
from codecompass.transport.mcp.methods import Method, find_method
from codecompass.transport.mcp.outgoing import HTTP_OK, Outgoing, OutgoingClosed, OutgoingFrame
from codecompass.transport.mcp.protocol import (
    CANCELLED,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    MISSING_CAPABILITY,
    PARSE_ERROR,
    ROOTS_CHANGED,
    SERVER_STOPPING,
    SESSION_BUSY,
    UNSUPPORTED_REVISION,
)
from codecompass.transport.mcp.wire import CancelledParams, WireResult
from codecompass.units import MILLISECONDS

Received = Literal["request", "notification", "response", "malformed"]
"""The kind of a received message. HTTP answers notifications and responses with 202."""

RETRY_MS: Final = 500
"""When to call again after SESSION_BUSY, in milliseconds."""

_LOGGED_LENGTH: Final = 100
_BAD_REQUEST: Final = 400
_NOT_FOUND: Final = 404
_STATUSES: Final = {
    PARSE_ERROR: _BAD_REQUEST,
    INVALID_REQUEST: _BAD_REQUEST,
    INVALID_PARAMS: _BAD_REQUEST,
    HEADER_MISMATCH: _BAD_REQUEST,
    MISSING_CAPABILITY: _BAD_REQUEST,
    UNSUPPORTED_REVISION: _BAD_REQUEST,
    METHOD_NOT_FOUND: _NOT_FOUND,
}
"""HTTP statuses of faults in the modern era. 2026-07-28 basic/transports/streamable-http."""

_CANCELLED: Final = msgspec.json.Decoder(CancelledParams)


class Delivery(Struct, frozen=True, kw_only=True):
    """How a message arrived, from whom, and where its answer is sent. `headers` are only set for POSTs to `/mcp`."""

    out: Outgoing
    headers: HttpHeaders | None = None
    project_path: str | None = None
    identity: Identity | None = None
    trace: TraceSender | None = None
    """What the headers of this message say about the client's trace."""
    connection: str = ""
    """Which connection it came on; empty where a session is a connection."""


class _Admitted(Struct, frozen=True):
    exchange: Exchange
    method: Method
    scope: trio.CancelScope
    client: Hashable
    """Whose turn the request takes."""


class ClientSession:
    """The conversation with one client, or a single exchange with a client that has no session.

    With a `nursery` requests run concurrently, and clients that declared it get notifications about jobs on `stream` between
    requests; the owner of the nursery ends the session by cancelling it. Without one `receive` returns after the answer.
    """

    def __init__(
        self,
        core: Core,
        transport: TransportName,
        *,
        nursery: trio.Nursery | None = None,
        stream: Outgoing | None = None,
    ) -> None:
        limits = core.limits
        self.client: Final = Client(transport, roots_deadline_seconds=limits.roots_seconds, nursery=nursery, stream=stream)
        self._core = core
        self._nursery = nursery
        self._slots = trio.Semaphore(limits.working)
        self._in_flight: dict[RequestId, _Admitted] = {}
        self._n_admitted = 0
        self._n_listening = 0
        self._is_draining = False
        self._left = trio.Event()
        self._log = get_logger(__name__)

    @property
    def n_in_flight(self) -> int:
        """Number of unanswered requests, including streams of notifications."""
        return self._n_admitted + self._n_listening

    async def receive(self, frame: bytes, delivery: Delivery) -> Received:
        """Handles one message. Raises only cancellation and OutgoingClosed, whatever the bytes.

        Messages take effect in the order in which this is called. Waits while the client does not read its answers.
        """
        message = await read(frame, max_bytes=self._core.limits.frame_bytes)
        match message:
            case Malformed():
                await self.refuse(message, delivery.out)
                return "malformed"
            case Response():
                return await self._take_response(message, delivery)
            case Notification():
                self._take_notification(message)
                delivery.out.finish()
                return "notification"
            case RpcRequest():
                await self._take_request(message, delivery)
                return "request"

    async def refuse(self, malformed: Malformed, out: Outgoing) -> None:
        """Answers bytes that were not a message; also called by transports that reject bytes themselves."""
        try:
            if malformed.is_answerable:
                body = encode_fault(malformed.id, malformed.fault)
                await out.send(OutgoingFrame(body, "response", _BAD_REQUEST, is_malformed=True))
        finally:
            out.finish()

    async def drain(self, seconds: float) -> None:
        """Accepts no more requests, and waits up to `seconds` for those in flight.

        Streams of notifications are only waited for if the server stops, which ends them.
        """
        self._is_draining = True
        with trio.move_on_after(seconds):
            while self._n_admitted or (self._n_listening and self._core.stopping.is_set()):
                self._left = trio.Event()
                await self._left.wait()

    async def _take_request(self, request: RpcRequest, delivery: Delivery) -> None:
        out = delivery.out
        if self._n_admitted >= self._core.limits.working:
            async with self._core.queueing:
                await trio.lowlevel.checkpoint()
        # Before the envelope is open only `/mcp` has an HTTP status to set, and a fault there is the request's.
        is_modern = delivery.headers is not None
        try:
            envelope = open_envelope(request, self.client.agreement, delivery.headers)
            is_modern = envelope.is_modern
            admitted = self._admit(request, envelope, delivery)
        except Fault as fault:
            try:
                await out.send(_fault_frame(request.id, fault, is_modern=is_modern))
            finally:
                out.finish()
            return
        if self._nursery is None or admitted.method.kind == "instant":
            await self._serve(admitted)
        else:
            self._nursery.start_soon(self._serve, admitted)

    def _admit(self, request: RpcRequest, envelope: RequestEnvelope, delivery: Delivery) -> _Admitted:
        """Adds the request to those in flight, so that a cancellation right after it finds it. Raises Fault."""
        method = find_method(request.method, is_modern=envelope.is_modern)
        if method is None:
            raise method_not_found(request.method)
        if self._is_draining or self._core.stopping.is_set():
            raise Fault(SERVER_STOPPING, "the server is stopping. Connect again.", reason="server_stopping", is_retryable=True)
        if request.id in self._in_flight:
            raise duplicate_id()
        limits = self._core.limits
        is_full = {
            "instant": False,
            "working": self._n_admitted >= limits.in_flight,
            "listening": self._n_listening >= limits.listening,
        }[method.kind]
        if is_full:
            raise session_busy()
        exchange = Exchange(
            id_=request.id,
            method=request.method,
            params=request.params,
            envelope=envelope,
            client=self.client,
            out=delivery.out,
            project_path=delivery.project_path,
            identity=delivery.identity,
            trace=envelope.trace or delivery.trace,
        )
        admitted = _Admitted(exchange, method, trio.CancelScope(), self._client_of(delivery))
        self._in_flight[request.id] = admitted
        if method.kind == "listening":
            self._n_listening += 1
        else:
            self._n_admitted += 1
        return admitted

    async def _serve(self, admitted: _Admitted) -> None:
        """Runs one request and sends its answer; sends none if it is cancelled or the client is gone."""
        exchange = admitted.exchange
        started = time.monotonic()
        frame: OutgoingFrame | None = None
        try:
            with admitted.scope:
                frame = await self._answer(admitted)
            # From here on the id is free: the client may use it again as soon as it has the answer.
            self._forget(admitted)
            if frame is not None:
                await exchange.out.send(frame)
                exchange.run_afterwards()
        except OutgoingClosed:
            frame = None
        finally:
            self._forget(admitted)
            self._leave(admitted)
            exchange.out.finish()
            self._log.info(
                "request",
                method=exchange.method,
                subject=exchange.subject[:_LOGGED_LENGTH],
                id=str(exchange.id)[:_LOGGED_LENGTH],
                revision=exchange.envelope.revision,
                transport=self.client.transport,
                outcome="unanswered" if frame is None else "answered",
                duration_ms=round((time.monotonic() - started) / MILLISECONDS, 1),
            )

    async def _answer(self, admitted: _Admitted) -> OutgoingFrame:
        exchange, method = admitted.exchange, admitted.method
        is_modern = exchange.envelope.is_modern
        try:
            if method.kind == "working":
                async with self._slots, self._core.turns.taken(admitted.client) as turn:
                    exchange.turn = turn
                    result = await method.handler(self._core, exchange)
            else:
                result = await method.handler(self._core, exchange)
            return OutgoingFrame(encode_result(exchange.id, self._finished(result, is_modern=is_modern)), "response")
        except Fault as fault:
            return _fault_frame(exchange.id, fault, is_modern=is_modern)
        except OutgoingClosed:
            raise
        except Exception:  # noqa: BLE001 (the boundary: a defect of ours costs one request)
            self._log.exception("request_failed", method=exchange.method)
            return _fault_frame(exchange.id, internal_error(), is_modern=is_modern)

    def _client_of(self, delivery: Delivery) -> Hashable:
        """Returns whose turn a request takes: whoever is known by a token or a proxy is one client. So is a session, and without
        one a connection."""
        if delivery.identity is not None:
            return delivery.identity
        return self if self._nursery is not None else delivery.connection or self

    def _finished(self, result: WireResult, *, is_modern: bool) -> WireResult:
        if not is_modern:
            return result
        meta = self._core.server_meta if result.meta is msgspec.UNSET else {**result.meta, **self._core.server_meta}
        kind = "complete" if result.result_type is msgspec.UNSET else result.result_type
        return msgspec.structs.replace(result, result_type=kind, meta=meta)

    def _forget(self, admitted: _Admitted) -> None:
        id_ = admitted.exchange.id
        if self._in_flight.get(id_) is admitted:
            del self._in_flight[id_]

    def _leave(self, admitted: _Admitted) -> None:
        if admitted.method.kind == "listening":
            self._n_listening -= 1
        else:
            self._n_admitted -= 1
        self._left.set()

    def _take_notification(self, notification: Notification) -> None:
        """Handles a notification at once. Invalid or unknown ones are ignored, as the protocol requires."""
        if notification.method == CANCELLED:
            try:
                params = _CANCELLED.decode(notification.params)
            except msgspec.DecodeError:
                return
            admitted = self._in_flight.get(params.request_id)
            if admitted is not None:
                admitted.scope.cancel()
        elif notification.method == ROOTS_CHANGED:
            self.client.roots.forget()

    async def _take_response(self, response: Response, delivery: Delivery) -> Received:
        if delivery.headers is not None and self._nursery is None:
            # Modern HTTP: the server sends no requests, so there is nothing to answer.
            malformed = Malformed(Fault(INVALID_REQUEST, "this server has asked nothing. Send requests."), None)
            await self.refuse(malformed, delivery.out)
            return "malformed"
        if not self.client.requests.settle(response):
            self._log.info("unexpected_response", id=str(response.id)[:_LOGGED_LENGTH])
        delivery.out.finish()
        return "response"


def duplicate_id() -> Fault:
    """Returns the fault of a request whose id belongs to another one in flight."""
    return Fault(INVALID_REQUEST, "a request with this id is in flight. Use a new id for each request.")


def session_busy() -> Fault:
    """Returns the fault of a request above the number that may be in flight."""
    busy = "too many requests in flight on this connection. Wait for answers, then call again."
    return Fault(SESSION_BUSY, busy, reason="session_busy", is_retryable=True, retry_after_ms=RETRY_MS)


def _fault_frame(id_: RequestId, fault: Fault, *, is_modern: bool) -> OutgoingFrame:
    status = _STATUSES.get(fault.code, HTTP_OK) if is_modern else HTTP_OK
    return OutgoingFrame(encode_fault(id_, fault), "response", status)

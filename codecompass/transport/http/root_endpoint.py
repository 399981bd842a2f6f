"""`POST /`: one JSON-RPC message, one JSON answer, no session. For curl, scripts and agents."""

from typing import Final

import msgspec
from msgspec import Raw, Struct

from codecompass.errors import InvalidInput
from codecompass.transport.http.request import (
    ACCEPTED,
    BAD_REQUEST,
    BROKEN_RESPONSE,
    OK,
    HttpRequest,
    ProjectPaths,
    require_json,
    require_method,
)
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.jsonrpc import Fault, encode_fault
from codecompass.transport.mcp.outgoing import OutgoingFrame
from codecompass.transport.mcp.protocol import INVALID_REQUEST, META_REVISION
from codecompass.transport.mcp.session import ClientSession, Delivery, Received

_MODERN_KEY: Final = META_REVISION.encode()


class RootEndpoint:
    """Handles the requests to `/`."""

    def __init__(self, core: Core, project_paths: ProjectPaths) -> None:
        self._core = core
        self._project_paths = project_paths

    async def handle(self, request: HttpRequest) -> None:
        """Answers one request. Raises HttpRefusal, ClientGone."""
        require_method(request, "POST")
        require_json(request, may_be_missing=True)
        body = await request.body()
        try:
            path = await self._project_paths.checked(request)
        except InvalidInput as error:
            await request.answer(BAD_REQUEST, _plain_refusal(error.message))
            return
        out = _SingleOutgoing()
        delivery = Delivery(
            out=out, project_path=path, identity=request.identity, trace=request.trace, connection=request.connection
        )
        if _MODERN_KEY in body:
            kind = await self._receive_while_there(body, delivery, request)
        else:
            kind = await ClientSession(self._core, "http").receive(body, delivery)
        frame = out.frame
        if frame is not None:
            await request.answer(_status_of(frame), _plain_body(frame) if frame.is_malformed else frame.body)
        elif kind in ("notification", "response"):
            await request.answer(ACCEPTED)
        else:
            await request.answer(BAD_REQUEST, _plain_refusal(BROKEN_RESPONSE))

    async def _receive_while_there(self, body: bytes, delivery: Delivery, request: HttpRequest) -> Received:
        """Receives the message; a client of the modern era cancels it by disconnecting."""
        kind: Received = "request"
        async with request.cancelled_when_gone():
            kind = await ClientSession(self._core, "http").receive(body, delivery)
        return kind


class _SingleOutgoing:
    """The Outgoing of an exchange that carries only the response."""

    can_push = False

    def __init__(self) -> None:
        self.frame: OutgoingFrame | None = None

    async def send(self, frame: OutgoingFrame) -> None:
        """Keeps the response."""
        self.frame = frame

    def finish(self) -> None:
        """Does nothing: the frame is read when the call has returned."""


def _status_of(frame: OutgoingFrame) -> int:
    """Returns the status on `POST /`: 200 for every answer, except to bytes that were not a message."""
    return frame.http_status if frame.is_malformed else OK


class _Error(Struct):
    code: int
    message: str
    data: Raw


class _Frame(Struct):
    error: _Error
    id: Raw = Raw(b"null")


class _PlainData(Struct, frozen=True):
    jsonrpc_code: int
    details: Raw


class _PlainError(Struct, frozen=True):
    code: str
    message: str
    data: _PlainData


class _PlainFrame(Struct, frozen=True):
    jsonrpc: str
    id: Raw
    error: _PlainError


_FRAMES: Final = msgspec.json.Decoder(_Frame)
_ENCODER: Final = msgspec.json.Encoder()


def _plain_body(frame: OutgoingFrame) -> bytes:
    """Returns the answer of `POST /` to bytes that were not a message: only there `error.code` is a string."""
    decoded = _FRAMES.decode(frame.body)
    error = decoded.error
    plain = _PlainError("invalid_input", error.message, _PlainData(error.code, error.data))
    return _ENCODER.encode(_PlainFrame("2.0", decoded.id, plain))


def _plain_refusal(message: str) -> bytes:
    """Returns the answer of `POST /` to a request that is refused with status 400 before its body is parsed."""
    return _plain_body(OutgoingFrame(encode_fault(None, Fault(INVALID_REQUEST, message)), "response"))

"""Responses to requests that the HTTP layer refuses: JSON-RPC errors, on `POST /` with text codes such as `invalid_input`."""

from typing import Final

import msgspec
from msgspec import Raw, Struct

from codecompass.transport.http.request import METHOD_NOT_ALLOWED, UNSUPPORTED_TYPE, HttpRefusal, HttpRequest
from codecompass.transport.mcp.jsonrpc import Fault, encode_fault
from codecompass.transport.mcp.outgoing import Frame
from codecompass.transport.mcp.protocol import INTERNAL_ERROR, INVALID_REQUEST, SESSION_BUSY

INVALID_INPUT: Final = "invalid_input"

BROKEN_RESPONSE: Final = "a response needs an id and one of result and error."
"""The answer to malformed responses, which other transports do not answer: HTTP answers everything."""


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


def refusal_body(refusal: HttpRefusal) -> bytes:
    """Returns the error response of a refusal."""
    code = SESSION_BUSY if refusal.is_retryable else INVALID_REQUEST
    more: dict[str, object] = {"is_retryable": True} if refusal.is_retryable else {}
    return encode_fault(None, Fault(code, refusal.message, reason=refusal.reason, **more))


def defect_body() -> bytes:
    """Returns the error response to a request that hit a defect of ours."""
    return encode_fault(None, Fault(INTERNAL_ERROR, "internal error. The server's log has the details.", reason="internal_error"))


def plain_body(frame: Frame) -> bytes:
    """Returns the answer of `POST /` to bytes that were not a message: only there `error.code` is a string."""
    decoded = _FRAMES.decode(frame.body)
    error = decoded.error
    plain = _PlainError(INVALID_INPUT, error.message, _PlainData(error.code, error.data))
    return _ENCODER.encode(_PlainFrame("2.0", decoded.id, plain))


def plain_refusal(message: str) -> bytes:
    """Returns the answer of `POST /` to a request that is refused with status 400 before its body is parsed."""
    return plain_body(Frame(encode_fault(None, Fault(INVALID_REQUEST, message)), "response"))


def require_method(request: HttpRequest, *allowed: str) -> None:
    """Raises HttpRefusal unless the method is one of `allowed`."""
    if request.method not in allowed:
        names = ", ".join(allowed)
        raise HttpRefusal(
            METHOD_NOT_ALLOWED, f"{request.method} is not for {request.path}. Use {names}.", headers=(("allow", names),)
        )


def require_json(request: HttpRequest, *, may_be_missing: bool) -> None:
    """Raises HttpRefusal if the body is declared to be something other than JSON."""
    if request.media_type == "application/json" or (may_be_missing and request.media_type is None):
        return
    raise HttpRefusal(UNSUPPORTED_TYPE, "the body must be JSON. Send it with Content-Type: application/json.")

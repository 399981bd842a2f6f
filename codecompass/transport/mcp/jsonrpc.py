"""JSON-RPC 2.0: bytes -> one message or one fault, and back. The only module that frames JSON.

    read, parse   -> Request | Notification | Response | Malformed      never raise, whatever the bytes
                     nothing they return is nested deeper than MAX_DEPTH, so that any decoder can handle it
    decode_params -> the typed parameters of a method, or raises Fault

Decided here: batches are refused (no client sends them). Of duplicate members the last one counts, as in every JSON library of
the clients. `params: null` means no params. An id that is null, fractional or boolean is invalid. A fault whose id could not be
read is sent without `id`, as the protocol's schemas say. A lone surrogate, which clients produce when they truncate a text, is
read as U+FFFD.
"""

from collections.abc import Mapping
from functools import partial
from typing import Final, TypeVar

import msgspec
import trio
from msgspec import UNSET, Raw, Struct, UnsetType

from codecompass.transport.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    MAX_ID_LENGTH,
    METHOD_NOT_FOUND,
    PARSE_ERROR,
)
from codecompass.transport.mcp.unusual_json import MAX_DEPTH, nests_too_deeply, without_lone_surrogates
from codecompass.units import KIB

RequestId = int | str

EMPTY_OBJECT: Final = Raw(b"{}")

_VERSION: Final = "2.0"
_SHOWN_LENGTH: Final = 100
_ID_BOUND: Final = 10**40


class Fault(Exception):
    """A request that the protocol refuses: becomes an error response. Failures of tools are results, never a Fault."""

    def __init__(self, code: int, message: str, *, reason: str = "invalid_input", **data: object) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data: dict[str, object] = {"code": reason, **data}


class RpcRequest(Struct, frozen=True):
    """A request; `params` is an object, not decoded yet."""

    id: RequestId
    method: str
    params: Raw = EMPTY_OBJECT


class Notification(Struct, frozen=True):
    """A message without an answer."""

    method: str
    params: Raw = EMPTY_OBJECT


class Response(Struct, frozen=True):
    """A client's answer to a request of ours: one of `result` and `error`."""

    id: RequestId
    result: Raw | None = None
    error: Raw | None = None


class Malformed(Struct, frozen=True):
    """Bytes that are not a message. `id` is None if it could not be read; `is_answerable` is False for broken responses."""

    fault: Fault
    id: RequestId | None = None
    is_answerable: bool = True


Message = RpcRequest | Notification | Response | Malformed


class _Envelope(Struct):
    jsonrpc: str
    id: RequestId | UnsetType = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _AnyId(Struct):
    id: Raw | UnsetType = UNSET
    method: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET


class _ErrorObject(Struct, frozen=True, omit_defaults=True):
    code: int
    message: str
    data: Mapping[str, object] | None = None


class _ResultFrame(Struct, frozen=True):
    jsonrpc: str
    id: RequestId
    result: object


class _ErrorFrame(Struct, frozen=True):
    jsonrpc: str
    id: RequestId | UnsetType | None
    error: _ErrorObject


class _CallFrame(Struct, frozen=True, kw_only=True):
    jsonrpc: str = _VERSION
    id: RequestId | UnsetType = UNSET
    method: str
    params: object = UNSET


LARGE_BYTES: Final = 64 * KIB
"""Messages above this are read in a thread. The largest message that a tool needs is twice this, if all of it is escaped."""

LARGE_MESSAGES: Final = trio.CapacityLimiter(1)
"""Large messages of all clients are read one at a time, as they share the interpreter."""

_ENVELOPES: Final = msgspec.json.Decoder(_Envelope)
_ANY_IDS: Final = msgspec.json.Decoder(_AnyId)
_IDS: Final = msgspec.json.Decoder(RequestId)
_ENCODER: Final = msgspec.json.Encoder()


def parse(frame: bytes, *, max_bytes: int) -> Message:
    """Returns the one message in `frame`, which may end with white space. Never raises.

    Takes up to a second for some frames of 4 MiB: frames of clients are read with `read`.
    """
    if len(frame) > max_bytes:
        return oversized(max_bytes)
    frame = without_lone_surrogates(frame)
    try:
        if not frame.isascii():
            frame.decode()  # the typed decoder does not validate members that it skips
        # The typed decoder reads only the first byte of an array: a batch is reported as one, however deeply nested.
        if frame.lstrip()[:1] == b"{" and nests_too_deeply(frame):
            return Malformed(Fault(PARSE_ERROR, f"the message is nested deeper than {MAX_DEPTH} levels. Send it flatter."))
        envelope = _ENVELOPES.decode(frame)
    except UnicodeDecodeError as error:
        return Malformed(Fault(PARSE_ERROR, f"the message is not UTF-8 (byte {error.start}). Send JSON in UTF-8."))
    except msgspec.ValidationError as error:
        return _not_a_message(frame, error)
    except msgspec.DecodeError as error:
        return Malformed(Fault(PARSE_ERROR, f"the message is not JSON: {error}. Send one JSON object a message."))
    return _message(envelope)


async def read(frame: bytes, *, max_bytes: int) -> Message:
    """Returns the same as `parse`. Large frames are parsed in a thread, piece by piece, so that others are served meanwhile."""
    if len(frame) <= LARGE_BYTES or len(frame) > max_bytes:
        return parse(frame, max_bytes=max_bytes)
    return await trio.to_thread.run_sync(partial(parse, frame, max_bytes=max_bytes), limiter=LARGE_MESSAGES)


def oversized(max_bytes: int) -> Malformed:
    """Returns the fault of a frame longer than `max_bytes`, for transports that know before it is complete."""
    return Malformed(Fault(INVALID_REQUEST, f"the message is larger than {max_bytes} bytes. Send less.", limit=max_bytes))


ParamsT = TypeVar("ParamsT")


def decode_params(decoder: msgspec.json.Decoder[ParamsT], params: Raw) -> ParamsT:
    """Returns the parameters of a method. Raises Fault with the path of the invalid or too long member."""
    try:
        return decoder.decode(params)
    except msgspec.DecodeError as error:
        raise Fault(INVALID_PARAMS, f"invalid params: {error}. Correct that member and send it again.") from error


def method_not_found(method: str) -> Fault:
    """Returns the fault of a method that is unknown, or not in the caller's revision."""
    return Fault(METHOD_NOT_FOUND, f"method not found: {shown(method)}")


def internal_error() -> Fault:
    """Returns the fault of a defect of ours. The details are in the log."""
    return Fault(INTERNAL_ERROR, "internal error. The server's log has the details.", reason="internal_error")


def shown(text: str) -> str:
    """Returns a client's text for use in messages: shortened and quoted."""
    return repr(text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "…")


def encode_result(id_: RequestId, result: object) -> bytes:
    """Returns the frame of a successful response. `result` is a Struct or Raw that encodes to an object."""
    return _ENCODER.encode(_ResultFrame(_VERSION, id_, result))


def encode_fault(id_: RequestId | None, fault: Fault) -> bytes:
    """Returns the frame of an error response, without `id` if that is None."""
    shown_id = UNSET if id_ is None else id_
    return _ENCODER.encode(_ErrorFrame(_VERSION, shown_id, _ErrorObject(fault.code, fault.message, fault.data)))


def encode_notification(method: str, params: object) -> bytes:
    """Returns the frame of a notification of ours."""
    return _ENCODER.encode(_CallFrame(method=method, params=params))


def encode_request(id_: RequestId, method: str, params: object = UNSET) -> bytes:
    """Returns the frame of a request of ours."""
    return _ENCODER.encode(_CallFrame(id=id_, method=method, params=params))


def _message(envelope: _Envelope) -> Message:
    id_ = envelope.id
    if id_ is not UNSET and not _is_usable(id_):
        return Malformed(Fault(INVALID_REQUEST, "the id is too long. Use short strings or integers."))
    known_id = None if id_ is UNSET else id_
    if envelope.jsonrpc != _VERSION:
        is_response = envelope.method is UNSET and (envelope.result is not UNSET or envelope.error is not UNSET)
        return Malformed(Fault(INVALID_REQUEST, 'jsonrpc must be "2.0".'), known_id, not is_response)
    if envelope.method is UNSET:
        return _response(envelope, known_id)
    if envelope.result is not UNSET or envelope.error is not UNSET:
        return Malformed(Fault(INVALID_REQUEST, "a message with a method has neither result nor error."), known_id)
    params = EMPTY_OBJECT
    if envelope.params is not UNSET and bytes(envelope.params) != b"null":
        params = envelope.params
        if not bytes(params).startswith(b"{"):
            if known_id is None:
                return Malformed(Fault(INVALID_PARAMS, "params must be an object."), None, is_answerable=False)
            return Malformed(Fault(INVALID_PARAMS, "params must be an object."), known_id)
    return Notification(envelope.method, params) if known_id is None else RpcRequest(known_id, envelope.method, params)


def _response(envelope: _Envelope, known_id: RequestId | None) -> Message:
    has_result, has_error = envelope.result is not UNSET, envelope.error is not UNSET
    if not has_result and not has_error:
        return Malformed(Fault(INVALID_REQUEST, "a request needs a method."), known_id)
    fault = Fault(INVALID_REQUEST, "a response needs an id and one of result and error.")
    if known_id is None or has_result == has_error:
        return Malformed(fault, None, is_answerable=False)
    result = None if envelope.result is UNSET else envelope.result
    error = None if envelope.error is UNSET else envelope.error
    return Response(known_id, result, error)


def _not_a_message(frame: bytes, error: msgspec.ValidationError) -> Malformed:
    """Returns the fault of JSON that is not a message, with the id of the request if that can be read."""
    head = frame.lstrip()[:1]
    if head == b"[":
        return Malformed(Fault(INVALID_REQUEST, "batches are not supported. Send one message at a time."))
    if head != b"{":
        return Malformed(Fault(INVALID_REQUEST, "a message is a JSON object."))
    fault = Fault(INVALID_REQUEST, f"not a JSON-RPC message: {error}.")
    try:
        members = _ANY_IDS.decode(frame)
    except msgspec.DecodeError:
        return Malformed(fault)
    if members.method is UNSET and (members.result is not UNSET or members.error is not UNSET):
        # A response, perhaps to say that the client could not read ours: answering errors with errors would never end.
        return Malformed(fault, None, is_answerable=False)
    try:
        id_ = None if members.id is UNSET else _IDS.decode(members.id)
    except msgspec.DecodeError:
        return Malformed(fault)
    return Malformed(fault, id_ if id_ is not None and _is_usable(id_) else None)


def _is_usable(id_: RequestId) -> bool:
    if isinstance(id_, str):
        return len(id_) <= MAX_ID_LENGTH
    return -_ID_BOUND < id_ < _ID_BOUND

"""The era of a request and what it says about its client, decided for each message separately.

    `_meta` names a revision, or the HTTP header names one that is not of the handshake era   -> modern
    anything else                                                                              -> handshake

What a session agreed on with `initialize` applies only to requests of the handshake era.
"""

import base64
import binascii
from typing import Final, TypeVar

import msgspec
from msgspec import UNSET, Struct, field

from codecompass.tracing import TraceSender, trace_sender
from codecompass.transport.mcp.jsonrpc import Fault, RpcRequest, decode_params, shown
from codecompass.transport.mcp.protocol import (
    ASSUMED_REVISION,
    HANDSHAKE_REVISIONS,
    HEADER_MISMATCH,
    INVALID_PARAMS,
    MAX_ID_LENGTH,
    META_CAPABILITIES,
    META_CLIENT,
    META_PROGRESS_TOKEN,
    META_REVISION,
    META_TRACEPARENT,
    META_TRACESTATE,
    MISSING_CAPABILITY,
    MODERN_ONLY_METHODS,
    MODERN_REVISION,
    PROMPTS_GET,
    RESOURCES_READ,
    STRUCTURED_REVISION,
    TASKS_CANCEL,
    TASKS_GET,
    TASKS_UPDATE,
    TOOLS_CALL,
    UNSUPPORTED_REVISION,
)
from codecompass.transport.mcp.wire import ClientCapabilities, Implementation, ProgressToken

_NAMED_BY: Final = {
    TOOLS_CALL: "name",
    PROMPTS_GET: "name",
    RESOURCES_READ: "uri",
    TASKS_GET: "taskId",
    TASKS_UPDATE: "taskId",
    TASKS_CANCEL: "taskId",
}
"""The member of the params that the header `Mcp-Name` repeats. 2026-07-28 basic/transports/streamable-http."""

ConvertedT = TypeVar("ConvertedT")

_BASE64_PREFIX: Final = "=?base64?"
_BASE64_SUFFIX: Final = "?="


class HttpHeaders(Struct, frozen=True, kw_only=True):
    """The headers of a POST to `/mcp` that repeat parts of the body, undecoded; None if missing."""

    revision: str | None = None
    method: str | None = None
    name: str | None = None


class Agreement(Struct, frozen=True, kw_only=True):
    """What `initialize` agreed on for a session."""

    revision: str = ASSUMED_REVISION
    capabilities: ClientCapabilities = ClientCapabilities()
    client: Implementation = Implementation()
    is_initialized: bool = False


class RequestEnvelope(Struct, frozen=True, kw_only=True):
    """What a request carries besides its method and parameters."""

    is_modern: bool
    revision: str
    capabilities: ClientCapabilities
    client: Implementation
    progress_token: ProgressToken | None = None
    trace: TraceSender | None = None
    """What the client says about its own trace."""

    @property
    def knows_structured(self) -> bool:
        """Whether the revision has structured results, output schemas and titles."""
        return self.revision >= STRUCTURED_REVISION


class _Meta(Struct, frozen=True):
    revision: object = field(name=META_REVISION, default=UNSET)
    capabilities: object = field(name=META_CAPABILITIES, default=UNSET)
    client: object = field(name=META_CLIENT, default=UNSET)
    progress_token: object = field(name=META_PROGRESS_TOKEN, default=UNSET)
    traceparent: object = field(name=META_TRACEPARENT, default=UNSET)
    tracestate: object = field(name=META_TRACESTATE, default=UNSET)


class _Params(Struct, frozen=True):
    meta: _Meta = field(name="_meta", default=_Meta())
    name: object = UNSET
    uri: object = UNSET
    taskId: object = UNSET  # noqa: N815, RUF100 - as on the wire, looked up by that name


_PARAMS: Final = msgspec.json.Decoder(_Params)


def open_envelope(request: RpcRequest, agreement: Agreement, headers: HttpHeaders | None = None) -> RequestEnvelope:
    """Returns the envelope of a request. `headers` are None except for POSTs to `/mcp`.

    Raises Fault for the first of: missing `_meta`, a header that differs from it, an unsupported revision.
    """
    params = decode_params(_PARAMS, request.params)
    meta = params.meta
    header = None if headers is None else headers.revision
    is_modern = header not in HANDSHAKE_REVISIONS if header is not None else meta.revision is not UNSET
    if not is_modern:
        if request.method in MODERN_ONLY_METHODS:
            raise _missing_meta(META_REVISION)
        return RequestEnvelope(
            is_modern=False,
            revision=header if header is not None and not agreement.is_initialized else agreement.revision,
            capabilities=agreement.capabilities,
            client=agreement.client,
            progress_token=_progress_token(meta.progress_token),
            trace=trace_sender(meta.traceparent, meta.tracestate),
        )
    if not isinstance(meta.revision, str):
        if header is not None and header != MODERN_REVISION:
            # Nothing says which era the client means: what it lacks is not `_meta`, but a revision that is known here.
            raise _unsupported(header)
        raise _missing_meta(META_REVISION)
    if not isinstance(meta.capabilities, dict):
        raise _missing_meta(META_CAPABILITIES)
    if headers is not None:
        _check_headers(headers, request.method, meta.revision, params)
    if meta.revision != MODERN_REVISION:
        raise _unsupported(meta.revision)
    return RequestEnvelope(
        is_modern=True,
        revision=MODERN_REVISION,
        capabilities=_converted(meta.capabilities, ClientCapabilities, META_CAPABILITIES),
        client=Implementation() if meta.client is UNSET else _converted(meta.client, Implementation, META_CLIENT),
        progress_token=_progress_token(meta.progress_token),
        trace=trace_sender(meta.traceparent, meta.tracestate),
    )


def missing_capability(required: dict[str, object]) -> Fault:
    """Returns the fault of a request that needs a capability which the request does not declare."""
    names = ", ".join(sorted(required))
    return Fault(
        MISSING_CAPABILITY,
        f"missing required client capability: {names}. Declare it in _meta of the request.",
        requiredCapabilities=required,
    )


def decoded_header(value: str) -> str:
    """Returns the text of a header, which may be encoded as `=?base64?...?=`. Raises Fault if that is invalid."""
    if not (value.startswith(_BASE64_PREFIX) and value.endswith(_BASE64_SUFFIX)):
        return value
    try:
        return base64.b64decode(value[len(_BASE64_PREFIX) : -len(_BASE64_SUFFIX)], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise Fault(HEADER_MISMATCH, "a header is not valid base64 of UTF-8.") from error


def _check_headers(headers: HttpHeaders, method: str, revision: str, params: _Params) -> None:
    if headers.revision != revision:
        raise _mismatch("MCP-Protocol-Version", META_REVISION)
    if headers.method != method:
        raise _mismatch("Mcp-Method", "method")
    member = _NAMED_BY.get(method)
    if member is None:
        return
    value = getattr(params, member)
    if headers.name is None or (isinstance(value, str) and decoded_header(headers.name) != value):
        raise _mismatch("Mcp-Name", f"params.{member}")


def _mismatch(header: str, member: str) -> Fault:
    return Fault(HEADER_MISMATCH, f"the header {header} is missing or differs from {member} of the body. Send both alike.")


def _missing_meta(key: str) -> Fault:
    return Fault(INVALID_PARAMS, f"params._meta needs {key!r} in revision {MODERN_REVISION}.", field=key)


def _unsupported(revision: str) -> Fault:
    return Fault(
        UNSUPPORTED_REVISION,
        f"unsupported protocol version {shown(revision)}. Use {MODERN_REVISION}, or open with initialize.",
        supported=[MODERN_REVISION],
        requested=revision,
    )


def _progress_token(value: object) -> ProgressToken | None:
    if value is UNSET or value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise Fault(INVALID_PARAMS, "_meta.progressToken must be a string or an integer.", field=META_PROGRESS_TOKEN)
    if isinstance(value, str) and len(value) > MAX_ID_LENGTH:
        raise Fault(
            INVALID_PARAMS,
            f"_meta.progressToken has {len(value):,} characters, at most {MAX_ID_LENGTH:,}. Use a short one.",
            field=META_PROGRESS_TOKEN,
        )
    return value


def _converted(value: object, type_: type[ConvertedT], key: str) -> ConvertedT:
    try:
        return msgspec.convert(value, type_)
    except msgspec.ValidationError as error:
        raise Fault(INVALID_PARAMS, f"params._meta has an invalid {key!r}: {error}.", field=key) from error

"""One HTTP request as handlers see it: method, path, headers, `?project_path=`, a body of bounded size, and methods to answer it
once; and the refusals of requests by the HTTP layer, as JSON-RPC errors.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import parse_qs

import trio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope, WebsocketScope

from codecompass.nurseries import open_nursery
from codecompass.projects.caller import Identity
from codecompass.tracing import TraceSender, trace_sender
from codecompass.transport.http.limits import HEADER_LENGTHS, PARAMETER_LENGTHS, HttpLimits
from codecompass.transport.mcp.jsonrpc import Fault, encode_fault
from codecompass.transport.mcp.protocol import INVALID_REQUEST, META_TRACEPARENT, META_TRACESTATE, SESSION_BUSY

JSON_TYPE: Final = "application/json"
EVENT_STREAM_TYPE: Final = "text/event-stream"

OK: Final = 200
ACCEPTED: Final = 202
NO_CONTENT: Final = 204
SEE_OTHER: Final = 303
BAD_REQUEST: Final = 400
UNAUTHORIZED: Final = 401
FORBIDDEN: Final = 403
NOT_FOUND: Final = 404
METHOD_NOT_ALLOWED: Final = 405
REQUEST_TIMEOUT: Final = 408
TOO_LARGE: Final = 413
UNSUPPORTED_TYPE: Final = 415
MISDIRECTED: Final = 421
SERVER_ERROR: Final = 500
UPGRADE_REQUIRED: Final = 426
TOO_MANY: Final = 429
HEADER_TOO_LARGE: Final = 431
UNAVAILABLE: Final = 503

Header = tuple[str, str]

BROKEN_RESPONSE: Final = "a response needs an id and one of result and error."
"""The answer to malformed responses, which other transports do not answer: HTTP answers everything."""

MAX_PARAMETERS: Final = 100
"""Maximum number of parameters in a query string."""


class HttpRefusal(Exception):
    """A request that the HTTP layer refuses with a status other than 200."""

    def __init__(
        self, status: int, message: str, *, headers: Sequence[Header] = (), is_retryable: bool = False, reason: str = ""
    ) -> None:
        """`reason` is the error code in words; its default depends on `is_retryable`."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = tuple(headers)
        self.is_retryable = is_retryable
        self.reason = reason or ("session_busy" if is_retryable else "invalid_input")


def refusal_body(refusal: HttpRefusal) -> bytes:
    """Returns the error response of a refusal."""
    code = SESSION_BUSY if refusal.is_retryable else INVALID_REQUEST
    more: dict[str, object] = {"is_retryable": True} if refusal.is_retryable else {}
    return encode_fault(None, Fault(code, refusal.message, reason=refusal.reason, **more))


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


class Heading:
    """The head of a request, or of a WebSocket's opening handshake. Names of headers are in lower case."""

    def __init__(self, scope: HTTPScope | WebsocketScope) -> None:
        self.path: Final = scope["path"]
        client = scope["client"]
        self.peer: Final = "" if client is None else client[0]
        """The address of the other end of the connection; empty if it is no longer known."""
        self.connection: Final = "" if client is None else f"{client[0]}:{client[1]}"
        """The same with its port, which no other connection has now."""
        self.identity: Identity | None = None
        """The identity of the sender; None before it is known, and on servers without identities."""
        self.query: Final = scope["query_string"].decode("ascii", "replace")
        """The query as it was sent, without its question mark."""
        self._query: Final = _parsed_query(scope["query_string"])
        self._headers: Final = _joined(scope["headers"])

    def header(self, name: str, bound: int | None = None) -> str | None:
        """Returns the value of a header; several of one name are joined with commas, as HTTP defines it.

        Raises HttpRefusal if it is longer than HEADER_LENGTHS allows, or than `bound` characters if given; KeyError for a header
        that is not in HEADER_LENGTHS, without `bound`.
        """
        value, bound = self._headers.get(name), HEADER_LENGTHS[name] if bound is None else bound
        if value is not None and len(value) > bound:
            raise HttpRefusal(
                HEADER_TOO_LARGE, f"the header {name} has {len(value):,} characters, at most {bound:,}. Send a shorter one."
            )
        return value

    @property
    def trace(self) -> TraceSender | None:
        """What the sender says about its own trace. A malformed one is ignored, as W3C Trace Context requires."""
        return trace_sender(self._headers.get(META_TRACEPARENT), self._headers.get(META_TRACESTATE))

    def parameter(self, name: str, bound: int | None = None) -> str | None:
        """Returns a parameter of the query. Raises HttpRefusal if it is given more than once, is longer than `bound`, which
        defaults to PARAMETER_LENGTHS, or the query is malformed."""
        values, bound = self._values(name), PARAMETER_LENGTHS[name] if bound is None else bound
        if any(len(value) > bound for value in values):
            raise HttpRefusal(BAD_REQUEST, f"?{name}= is longer than {bound:,} characters. Send a shorter one.")
        if len(values) > 1:
            raise HttpRefusal(BAD_REQUEST, f"?{name}= is given more than once. Give it once.")
        return values[0] if values else None

    def has_parameter(self, name: str) -> bool:
        """Returns whether the query has the parameter. Raises HttpRefusal if the query is malformed."""
        return bool(self._values(name))

    def _values(self, name: str) -> Sequence[str]:
        if self._query is None:
            raise HttpRefusal(
                BAD_REQUEST, f"the query cannot be read: at most {MAX_PARAMETERS} parameters, in ASCII, other bytes as %XX."
            )
        return self._query.get(name, ())

    @property
    def media_type(self) -> str | None:
        """The media type of the body without its parameters, in lower case; None if the client names none."""
        value = self.header("content-type")
        return None if value is None else value.partition(";")[0].strip().lower()

    def accepts(self, media_type: str) -> bool:
        """Returns whether the client accepts this media type; without an Accept header it accepts all."""
        value = self.header("accept")
        if value is None:
            return True
        ranges = {part.partition(";")[0].strip().lower() for part in value.split(",")}
        return bool(ranges & {media_type, "*/*", media_type.partition("/")[0] + "/*"})


class HttpRequest(Heading):
    """One request. `answer` or `refuse` is called once, or `begin_stream` and then `write` and `end_stream`.

    `common_headers` are part of every answer.
    """

    def __init__(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable, limits: HttpLimits) -> None:
        super().__init__(scope)
        self.method: Final = scope["method"]
        self._receive = receive
        self._send = send
        self._limits = limits
        self._is_read = False
        self._is_answered = False
        self.status: int | None = None
        self.common_headers: tuple[Header, ...] = ()

    async def body(self) -> bytes:
        """Returns the whole body. Raises HttpRefusal if it is too large or takes too long, ClientGone."""
        length = self.header("content-length")
        if length is not None and length.isdecimal() and int(length) > self._limits.body_bytes:
            raise self._too_large()
        if self.header("content-encoding") not in (None, "identity"):
            raise HttpRefusal(UNSUPPORTED_TYPE, "compressed bodies are not taken. Send it without Content-Encoding.")
        pieces: list[bytes] = []
        n_bytes = 0
        with trio.move_on_after(self._limits.body):
            while True:
                event = await self._receive()
                if event["type"] != "http.request":
                    raise ClientGone
                pieces.append(event["body"])
                n_bytes += len(event["body"])
                if n_bytes > self._limits.body_bytes:
                    raise self._too_large()
                if not event["more_body"]:
                    self._is_read = True
                    return b"".join(pieces)
        raise HttpRefusal(REQUEST_TIMEOUT, f"the body was not complete after {self._limits.body:.0f} s. Send it faster.")

    async def wait_gone(self) -> None:
        """Returns when the client has closed the connection. May only be called after the body has been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._is_answered:
            # This event was the end of the response, not of the connection; the client is still connected.
            await trio.sleep_forever()

    @asynccontextmanager
    async def cancelled_when_gone(self) -> AsyncIterator[trio.Nursery]:
        """Cancels the block, and the tasks in the nursery that it yields, when the client has closed the connection or the block
        ends. May only be used after the body has been read."""
        async with open_nursery() as nursery:

            async def watch() -> None:
                await self.wait_gone()
                nursery.cancel_scope.cancel()

            nursery.start_soon(watch)
            yield nursery
            nursery.cancel_scope.cancel()

    async def refuse(self, status: int, body: bytes, *, headers: Sequence[Header] = ()) -> None:
        """Answers without using the body, which is discarded first as long as that takes less than `linger` seconds.

        A client that is still sending would not read the answer, and the connection could not be reused.
        """
        with trio.move_on_after(self._limits.linger):
            await self._discard()
        close = () if self._is_read else (("connection", "close"),)
        await self.answer(status, body, headers=(*headers, *close))

    async def answer(
        self, status: int, body: bytes = b"", *, media_type: str | None = JSON_TYPE, headers: Sequence[Header] = ()
    ) -> None:
        """Sends a whole response."""
        typed = (("content-type", media_type),) if body and media_type else ()
        length = () if status == NO_CONTENT else (("content-length", str(len(body))),)
        await self._start(status, (*typed, *length, *headers))
        self._is_answered = True
        await self._send({"type": "http.response.body", "body": body, "more_body": False})

    async def begin_stream(self, headers: Sequence[Header] = ()) -> None:
        """Begins a stream of events that proxies neither store nor delay."""
        no_delay = (("cache-control", "no-cache, no-transform"), ("x-accel-buffering", "no"))
        await self._start(OK, (("content-type", EVENT_STREAM_TYPE), *no_delay, *headers))

    async def write(self, data: bytes) -> None:
        """Sends a piece of the stream; returns once it is passed to the operating system."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end_stream(self) -> None:
        """Ends the stream."""
        self._is_answered = True
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _discard(self) -> None:
        n_bytes = 0
        while not self._is_read and n_bytes <= self._limits.body_bytes:
            event = await self._receive()
            if event["type"] != "http.request":
                return
            n_bytes += len(event["body"])
            self._is_read = not event["more_body"]

    async def _start(self, status: int, headers: Sequence[Header]) -> None:
        self.status = status
        encoded = [(name.encode("ascii"), value.encode("latin-1")) for name, value in (*headers, *self.common_headers)]
        await self._send({"type": "http.response.start", "status": status, "headers": encoded})

    def _too_large(self) -> HttpRefusal:
        return HttpRefusal(TOO_LARGE, f"the message is larger than {self._limits.body_bytes} bytes. Send less.")


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


def _parsed_query(query: bytes) -> Mapping[str, list[str]] | None:
    try:
        return parse_qs(query.decode("ascii"), keep_blank_values=True, errors="surrogateescape", max_num_fields=MAX_PARAMETERS)
    except ValueError:
        return None


def _joined(headers: object) -> dict[str, str]:
    joined: dict[str, str] = {}
    for name, value in headers:  # type: ignore[attr-defined]
        key, text = name.decode("latin-1").lower(), value.decode("latin-1").strip()
        joined[key] = f"{joined[key]}, {text}" if key in joined else text
    return joined


Check = Callable[[str], Awaitable[None]]
"""Raises InvalidInput for a path that is answered with status 400."""


class ProjectPaths:
    """Reads the parameter `project_path`. `check` is the router's."""

    def __init__(self, check: Check) -> None:
        self._check = check

    async def checked(self, heading: Heading) -> str | None:
        """Returns the path that a request names; None if it names none. Raises InvalidInput, HttpRefusal."""
        path = heading.parameter("project_path")
        if path is not None:
            await self._check(path)
        return path

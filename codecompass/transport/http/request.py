"""One HTTP request as handlers see it: method, path, headers, `?project_path=`, a body of bounded size, and the way to answer
it once.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Final
from urllib.parse import parse_qs

import trio
from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope, WebsocketScope

from codecompass.projects.caller import Identity
from codecompass.transport.http.limits import HEADER_LENGTHS, PARAMETER_LENGTHS, HttpLimits

JSON_TYPE: Final = "application/json"
EVENT_STREAM_TYPE: Final = "text/event-stream"

OK: Final = 200
ACCEPTED: Final = 202
NO_CONTENT: Final = 204
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
HEADER_TOO_LARGE: Final = 431
UNAVAILABLE: Final = 503

Header = tuple[str, str]

MAX_PARAMETERS: Final = 100
"""Of a query string."""


class HttpRefusal(Exception):
    """A request that is answered with a status other than 200, for a reason that has nothing to do with what it asks."""

    def __init__(
        self, status: int, message: str, *, headers: Sequence[Header] = (), is_retryable: bool = False, reason: str = ""
    ) -> None:
        """`reason` is the code in words; without one it follows from `is_retryable`."""
        super().__init__(message)
        self.status = status
        self.message = message
        self.headers = tuple(headers)
        self.is_retryable = is_retryable
        self.reason = reason or ("session_busy" if is_retryable else "invalid_input")


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


class Heading:
    """What stands before the body of a request, of a WebSocket's opening one too. Names of headers are in lower case."""

    def __init__(self, scope: HTTPScope | WebsocketScope) -> None:
        self.path: Final = scope["path"]
        client = scope["client"]
        self.peer: Final = "" if client is None else client[0]
        """The address of the other end of the connection; empty where it is not known any more."""
        self.identity: Identity | None = None
        """Who asks, once that has been found out; None where nobody is asked."""
        self._query: Final = _parsed_query(scope["query_string"])
        self._headers: Final = _joined(scope["headers"])

    def header(self, name: str, bound: int | None = None) -> str | None:
        """Returns the value; several of one name are joined with commas, as HTTP has it.

        Raises HttpRefusal for one that is longer than HEADER_LENGTHS allows, or than `bound` characters where that is given;
        KeyError without `bound` for one that is not in there.
        """
        value, bound = self._headers.get(name), HEADER_LENGTHS[name] if bound is None else bound
        if value is not None and len(value) > bound:
            raise HttpRefusal(
                HEADER_TOO_LARGE, f"the header {name} has {len(value):,} characters, at most {bound:,}. Send a shorter one."
            )
        return value

    def parameter(self, name: str, bound: int | None = None) -> str | None:
        """Returns a parameter of the query, of `bound` characters at most where it is not in PARAMETER_LENGTHS. Raises
        HttpRefusal where it is there more than once, or is too long, and for a query that cannot be read."""
        values, bound = self._values(name), PARAMETER_LENGTHS[name] if bound is None else bound
        if any(len(value) > bound for value in values):
            raise HttpRefusal(BAD_REQUEST, f"?{name}= is longer than {bound:,} characters. Send a shorter one.")
        if len(values) > 1:
            raise HttpRefusal(BAD_REQUEST, f"?{name}= is given more than once. Give it once.")
        return values[0] if values else None

    def has_parameter(self, name: str) -> bool:
        """Whether the query has the parameter. Raises HttpRefusal for one that cannot be read."""
        return bool(self._values(name))

    def _values(self, name: str) -> Sequence[str]:
        if self._query is None:
            raise HttpRefusal(
                BAD_REQUEST, f"the query cannot be read: at most {MAX_PARAMETERS} parameters, in ASCII, other bytes as %XX."
            )
        return self._query.get(name, ())

    @property
    def media_type(self) -> str | None:
        """The media type of the body without its parameters, in lower case."""
        value = self.header("content-type")
        return None if value is None else value.partition(";")[0].strip().lower()

    def accepts(self, media_type: str) -> bool:
        """Whether the client takes this media type; one that says nothing takes everything."""
        value = self.header("accept")
        if value is None:
            return True
        ranges = {part.partition(";")[0].strip().lower() for part in value.split(",")}
        return bool(ranges & {media_type, "*/*", media_type.partition("/")[0] + "/*"})


class HttpRequest(Heading):
    """One request. `answer` or `refuse` is called once, or `begin_stream` and then `write` and `end_stream`.

    `common_headers` are in the answer, whatever it is.
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
        """Returns the whole body. Raises HttpRefusal where it is too large or takes too long, ClientGone."""
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
        """Returns when the client has closed the connection. To be called once the body has been read."""
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._is_answered:
            # The end of the response looks like the end of the connection; the client is still there.
            await trio.sleep_forever()

    async def refuse(self, status: int, body: bytes, *, headers: Sequence[Header] = ()) -> None:
        """Answers without having looked at the body, which is read to its end first, if that is near.

        A client that still sends would not read the answer, and the connection could not be used again.
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
        """Begins a stream of events that is neither stored nor held back on its way."""
        no_delay = (("cache-control", "no-cache, no-transform"), ("x-accel-buffering", "no"))
        await self._start(OK, (("content-type", EVENT_STREAM_TYPE), *no_delay, *headers))

    async def write(self, data: bytes) -> None:
        """Sends a piece of the stream; returns when it is the system's."""
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    async def end_stream(self) -> None:
        """Ends the stream in order."""
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
    """Reads the parameter. `check` is the router's."""

    def __init__(self, check: Check) -> None:
        self._check = check

    async def checked(self, heading: Heading) -> str | None:
        """Returns the path that a request names, None where it names none. Raises InvalidInput, HttpRefusal."""
        path = heading.parameter("project_path")
        if path is not None:
            await self._check(path)
        return path

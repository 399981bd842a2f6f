"""The ASGI application: checks every HTTP request, routes it, and answers it whatever happens.

    Host, Origin -> path -> capacity -> identity -> the route's handler      404 | 405 | 403 | 421 | 503 | 401 | the handler's own

The opening handshake of a WebSocket takes the same way.
"""

from collections.abc import Awaitable, Callable, Collection, Mapping
from typing import Final

from hypercorn.typing import ASGIReceiveCallable, ASGISendCallable, HTTPScope, Scope, WebsocketScope

from codecompass.errors import InvalidInput
from codecompass.log import get_logger
from codecompass.projects.caller import Identity
from codecompass.transport.call_records import Measures
from codecompass.transport.http.guards import Guard, allowance, answer_preflight, is_preflight
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.request import (
    BAD_REQUEST,
    FORBIDDEN,
    MISDIRECTED,
    NOT_FOUND,
    SERVER_ERROR,
    UNAVAILABLE,
    UPGRADE_REQUIRED,
    ClientGone,
    Heading,
    HttpRefusal,
    HttpRequest,
    refusal_body,
    require_method,
)
from codecompass.transport.http.websocket import WebSocketEndpoint, reject
from codecompass.transport.mcp.jsonrpc import encode_fault, internal_error

WEBSOCKET_PATH: Final = "/ws"

Handler = Callable[[HttpRequest], Awaitable[None]]

Identify = Callable[[Heading], Awaitable[Identity]]
"""Returns the identity of the sender. Raises HttpRefusal if it may not send requests."""

_OTHER: Final = "other"


class HttpApp:
    """The ASGI application of a server. `routes` are exact paths; `areas` serve everything at or below theirs, and get no CORS
    headers. Without `websockets` there are none. The number of concurrent POSTs is bounded.

    With `identify`, every request is identified before it is handled, except those to `open_routes`, which may be areas.
    """

    def __init__(
        self,
        *,
        guard: Guard,
        limits: HttpLimits,
        routes: Mapping[str, Handler],
        measures: Measures,
        websockets: WebSocketEndpoint | None = None,
        areas: Mapping[str, Handler] | None = None,
        identify: Identify | None = None,
        open_routes: Collection[str] = (),
    ) -> None:
        self._identify = identify
        self._open_routes = frozenset(open_routes)
        self._guard = guard
        self._limits = limits
        self._routes = dict(routes) if websockets is None else {**routes, WEBSOCKET_PATH: _require_upgrade}
        self._areas = areas or {}
        self._websockets = websockets
        self._measures = measures
        self._log = get_logger(__name__)
        self.n_requests = 0

    async def __call__(
        self,
        scope: Scope,
        receive: ASGIReceiveCallable,
        send: ASGISendCallable,
        sync_spawn: object = None,
        call_soon: object = None,
    ) -> None:
        """Handles one request, or one WebSocket until it is closed."""
        match scope["type"]:
            case "http":
                await self._http(scope, receive, send)
            case "websocket":
                await self._websocket(scope, receive, send)

    async def _http(self, scope: HTTPScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        request = HttpRequest(scope, receive, send, self._limits)
        is_counted = request.method == "POST"
        self.n_requests += is_counted
        try:
            self._check(request)
            origin = request.header("origin")
            if origin is not None and self._guard.names(origin) and self._area(request.path) is None:
                request.common_headers = allowance(origin)
            handler = self._handler(request)
            place = self._area(request.path) or request.path
            if self._identify is not None and handler is not answer_preflight and place not in self._open_routes:
                request.identity = await self._identify(request)
            await handler(request)
        except HttpRefusal as refusal:
            await request.refuse(refusal.status, refusal_body(refusal), headers=refusal.headers)
        except InvalidInput as error:
            await request.refuse(BAD_REQUEST, refusal_body(HttpRefusal(BAD_REQUEST, error.message)))
        except ClientGone:
            pass
        except Exception:  # noqa: BLE001 (the boundary of a request: a defect of ours costs one of them)
            self._log.exception("http_request_failed", path=request.path, method=request.method)
            if request.status is None:
                await request.refuse(SERVER_ERROR, encode_fault(None, internal_error()))
        finally:
            self.n_requests -= is_counted
            if request.status is not None:
                route = request.path if request.path in self._routes else self._area(request.path) or _OTHER
                self._measures.count_response(route, request.status)

    async def _websocket(self, scope: WebsocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        heading = Heading(scope)
        status = 101
        try:
            self._check(heading)
            websockets = self._websockets_at(heading.path)
            if self._identify is not None:
                heading.identity = await self._identify(heading)
            await websockets.handle(heading, scope, receive, send)
        except HttpRefusal as refusal:
            status = refusal.status
            await reject(send, status, refusal_body(refusal), refusal.headers)
        except InvalidInput as error:
            status = BAD_REQUEST
            await reject(send, status, refusal_body(HttpRefusal(status, error.message)))
        finally:
            self._measures.count_response(WEBSOCKET_PATH, status)

    def _websockets_at(self, path: str) -> WebSocketEndpoint:
        if self._websockets is None or path != WEBSOCKET_PATH:
            raise HttpRefusal(NOT_FOUND, "there is no WebSocket at this path. Use /ws.")
        return self._websockets

    def _handler(self, request: HttpRequest) -> Handler:
        handler = self._routes.get(request.path) or self._areas.get(self._area(request.path) or "")
        if handler is None:
            raise HttpRefusal(NOT_FOUND, "there is nothing at this path. Use POST / or /mcp, GET /health or /ui, or /ws.")
        if request.common_headers and is_preflight(request, request.method):
            return answer_preflight
        if request.method == "POST" and self.n_requests > self._limits.requests:
            raise HttpRefusal(
                UNAVAILABLE,
                "too many requests are under way. Wait, then call again.",
                headers=(("retry-after", "1"),),
                is_retryable=True,
            )
        return handler

    def _area(self, path: str) -> str | None:
        """Returns the area that contains a path; None if it is in none."""
        return next((area for area in self._areas if path == area or path.startswith(f"{area}/")), None)

    def _check(self, heading: Heading) -> None:
        match self._guard.check(heading.header("host"), heading.header("origin")):
            case "host":
                raise HttpRefusal(MISDIRECTED, "this Host is not served here. Allow it with --allowed-host.")
            case "origin":
                raise HttpRefusal(FORBIDDEN, "this Origin may not connect. Allow it with --allowed-origin.")


async def _require_upgrade(request: HttpRequest) -> None:
    require_method(request, "GET")
    raise HttpRefusal(UPGRADE_REQUIRED, "this is a WebSocket. Open it with an Upgrade.", headers=(("upgrade", "websocket"),))

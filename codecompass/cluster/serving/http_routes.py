"""An organisation's server over HTTP: the routes of every server, with authentication, and those of its own.

POST /, POST /mcp, /ws      questions, with a token or through a trusted proxy
GET /metrics                with the same authentication
GET /health, GET /ready     open; they reveal nothing about repositories
POST /webhook               open; the signature of the message is verified
POST /login, /login/token   open; a person signs in at the identity provider for a token (`access/sign_in.py`)
/ui                         the page, if access.page_url is set, with its own ways to sign in (`page/door.py`)
"""

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

import msgspec
import trio
from msgspec import Struct

from codecompass.cluster.access.sign_in import ProviderUnavailable, SignIn, SignInRefused
from codecompass.cluster.engine.calls import EngineCalls
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.cluster.page.door import OrganisationPage
from codecompass.cluster.page.own_requests import PageAddress
from codecompass.cluster.serving.health import gauges, health
from codecompass.cluster.serving.server import LibraryServer
from codecompass.cluster.serving.webhook import SIGNATURE_HEADERS, is_genuine
from codecompass.errors import InvalidInput
from codecompass.log import get_logger
from codecompass.memory import resident_bytes
from codecompass.nurseries import open_nursery
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import bare_metadata
from codecompass.remote.address import is_loopback
from codecompass.settings import ServerSettings
from codecompass.transport.health import Moment
from codecompass.transport.http.app import Handler
from codecompass.transport.http.exposition import MEDIA_TYPE
from codecompass.transport.http.guards import guard
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.metrics import Load, Supervision, render, trace_metrics
from codecompass.transport.http.metrics_port import METRICS, serve_metrics
from codecompass.transport.http.request import (
    ACCEPTED,
    FORBIDDEN,
    NOT_FOUND,
    OK,
    UNAVAILABLE,
    HttpRefusal,
    HttpRequest,
    require_method,
)
from codecompass.transport.http.service import HttpTransport
from codecompass.transport.ui.access_checks import PAGE_PATH
from codecompass.units import SECONDS

HEALTH: Final = "/health"
READY: Final = "/ready"
WEBHOOK: Final = "/webhook"
LOGIN: Final = "/login"
LOGIN_TOKEN: Final = "/login/token"

SIGN_INS: Final = 4
"""Requests to the identity provider at a time. They need no token, so they must not take threads from questions."""

SIGN_IN_SECONDS: Final = 30 * SECONDS
"""Deadline of one. It asks the provider twice, each time with a shorter deadline, and the engine once."""


class _DeviceCode(Struct):
    device_code: str


_device_code: Final = msgspec.json.Decoder(_DeviceCode)
_encode: Final = msgspec.json.Encoder().encode

MAX_SIGNATURE_LENGTH: Final = 1_000

T = TypeVar("T")


async def serve_library(
    server: LibraryServer,
    sockets: Sequence[socket.socket],
    *,
    metrics_sockets: Sequence[socket.socket] = (),
    limits: HttpLimits | None = None,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serves on listening sockets until `server.core.stop` is called and open requests had a bounded time to end. Closes the
    sockets. `metrics_sockets` answer for the metrics alone, without identifying anybody."""
    addresses = tuple(str(each.getsockname()[0]) for each in sockets)
    own = _OwnPages(server, lambda: transport.load())
    transport = _transport(server, own, addresses, limits)
    get_logger(__name__).info("http_listening", addresses=addresses, port=sockets[0].getsockname()[1])
    async with open_nursery() as nursery:
        if metrics_sockets:
            await nursery.start(partial(serve_metrics, metrics_sockets, own.metrics, server.core.stopping.wait))
        await transport.serve(sockets, task_status=task_status)


def _transport(server: LibraryServer, own: "_OwnPages", addresses: tuple[str, ...], limits: HttpLimits | None) -> HttpTransport:
    settings, page, login = server.launch.settings.server, server.page_address, sign_in_pages(server.sign_in)
    areas = {} if page is None else {PAGE_PATH: OrganisationPage(server, page, server.page_workers).handle}
    return HttpTransport(
        server.core,
        guard=guard(
            bound=addresses,
            hosts=_hosts(settings, page, addresses),
            origins=settings.allowed_origins if page is None else (*settings.allowed_origins, page.origin),
        ),
        check_project_path=_any_path,
        limits=limits,
        measures=server.measures,
        pages={HEALTH: own.health, READY: own.ready, METRICS: own.metrics_page, WEBHOOK: own.webhook, **login},
        areas=areas,
        identify=server.authenticator.identify,
        # The page identifies people itself.
        open_routes=(HEALTH, READY, WEBHOOK, *login, *areas),
        keeps_sessions=False,
    )


class _OwnPages:
    """What a server answers besides questions and signing in."""

    def __init__(self, server: LibraryServer, load: Callable[[], Load]) -> None:
        """`load` returns what the transport is at, for the metrics."""
        self._server = server
        self._load = load

    async def health(self, request: HttpRequest) -> None:
        require_method(request, "GET")
        await request.answer(OK, self._state())

    async def ready(self, request: HttpRequest) -> None:
        require_method(request, "GET")
        await request.answer(OK if self._server.monitor.is_ready else UNAVAILABLE, self._state())

    async def metrics_page(self, request: HttpRequest) -> None:
        require_method(request, "GET")
        await request.answer(OK, self.metrics(), media_type=MEDIA_TYPE)

    async def webhook(self, request: HttpRequest) -> None:
        require_method(request, "POST")
        body = await request.body()
        headers = {name: value for name in SIGNATURE_HEADERS if (value := request.header(name, MAX_SIGNATURE_LENGTH)) is not None}
        if not is_genuine(self._server.launch.webhook_secret, body, headers):
            raise HttpRefusal(FORBIDDEN, "this message is not signed with the secret of this server. Correct it in the webhook.")
        try:
            await self._server.note_message(body)
        except EngineUnavailable as error:
            # Git servers retry.
            raise HttpRefusal(UNAVAILABLE, error.message, is_retryable=True, reason=error.code) from error
        # The same answer whether or not the repository is known here.
        await request.answer(ACCEPTED)

    def metrics(self) -> bytes:
        """Returns the page of metrics."""
        server = self._server
        return render(
            server.measures,
            Moment(
                uptime_seconds=time.monotonic() - server.started_at,
                prewarm_status="skipped",
                prewarm_enabled=False,
                warmset_capacity=0,
            ),
            load=self._load(),
            supervision=Supervision(),
            memory_bytes=resident_bytes(),
            cpu_seconds=time.process_time(),
            more=(
                *gauges(server.monitor),
                *server.viewer_limits.metrics(),
                *server.segment_metrics(),
                *trace_metrics(server.launch.traces),
            ),
        )

    def _state(self) -> bytes:
        return encode(health(self._server.monitor, self._server.started_at, bare_metadata()))


def sign_in_pages(by: SignIn | None) -> Mapping[str, Handler]:
    """Returns the handlers by path; with None they say that nobody signs in here."""
    calls = EngineCalls(SIGN_INS)

    async def signed_in(work: Callable[[SignIn], T]) -> T:
        if by is None:
            raise HttpRefusal(NOT_FOUND, "people do not sign in here. Whoever runs this server issues tokens.")
        try:
            return await calls.run(lambda: work(by), SIGN_IN_SECONDS)
        except SignInRefused as error:
            raise HttpRefusal(FORBIDDEN, error.message, reason=error.code) from error
        except (ProviderUnavailable, EngineUnavailable) as error:
            raise HttpRefusal(UNAVAILABLE, error.message, is_retryable=True, reason=error.code) from error

    async def login(request: HttpRequest) -> None:
        require_method(request, "POST")
        await request.body()
        await request.answer(OK, _encode(await signed_in(lambda by: by.begin())))

    async def login_token(request: HttpRequest) -> None:
        require_method(request, "POST")
        body = await request.body()
        try:
            code = _device_code.decode(body).device_code
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InvalidInput('send {"device_code": "..."} with what POST /login has answered.') from error
        await request.answer(OK, _encode(await signed_in(lambda by: by.finish(code))))

    return {LOGIN: login, LOGIN_TOKEN: login_token}


async def _any_path(path: str) -> None:
    """Accepts any `?project_path=`: it is resolved with each question, among the repositories that its viewer may see."""


def _hosts(settings: ServerSettings, page: PageAddress | None, addresses: Sequence[str]) -> tuple[str, ...]:
    """Returns the names that are served: those of the settings, and that of the page unless any name is served."""
    is_any = not settings.allowed_hosts and not all(is_loopback(each) for each in addresses)
    return settings.allowed_hosts if page is None or is_any else (*settings.allowed_hosts, page.host)

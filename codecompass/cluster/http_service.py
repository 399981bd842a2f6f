"""A server over an organisation's code, on HTTP: the routes of every server, behind the question who asks.

POST /, POST /mcp, /ws      questions, with a token or through a trusted proxy
GET /metrics                the same
GET /health, GET /ready     open; no word of repositories
POST /webhook               open; it checks its own signature
"""

import socket
import time
from collections.abc import Sequence
from typing import Final

import trio

from codecompass.cluster import library_health
from codecompass.cluster.engine import EngineUnavailable
from codecompass.cluster.server import LibraryServer
from codecompass.cluster.webhook import SIGNATURE_HEADERS, is_genuine, pushed_urls
from codecompass.log import get_logger
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import bare_metadata
from codecompass.transport.health import Moment
from codecompass.transport.http.guards import guard
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.metrics import MEDIA_TYPE, Supervision, render
from codecompass.transport.http.request import ACCEPTED, FORBIDDEN, OK, UNAVAILABLE, HttpRefusal, HttpRequest, require_method
from codecompass.transport.http.service import HttpTransport
from codecompass.transport.server import resident_bytes

HEALTH: Final = "/health"
READY: Final = "/ready"
METRICS: Final = "/metrics"
WEBHOOK: Final = "/webhook"

MAX_SIGNATURE_LENGTH: Final = 1_000


async def serve_library(
    server: LibraryServer,
    sockets: Sequence[socket.socket],
    *,
    limits: HttpLimits | None = None,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serves on listening sockets until `server.core.stop` is called, and a bounded time longer. Closes the sockets."""
    settings = server.launch.settings.server
    addresses = tuple(str(each.getsockname()[0]) for each in sockets)

    def state() -> bytes:
        return encode(library_health.health(server.watch, server.started_at, bare_metadata()))

    async def health_page(request: HttpRequest) -> None:
        require_method(request, "GET")
        await request.answer(OK, state())

    async def ready_page(request: HttpRequest) -> None:
        require_method(request, "GET")
        await request.answer(OK if server.watch.is_ready else UNAVAILABLE, state())

    async def metrics_page(request: HttpRequest) -> None:
        require_method(request, "GET")
        body = render(
            server.measures,
            Moment(
                uptime_seconds=time.monotonic() - server.started_at,
                prewarm_status="skipped",
                prewarm_enabled=False,
                warmset_capacity=0,
            ),
            load=transport.load(),
            supervision=Supervision(),
            memory_bytes=resident_bytes(),
            cpu_seconds=time.process_time(),
            more=library_health.gauges(server.watch),
        )
        await request.answer(OK, body, media_type=MEDIA_TYPE)

    async def webhook_page(request: HttpRequest) -> None:
        require_method(request, "POST")
        body = await request.body()
        headers = {name: value for name in SIGNATURE_HEADERS if (value := request.header(name, MAX_SIGNATURE_LENGTH)) is not None}
        if not is_genuine(server.launch.webhook_secret, body, headers):
            raise HttpRefusal(FORBIDDEN, "this message is not signed with the secret of this server. Correct it in the webhook.")
        urls = pushed_urls(body)
        try:
            await server.note_pushed(urls)
        except EngineUnavailable as error:
            # Git servers try again.
            raise HttpRefusal(UNAVAILABLE, error.message, is_retryable=True, reason=error.code) from error
        # The same for what is known here and what is not.
        await request.answer(ACCEPTED)

    async def any_path(path: str) -> None:
        """A `?project_path=` is looked up with the question: what there is depends on who asks."""

    transport = HttpTransport(
        server.core,
        guard=guard(bound=addresses, hosts=settings.allowed_hosts, origins=settings.allowed_origins),
        check_project_path=any_path,
        limits=limits,
        measures=server.measures,
        pages={HEALTH: health_page, READY: ready_page, METRICS: metrics_page, WEBHOOK: webhook_page},
        identify=server.doorkeeper.identify,
        open_routes=(HEALTH, READY, WEBHOOK),
        keeps_sessions=False,
    )
    get_logger(__name__).info("http_listening", addresses=addresses, port=sockets[0].getsockname()[1])
    await transport.serve(sockets, task_status=task_status)

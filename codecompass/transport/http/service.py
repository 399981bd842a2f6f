"""A whole server over HTTP: routes, sessions, connections, and the pages `/health` and `/metrics`, which never wait for disks."""

import socket
import time
from collections.abc import Collection, Mapping, Sequence
from typing import Final

import trio

from codecompass.log import get_logger
from codecompass.memory import resident_bytes
from codecompass.nurseries import open_nursery
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import bare_metadata
from codecompass.settings import ServerSettings
from codecompass.transport.call_records import Measures
from codecompass.transport.health import health
from codecompass.transport.http.app import Handler, HttpApp, Identify
from codecompass.transport.http.exposition import MEDIA_TYPE
from codecompass.transport.http.guards import Guard, guard
from codecompass.transport.http.legacy_sse import LegacySse
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.metrics import Load, Supervision, render, trace_metrics
from codecompass.transport.http.request import OK, Check, HttpRequest, ProjectPaths, require_method
from codecompass.transport.http.root_endpoint import RootEndpoint
from codecompass.transport.http.server import HttpServer
from codecompass.transport.http.sessions import HttpSessions
from codecompass.transport.http.streamable import StreamableEndpoint
from codecompass.transport.http.websocket import WebSocketEndpoint
from codecompass.transport.mcp.core import Core
from codecompass.transport.server import Server
from codecompass.transport.ui.access_checks import PAGE_PATH, PageDoor


class HttpTransport:
    """Serves one core over HTTP.

    `check_project_path` raises InvalidInput for a `?project_path=` that is answered with status 400. `areas`, `identify` and
    `open_routes` as in `HttpApp`, `keeps_sessions` as in `StreamableEndpoint`; `pages` are further routes.
    """

    def __init__(
        self,
        core: Core,
        *,
        guard: Guard,
        check_project_path: Check,
        limits: HttpLimits | None = None,
        measures: Measures | None = None,
        pages: Mapping[str, Handler] | None = None,
        areas: Mapping[str, Handler] | None = None,
        identify: Identify | None = None,
        open_routes: Collection[str] = (),
        keeps_sessions: bool = True,
    ) -> None:
        limits = limits or HttpLimits()
        paths = ProjectPaths(check_project_path)
        self._core = core
        self._sessions = HttpSessions(core, limits)
        self._legacy = LegacySse(core, limits)
        self._websockets = WebSocketEndpoint(core, paths)
        self._app = HttpApp(
            guard=guard,
            limits=limits,
            routes={
                "/": RootEndpoint(core, paths).handle,
                "/mcp": StreamableEndpoint(
                    core, self._sessions, self._legacy, paths, limits, keeps_sessions=keeps_sessions
                ).handle,
                **(pages or {}),
            },
            websockets=self._websockets,
            measures=measures or Measures(),
            areas=areas,
            identify=identify,
            open_routes=open_routes,
        )
        self._server = HttpServer(self._app, limits)

    def load(self) -> Load:
        """Returns the current load, and the totals since the start."""
        return Load(
            connections=self._server.n_open,
            connections_accepted=self._server.n_accepted,
            connections_refused=self._server.n_refused,
            requests=self._app.n_requests,
            sessions=len(self._sessions),
            sessions_opened=self._sessions.n_opened,
            sse_connections=len(self._legacy),
            websockets=self._websockets.n_open,
        )

    async def serve(
        self, sockets: Sequence[socket.socket], *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Serves until `core.stop` is called, and for a bounded time after it. Closes the sockets."""
        async with open_nursery() as nursery:
            await nursery.start(self._sessions.run)
            await nursery.start(self._server.serve, sockets, self._core.stopping.wait)
            task_status.started()


BEYOND_THIS_MACHINE: Final = (
    "This server can be reached from other machines, and asks nobody for a password. Bind it to 127.0.0.1 and use an SSH tunnel "
    "or a reverse proxy instead, unless you trust everyone who can connect."
)


async def serve_http(
    server: Server,
    sockets: Sequence[socket.socket],
    *,
    limits: HttpLimits | None = None,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Serves on listening sockets until `server.core.stop` is called, and for a bounded time after it. Closes the sockets."""
    settings: ServerSettings = server.launch.settings.server
    addresses = tuple(str(each.getsockname()[0]) for each in sockets)
    guarding = guard(bound=addresses, hosts=settings.allowed_hosts, origins=settings.allowed_origins)
    log = get_logger(__name__)
    if not guarding.is_local:
        log.warning("reachable_from_other_machines", addresses=addresses, advice=BEYOND_THIS_MACHINE)

    async def health_page(request: HttpRequest) -> None:
        require_method(request, "GET")
        await request.answer(OK, encode(health(server.moment(), metadata=bare_metadata())))

    async def metrics_page(request: HttpRequest) -> None:
        require_method(request, "GET")
        supervisor = server.supervisor
        body = render(
            server.measures,
            server.moment(),
            load=transport.load(),
            supervision=Supervision(
                started=supervisor.n_started,
                retired=supervisor.n_retired,
                evicted=supervisor.n_evicted,
                crashes=supervisor.n_crashes,
            ),
            memory_bytes=resident_bytes(),
            cpu_seconds=time.process_time(),
            more=trace_metrics(server.launch.traces),
        )
        await request.answer(OK, body, media_type=MEDIA_TYPE)

    transport = HttpTransport(
        server.core,
        guard=guarding,
        check_project_path=server.router.check_project_path,
        limits=limits,
        measures=server.measures,
        # It can be asked as soon as it listens, so a probe needs to know nothing of what it serves.
        pages={"/health": health_page, "/ready": health_page, "/metrics": metrics_page},
        areas={PAGE_PATH: PageDoor(server, guarding).handle},
    )
    log.info("http_listening", addresses=addresses, port=sockets[0].getsockname()[1])
    await transport.serve(sockets, task_status=task_status)

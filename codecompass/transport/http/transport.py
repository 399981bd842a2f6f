"""The HTTP transport over one core: routes, sessions and connections, from the first request to the last.

    POST /    /mcp    /ws    and the pages that whoever owns it adds

Ends with the core: new connections are refused, what is under way has `HttpLimits.stop` seconds.
"""

import socket
from collections.abc import Mapping, Sequence

import trio

from codecompass.transport.http.app import Handler, HttpApp
from codecompass.transport.http.guards import Guard
from codecompass.transport.http.legacy_sse import LegacySse
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.metrics import Load
from codecompass.transport.http.project_paths import Check, ProjectPaths
from codecompass.transport.http.root_endpoint import RootEndpoint
from codecompass.transport.http.server import HttpServer
from codecompass.transport.http.sessions import HttpSessions
from codecompass.transport.http.streamable import StreamableEndpoint
from codecompass.transport.http.websocket import WebSocketEndpoint
from codecompass.transport.mcp.core import Core
from codecompass.transport.measures import Measures


class HttpTransport:
    """See the module. `check_project_path` raises InvalidInput for a `?project_path=` that is answered with status 400."""

    def __init__(
        self,
        core: Core,
        *,
        guard: Guard,
        check_project_path: Check,
        limits: HttpLimits | None = None,
        measures: Measures | None = None,
        pages: Mapping[str, Handler] | None = None,
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
                "/mcp": StreamableEndpoint(core, self._sessions, self._legacy, paths, limits).handle,
                **(pages or {}),
            },
            websockets=self._websockets,
            measures=measures or Measures(),
        )
        self._server = HttpServer(self._app, limits)

    def load(self) -> Load:
        """Returns what it carries now."""
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
        """Serves until `core.stop` is called, and a bounded time longer. Closes the sockets."""
        async with trio.open_nursery() as nursery:
            await nursery.start(self._sessions.run)
            await nursery.start(self._server.serve, sockets, self._core.stopping.wait)
            task_status.started()

"""A whole server over HTTP: the transport, and the pages that say how the server is. Nothing in them waits for a disk."""

import socket
import time
from collections.abc import Sequence
from typing import Final

import trio

from codecompass.log import get_logger
from codecompass.protocol.encode import encode
from codecompass.protocol.metadata import bare_metadata
from codecompass.settings import ServerSettings
from codecompass.transport.health import health
from codecompass.transport.http.faults import require_method
from codecompass.transport.http.guards import guard
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.metrics import MEDIA_TYPE, Supervision, render
from codecompass.transport.http.request import OK, HttpRequest
from codecompass.transport.http.transport import HttpTransport
from codecompass.transport.server import Server, resident_bytes

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
    """Serves on listening sockets until `server.core.stop` is called, and a bounded time longer. Closes the sockets."""
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
        )
        await request.answer(OK, body, media_type=MEDIA_TYPE)

    transport = HttpTransport(
        server.core,
        guard=guarding,
        check_project_path=server.router.check_project_path,
        limits=limits,
        measures=server.measures,
        pages={"/health": health_page, "/metrics": metrics_page},
    )
    log.info("http_listening", addresses=addresses, port=sockets[0].getsockname()[1])
    await transport.serve(sockets, task_status=task_status)

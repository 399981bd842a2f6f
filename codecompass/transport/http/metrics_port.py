"""`GET /metrics` on a port of its own, for what serves nothing else, and for monitoring that has no token.

The port must only be reachable by the monitoring: nobody is identified.
"""

import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import trio

from codecompass.log import get_logger
from codecompass.transport.call_records import Measures
from codecompass.transport.http.app import HttpApp
from codecompass.transport.http.exposition import MEDIA_TYPE
from codecompass.transport.http.guards import guard
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.request import OK, HttpRequest, require_method
from codecompass.transport.http.server import HttpServer

METRICS: Final = "/metrics"

MAX_SCRAPES: Final = 16
"""Connections at a time."""


async def serve_metrics(
    sockets: Sequence[socket.socket],
    page: Callable[[], bytes],
    stopping: Callable[[], Awaitable[None]],
    *,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    """Answers with `page` until `stopping` returns. Closes the sockets."""

    async def answer(request: HttpRequest) -> None:
        require_method(request, "GET")
        await request.answer(OK, page(), media_type=MEDIA_TYPE)

    addresses = tuple(str(each.getsockname()[0]) for each in sockets)
    limits = HttpLimits(connections=MAX_SCRAPES)
    app = HttpApp(
        guard=guard(bound=addresses, hosts=(), origins=()), limits=limits, routes={METRICS: answer}, measures=Measures()
    )
    get_logger(__name__).info("metrics_listening", addresses=addresses, port=sockets[0].getsockname()[1])
    await HttpServer(app, limits).serve(sockets, stopping, task_status=task_status)

"""The client behind a call, as the tools see it: `Caller` over an exchange."""

from typing import Final

import trio

from codecompass.actors.jobs import JobView
from codecompass.transport.calls import TransportName
from codecompass.transport.mcp import progress
from codecompass.transport.mcp.exchange import Exchange
from codecompass.transport.mcp.jsonrpc import encode_notification
from codecompass.transport.mcp.progress import ProgressParams
from codecompass.transport.mcp.protocol import PROGRESS
from codecompass.transport.mcp.roots import root_paths
from codecompass.transport.mcp.wire import is_declared

ROOTS_INPUT: Final = "roots"
"""The name under which roots are asked for, and come back, in the modern era."""


HINTED_CLIENT: Final = "claude-code"
"""How the client that names its roots by itself calls itself in `clientInfo`."""


class SessionCaller:
    """The Caller of one request. `misses_roots` tells that the client could name its roots, if it were asked."""

    def __init__(self, exchange: Exchange) -> None:
        self._exchange = exchange
        self.misses_roots = False
        self._followed: JobView | None = None

    @property
    def transport(self) -> TransportName:
        """How the client is connected."""
        return self._exchange.client.transport

    @property
    def request_id(self) -> str:
        """The request's id for the log."""
        return str(self._exchange.id)

    @property
    def project_path(self) -> str | None:
        """`?project_path=` of an HTTP request."""
        return self._exchange.project_path

    async def roots(self) -> tuple[str, ...]:
        """The client's roots. In the modern era those that came with the request: none are asked for in between."""
        exchange = self._exchange
        if not is_declared(exchange.envelope.capabilities.roots):
            return ()
        if not exchange.envelope.is_modern:
            return await exchange.client.roots.paths(exchange.out) if exchange.can_push else ()
        response = exchange.inputs.responses.get(ROOTS_INPUT)
        if response is None:
            self.misses_roots = True
            return ()
        return root_paths(response)

    def take_hint(self) -> bool:
        """True the first time in a session; never where there is none, nor for the client that the hint recommends."""
        exchange = self._exchange
        return exchange.envelope.client.name != HINTED_CLIENT and exchange.client.take_hint()

    async def follow(self, job: JobView, seconds: float) -> None:
        """As Caller says: on this request's token until the answer, and on the job's token beyond (rule R2)."""
        if seconds <= 0:
            return
        self.follow_beyond(job)
        exchange = self._exchange
        token = exchange.envelope.progress_token
        with trio.move_on_after(seconds):
            if token is None or not exchange.can_push:
                await job.wait_end()
            else:
                await progress.follow(job, token, exchange.report)

    def follow_beyond(self, job: JobView) -> None:
        """Tells of the job on the connection until it ends, if the client declared that it wants that."""
        client = self._exchange.client
        if self._followed is job:
            # It may have ended meanwhile, and its end is told once.
            return
        if self._exchange.envelope.is_modern or not self._exchange.envelope.capabilities.follows_jobs:
            return

        async def send(params: ProgressParams) -> None:
            await client.tell(encode_notification(PROGRESS, params))

        async def run() -> None:
            await progress.follow(job, job.state.progress_token, send)

        if client.start_watch(f"job {job.state.job_id}", run):
            self._followed = job

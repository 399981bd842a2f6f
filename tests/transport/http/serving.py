"""The HTTP transport over a core, in this process and on a real socket."""

from contextlib import asynccontextmanager

import trio
from msgspec import Struct

from codecompass.transport.call_records import Measures
from codecompass.transport.http.guards import guard
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.server import bound_url, open_sockets
from codecompass.transport.http.service import HttpTransport
from tests.support.waiting import until
from tests.transport.sample_tools import said

LARGE = 8_000_000
"""Bytes; more than the system buffers for a client that does not read."""

PATIENCE = 60
"""Seconds until a test gives up waiting."""


class Served(Struct, frozen=True):
    """A running server. `ended` is set once it has stopped."""

    core: object
    transport: HttpTransport
    measures: Measures
    url: str
    port: int
    ended: trio.Event

    async def wait_load(self, **expected):
        """Returns once the transport's load has the expected values."""
        await until(
            lambda: all(getattr(self.transport.load(), name) == value for name, value in expected.items()), seconds=PATIENCE
        )

    async def stop(self):
        """Tells the server to stop; returns how many seconds it took."""
        began = trio.current_time()
        self.core.stop()
        with trio.fail_after(PATIENCE):
            await self.ended.wait()
        return trio.current_time() - began


async def any_path(path):
    """Accepts every `?project_path=`."""


@asynccontextmanager
async def serving(core, *, limits=None, hosts=(), origins=(), bound=("127.0.0.1",), check=any_path):
    """Yields a server that is stopped when the block ends."""
    sockets = open_sockets("127.0.0.1", 0)
    measures = Measures()
    transport = HttpTransport(
        core,
        guard=guard(bound=bound, hosts=hosts, origins=origins),
        check_project_path=check,
        limits=limits or HttpLimits(linger=0.1, stop=1),
        measures=measures,
    )
    served = Served(core, transport, measures, bound_url(sockets), sockets[0].getsockname()[1], trio.Event())

    async def serve(task_status):
        await transport.serve(sockets, task_status=task_status)
        served.ended.set()

    async with trio.open_nursery() as nursery:
        await nursery.start(serve)
        try:
            yield served
        finally:
            with trio.move_on_after(PATIENCE, shield=True):
                await served.stop()
            assert served.ended.is_set(), "the server did not end in time"


async def wait_holding(tools, n):
    """Returns once `n` calls of `hold` are running."""
    await until(lambda: tools.n_holding == n, seconds=PATIENCE)


async def large_answer(arguments, caller):
    """Replaces a sample tool: an answer so large that the client has to read while it is sent."""
    return said(text="x" * LARGE)

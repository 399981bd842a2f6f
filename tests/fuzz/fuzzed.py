"""A complete server in this process, on a real socket, for arbitrary input. Its defects are counted, not logged."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog
import trio
from msgspec.structs import replace

from codecompass.settings import ServerSettings, Settings
from codecompass.store.registry import Registry
from codecompass.transport.http.limits import HttpLimits
from codecompass.transport.http.server import bound_url, open_sockets
from codecompass.transport.http.service import serve_http
from tests.support.serving import open_serving
from tests.support.wire import Posting, http_connection

LIMITS = HttpLimits(sessions=32, session_idle=0.5, head=0.25, body=0.25, idle=0.5, linger=0.1, comment=0.5, write=5, stop=1)
"""Deadlines short enough for tests that leave requests incomplete."""

PATIENT_LIMITS = replace(LIMITS, head=60, body=60, write=60)
"""For tests whose requests are complete: on a busy machine one may take longer to arrive than the deadlines above."""

SETTLE_SECONDS = 60


class Fuzzed:
    """A server with one indexed project. `defects` holds the events that it logs as errors."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.port = int(url.rpartition(":")[2])
        self.defects: list[dict[str, object]] = []
        self._n_tasks = 0

    async def begin(self) -> None:
        """Records the number of tasks of the idle server."""
        await self.check_alive()
        await self._wait_still()
        self._n_tasks = _living()

    async def check_alive(self) -> None:
        """Fails unless a request is answered."""
        async with http_connection(self.url) as http:
            answer = await Posting(http, "/").call("tools/call", {"name": "locate_symbol", "arguments": {"name": "Order"}})
            assert answer["result"]["isError"] is False, answer

    async def end(self) -> None:
        """Fails unless the server is alive, has logged no defect, and has no more tasks than at the start."""
        await self.check_alive()
        assert not self.defects, self.defects[:3]
        with trio.move_on_after(SETTLE_SECONDS):
            while _living() > self._n_tasks:  # noqa: ASYNC110 (no event announces the end of a task)
                await trio.sleep(0.05)
        assert _living() <= self._n_tasks, f"{_living()} tasks instead of {self._n_tasks}"

    async def _wait_still(self) -> None:
        with trio.fail_after(SETTLE_SECONDS):
            before, since = _living(), trio.current_time()
            while trio.current_time() - since < 2 * LIMITS.idle:
                await trio.sleep(0.05)
                if _living() != before:
                    before, since = _living(), trio.current_time()


@asynccontextmanager
async def fuzzed(workspace, limits=LIMITS) -> AsyncIterator[Fuzzed]:
    """Yields a server over a workspace that it has indexed."""
    sockets = open_sockets("127.0.0.1", 0)
    server = Fuzzed(bound_url(sockets))

    def note(_logger, _method, event):
        if event["level"] == "error":
            server.defects.append({key: str(value)[-3000:] for key, value in event.items()})
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(processors=[structlog.processors.add_log_level, structlog.processors.format_exc_info, note])
    settings = Settings(server=ServerSettings(prewarm=False))
    try:
        async with open_serving(Path(workspace.home), settings=settings) as serving, trio.open_nursery() as nursery:
            project = await serving.registry.run(Registry.register, workspace.root)
            await serving.registry.run(Registry.adopt, project.project_id, alias="sample", as_default=True)
            await serving.call("index_repo", wait_seconds=50)
            await nursery.start(lambda task_status: serve_http(serving.server, sockets, limits=limits, task_status=task_status))
            await server.begin()
            yield server
            await server.end()
            serving.server.core.stop()
    finally:
        structlog.configure(**before)


def _living() -> int:
    return trio.lowlevel.current_statistics().tasks_living

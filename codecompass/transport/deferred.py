"""A server that opens behind the first answer: its tools and jobs for a session that is there before it.

What a client says first (`initialize`, `server/discover`, `tools/list`) needs neither the index nor the libraries that read it,
and those take longer to load than everything before. They are loaded when the list of tools has gone out, or when a tool is
called: a host that does not wait for the list would do without the tools if loading came first.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Final

import trio

from codecompass.projects.caller import Caller
from codecompass.settings import AnswerForm
from codecompass.transport.calls import ToolAnswer, ToolDescription
from codecompass.units import MILLISECONDS

if TYPE_CHECKING:
    from codecompass.actors.job_model import JobView
    from codecompass.store.job_log import JobRecord
    from codecompass.transport.product.tool_calls import ServerJobs
    from codecompass.transport.server import Launch, Server

LIST_SECONDS: Final = 300 * MILLISECONDS
"""How long a client that was answered may take to ask for the tools before the server opens all the same."""

_SERVER_MODULE: Final = "codecompass.transport.server"


class DeferredServer:
    """`calls.Tools` and `job_directory.JobDirectory` of the server that `run` opens."""

    def __init__(self, listing: str, answers: AnswerForm, launch: "Callable[[], Launch]") -> None:
        self._listing = listing
        self._answers: AnswerForm = answers
        self._launch = launch
        self._answered = trio.Event()
        self._wanted = trio.Event()
        self._was_listed = False
        self._opened = trio.Event()
        self._server: Server | None = None
        self._jobs: ServerJobs | None = None

    async def run(self) -> None:
        """Opens the server once it is wanted, and keeps it open until cancelled."""
        await self._answered.wait()
        with trio.move_on_after(LIST_SECONDS):
            await self._wanted.wait()
        # Beside the session, which goes on answering.
        await trio.to_thread.run_sync(import_module, _SERVER_MODULE)
        from codecompass.transport.product.tool_calls import ServerJobs
        from codecompass.transport.server import open_server

        async with open_server(self._launch()) as server:
            self._server = server
            self._jobs = ServerJobs(server.registry, server.supervisor)
            self._opened.set()
            await trio.sleep_forever()

    def answered(self) -> None:
        """Says that a frame has gone out to the client: time to open, at once where the tools were in it."""
        self._answered.set()
        if self._was_listed:
            self._wanted.set()

    def _want(self) -> None:
        self._answered.set()
        self._wanted.set()

    @property
    def listed(self) -> tuple[ToolDescription, ...]:
        """See `calls.Tools`. Needs the descriptions, not the server."""
        from codecompass.transport.tools.listing import describe

        self._was_listed = True
        return describe(self._listing, self._answers)

    def knows(self, name: str) -> bool:
        """See `calls.Tools`."""
        from codecompass.transport.tools.listing import GROUPS

        return name in GROUPS["all"]

    async def call(self, name: str, arguments: Mapping[str, object], caller: Caller) -> ToolAnswer:
        """See `calls.Tools`."""
        self._want()
        await self._opened.wait()
        assert self._server is not None
        return await self._server.tools.call(name, arguments, caller)

    def find(self, job_id: str) -> "JobView | None":
        """See `JobDirectory`. There are no jobs before the server is open."""
        return None if self._jobs is None else self._jobs.find(job_id)

    async def recorded(self, job_id: str) -> "JobRecord | None":
        """See `JobDirectory`."""
        self._want()
        await self._opened.wait()
        assert self._jobs is not None
        return await self._jobs.recorded(job_id)

    async def cancel(self, job_id: str) -> bool:
        """See `JobDirectory`."""
        return self._jobs is not None and await self._jobs.cancel(job_id)

"""A server that opens after the first answer: for a session that is there before it.

What a client says first (`initialize`, `server/discover`, `tools/list`) needs neither the index nor the libraries that read it,
and those take longer to load than everything before. They are loaded when the list of tools has gone out, or when a tool is
called: a host that does not wait for the list would do without the tools if loading came first.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

import trio

from codecompass.units import MILLISECONDS, SECONDS

if TYPE_CHECKING:
    from codecompass.transport.server import Launch, Server

LIST_SECONDS: Final = 300 * MILLISECONDS
"""How long a client that was answered may take to ask for the tools before the server opens all the same."""

LISTING_SECONDS: Final = 5 * SECONDS
"""How long a list that was asked for in time may take to go out before the server opens all the same."""

_SERVER_MODULE: Final = "codecompass.transport.server"


class DeferredServer:
    """The `calls.ServerAccess` to the server that `run` opens."""

    def __init__(self, launch: "Callable[[], Launch]") -> None:
        self._launch = launch
        self._answered = trio.Event()
        self._wanted = trio.Event()
        self._was_listed = False
        self._patience = trio.CancelScope()
        self._is_open = trio.Event()
        self._server: Server | None = None

    async def run(self) -> None:
        """Opens the server once it is wanted, and keeps it open until cancelled."""
        await self._answered.wait()
        # A busy machine may take longer for the list than a client for the question.
        self._patience.deadline = trio.current_time() + (LISTING_SECONDS if self._was_listed else LIST_SECONDS)
        with self._patience:
            await self._wanted.wait()
        # In a thread, so that the session goes on answering.
        await trio.to_thread.run_sync(import_module, _SERVER_MODULE)
        from codecompass.transport.server import open_server

        async with open_server(self._launch()) as server:
            self._server = server
            self._is_open.set()
            await trio.sleep_forever()

    def answered(self) -> None:
        """Says that a frame has gone out to the client: time to open, at once where the tools were in it."""
        self._answered.set()
        if self._was_listed:
            self._wanted.set()

    def tools_listed(self) -> None:
        """Has the server opened as soon as the next frame has gone out."""
        self._was_listed = True
        self._patience.deadline += LISTING_SECONDS

    @property
    def server(self) -> "Server | None":
        """The server once it is open."""
        return self._server

    async def opened(self) -> "Server":
        """Returns the server; opens it at once where it is not open."""
        if self._server is None:
            self._answered.set()
            self._wanted.set()
            await self._is_open.wait()
        assert self._server is not None
        return self._server

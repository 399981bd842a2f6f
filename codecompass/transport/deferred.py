"""Opens the server only after the session has sent its first answers.

A client's first requests (`initialize`, `server/discover`, `tools/list`) need neither the index nor the libraries that read it,
which take longer to load than everything else. They are loaded once the list of tools has been sent, or when a tool is called:
some hosts do not wait for the list, and would go without the tools if it came after loading.
"""

from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Final

import trio

from codecompass.units import MILLISECONDS, SECONDS

if TYPE_CHECKING:
    from codecompass.transport.server import Server, ServerOptions

LIST_SECONDS: Final = 300 * MILLISECONDS
"""How long the server waits for a `tools/list` after the first answer before it opens anyway."""

LISTING_SECONDS: Final = 5 * SECONDS
"""How long the server waits for a requested list of tools to be sent before it opens anyway."""

_SERVER_MODULE: Final = "codecompass.transport.server"


class DeferredServer:
    """The `calls.ServerAccess` of the server that `run` opens."""

    def __init__(self, launch: "Callable[[], ServerOptions]") -> None:
        self._launch = launch
        self._answered = trio.Event()
        self._wanted = trio.Event()
        self._was_listed = False
        self._patience = trio.CancelScope()
        self._is_open = trio.Event()
        self._server: Server | None = None

    async def run(self) -> None:
        """Opens the server once it is needed, and keeps it open until cancelled."""
        await self._answered.wait()
        # On a busy machine sending the list may take longer than a client takes to request it.
        self._patience.deadline = trio.current_time() + (LISTING_SECONDS if self._was_listed else LIST_SECONDS)
        with self._patience:
            await self._wanted.wait()
        # In threads, so that the session continues to answer: loading and settings files take time on a slow disk.
        await trio.to_thread.run_sync(import_module, _SERVER_MODULE)
        from codecompass.transport.server import open_server

        launch = await trio.to_thread.run_sync(self._launch)
        async with open_server(launch) as server:
            self._server = server
            self._is_open.set()
            await trio.sleep_forever()

    def answered(self) -> None:
        """Notes that a frame was sent to the client: the server may open, and does so at once if it was the list of tools."""
        self._answered.set()
        if self._was_listed:
            self._wanted.set()

    def tools_listed(self) -> None:
        """Lets the server open as soon as the next frame has been sent."""
        self._was_listed = True
        self._patience.deadline += LISTING_SECONDS

    @property
    def server(self) -> "Server | None":
        """The server; None until it is open."""
        return self._server

    async def opened(self) -> "Server":
        """Returns the server; opens it at once if it is not open."""
        if self._server is None:
            self._answered.set()
            self._wanted.set()
            await self._is_open.wait()
        assert self._server is not None
        return self._server

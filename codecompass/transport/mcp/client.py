"""The other end of a session: what it agreed to, what it owes us, and what goes on for it beside its requests."""

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from codecompass.transport.calls import TransportName
from codecompass.transport.mcp.client_requests import ClientRequests
from codecompass.transport.mcp.envelope import Agreement
from codecompass.transport.mcp.outgoing import Frame, Outgoing, OutgoingClosed
from codecompass.transport.mcp.roots import Roots

MAX_WATCHES: Final = 100
"""Jobs and resources that one session is told of by itself at a time."""


class Client:
    """One client. `stream` is where it is told things that belong to no request; None where there is no such way.

    Watches run in `nursery`, one for each key. Without a nursery (an exchange over plain HTTP) there are none.
    """

    def __init__(
        self,
        transport: TransportName,
        *,
        roots_deadline_seconds: float,
        nursery: trio.Nursery | None = None,
        stream: Outgoing | None = None,
    ) -> None:
        self.transport: Final = transport
        self.requests: Final = ClientRequests()
        self.roots: Final = Roots(self.requests, deadline_seconds=roots_deadline_seconds)
        self.agreement = Agreement()
        self.stream = stream
        self._nursery = nursery
        self._watches: dict[str, trio.CancelScope] = {}
        self._was_hinted = False

    def take_hint(self) -> bool:
        """Returns True the first time."""
        is_first = not self._was_hinted
        self._was_hinted = True
        return is_first

    async def tell(self, body: bytes) -> None:
        """Sends a notification that belongs to no request; drops it where there is no way to."""
        if self.stream is not None:
            await self.stream.send(Frame(body, "notification"))

    def start_watch(self, key: str, run: Callable[[], Awaitable[None]]) -> bool:
        """Runs `run` beside the requests until it returns or `stop_watch`. Returns whether it runs, or did already."""
        if key in self._watches:
            return True
        if self._nursery is None or len(self._watches) >= MAX_WATCHES:
            return False
        scope = trio.CancelScope()
        self._watches[key] = scope
        self._nursery.start_soon(self._watch, key, scope, run)
        return True

    def stop_watch(self, key: str) -> None:
        """Ends a watch; nothing where there is none."""
        scope = self._watches.pop(key, None)
        if scope is not None:
            scope.cancel()

    async def _watch(self, key: str, scope: trio.CancelScope, run: Callable[[], Awaitable[None]]) -> None:
        try:
            with scope:
                await run()
        except OutgoingClosed:
            pass  # the connection notices by itself
        finally:
            if self._watches.get(key) is scope:
                del self._watches[key]

"""Requests of ours to a client, in the handshake era: `roots/list` and, in tests, others. Their answers come as messages.

Every one is answered, or given up after a deadline; one that is answered late is remembered for whoever still holds it.
"""

from typing import Final

import msgspec
import trio
from msgspec import Raw, Struct

from codecompass.transport.mcp.jsonrpc import Response, encode_request
from codecompass.transport.mcp.outgoing import Frame, Outgoing

MAX_PENDING: Final = 32
"""Requests that a client owes an answer. Beyond that the oldest is forgotten: it will not answer that one any more."""


class ClientRefused(Exception):
    """The client answered with an error, or not in time."""


class _Error(Struct, frozen=True):
    code: int = 0
    message: str = ""


_ERRORS: Final = msgspec.json.Decoder(_Error)


class Pending:
    """A request that the client has been asked. Wait for its answer as often as you like."""

    def __init__(self) -> None:
        self._answered = trio.Event()
        self._response: Response | None = None

    @property
    def is_answered(self) -> bool:
        """Whether the answer is there."""
        return self._answered.is_set()

    async def wait(self, seconds: float) -> Raw:
        """Returns the result. Raises ClientRefused for an error, or where there is no answer after `seconds`."""
        with trio.move_on_after(seconds):
            await self._answered.wait()
        if self._response is None:
            raise ClientRefused(f"no answer in {seconds:g} s")
        if self._response.result is None:
            raise ClientRefused(self._error_text(self._response.error))
        return self._response.result

    def settle(self, response: Response) -> None:
        """For the table below."""
        self._response = response
        self._answered.set()

    @staticmethod
    def _error_text(error: Raw | None) -> str:
        try:
            return _ERRORS.decode(error or b"{}").message
        except msgspec.DecodeError:
            return "an error that is none"


class ClientRequests:
    """What one client owes us."""

    def __init__(self) -> None:
        self._pending: dict[str, Pending] = {}
        self._n_sent = 0

    async def send(self, out: Outgoing, method: str, params: object = msgspec.UNSET) -> Pending:
        """Asks the client on `out`. Raises OutgoingClosed."""
        self._n_sent += 1
        id_ = f"srv-{self._n_sent}"
        pending = Pending()
        while len(self._pending) >= MAX_PENDING:
            del self._pending[next(iter(self._pending))]
        self._pending[id_] = pending
        await out.send(Frame(encode_request(id_, method, params), "request"))
        return pending

    def settle(self, response: Response) -> bool:
        """Hands an answer to whoever waits for it. Returns False for one that nobody asked for."""
        pending = self._pending.pop(response.id, None) if isinstance(response.id, str) else None
        if pending is None:
            return False
        pending.settle(response)
        return True

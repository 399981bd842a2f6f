"""One request as its handler sees it: its parameters, its client, and the channel for its answer and notifications."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Raw

from codecompass.projects.caller import Identity
from codecompass.tracing import TraceSender
from codecompass.transport.mcp.client import Client
from codecompass.transport.mcp.envelope import RequestEnvelope
from codecompass.transport.mcp.jsonrpc import RequestId, encode_notification
from codecompass.transport.mcp.outgoing import Outgoing, OutgoingFrame
from codecompass.transport.mcp.progress import ProgressParams
from codecompass.transport.mcp.protocol import PROGRESS
from codecompass.transport.mcp.turns import Turn


class Exchange:
    """A request in flight. Lives as long as its handler.

    Set by the method: `input_responses`, the client's answers to what its previous attempt was asked for, and `subject`, the tool
    or resource that it is about, for the log. Set by the session: `turn`, of a request that waits for its turn.
    """

    def __init__(
        self,
        *,
        id_: RequestId,
        method: str,
        params: Raw,
        envelope: RequestEnvelope,
        client: Client,
        out: Outgoing,
        project_path: str | None = None,
        identity: Identity | None = None,
        trace: TraceSender | None = None,
    ) -> None:
        self.id: Final = id_
        self.method: Final = method
        self.params: Final = params
        self.envelope: Final = envelope
        self.client: Final = client
        self.project_path: Final = project_path
        self.identity: Final = identity
        self.trace: Final = trace
        self.input_responses: Mapping[str, Raw] = {}
        self.subject = ""
        self.turn: Turn | None = None
        self._out = out
        self._afterwards: list[Callable[[], None]] = []

    @property
    def can_push(self) -> bool:
        """Whether anything besides the response can be sent."""
        return self._out.can_push

    @property
    def out(self) -> Outgoing:
        """Where frames to the client are sent."""
        return self._out

    def after_answer(self, action: Callable[[], None]) -> None:
        """Runs `action` once the response has been sent; never if there is no response."""
        self._afterwards.append(action)

    def run_afterwards(self) -> None:
        """Runs the actions of `after_answer`. Called only by the session."""
        for action in self._afterwards:
            action()

    def waits(self) -> None:
        """Says that the request goes on waiting for something else than the server's own work: others may run meanwhile."""
        if self.turn is not None:
            self.turn.give_back()

    async def notify(self, method: str, params: object) -> None:
        """Sends a notification that belongs to this request; drops it if only responses can be sent."""
        if self._out.can_push:
            await self._out.send(OutgoingFrame(encode_notification(method, params), "notification"))

    async def report(self, params: ProgressParams) -> None:
        """Sends a progress notification for this request."""
        await self.notify(PROGRESS, params)

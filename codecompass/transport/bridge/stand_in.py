"""Speaks for a server that is not there yet: says who it will be and which tools it will have, so that the client stays.

A host asks this once, at its start, and gives a server up for the session that does not answer then. What a tool is asked is
left to the server. The list is the default one, in the form that fits both forms of answers: without schemas of answers.
"""

from typing import Final, Never

from msgspec.structs import replace

from codecompass.transport.deferred import DeferredServer
from codecompass.transport.mcp.core import Core, SessionLimits
from codecompass.transport.mcp.jsonrpc import Request
from codecompass.transport.mcp.outgoing import Frame
from codecompass.transport.mcp.protocol import (
    DISCOVER,
    INITIALIZE,
    META_REVISION,
    PROMPTS_LIST,
    RESOURCE_TEMPLATES_LIST,
    RESOURCES_LIST,
    TOOLS_LIST,
)
from codecompass.transport.mcp.session import ClientSession, Delivery
from codecompass.transport.product.product_surface import WHAT_IT_IS, product_surface

_OPENINGS: Final = frozenset({INITIALIZE, DISCOVER})
_LISTS: Final = frozenset({TOOLS_LIST, RESOURCES_LIST, RESOURCE_TEMPLATES_LIST, PROMPTS_LIST})


class StandIn:
    """One for a client. Opens nothing."""

    def __init__(self, limits: SessionLimits) -> None:
        surface = replace(product_surface(DeferredServer(_no_server), "default", "text"), instructions=WHAT_IT_IS)
        self._session = ClientSession(Core(surface, limits), "stdio")

    def can_answer(self, request: Request) -> bool:
        """Whether the request is one of those from the start, in a session that began here."""
        if request.method in _OPENINGS:
            return True
        is_modern = META_REVISION.encode() in bytes(request.params)
        return request.method in _LISTS and (is_modern or self._session.client.agreement.is_initialized)

    async def answer(self, frame: bytes) -> bytes:
        """Returns the response to the request in `frame`."""
        kept = _Kept()
        await self._session.receive(frame, Delivery(out=kept))
        return kept.frames[-1].body


class _Kept:
    """The Outgoing of one request, which keeps what is sent."""

    can_push = False

    def __init__(self) -> None:
        self.frames: list[Frame] = []

    async def send(self, frame: Frame) -> None:
        self.frames.append(frame)

    def finish(self) -> None:
        pass


def _no_server() -> Never:
    raise AssertionError("a stand-in answers nothing that needs a server")

"""Answers for a server that is not running yet: its name and its lists of tools and prompts, so that the client stays connected.

A host requests these once, at its start, and drops a server for the session if it does not answer then. Calls of tools are left
to the server. The list is the default one, without schemas of answers, so that it fits both forms of answers.
"""

from typing import Final, Never

from msgspec.structs import replace

from codecompass.transport.deferred import DeferredServer
from codecompass.transport.mcp.core import Core, SessionLimits
from codecompass.transport.mcp.jsonrpc import RpcRequest
from codecompass.transport.mcp.outgoing import OutgoingFrame
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
    """The stand-in of one client. Opens no server."""

    def __init__(self, limits: SessionLimits) -> None:
        surface = replace(product_surface(DeferredServer(_no_server), "default", "text"), instructions=WHAT_IT_IS)
        self._session = ClientSession(Core(surface, limits), "stdio")

    def can_answer(self, request: RpcRequest) -> bool:
        """Returns whether the request is one of a client's first ones, in a session that this stand-in has opened."""
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
    """The Outgoing of one request; keeps its frames."""

    can_push = False

    def __init__(self) -> None:
        self.frames: list[OutgoingFrame] = []

    async def send(self, frame: OutgoingFrame) -> None:
        self.frames.append(frame)

    def finish(self) -> None:
        pass


def _no_server() -> Never:
    raise AssertionError("a stand-in answers nothing that needs a server")

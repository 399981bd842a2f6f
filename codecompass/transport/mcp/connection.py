"""Serves one framed connection: stdio, a WebSocket, legacy SSE. The transport provides two functions, `receive` and `write`.

    receive -> ClientSession -> FrameWriter -> write          ends: end of input | stop | a client that does not read

Requests in flight when the connection ends get a moment to finish, so that a request from a pipe is answered; then they are
cancelled, and nothing is left running.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Literal

import trio
from msgspec import Struct

from codecompass.log import get_logger
from codecompass.nurseries import open_nursery
from codecompass.projects.caller import Identity, TransportName
from codecompass.transport.mcp.core import Core
from codecompass.transport.mcp.jsonrpc import Malformed
from codecompass.transport.mcp.outgoing import FrameWriter, OutgoingClosed
from codecompass.transport.mcp.session import ClientSession, Delivery

ConnectionEnd = Literal["end_of_input", "stopped", "client_gone"]


class Input(Struct, frozen=True):
    """A received frame, or the fault of bytes that the transport itself refused (`jsonrpc.oversized`)."""

    frame: bytes = b""
    malformed: Malformed | None = None


Receive = Callable[[], Awaitable[Input | None]]
"""Returns the next frame, None at the end of input. May raise BrokenResourceError or OSError if the client is gone."""


async def serve_connection(
    core: Core,
    transport: TransportName,
    *,
    receive: Receive,
    write: Callable[[bytes], Awaitable[None]],
    project_path: str | None = None,
    identity: Identity | None = None,
) -> ConnectionEnd:
    """Serves until the client disconnects or `core.stop` is called; takes at most `SessionLimits.grace_seconds` to end.

    `write` sends one frame, and is called for one at a time; a write that takes longer than `write_seconds` ends the
    connection. Closing the transport's resources is left to the transport.
    """
    limits = core.limits
    writer = FrameWriter(write, capacity=limits.queued_frames, deadline_seconds=limits.write_seconds)
    end: ConnectionEnd = "client_gone"
    async with open_nursery() as connection:
        connection.start_soon(_run_writer, writer, connection.cancel_scope)
        async with open_nursery() as requests:
            session = ClientSession(core, transport, nursery=requests, stream=writer)
            delivery = Delivery(out=writer, project_path=project_path, identity=identity)
            end = await _read(core, session, receive, delivery)
            if end != "client_gone":
                await session.drain(limits.grace_seconds)
            requests.cancel_scope.cancel()
        writer.close()
        connection.cancel_scope.deadline = trio.current_time() + limits.grace_seconds
    get_logger(__name__).info("connection_ended", transport=transport, reason=end)
    return end


async def _run_writer(writer: FrameWriter, connection: trio.CancelScope) -> None:
    try:
        await writer.run()
    except OutgoingClosed as error:
        get_logger(__name__).info("client_gone", reason=str(error))
        connection.cancel()


async def _read(core: Core, session: ClientSession, receive: Receive, delivery: Delivery) -> ConnectionEnd:
    """Receives messages until the input ends or the server stops. A stop does not wait for a message that is half read."""
    end: ConnectionEnd = "stopped"
    async with cancelled_when_set(core.stopping):
        end = await _read_all(session, receive, delivery)
    return end


@asynccontextmanager
async def cancelled_when_set(event: trio.Event) -> AsyncIterator[None]:
    """Cancels the block when the event is set."""
    async with open_nursery() as nursery:

        async def wait() -> None:
            await event.wait()
            nursery.cancel_scope.cancel()

        nursery.start_soon(wait)
        yield
        nursery.cancel_scope.cancel()


async def _read_all(session: ClientSession, receive: Receive, delivery: Delivery) -> ConnectionEnd:
    try:
        while (incoming := await receive()) is not None:
            if incoming.malformed is not None:
                await session.refuse(incoming.malformed, delivery.out)
            else:
                await session.receive(incoming.frame, delivery)
    except (trio.BrokenResourceError, trio.ClosedResourceError, OutgoingClosed, OSError):
        return "client_gone"
    return "end_of_input"

"""The output of a session: the interface that transports implement, and the bounded writer of framed connections.

    session --send--> Outgoing       one HTTP exchange: a JSON body or an event stream, as its first frame decides
                      FrameWriter    stdio, WebSocket, legacy SSE: --capacity--> one task --> write, in order

A client that does not read fills only its own queue: its senders wait, and when one write takes longer than the deadline the
connection is closed.
"""

from collections.abc import Awaitable, Callable
from typing import Final, Literal, Protocol

import trio
from msgspec import Struct

FrameKind = Literal["response", "notification", "request"]

HTTP_OK: Final = 200


class OutgoingFrame(Struct, frozen=True):
    """One message to the client, without framing. `http_status` is the HTTP status to use, for responses only.

    `is_malformed` marks the response to bytes that were not a message: HTTP answers them with 400 in every era.
    """

    body: bytes
    kind: FrameKind
    http_status: int = HTTP_OK
    is_malformed: bool = False


class OutgoingClosed(Exception):
    """The client is gone, or has not read for too long: nothing more can be sent to it."""


class Outgoing(Protocol):
    """Sends frames to the client: the answer to one message, and notifications that belong to it."""

    @property
    def can_push(self) -> bool:
        """Whether anything besides the response can be sent."""

    async def send(self, frame: OutgoingFrame) -> None:
        """Sends a frame, in order, waiting while the client is slow. Raises OutgoingClosed. Safe to cancel: all or nothing."""

    def finish(self) -> None:
        """Called once the request has been answered or cancelled: no more frames follow. Framed connections ignore it."""


class FrameWriter:
    """The Outgoing of a framed connection. `run` is its only reader; `write` gets one message at a time."""

    can_push = True

    def __init__(self, write: Callable[[bytes], Awaitable[None]], *, capacity: int, deadline_seconds: float) -> None:
        self._write = write
        self._deadline_seconds = deadline_seconds
        self._sender, self._receiver = trio.open_memory_channel[bytes](capacity)

    async def send(self, frame: OutgoingFrame) -> None:
        """Queues the frame, waiting while the queue is full. Raises OutgoingClosed."""
        try:
            await self._sender.send(frame.body)
        except (trio.ClosedResourceError, trio.BrokenResourceError) as error:
            raise OutgoingClosed from error

    def finish(self) -> None:
        """Does nothing: the connection continues."""

    def close(self) -> None:
        """Accepts no more frames; `run` returns when the queued ones have been written."""
        self._sender.close()

    async def run(self) -> None:
        """Writes until closed. Raises OutgoingClosed if a write fails or takes longer than the deadline."""
        with self._receiver:
            async for body in self._receiver:
                try:
                    with trio.fail_after(self._deadline_seconds):
                        await self._write(body)
                except (trio.TooSlowError, trio.BrokenResourceError, trio.ClosedResourceError, OSError) as error:
                    raise OutgoingClosed(f"a frame could not be written: {type(error).__name__}") from error

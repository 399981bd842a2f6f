"""The Outgoing of one HTTP exchange: the first frame decides whether the response is one JSON body or a stream of events.

    session --send--> queue --> HttpOutgoing.deliver --> response      response first: JSON with its status
                                                                       anything else: a stream, the response last

Statuses other than 200 stay possible as long as nothing else was said, which is why the choice waits.
"""

from collections.abc import Sequence
from typing import Final

import trio

from codecompass.transport.http.request import Header, HttpRequest
from codecompass.transport.mcp.outgoing import Frame, OutgoingClosed

QUEUED_FRAMES: Final = 16
"""Frames that wait for a client that reads slowly. Beyond that, senders wait too."""


def event(body: bytes) -> bytes:
    """Returns a message as an event of a stream. Our frames have no line ends in them."""
    return b"event: message\ndata: " + body + b"\n\n"


COMMENT: Final = b": still here\n\n"
"""Shows intermediaries and us that a silent stream is alive."""


class HttpOutgoing:
    """The way to the client of one POST, or of a stream that a session keeps open.

    `is_lasting` says that what is sent after the client has gone is dropped, instead of ending the sender: in the
    handshake era a lost connection does not cancel.
    """

    def __init__(self, *, can_push: bool, is_lasting: bool) -> None:
        self.can_push: Final = can_push
        self._is_lasting = is_lasting
        self._is_gone = False
        self._sender, self._receiver = trio.open_memory_channel[Frame](QUEUED_FRAMES)

    async def send(self, frame: Frame) -> None:
        """Queues the frame, waiting while the queue is full. Raises OutgoingClosed, unless `is_lasting`."""
        try:
            await self._sender.send(frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            if not self._is_lasting:
                raise OutgoingClosed from error

    def finish(self) -> None:
        """Says that no frame follows."""
        self._sender.close()

    def abandon(self) -> None:
        """Says that the client is gone: frames are no longer read."""
        self._receiver.close()

    async def first(self) -> Frame | None:
        """Returns the first frame, None where the exchange is over without any."""
        try:
            return await self._receiver.receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            return None

    async def deliver(
        self, request: HttpRequest, first: Frame, *, comment_seconds: float, headers: Sequence[Header] = ()
    ) -> None:
        """Answers `request` with `first` and what follows, until the exchange is over."""
        if first.kind == "response":
            await request.answer(first.http_status, first.body, headers=headers)
            return
        await request.begin_stream(headers)
        await request.write(event(first.body))
        await self.stream(request, comment_seconds)

    async def stream(self, request: HttpRequest, comment_seconds: float) -> None:
        """Writes what is sent as events, in a stream that has begun, and ends it."""
        while True:
            data = COMMENT
            with trio.move_on_after(comment_seconds):
                frame = await self.first()
                if frame is None:
                    break
                data = event(frame.body)
            await request.write(data)
        await request.end_stream()

"""The Outgoing of one HTTP exchange: the first frame decides whether the response is one JSON body or a stream of events.

    session --send--> queue --> HttpOutgoing.deliver --> response      response first: JSON with its status
                                                                       anything else: a stream, the response last

The choice waits for the first frame because a status other than 200 can only be sent before anything else.
"""

from collections.abc import Sequence
from typing import Final

import trio

from codecompass.transport.http.request import Header, HttpRequest
from codecompass.transport.mcp.outgoing import OutgoingClosed, OutgoingFrame

QUEUED_FRAMES: Final = 16
"""Frames queued for a client that reads slowly. Beyond that, senders wait."""


def event(body: bytes) -> bytes:
    """Returns a message as an event of a stream. Our frames contain no line ends."""
    return b"event: message\ndata: " + body + b"\n\n"


COMMENT: Final = b": still here\n\n"
"""Shows proxies, and this server, that a silent stream is alive."""


class HttpOutgoing:
    """The Outgoing of one POST, or of a stream that a session keeps open.

    With `is_lasting`, frames sent after the client has gone are dropped instead of ending the sender: in the handshake era a lost
    connection does not cancel.
    """

    def __init__(self, *, can_push: bool, is_lasting: bool) -> None:
        self.can_push: Final = can_push
        self._is_lasting = is_lasting
        self._is_gone = False
        self._sender, self._receiver = trio.open_memory_channel[OutgoingFrame](QUEUED_FRAMES)

    async def send(self, frame: OutgoingFrame) -> None:
        """Queues the frame, waiting while the queue is full. Raises OutgoingClosed, unless `is_lasting`."""
        try:
            await self._sender.send(frame)
        except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
            if not self._is_lasting:
                raise OutgoingClosed from error

    def finish(self) -> None:
        """Ends the frames: none follow."""
        self._sender.close()

    def abandon(self) -> None:
        """Stops reading frames, as the client is gone."""
        self._receiver.close()

    async def first(self) -> OutgoingFrame | None:
        """Returns the next frame; None if the exchange is over."""
        try:
            return await self._receiver.receive()
        except (trio.EndOfChannel, trio.ClosedResourceError):
            return None

    async def deliver(
        self, request: HttpRequest, first: OutgoingFrame, *, comment_seconds: float, headers: Sequence[Header] = ()
    ) -> None:
        """Answers `request` with `first` and the frames after it, until the exchange is over."""
        if first.kind == "response":
            await request.answer(first.http_status, first.body, headers=headers)
            return
        await request.begin_stream(headers)
        await request.write(event(first.body))
        await self.stream(request, comment_seconds)

    async def stream(self, request: HttpRequest, comment_seconds: float) -> None:
        """Writes frames as events to a stream that has begun, until there are no more, and ends it."""
        while True:
            data = COMMENT
            with trio.move_on_after(comment_seconds):
                frame = await self.first()
                if frame is None:
                    break
                data = event(frame.body)
            await request.write(data)
        await request.end_stream()

"""The queue before a workspace, and the one way of asking through it. The only place where requests wait.

    asker --post--> [ Envelope ... ] --receive--> actor --answer--> asker

Every envelope is answered exactly once, by construction: whoever takes one out answers it, whoever ends a mailbox drains
it. An asker that leaves cancels its envelope's scope, inside which the work runs. The supervisor owns the mailbox, so what
is queued survives a crash of the actor that reads it.
"""

from collections import deque
from typing import Final

import trio

from codecompass.actors.messages import JobTicket, WorkspaceMessage
from codecompass.errors import Cancelled, CodeCompassError, WorkspaceBusy
from codecompass.protocol.replies import Reply

CAPACITY: Final = 64
"""Requests that one workspace has at a time, waiting or in work. More are refused at once: a hidden wait helps nobody."""

RETRY_AFTER_MS: Final = 250
"""What a refused caller is told to wait: most answers take a tenth of it."""

Outcome = Reply | JobTicket | bool | CodeCompassError


class MailboxClosed(Exception):
    """Nobody will read what is posted here any more: the workspace was retired. Route again."""


class Envelope:
    """A message on its way. Work on it runs inside `scope`, and ends with exactly one `answer`."""

    def __init__(self, message: WorkspaceMessage, request_id: str = "") -> None:
        self.message = message
        self.request_id = request_id
        self.scope = trio.CancelScope()
        self._answered = trio.Event()
        self._outcome: Outcome | None = None

    @property
    def is_answered(self) -> bool:
        """Whether there is an answer."""
        return self._outcome is not None

    def answer(self, outcome: Outcome) -> None:
        """Gives the answer. A second one is a defect."""
        assert self._outcome is None, "an envelope is answered exactly once"
        self._outcome = outcome
        self._answered.set()

    async def wait(self) -> Outcome:
        """Returns the answer, once it is there."""
        await self._answered.wait()
        assert self._outcome is not None
        return self._outcome


class Mailbox:
    """A bounded queue with one reader at a time. `n_open` counts what is queued and what the reader has in work."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self._queue: deque[Envelope] = deque()
        self._arrived = trio.Event()
        self._is_closed = False
        self.n_open = 0

    @property
    def n_queued(self) -> int:
        """Envelopes that nobody has taken yet."""
        return len(self._queue)

    def has_closed(self) -> bool:
        """Whether posting is over."""
        return self._is_closed

    async def ask(self, message: WorkspaceMessage, request_id: str = "") -> Reply | JobTicket | bool:
        """Posts a message and returns its answer; raises the CodeCompassError that is the answer.

        Raises WorkspaceBusy at once where the mailbox is full, MailboxClosed where it is closed.
        """
        if self._is_closed:
            raise MailboxClosed
        if self.n_open >= self._capacity:
            raise WorkspaceBusy(
                f"this workspace has {self._capacity} requests in work already. Call again in {RETRY_AFTER_MS} ms.",
                retry_after_ms=RETRY_AFTER_MS,
            )
        envelope = Envelope(message, request_id)
        self.n_open += 1
        self._queue.append(envelope)
        self._arrived.set()
        try:
            outcome = await envelope.wait()
        finally:
            self.n_open -= 1
            envelope.scope.cancel()
            if not envelope.is_answered and envelope in self._queue:
                # Still queued: without this, a caller that asks and leaves could fill a queue that nobody reads just now.
                self._queue.remove(envelope)
                envelope.answer(Cancelled("the caller left before its turn came. Call again."))
        if isinstance(outcome, CodeCompassError):
            raise outcome
        return outcome

    async def receive(self) -> Envelope:
        """Returns the oldest envelope. Raises EndOfChannel once the mailbox is closed and empty."""
        while not self._queue:
            if self._is_closed:
                raise trio.EndOfChannel
            self._arrived = trio.Event()
            await self._arrived.wait()
        return self._queue.popleft()

    def put_back(self, envelope: Envelope) -> None:
        """Puts an envelope that was received back to the front, for the next reader."""
        self._queue.appendleft(envelope)
        self._arrived.set()

    def close(self) -> None:
        """Ends posting. The reader still gets what is queued."""
        self._is_closed = True
        self._arrived.set()

    def drain(self, error: CodeCompassError) -> int:
        """Answers everything that is queued with `error`; returns how many that were."""
        count = len(self._queue)
        while self._queue:
            self._queue.popleft().answer(error)
        return count

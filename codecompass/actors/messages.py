"""The messages to a workspace's actor, their replies, and the mailbox in which they wait.

    Query     -> the reply Struct of its tool
    Settle    -> Settled: the freshness of the index afterwards
    StartJob  -> JobHandle: the job that does it, new or joined
    CancelJob -> bool: whether there was such a job to cancel
    each      -> or a CodeCompassError instead

    asker --post--> [ Envelope ... ] --receive--> actor --answer--> asker

Every envelope is answered exactly once, by construction: the reader answers each that it receives, and a mailbox is drained at
its end. An asker that is cancelled cancels its envelope's scope, inside which the work runs. The supervisor owns the mailbox, so
queued messages survive a crash of the actor that reads it.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

import trio
from msgspec import Struct

from codecompass.actors.job_state import JobHandle
from codecompass.actors.question import Question
from codecompass.errors import Cancelled, CodeCompassError, WorkspaceBusy
from codecompass.protocol.metadata import FreshnessStatus
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import FreshnessPolicy

MAILBOX_CAPACITY: Final = 64
"""Requests of one workspace at a time, queued or in work. More are refused at once, so that clients know and can wait."""

RETRY_AFTER_MS: Final = 250
"""Recommended wait for a refused caller: most answers take a tenth of it."""


class Query(Question, frozen=True, kw_only=True):
    """A question to the index of a workspace."""

    tell_job: Callable[[JobHandle], None] | None = None
    """Called from another task with the job that the question has to wait for, if any; it must not block."""
    is_internal: bool = False
    """Whether the server itself asks, to have work done: nothing of the question leaves the machine."""


class Settle(Struct, frozen=True, kw_only=True):
    """Let changes land, as before an answer, within `seconds`, so that the asker can read the published index itself.

    `policy` None is the workspace's. The answer is IndexNotReady if there is no index.
    """

    policy: FreshnessPolicy | None = None
    seconds: float


class Settled(Struct, frozen=True):
    """The freshness of the index. With `fresh` it holds all changes made before the message, symbols included."""

    freshness: FreshnessStatus


class StartJob(Struct, frozen=True, kw_only=True):
    """Bring the index up to the tree; rebuild it with `force`. Joins a job that already does the same."""

    cause: str
    force: bool = False


class CancelJob(Struct, frozen=True, kw_only=True):
    """Stop the job with this id, if it runs or waits."""

    job_id: str


WorkspaceMessage = Query | Settle | StartJob | CancelJob

Outcome = Reply | Settled | JobHandle | bool | CodeCompassError


class MailboxClosed(Exception):
    """The workspace was retired: the caller must route again."""


class Envelope:
    """A message and its answer. Work on it runs inside `scope`, and ends with exactly one `answer`."""

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
        """Sets the answer. A second answer is a defect (AssertionError)."""
        assert self._outcome is None, "an envelope is answered exactly once"
        self._outcome = outcome
        self._answered.set()

    async def wait(self) -> Outcome:
        """Waits for the answer and returns it."""
        await self._answered.wait()
        assert self._outcome is not None
        return self._outcome


class Mailbox:
    """A bounded queue with one reader at a time. `n_open` counts the messages queued or in work."""

    def __init__(self, capacity: int = MAILBOX_CAPACITY) -> None:
        self._capacity = capacity
        self._queue: deque[Envelope] = deque()
        self._arrived = trio.Event()
        self._is_closed = False
        self.n_open = 0

    @property
    def n_queued(self) -> int:
        """Envelopes that the reader has not received yet."""
        return len(self._queue)

    def has_closed(self) -> bool:
        """Whether the mailbox refuses further messages. A method, so that mypy does not narrow it across an await."""
        return self._is_closed

    async def ask(self, message: WorkspaceMessage, request_id: str = "") -> Reply | Settled | JobHandle | bool:
        """Posts a message and returns its answer; an answer that is a CodeCompassError is raised.

        Raises WorkspaceBusy at once if the mailbox is full, MailboxClosed if it is closed.
        """
        if self._is_closed:
            raise MailboxClosed
        if self.n_open >= self._capacity:
            raise WorkspaceBusy(
                f"this workspace already has {self._capacity} requests in progress. Call again in {RETRY_AFTER_MS} ms.",
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
                # Still queued: otherwise cancelled askers could fill the queue while nobody reads it.
                self._queue.remove(envelope)
                envelope.answer(Cancelled("cancelled while queued. Call again."))
        if isinstance(outcome, CodeCompassError):
            raise outcome
        return outcome

    async def receive(self) -> Envelope:
        """Waits for the oldest envelope and returns it. Raises EndOfChannel once the mailbox is closed and empty."""
        while not self._queue:
            if self._is_closed:
                raise trio.EndOfChannel
            self._arrived = trio.Event()
            await self._arrived.wait()
        return self._queue.popleft()

    def put_back(self, envelope: Envelope) -> None:
        """Puts a received envelope back to the front, for the next reader."""
        self._queue.appendleft(envelope)
        self._arrived.set()

    def close(self) -> None:
        """Refuses further messages. The reader still receives those that are queued."""
        self._is_closed = True
        self._arrived.set()

    def drain(self, error: CodeCompassError) -> int:
        """Answers every queued envelope with `error`; returns their number."""
        count = len(self._queue)
        while self._queue:
            self._queue.popleft().answer(error)
        return count

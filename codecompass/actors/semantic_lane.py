"""A server's requests to its endpoint for embeddings: vectors of questions at once or not at all, of texts at a bounded rate.

Shared by all workspaces. After a failure no requests are sent for a pause that doubles from one second to a minute, separately
for questions and for texts; meanwhile questions are answered by their words without any wait.
"""

from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Final

import structlog
import trio

from codecompass.remote.breaker import Breaker
from codecompass.semantic.endpoint import EmbeddingEndpoint, Vector
from codecompass.semantic.target import SemanticTarget, SemanticUnavailable
from codecompass.semantic.texts import vector_space
from codecompass.units import MILLISECONDS, SECONDS

FIRST_PAUSE_SECONDS: Final = 1 * SECONDS

MAX_QUESTIONS: Final = 4
"""Questions that wait for their vectors at a time; further ones are answered by their words."""

KEPT_QUESTIONS: Final = 128
"""Cached vectors of questions: the same question gets the same answer, however the endpoint rounds."""

PROBE_TEXT: Final = "codecompass asks for one vector"


class SemanticLane:
    """Requests to one endpoint. Get one from `open_semantic_lane`."""

    def __init__(self, target: SemanticTarget) -> None:
        self.target: Final = target
        self.settings: Final = target.settings
        self.space: Final = vector_space(target.settings)
        self._endpoint = EmbeddingEndpoint(target)
        self._of_questions = Breaker[SemanticUnavailable](FIRST_PAUSE_SECONDS)
        self._of_texts = Breaker[SemanticUnavailable](FIRST_PAUSE_SECONDS)
        self._sending = trio.Lock()
        """Held while one batch of texts is sent, over all workspaces; questions do not wait for it."""
        self._waiting = trio.CapacityLimiter(MAX_QUESTIONS)
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._next_request = float("-inf")
        self._log = structlog.get_logger(__name__)

    async def question_vector(self, question: str) -> Vector:
        """Returns the vector of a question, within `question_timeout_ms`. Raises SemanticUnavailable."""
        kept = self._kept.get(question)
        if kept is not None:
            self._kept.move_to_end(question)
            return kept
        _require_awake(self._of_questions)
        try:
            self._waiting.acquire_nowait()
        except trio.WouldBlock:
            raise SemanticUnavailable("busy") from None
        try:
            vector = await self._within(self.settings.question_timeout_ms, [self.settings.question_prefix + question])
        except SemanticUnavailable as error:
            self._note(self._of_questions, error, "question")
            raise
        finally:
            self._waiting.release()
        self._of_questions.succeeded()
        self._kept[question] = vector[0]
        if len(self._kept) > KEPT_QUESTIONS:
            self._kept.popitem(last=False)
        return vector[0]

    async def text_vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Returns the vectors of a batch, once the rate allows it. Raises SemanticUnavailable, at once during a pause."""
        async with self._sending:
            _require_awake(self._of_texts)
            await trio.sleep_until(self._next_request)
            self._next_request = trio.current_time() + 1 * SECONDS / self.settings.requests_per_second
            try:
                vectors = await self._within(self.settings.timeout_ms, texts)
            except SemanticUnavailable as error:
                if not error.is_of_text:
                    self._note(self._of_texts, error, "texts")
                raise
            self._of_texts.succeeded()
            return vectors

    async def require_texts_taken(self) -> None:
        """Checks that the endpoint accepts a harmless text. Raises SemanticUnavailable if not."""
        try:
            await self.text_vectors([PROBE_TEXT])
        except SemanticUnavailable as error:
            if error.is_of_text:
                self._note(self._of_texts, error, "texts")
            raise

    async def close(self) -> None:
        """Closes the connections to the endpoint."""
        await self._endpoint.close()

    async def _within(self, milliseconds: int, texts: Sequence[str]) -> list[Vector]:
        await self._endpoint.ready()  # before the time begins: it is not the endpoint's
        with trio.move_on_after(milliseconds * MILLISECONDS):
            return await self._endpoint.embed(texts)
        raise SemanticUnavailable("timeout", f"{milliseconds:,} ms")

    def _note(self, breaker: Breaker[SemanticUnavailable], error: SemanticUnavailable, what: str) -> None:
        is_new = breaker.failure is None or breaker.failure.code != error.code
        breaker.failed(error)
        if is_new:
            # An answer itself says why it was not by meaning.
            log = self._log.info if what == "question" else self._log.warning
            log("embedding_failed", endpoint=self.target.host, of=what, cause=str(error))


def _require_awake(breaker: Breaker[SemanticUnavailable]) -> None:
    """Raises the last failure again during the pause after it."""
    if breaker.failure is not None and breaker.seconds_left > 0:
        raise SemanticUnavailable(breaker.failure.code, breaker.failure.hint)


@asynccontextmanager
async def open_semantic_lane(target: SemanticTarget) -> AsyncIterator[SemanticLane]:
    """Yields the lane to an endpoint and closes its connections afterwards. Connects when something is first sent."""
    lane = SemanticLane(target)
    try:
        yield lane
    finally:
        await lane.close()

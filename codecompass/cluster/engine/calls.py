"""Calls to the engine, and to the store of segments, from the event loop: in threads, bounded in number, each with a deadline.

A call that misses its deadline is abandoned; its thread runs until the engine's client times out and counts towards the limit
until then. So an engine that does not answer occupies a bounded number of threads, and waiting calls keep their deadlines.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import trio

from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.errors import CodeCompassError
from codecompass.units import MILLISECONDS, SECONDS

T = TypeVar("T")

LOOKUP_SECONDS: Final = 5 * SECONDS
"""Deadline of a call that reads one document or a list of documents."""

RETRY_SECONDS: Final = 1 * SECONDS


class _Shared:
    """A call that several callers wait for. Has neither result nor failure if the caller that ran it was cancelled."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.results: list[Any] = []
        self.failure: CodeCompassError | None = None


class EngineCalls:
    """Runs at most `at_once` calls of one kind at a time. `answered_at` is when the last one was answered, in trio's time."""

    def __init__(self, at_once: int, of: str = "search engine") -> None:
        """`of` is what they are calls to, for the message that it did not answer."""
        self._of = of
        self._limiter = trio.CapacityLimiter(at_once)
        self._shared: dict[str, _Shared] = {}
        self.answered_at: float | None = None

    async def run_shared(self, key: str, work: Callable[[], T]) -> T:
        """Like `run`, but concurrent calls with the same `key` share one run and get its result or its failure."""
        while (shared := self._shared.get(key)) is not None:
            await shared.done.wait()
            if shared.failure is not None:
                raise shared.failure
            if shared.results:
                result: T = shared.results[0]
                return result
        shared = self._shared[key] = _Shared()
        try:
            result = await self.run(work)
        except CodeCompassError as error:
            shared.failure = error
            raise
        else:
            shared.results.append(result)
            return result
        finally:
            del self._shared[key]
            shared.done.set()

    async def run(self, work: Callable[[], T], seconds: float | None = None) -> T:
        """Runs `work` in a thread and returns its result. Raises EngineUnavailable after `seconds` (LOOKUP_SECONDS if None), and
        what `work` raises."""
        seconds = LOOKUP_SECONDS if seconds is None else seconds
        with trio.move_on_after(seconds):
            result = await trio.to_thread.run_sync(work, limiter=self._limiter, abandon_on_cancel=True)
            self.answered_at = trio.current_time()
            return result
        raise EngineUnavailable(
            f"the {self._of} of this organisation did not answer within {seconds:g} s. Ask again in a moment, or for less; if "
            "it stays so, tell whoever runs it.",
            retry_after_ms=int(RETRY_SECONDS / MILLISECONDS),
        )

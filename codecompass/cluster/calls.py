"""Calls to the engine from the event loop: in threads, bounded in number, each with a deadline.

A call whose deadline is over is given up, and its thread goes on until the client of the engine gives up too. Until then it
counts among those that run, so an engine that does not answer takes no more threads than there may be, and the others wait no
longer than they may.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar

import trio

from codecompass.cluster.engine import EngineUnavailable
from codecompass.errors import CodeCompassError
from codecompass.units import MILLISECONDS, SECONDS

T = TypeVar("T")

LOOKUP_SECONDS: Final = 5 * SECONDS
"""Of a call that reads one document, or a list of them."""

RETRY_SECONDS: Final = 1 * SECONDS


class _Shared:
    """A call for all who want the same at that moment. Neither result nor failure where its caller has left."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.results: list[Any] = []
        self.failure: CodeCompassError | None = None


class EngineCalls:
    """Some calls at a time, of one kind. `answered_at` is when one was answered last, by the clock of the event loop."""

    def __init__(self, at_once: int) -> None:
        self._limiter = trio.CapacityLimiter(at_once)
        self._shared: dict[str, _Shared] = {}
        self.answered_at: float | None = None

    async def run_shared(self, key: str, work: Callable[[], T], seconds: float = LOOKUP_SECONDS) -> T:
        """Does what `run` does, once for all who ask with this `key` meanwhile: they get its result or its failure."""
        while (shared := self._shared.get(key)) is not None:
            await shared.done.wait()
            if shared.failure is not None:
                raise shared.failure
            if shared.results:
                result: T = shared.results[0]
                return result
        shared = self._shared[key] = _Shared()
        try:
            result = await self.run(work, seconds)
        except CodeCompassError as error:
            shared.failure = error
            raise
        else:
            shared.results.append(result)
            return result
        finally:
            del self._shared[key]
            shared.done.set()

    async def run(self, work: Callable[[], T], seconds: float = LOOKUP_SECONDS) -> T:
        """Returns what `work` returns, run in a thread. Raises EngineUnavailable after `seconds`, and what `work` raises."""
        with trio.move_on_after(seconds):
            result = await trio.to_thread.run_sync(work, limiter=self._limiter, abandon_on_cancel=True)
            self.answered_at = trio.current_time()
            return result
        raise EngineUnavailable(
            f"the search engine of this organisation did not answer within {seconds:g} s. Ask again in a moment, or for less; if "
            "it stays so, tell whoever runs it.",
            retry_after_ms=int(RETRY_SECONDS / MILLISECONDS),
        )

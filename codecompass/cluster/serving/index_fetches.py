"""Fetches the indexes of generations for questions, a few at a time, and goes on when the question that wanted one has ended: the
next question finds it.

    wait(generation)   until it is here, or the time is over     first those that somebody waits for, in the order of asking
    want(generation)   no wait                                   then the others
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

import trio

from codecompass.cluster.engine.calls import RETRY_SECONDS
from codecompass.cluster.engine.failures import EngineUnavailable
from codecompass.errors import CodeCompassError, InternalError, reported
from codecompass.log import get_logger
from codecompass.nurseries import open_nursery
from codecompass.units import MILLISECONDS

AT_ONCE: Final = 4
"""Generations that are fetched at a time, in threads of their own: a store that hangs leaves the threads for questions about what
is here."""

MAX_UNAWAITED: Final = 64
"""Generations in the queue for which nobody waits any more. One question to thousands of repositories must not fetch them all."""


class _Fetch:
    """One generation that is wanted."""

    def __init__(self) -> None:
        self.done = trio.Event()
        self.failure: CodeCompassError | None = None
        self.n_waiting = 0
        self.is_begun = False


class IndexFetches:
    """The queue of one server. `serve` must run beside it."""

    def __init__(self, fetch: Callable[[str], object]) -> None:
        """`fetch` blocks until the files of a generation are here."""
        self._fetch = fetch
        self._queue: OrderedDict[str, _Fetch] = OrderedDict()
        """What is wanted and what is being fetched, in the order of asking."""
        self._has_more = trio.Event()
        self._limiter = trio.CapacityLimiter(AT_ONCE)

    @property
    def n_wanted(self) -> int:
        """How many generations are in the queue, with those that are being fetched."""
        return len(self._queue)

    def want(self, generation: str) -> bool:
        """Has a generation fetched later. Returns False if too many are in the queue."""
        if generation in self._queue:
            return True
        if sum(not each.n_waiting for each in self._queue.values()) >= MAX_UNAWAITED:
            return False
        self._add(generation)
        return True

    async def wait(self, generation: str, seconds: float) -> None:
        """Returns once the files of a generation were fetched. Raises what that raises, and EngineUnavailable after `seconds`;
        then it is fetched all the same."""
        wanted = self._queue.get(generation) or self._add(generation)
        wanted.n_waiting += 1
        try:
            with trio.move_on_after(seconds):
                await wanted.done.wait()
        finally:
            wanted.n_waiting -= 1
            self._drop_surplus()
        if wanted.failure is not None:
            raise wanted.failure
        if not wanted.done.is_set():
            raise EngineUnavailable(
                f"the store of segments of this organisation did not give the index within {seconds:g} s; it is still being "
                "fetched. Ask again in a moment; if it stays so, tell whoever runs it.",
                retry_after_ms=int(RETRY_SECONDS / MILLISECONDS),
            )

    async def serve(self) -> None:
        """Fetches what is wanted. Runs until cancelled."""
        async with open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(self._fetch_in_turn)

    async def _fetch_in_turn(self) -> None:
        while True:
            while (chosen := self._next()) is None:
                await self._has_more.wait()
            generation, wanted = chosen
            wanted.is_begun = True
            try:
                await trio.to_thread.run_sync(self._fetch, generation, limiter=self._limiter, abandon_on_cancel=True)
            except Exception as error:  # noqa: BLE001 (what fails is told to those who wait for it)
                wanted.failure = reported(error)
                if isinstance(wanted.failure, InternalError):
                    get_logger(__name__).error("index_not_fetched", generation=generation, exc_info=error)
            finally:
                del self._queue[generation]
                wanted.done.set()

    def _add(self, generation: str) -> _Fetch:
        wanted = self._queue[generation] = _Fetch()
        self._has_more.set()
        self._has_more = trio.Event()
        return wanted

    def _next(self) -> tuple[str, _Fetch] | None:
        """Returns the first of those that somebody waits for, else the first."""
        waiting = [(generation, each) for generation, each in self._queue.items() if not each.is_begun]
        return min(waiting, key=lambda each: not each[1].n_waiting, default=None)

    def _drop_surplus(self) -> None:
        """Forgets the oldest of too many for which nobody waits."""
        left = [each for each, wanted in self._queue.items() if not wanted.n_waiting and not wanted.is_begun]
        for each in left[: max(0, len(left) - MAX_UNAWAITED)]:
            del self._queue[each]

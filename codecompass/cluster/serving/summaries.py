"""Has the word summaries of all heads at hand: fetched beside the questions when heads change, a bounded number at a time.

    Libraries lists repositories -> heads_are() -> wanted -> threads: manifests, then objects -> SummaryCache
    a question                   -> known()     waits a moment for those that are wanted, and takes what is there then

What is not there is not known, so the index itself has to be asked.
"""

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from typing import Final

import trio

from codecompass.cluster.serving.generations import Generations
from codecompass.nurseries import open_nursery
from codecompass.store.word_summary import WordSummary
from codecompass.units import SECONDS

AT_ONCE: Final = 8
"""Threads that fetch summaries. They are not those that fetch indexes, which take longer."""

IN_ONE_TURN: Final = 32
"""Summaries that a thread fetches in a turn: their manifests are read with one request."""

MAX_WANTED: Final = 100_000

TURN_SECONDS: Final = 60 * SECONDS
"""A turn that takes longer is given up: the store hangs."""

RETRY_SECONDS: Final = 30 * SECONDS
"""When a summary that could not be fetched is tried again, if it is still wanted."""


class Summaries:
    """Fetches summaries. `serve` must run beside it; without it, `known` returns what is in memory when its time is over."""

    def __init__(self, generations: Generations) -> None:
        self._generations = generations
        self._wanted: OrderedDict[str, None] = OrderedDict()
        self._in_work: set[str] = set()
        self._failed: OrderedDict[str, float] = OrderedDict()
        """When, in trio time, a summary could not be fetched."""
        self._has_wanted = trio.Event()
        self._has_more = trio.Event()
        self._limiter = trio.CapacityLimiter(AT_ONCE)

    def heads_are(self, generations: Collection[str]) -> None:
        """Wants the summaries of these generations, and forgets all others."""
        self._generations.summaries.keep_only(generations)
        self._want(self._generations.summaries.missing(generations))

    async def known(self, generations: Mapping[str, str], seconds: float) -> Mapping[str, WordSummary]:
        """Returns the summaries of generations, by the keys of `generations`, of those that are here or come within `seconds`."""
        summaries = self._generations.summaries
        missing = summaries.missing(generations.values())
        if missing:
            self._want(missing)
            with trio.move_on_after(seconds):
                while missing := [each for each in missing if each in self._wanted or each in self._in_work]:
                    await self._has_more.wait()
        return summaries.known(generations)

    async def serve(self) -> None:
        """Fetches what is wanted. Runs until cancelled."""
        async with open_nursery() as nursery:
            for _ in range(AT_ONCE):
                nursery.start_soon(self._fetch_in_turns)

    async def _fetch_in_turns(self) -> None:
        while True:
            await self._has_wanted.wait()
            turn = [self._wanted.popitem(last=False)[0] for _ in range(min(IN_ONE_TURN, len(self._wanted)))]
            if not self._wanted:
                self._has_wanted = trio.Event()
            self._in_work.update(turn)
            failed = turn
            try:
                with trio.move_on_after(TURN_SECONDS):
                    failed = await trio.to_thread.run_sync(
                        self._generations.fetch_summaries, turn, limiter=self._limiter, abandon_on_cancel=True
                    )
            finally:
                self._in_work.difference_update(turn)
                self._note_failed(failed)
                self._has_more.set()
                self._has_more = trio.Event()

    def _want(self, generations: Iterable[str]) -> None:
        now = trio.current_time()
        for each in generations:
            is_due = now - self._failed.get(each, -RETRY_SECONDS) >= RETRY_SECONDS
            if is_due and each not in self._in_work and len(self._wanted) < MAX_WANTED:
                self._wanted[each] = None
        if self._wanted:
            self._has_wanted.set()

    def _note_failed(self, generations: Iterable[str]) -> None:
        now = trio.current_time()
        for each in generations:
            self._failed.pop(each, None)
            self._failed[each] = now
        while len(self._failed) > MAX_WANTED:
            self._failed.popitem(last=False)

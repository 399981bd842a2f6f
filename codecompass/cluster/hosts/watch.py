"""A worker's part of discovery: looks at sources that are due, one after the other.

    asked for by a person or a webhook    -> soon, but not more often than every GAP_SECONDS
    the last look failed                  -> after the pause that the failure or the host's rate limit asks for
    nothing has happened for an interval  -> again: webhooks can be lost, and not every host has them

Every worker decides for itself, by its own clock; compare-and-set ensures that only one of them looks.
"""

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import structlog
import trio

from codecompass.cluster.hosts.discovery import look
from codecompass.cluster.hosts.sources import Source, Sources
from codecompass.cluster.indexing.measures import WorkerMeasures
from codecompass.cluster.indexing.schedule import ChangeTimes
from codecompass.cluster.repositories.documents import Repositories
from codecompass.errors import CodeCompassError
from codecompass.units import MINUTES, SECONDS

LOOK_SECONDS: Final = 3 * SECONDS
"""Between two reads of the sources."""

GAP_SECONDS: Final = 30 * SECONDS
PERMISSIONS_GAP_SECONDS: Final = 5 * MINUTES
"""At least between two looks at a source, however often webhooks ask for one; the second if each repository costs a request."""

ABANDONED_SECONDS: Final = 10 * MINUTES
"""After this long without an end, a look counts as abandoned by its worker."""


class SourceSchedule:
    """The decisions of one worker. `is_due` must be called regularly for every source, because it also observes them."""

    def __init__(self, clock: Callable[[], float], interval: float, *, gap: float = GAP_SECONDS, seed: int | None = None) -> None:
        self._times = ChangeTimes(clock)
        self._interval = interval
        self._gap = gap
        self._random = random.Random(seed)
        self._part = self._random.uniform(0.75, 1.25)

    def is_due(self, source: Source) -> bool:
        """Returns whether to look at a source now."""
        quiet = self._times.unchanged(source.id, source.polls)
        if source.failures and quiet < source.pause_seconds:
            return False
        if source.asked > source.begun:
            gap = PERMISSIONS_GAP_SECONDS if source.permissions else self._gap
            return quiet >= gap or not source.polls
        if source.done < source.begun:
            return bool(source.failures) or quiet >= ABANDONED_SECONDS
        return bool(source.failures) or quiet >= self._interval * self._part

    def forget_all_but(self, known: set[str]) -> None:
        """Forgets the observations of other sources."""
        self._times.forget_all_but(known)


async def watch_sources(
    sources: Sources,
    repositories: Repositories,
    measures: WorkerMeasures,
    schedule: SourceSchedule,
    tokens: Path | None,
    look_seconds: float = LOOK_SECONDS,
) -> None:
    """Looks at sources until cancelled. What the engine or a host refuses is tried again."""
    log = structlog.get_logger(__name__)
    limiter = trio.CapacityLimiter(1)
    while True:
        try:
            found = await trio.to_thread.run_sync(sources.listed, limiter=limiter)
            measures.saw_sources(found)
            schedule.forget_all_but({each.id for each in found})
            for source in [each for each in found if schedule.is_due(each)]:
                claimed = await trio.to_thread.run_sync(sources.claim, source, limiter=limiter)
                if claimed is None:
                    continue
                work = partial(look, sources, repositories, claimed, tokens)
                # A host that does not answer must not keep the worker from ending.
                changes = await trio.to_thread.run_sync(work, limiter=limiter, abandon_on_cancel=True)
                if changes is not None:
                    values = {
                        "added": changes.added,
                        "moved": changes.moved,
                        "removed": changes.removed,
                        "refused": changes.refused,
                    }
                    log.info("source_followed", source=source.url, **values)
        except CodeCompassError as error:
            log.warning("sources_not_followed", cause=error.message)
        await trio.sleep(look_seconds)

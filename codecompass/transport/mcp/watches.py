"""Things that change, and telling a client each time: jobs behind resources and tasks."""

from collections.abc import Awaitable, Callable
from typing import Final, Protocol

import trio

from codecompass.actors.jobs import JobView

MIN_INTERVAL_SECONDS: Final = 0.25
"""Between two messages on the same thing."""


class Watch(Protocol):
    """Something that changes: wait for it, as often as it does."""

    async def wait_change(self) -> bool:
        """Returns True after a change that has not been told yet, False once there will be none. Safe to cancel."""


class JobWatch:
    """The changes of a job, from its state at the time this is made."""

    def __init__(self, job: JobView) -> None:
        self._job = job
        self._seen = job.state

    async def wait_change(self) -> bool:
        """As Watch says. Several changes at once are one."""
        if self._seen.has_ended:
            return False
        self._seen = await self._job.wait_change(self._seen)
        return True


async def tell_changes(watch: Watch, tell: Callable[[], Awaitable[None]]) -> None:
    """Calls `tell` after each change, no more often than the interval, until there are no more."""
    while await watch.wait_change():
        await tell()
        await trio.sleep(MIN_INTERVAL_SECONDS)

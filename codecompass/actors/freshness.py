"""Between what has changed and the jobs that take it in: lets changes land before an answer, and the rest without one."""

from typing import Final

import trio

from codecompass.actors.job_runner import JobRunner
from codecompass.actors.tracking import DEBOUNCE_SECONDS, Tracking
from codecompass.protocol.metadata import FreshnessStatus
from codecompass.protocol.requests import FreshnessPolicy
from codecompass.units import MILLISECONDS, SECONDS

LONGEST_BREATH_SECONDS: Final = 1 * SECONDS
"""Between two jobs for changes that nobody has asked about, the workspace rests as long as the last job took, at most this."""

LOOK_SECONDS: Final = 100 * MILLISECONDS
"""What asking the watcher may take, also for those who want to wait for nothing: nearly always a tenth of a millisecond."""


class Freshness:
    """Keeps no state: what is known is in `tracking`, what is done about it in `jobs`."""

    def __init__(self, tracking: Tracking, jobs: JobRunner) -> None:
        self._tracking = tracking
        self._changes = tracking.changes
        self._jobs = jobs

    @property
    def status(self) -> FreshnessStatus:
        """What is known without another look."""
        return "fresh" if self._changes.is_current else self._otherwise

    @property
    def changed_files(self) -> frozenset[str]:
        """The files that are known by name to have changed and that no job covers yet."""
        return self._changes.files | self._jobs.taken_files

    async def settle(self, policy: FreshnessPolicy, deadline: float) -> FreshnessStatus:
        """Lets changes land. Returns `fresh` only if the index holds all that had changed when this was called."""
        is_fresh = False
        with trio.CancelScope(deadline=max(deadline, trio.current_time() + LOOK_SECONDS)) as scope:
            is_fresh = await self._become_fresh(scope, deadline, may_start=policy != "best_effort")
        return "fresh" if is_fresh else self._otherwise

    @property
    def _otherwise(self) -> FreshnessStatus:
        return "syncing" if self._jobs.is_running else "stale"

    async def _become_fresh(self, scope: trio.CancelScope, deadline: float, *, may_start: bool) -> bool:
        while True:
            look = await self._tracking.look()
            scope.deadline = deadline
            if look == "same" or self._changes.is_current:
                return True
            if not may_start:
                return False
            wanted = self._changes.seen
            self._jobs.want("question")
            while self._changes.covered < wanted and self._jobs.is_running:
                await self._jobs.wait_progress()
            if self._changes.covered < wanted:
                return False
            if look == "exact":
                return True
            # The job may have passed a file before it changed, and nobody watches: look again.

    async def follow(self) -> None:
        """Takes changes in as they come. Where they turn out to be none, as with a log that is ignored, ever less eagerly."""
        breath = DEBOUNCE_SECONDS
        while True:
            await self._tracking.wait_noted()
            self._jobs.want("files changed")
            while self._jobs.is_running:
                await self._jobs.wait_progress()
            if self._jobs.was_vain:
                breath = min(2 * breath, LONGEST_BREATH_SECONDS)
            else:
                breath = max(DEBOUNCE_SECONDS, self._jobs.last_run_seconds)
            await trio.sleep(min(breath, LONGEST_BREATH_SECONDS))
            self._tracking.note_again()

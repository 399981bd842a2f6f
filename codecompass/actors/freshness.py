"""Freshness: gets changes into the index before an answer, and in the background between questions. Keeps no state: the change
tracker knows what has changed, the job queue has it indexed.
"""

from typing import Final

import trio

from codecompass.actors.job_queue import FILES_CHANGED, JobQueue
from codecompass.actors.tracking import DEBOUNCE_SECONDS, ChangeTracker, CheckResult
from codecompass.protocol.metadata import FreshnessStatus
from codecompass.protocol.requests import FreshnessPolicy
from codecompass.units import MILLISECONDS, SECONDS

LONGEST_PAUSE_SECONDS: Final = 1 * SECONDS
"""Longest pause between two jobs that no question waits for; the pause is as long as the last job took, up to this."""

CHECK_SECONDS: Final = 100 * MILLISECONDS
"""How long the check of the tree may take even if the caller waits for nothing: it nearly always takes 0.1 ms."""


class Freshness:
    """The freshness of one workspace."""

    def __init__(self, changes: ChangeTracker, jobs: JobQueue) -> None:
        self._changes = changes
        self._jobs = jobs

    @property
    def status(self) -> FreshnessStatus:
        """The freshness known without another check."""
        return "fresh" if self._changes.is_current else self._not_fresh

    @property
    def changed_files(self) -> frozenset[str]:
        """Changed files, as far as known by name, that no finished job covers."""
        return self._changes.files | self._jobs.taken_files

    async def settle(self, policy: FreshnessPolicy, deadline: float) -> FreshnessStatus:
        """Waits until changes are indexed, at most until `deadline`.

        Returns `fresh` only if the index holds all changes made before the call. The first check of the tree gets at least
        CHECK_SECONDS, even if the deadline has passed.
        """
        checked: CheckResult | None = None
        with trio.move_on_at(max(deadline, trio.current_time() + CHECK_SECONDS)):
            checked = await self._changes.check_tree()
        if checked is None:
            return self._not_fresh
        if self._is_fresh(checked):
            return "fresh"
        if policy != "best_effort":
            with trio.move_on_at(deadline):
                if await self._index_changes(checked):
                    return "fresh"
        return self._not_fresh

    @property
    def _not_fresh(self) -> FreshnessStatus:
        return "syncing" if self._jobs.is_running else "stale"

    def _is_fresh(self, checked: CheckResult) -> bool:
        return checked == "unchanged" or self._changes.is_current

    async def _index_changes(self, checked: CheckResult) -> bool:
        """Runs jobs until the index holds what `checked` or a later check saw; returns False if a job fails to achieve that."""
        while not self._is_fresh(checked):
            wanted = self._changes.seen
            self._jobs.ensure_job("question")
            while self._changes.covered < wanted and self._jobs.is_running:
                await self._jobs.wait_progress()
            if self._changes.covered < wanted:
                return False
            if checked == "watched":
                return True
            # Without a watcher, a file may have changed after the job read it: check again.
            checked = await self._changes.check_tree()
        return True

    async def follow(self) -> None:
        """Indexes changes as they are noted. While jobs find nothing to do, as for an ignored log file, the pauses grow."""
        pause = DEBOUNCE_SECONDS
        while True:
            await self._changes.wait_noted()
            self._jobs.ensure_job(FILES_CHANGED)
            while self._jobs.is_running:
                await self._jobs.wait_progress()
            if self._jobs.found_nothing:
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            else:
                pause = max(DEBOUNCE_SECONDS, self._jobs.last_run_seconds)
            await trio.sleep(min(pause, LONGEST_PAUSE_SECONDS))
            self._changes.note_again()


class CommitFreshness(Freshness):
    """The freshness of a commit, which does not change."""

    @property
    def status(self) -> FreshnessStatus:
        """Always `fresh`."""
        return "fresh"

    @property
    def changed_files(self) -> frozenset[str]:
        """Always empty."""
        return frozenset()

    async def settle(self, policy: FreshnessPolicy, deadline: float) -> FreshnessStatus:
        """Returns `fresh` at once."""
        return "fresh"

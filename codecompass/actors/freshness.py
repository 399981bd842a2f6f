"""Freshness: lets changes land in the index before an answer, and by themselves when nobody asks. Keeps no state: the change
tracker knows what has changed, the job runner does something about it.
"""

from typing import Final

import trio

from codecompass.actors.job_runner import JobRunner
from codecompass.actors.tracking import DEBOUNCE_SECONDS, ChangeTracker, CheckResult
from codecompass.protocol.metadata import FreshnessStatus
from codecompass.protocol.requests import FreshnessPolicy
from codecompass.units import MILLISECONDS, SECONDS

LONGEST_PAUSE_SECONDS: Final = 1 * SECONDS
"""Between two jobs for changes that nobody has asked about there is a pause as long as the last job took, at most this."""

CHECK_SECONDS: Final = 100 * MILLISECONDS
"""What asking the watcher may take even if the caller waits for nothing: nearly always it takes a tenth of a millisecond."""


class Freshness:
    """That of one workspace."""

    def __init__(self, changes: ChangeTracker, jobs: JobRunner) -> None:
        self._changes = changes
        self._jobs = jobs

    @property
    def status(self) -> FreshnessStatus:
        """What is known without another check."""
        return "fresh" if self._changes.is_current else self._not_fresh

    @property
    def changed_files(self) -> frozenset[str]:
        """The files that are known by name to have changed and that no finished job covers."""
        return self._changes.files | self._jobs.taken_files

    async def settle(self, policy: FreshnessPolicy, deadline: float) -> FreshnessStatus:
        """Lets changes land until `deadline`. Returns `fresh` only if the index holds all that had changed before the call.

        The first check of the tree has at least CHECK_SECONDS, even if the deadline is over.
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
        """Runs jobs until the index holds what `checked` or a later check saw; false where a job does not bring that about."""
        while not self._is_fresh(checked):
            wanted = self._changes.seen
            self._jobs.ensure_job("question")
            while self._changes.covered < wanted and self._jobs.is_running:
                await self._jobs.wait_progress()
            if self._changes.covered < wanted:
                return False
            if checked == "watched":
                return True
            # Without a watcher the job may have passed a file before it changed: check again.
            checked = await self._changes.check_tree()
        return True

    async def follow(self) -> None:
        """Takes changes in as they come. While they turn out to be none, as with an ignored log file, the pauses grow."""
        pause = DEBOUNCE_SECONDS
        while True:
            await self._changes.wait_noted()
            self._jobs.ensure_job("files changed")
            while self._jobs.is_running:
                await self._jobs.wait_progress()
            if self._jobs.found_nothing:
                pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            else:
                pause = max(DEBOUNCE_SECONDS, self._jobs.last_run_seconds)
            await trio.sleep(min(pause, LONGEST_PAUSE_SECONDS))
            self._changes.note_again()


class CommitFreshness(Freshness):
    """That of a commit, which does not change."""

    @property
    def status(self) -> FreshnessStatus:
        """Always fresh."""
        return "fresh"

    @property
    def changed_files(self) -> frozenset[str]:
        """None."""
        return frozenset()

    async def settle(self, policy: FreshnessPolicy, deadline: float) -> FreshnessStatus:
        """Returns `fresh` at once."""
        return "fresh"

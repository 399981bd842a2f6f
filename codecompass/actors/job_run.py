"""One job on its way: what it took of the changes, whether others may see it, and its entry in the log of jobs.

A job that only looks whether anything has changed is nobody's business: it is shown, and entered, once it does real work
or somebody asks for it.
"""

from typing import Final

import structlog
import trio

from codecompass.actors.job_model import JobState, OwnedJob
from codecompass.actors.watching.changes import Pending
from codecompass.actors.workbench import Workbench
from codecompass.errors import CodeCompassError
from codecompass.units import MILLISECONDS

JOURNAL_SECONDS: Final = 500 * MILLISECONDS
"""How often the log of jobs learns how far a job is."""


class JobRun:
    """A job as its workspace runs it. `taken` are the changes that it covers, `scope` is where it is cancelled.

    `force` is what was asked for, `is_rebuild` what it came to.
    """

    def __init__(self, job: OwnedJob, *, force: bool, is_visible: bool) -> None:
        self.job = job
        self.force = force
        self.is_rebuild = force
        self.scope = trio.CancelScope()
        self.taken: Pending | None = None
        self.ending: JobState | None = None
        self.failure: CodeCompassError | None = None
        self._shown = trio.Event()
        self._has_entry = False
        self._log = structlog.get_logger(__name__)
        if is_visible:
            self.show()

    @property
    def is_visible(self) -> bool:
        """Whether others may see it."""
        return self._shown.is_set()

    def show(self) -> None:
        """Lets others see it from now on."""
        self._shown.set()

    async def keep_journal(self, bench: Workbench) -> None:
        """Keeps the log of jobs informed until cancelled. A log that cannot be written must not stop a job."""
        await self._shown.wait()
        try:
            await bench.record_queued(self.job.state)
            self._has_entry = True
            # It runs once it has the writer lock, and until then another process's job may: that is not to be called lost.
            while (state := self.job.state).status == "queued":
                await self.job.wait_change(state)
            await bench.record_running(self.job.state)
            while True:
                await trio.sleep(JOURNAL_SECONDS)
                await bench.record_progress(self.job.state)
        except CodeCompassError as error:
            self._log.warning("job_not_noted", job_id=self.job.state.job_id, error=error.message)

    async def end_journal(self, bench: Workbench, final: JobState) -> None:
        """Writes down how it ended, where anybody could know of it. Never fails."""
        if not self.is_visible:
            return
        try:
            if not self._has_entry:
                await bench.record_queued(self.job.state)
            await bench.record_end(final)
        except Exception as error:  # noqa: BLE001 (the log of jobs must not stop a job)
            self._log.warning("job_not_noted", job_id=final.job_id, error=str(error))

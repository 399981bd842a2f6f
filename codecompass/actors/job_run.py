"""One job from start to end: takes the pending changes, has the workbench index them, and keeps the job's record in the registry.

A job that merely checks for changes is invisible: it is shown and recorded once it does real work or is requested.
"""

import time
from collections.abc import Callable
from typing import Final

import structlog
import trio
from msgspec.structs import replace

from codecompass.actors.job_context import JobOrder
from codecompass.actors.job_state import JobReport, JobState, OwnedJob, Published, WatchList
from codecompass.actors.known_index import KnownIndex
from codecompass.actors.tracking import ChangeTracker
from codecompass.actors.watching.changes import PendingChanges
from codecompass.actors.workbench import Workbench
from codecompass.errors import Cancelled, CodeCompassError, IndexInProgress, reported
from codecompass.jobs import FinalStatus, Progress
from codecompass.nurseries import open_nursery
from codecompass.units import MILLISECONDS

CANCELLED: Final = "cancelled on request"

RECORD_SECONDS: Final = 500 * MILLISECONDS
"""How often the progress of a job is recorded in the registry."""


class JobRun:
    """A job as its workspace runs it. Cancel `scope` to stop it.

    `taken` are the changes that it covers, None until it has taken them. `force`: a rebuild was requested; `is_rebuild`: it is
    one, requested or because of damage. `text_first` returns whether the text of a first index is published separately.
    `has_landed`: the index holds all of `taken`. `on_state` is called after each visible state, `on_readable` when a first index
    can be read, or another one holds `taken` while the job still cleans up. `failure` is why the job did not publish.
    """

    def __init__(
        self,
        job: OwnedJob,
        *,
        bench: Workbench,
        index: KnownIndex,
        changes: ChangeTracker,
        force: bool,
        is_visible: bool,
        text_first: Callable[[], bool],
        on_state: Callable[[], None],
        on_readable: Callable[[], None],
    ) -> None:
        self.job = job
        self.force = force
        self.is_rebuild = force
        self.scope = trio.CancelScope()
        self.taken: PendingChanges | None = None
        self.failure: CodeCompassError | None = None
        self._bench = bench
        self._index = index
        self._changes = changes
        self._text_first = text_first
        self._on_state = on_state
        self._on_readable = on_readable
        self.has_landed = False
        self._watch_list: WatchList | None = None
        self._ending: JobState | None = None
        self._shown = trio.Event()
        self._is_recorded = False
        self._log = structlog.get_logger(__name__)
        if is_visible:
            self.show()

    @property
    def is_visible(self) -> bool:
        """Whether others may see the job."""
        return self._shown.is_set()

    @property
    def is_stopping(self) -> bool:
        """Whether the job was cancelled, so that nobody may rely on it any more."""
        return self.scope.cancel_called

    def require_rebuild(self) -> None:
        """Makes a job that has not begun one that rebuilds the index."""
        self.force = self.is_rebuild = True
        if self.job.state.mode != "full":
            self.job.update(replace(self.job.state, mode="full"))

    def drop(self) -> None:
        """Ends a job that has not begun, as cancelled."""
        self._fail(Cancelled(CANCELLED), "cancelled")

    def show(self) -> None:
        """Makes the job visible to others."""
        self._shown.set()

    @property
    def ending(self) -> JobState:
        """The last state of the job, once `run` has returned or was cancelled."""
        stopped = Cancelled("the server stopped before the job had ended")
        return self._ending or self._ended("cancelled", error=stopped)

    async def run(self) -> None:
        """Runs the job. A failure becomes its `ending`, not an exception."""
        published = trio.Event()

        def note(watch_list: WatchList | None) -> None:
            published.set()
            self._watch_list = watch_list or self._watch_list
            # Of a first index, or one in place of a damaged one, questions have to learn first that it can be read.
            if watch_list is not None and self._index.is_whole:
                self._land()
                self._on_readable()

        try:
            with self.scope:
                async with open_nursery() as nursery:
                    nursery.start_soon(self._keep_record)
                    nursery.start_soon(self._wait_first_index, published)
                    report = await self._index_changes(note)
                    nursery.cancel_scope.cancel()
                await self._index.inspect()
                self._land()
                self._ending = self._ended("published", report=report)
            if self.scope.cancelled_caught:
                self._fail(Cancelled(CANCELLED), "cancelled")
        except CodeCompassError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 (one job fails, not the workspace)
            self._log.exception("job_failed", job_id=self.job.state.job_id)
            self._fail(reported(error))

    def _land(self) -> None:
        """Notes once that the index holds what was taken."""
        if self.has_landed:
            return
        self.has_landed = True
        assert self.taken is not None
        self._changes.landed(self.taken)
        if self._watch_list is not None:
            self._changes.watch_scanned(self._watch_list)
        self._watch_list = None

    async def _index_changes(self, on_published: Published) -> JobReport:
        while True:
            await self._changes.drain()
            self.taken = self._changes.take()
            self.is_rebuild = self.force or bool(self._index.on_disk.damage)
            order = JobOrder(
                job_id=self.job.state.job_id,
                force=self.is_rebuild,
                directories=None if self.is_rebuild or self._index.meta is None else self.taken.directories,
                files=self.taken.files,
                text_first=self._text_first(),
                defers_uses=True,
            )
            try:
                return await self._bench.index(order, self._on_progress, on_published)
            except IndexInProgress:
                # Another process is writing. What it publishes is as good as ours; afterwards only the rest is left to do.
                self._changes.put_back(self.taken)
                self.taken = None
                await self._bench.wait_unlocked()
                if self._index.on_disk.damage:
                    await self._index.inspect()

    def _on_progress(self, progress: Progress) -> None:
        job = self.job
        if job.state.status == "queued":
            job.update(replace(job.state, status="running", started_at=time.time(), progress=progress))
        else:
            job.update(replace(job.state, progress=progress))
        if progress.files_total:
            self.show()
        if self.is_visible:
            self._on_state()

    async def _wait_first_index(self, published: trio.Event) -> None:
        if await self._index.wait_first(published):
            self._on_readable()

    def _fail(self, error: CodeCompassError, status: FinalStatus = "failed") -> None:
        self.failure = error
        self._ending = self._ended(status, error=error)

    def _ended(self, status: FinalStatus, *, error: CodeCompassError | None = None, report: JobReport | None = None) -> JobState:
        state = self.job.state
        return replace(
            state,
            status=status,
            error="" if error is None else error.message,
            error_code="" if error is None else error.code,
            mode=state.mode if report is None else report.mode,
            report=report,
            finished_at=time.time(),
        )

    # the record in the registry

    async def _keep_record(self) -> None:
        """Updates the record until cancelled. A registry that cannot be written must not stop the job."""
        record = self._bench.tree
        if record is None:
            return  # Jobs of commits are not recorded.
        await self._shown.wait()
        try:
            await record.record_queued(self.job.state)
            self._is_recorded = True
            # The job runs once it has the writer lock. Until then another process's job may be running, which must not be
            # recorded as lost.
            while (state := self.job.state).status == "queued":
                await self.job.wait_change(state)
            await record.record_running(self.job.state)
            while True:
                await trio.sleep(RECORD_SECONDS)
                if await record.record_progress(self.job.state):
                    self.scope.cancel()
        except CodeCompassError as error:
            self._log.warning("job_not_recorded", job_id=self.job.state.job_id, error=error.message)

    async def record_end(self, ending: JobState) -> None:
        """Records the end of a visible job. Never fails."""
        record = self._bench.tree
        if record is None or not self.is_visible:
            return
        try:
            if not self._is_recorded:
                await record.record_queued(self.job.state)
            await record.record_end(ending)
        except Exception as error:  # noqa: BLE001 (the registry must not stop a job)
            self._log.warning("job_not_recorded", job_id=ending.job_id, error=str(error))

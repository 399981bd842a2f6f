"""Decides which job of a workspace runs: at most one, with at most one more waiting for its end.

    start, ensure_job --> launch --> [waiting] --> running --> ended --> the waiting job, or one for newer changes

A job covers the changes that were known when it began; only their publication means that the index holds them. A job that is
being cancelled covers nothing, and one that has published nothing else: what is requested meanwhile waits for its end.
"""

import time
from collections.abc import Callable
from typing import Final

import trio

from codecompass.actors.job_run import JobRun
from codecompass.actors.job_state import JobHandle, JobState, OwnedJob
from codecompass.actors.known_index import KnownIndex
from codecompass.actors.messages import StartJob
from codecompass.actors.tracking import ChangeTracker
from codecompass.actors.workbench import Workbench
from codecompass.errors import CodeCompassError, FileSystemUnresponsive, IndexInProgress, StoreRefused, WorkspaceBusy
from codecompass.jobs import JobStatus
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.job_log import new_job_id
from codecompass.store.registry import Project
from codecompass.units import SECONDS

END_DEADLINE_SECONDS: Final = 10 * SECONDS
"""How long recording the end of a job may take, even while the server stops."""

FIRST_RETRY_SECONDS: Final = 1 * SECONDS
LONGEST_RETRY_SECONDS: Final = 60 * SECONDS
"""Pause after a failed job, doubling up to the longest, in which questions start no job; explicit requests always do."""

FILES_CHANGED: Final = "files changed"
"""The cause of a job that nobody waits for."""


class JobQueue:
    """The jobs of one workspace. All but `wait_progress` is synchronous. `nursery` is the incarnation's, whose end ends all jobs.

    `last` is the last job that was visible or failed, `failure` its error. `found_nothing`: the last run, which took
    `last_run_seconds`, had nothing to index; `scan_warnings` are those of the last whole scan. `remember` is called with each new
    job, `announce` after each transition. `commit` is what the jobs index, None for the working tree.
    """

    def __init__(
        self,
        *,
        project: Callable[[], Project],
        bench: Workbench,
        index: KnownIndex,
        changes: ChangeTracker,
        nursery: trio.Nursery,
        remember: Callable[[JobHandle], None],
        announce: Callable[[], None],
        commit: NamedCommit | None = None,
    ) -> None:
        self.last: JobState | None = None
        self.failure: CodeCompassError | None = None
        self.scan_warnings: tuple[str, ...] = ()
        self.last_run_seconds = 0.0
        self.found_nothing = False
        self._commit = commit
        self._project = project
        self._bench = bench
        self._index = index
        self._changes = changes
        self._nursery = nursery
        self._remember = remember
        self._announce = announce
        self._running: JobRun | None = None
        self._next: JobRun | None = None
        self._progressed = trio.Event()
        self._follow_up_cause = ""
        self._is_asked_again = False
        self._failures = 0
        self._retry_at = float("-inf")

    @property
    def is_running(self) -> bool:
        """Whether a job runs, even one that merely checks for changes."""
        return self._running is not None

    @property
    def active_view(self) -> JobHandle | None:
        """The visible job, to follow it; None for a job that merely checks for changes."""
        run = self._next or self._running
        return run.job if run is not None and run.is_visible else None

    @property
    def active(self) -> JobState | None:
        """The newest state of the visible job."""
        view = self.active_view
        return None if view is None else view.state

    @property
    def is_indexing(self) -> bool:
        """Whether a visible job waits, or runs and has not yet published all that it has taken."""
        run = self._next or self._running
        return run is not None and run.is_visible and not run.has_landed

    @property
    def taken_files(self) -> frozenset[str]:
        """The changed files that the running job covers, as far as known by name."""
        run = self._running
        return frozenset() if run is None or run.taken is None else run.taken.files

    async def wait_progress(self) -> None:
        """Waits until a job has ended, even if another follows it, the first index can be read, or a later one holds what a job
        has taken."""
        await self._progressed.wait()

    def start(self, message: StartJob) -> JobHandle:
        """Starts the requested job or joins one that does the same. Raises IndexInProgress if neither is possible."""
        run = self._running
        if run is None:
            return self._launch(message.cause, force=message.force, is_explicit=True)
        is_ending = run.is_stopping or run.has_landed
        if message.force and not run.force and not is_ending and self._next is None:
            if run.is_visible:
                state = run.job.state
                raise IndexInProgress(
                    f"job {state.job_id} is bringing this index up to date. Wait for it to end, then force a rebuild.",
                    job_id=state.job_id,
                )
            # It merely checks for changes, which a rebuild does as well.
            run.scope.cancel()
        if is_ending or (message.force and not run.force):
            return self._queue(message.cause, force=message.force)
        run.show()
        return run.job

    def cancel(self, job_id: str) -> bool:
        """Stops the job with this id. Returns False if no such job runs or waits."""
        run, waiting = self._running, self._next
        if run is not None and run.job.state.job_id == job_id:
            run.scope.cancel()
            return True
        if waiting is not None and waiting.job.state.job_id == job_id:
            self._next = None
            self._nursery.start_soon(self._drop, waiting)
            return True
        return False

    @property
    def is_forgotten(self) -> bool:
        """Whether the project is registered no longer, because its first index came to nothing."""
        tree = self._bench.tree
        return tree is not None and tree.is_forgotten(self._project())

    @property
    def refused(self) -> StoreRefused | None:
        """Why nothing can be written: the last job failed of that, or the project cannot even be registered; None otherwise."""
        if isinstance(self.failure, StoreRefused):
            return self.failure
        tree = self._bench.tree
        return None if tree is None else tree.refusal(self._project())

    def ensure_job(self, cause: str) -> None:
        """Makes sure that a job covers the changes seen so far: starts one now, or after the running one.

        Does nothing during the pause after a failure, and nothing for a forgotten project: only the router registers it again.
        """
        run = self._running
        if run is not None:
            if run.is_stopping or run.taken is None or run.taken.position < self._changes.seen:
                self._follow_up_cause = cause
                self._is_asked_again = self._is_asked_again or (run.is_stopping and cause != FILES_CHANGED)
        elif trio.current_time() >= self._retry_at and not self.is_forgotten:
            self._launch(cause, force=False, is_explicit=False)

    def rebuild(self, damage: CodeCompassError) -> JobHandle:
        """Abandons the damaged index. Returns the job that rebuilds it, started now or earlier."""
        self._index.mark_damaged(damage.message)
        self._changes.note(None)
        run = self._running
        if run is not None and run.force and not run.is_stopping:
            return run.job
        if run is not None and not run.is_visible:
            run.scope.cancel()
        return self._queue("the index is damaged", force=True)

    def _queue(self, cause: str, *, force: bool) -> OwnedJob:
        """Returns the job that waits for the end of the running one, as a rebuild if `force`; starts it now if none runs."""
        waiting = self._next
        if waiting is None:
            return self._launch(cause, force=force, is_explicit=True)
        if force:
            waiting.require_rebuild()
        return waiting.job

    def _launch(self, cause: str, *, force: bool, is_explicit: bool) -> OwnedJob:
        project = self._project()
        is_full = force or self._index.meta is None
        job = OwnedJob(
            JobState(
                job_id=new_job_id(),
                project_id=project.project_id,
                project_name=project.name,
                root=str(project.root),
                commit="" if self._commit is None else self._commit.commit,
                mode="full" if is_full else "incremental",
                status="queued",
                cause=cause,
                created_at=time.time(),
            )
        )
        self._remember(job)
        run = JobRun(
            job,
            bench=self._bench,
            index=self._index,
            changes=self._changes,
            force=force,
            is_visible=is_explicit or is_full,
            # A question that introduced an unknown workspace waits for its answer: no longer than text alone needs.
            text_first=lambda: self._project().is_auto_discovered,
            on_state=self._announce,
            on_readable=self._progress,
        )
        self._start(run)
        return job

    def _start(self, run: JobRun) -> None:
        """Starts a job, or queues it behind the running one."""
        if self._running is not None:
            self._next = run
            return
        self._next = None
        self._follow_up_cause = ""
        self._is_asked_again = False
        self._running = run
        self._nursery.start_soon(self._run, run)
        self._announce()

    async def _run(self, run: JobRun) -> None:
        started = trio.current_time()
        try:
            await run.run()
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + END_DEADLINE_SECONDS):
                await self._end(run, trio.current_time() - started)

    async def _drop(self, run: JobRun) -> None:
        """Ends a job that was cancelled while it waited."""
        with trio.CancelScope(shield=True, deadline=trio.current_time() + END_DEADLINE_SECONDS):
            run.drop()
            await run.record_end(run.ending)
            run.job.update(run.ending)
            self._announce()

    async def _end(self, run: JobRun, seconds: float) -> None:
        ending = run.ending
        is_published = ending.status == "published"
        if ending.report is not None and not ending.report.is_partial_scan:
            self.scan_warnings = ending.report.warnings
        if is_published and self._index.on_disk.interruption is not None:
            # A success makes up for interrupted jobs, even with nothing left to do: it has to be recorded.
            run.show()
            self._index.forget_interruption()
        # Before the end is visible: a caller who then reads the registry finds the job in it.
        await run.record_end(ending)
        if ending.status == "failed":
            self._pause_after(run.failure)
        if self._came_to_nothing(run):
            await self._forget()
        run.job.update(ending)
        self._running = None
        self.last_run_seconds = seconds
        self.found_nothing = ending.report is not None and not ending.report.files_changed
        if run.is_visible or (not is_published and self._next is None):
            self.last, self.failure = ending, run.failure
        elif self.last is not None and self.last.status == "failed":
            self.last = self.failure = None
        if not is_published and run.taken is not None:
            self._changes.put_back(run.taken)
        self._choose_next(run, ending.status)
        self._progress()

    def _came_to_nothing(self, run: JobRun) -> bool:
        """Whether a first job has failed or was cancelled on request, and no other is to follow it."""
        status = run.ending.status
        is_over = status == "failed" or (status == "cancelled" and run.is_stopping)
        return is_over and self._index.meta is None and not self._is_wanted

    @property
    def _is_wanted(self) -> bool:
        """Whether somebody has asked for another job since the running one was cancelled."""
        return self._next is not None or self._is_asked_again

    async def _forget(self) -> None:
        tree = self._bench.tree
        if tree is not None and await tree.forget(self._retry_at) and self._is_wanted:
            # Asked for while the entry was being removed.
            await tree.restore()

    def _pause_after(self, failure: CodeCompassError | None) -> None:
        # An unresponsive file system costs a job nothing and may answer at any time, and a tree that was being switched is no
        # fault of the job: neither makes the pause grow.
        self._failures += not isinstance(failure, FileSystemUnresponsive | WorkspaceBusy)
        pause = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** max(0, self._failures - 1))
        self._retry_at = trio.current_time() + pause

    def _choose_next(self, run: JobRun, status: JobStatus) -> None:
        if status == "published":
            self._failures = 0
        if self._next is not None:
            self._start(self._next)
        elif status == "failed" or self.is_forgotten:
            return  # The next question starts a job, after the pause.
        elif status == "cancelled" and not run.is_stopping:
            return  # The workspace ends.
        elif self._index.on_disk.damage and not run.is_rebuild:
            # The job began before the damage was known, and did not repair it.
            self._launch("the index is damaged", force=True, is_explicit=True)
        elif self._follow_up_cause and not self._changes.is_current:
            self._launch(self._follow_up_cause, force=False, is_explicit=False)

    def _progress(self) -> None:
        self._progressed.set()
        self._progressed = trio.Event()
        self._announce()

"""The index of a workspace as it stands on disk, and the jobs that change it: at most one runs and one waits for its end.

    order, want --> launch --> [waiting] --> running --> ended --> the waiting one, or what was wanted meanwhile

A job covers the changes that were known when it began; only its success says that the index holds them.
"""

import time
from collections.abc import Callable
from typing import Final

import structlog
import trio
from msgspec.structs import replace

from codecompass.actors.background import innermost, ungrouped
from codecompass.actors.index_answers import IndexOnDisk
from codecompass.actors.job_model import JobReport, JobState, JobView, OwnedJob
from codecompass.actors.job_run import JobRun
from codecompass.actors.messages import JobTicket, StartJob
from codecompass.actors.tracking import Tracking
from codecompass.actors.workbench import JobOrder, Workbench
from codecompass.errors import Cancelled, CodeCompassError, FileSystemUnresponsive, IndexInProgress, InternalError
from codecompass.jobs import FinalStatus, JobMode, Progress
from codecompass.store.job_log import new_job_id
from codecompass.store.registry import Project
from codecompass.units import MILLISECONDS, SECONDS

JOURNAL_DEADLINE_SECONDS: Final = 10 * SECONDS
"""How long the end of a job may take to be written down, also while the server stops."""

FIRST_LOOK_SECONDS: Final = 50 * MILLISECONDS
"""How often a job without an index looks whether there is one to answer from by now: its own text, or what another process
has published meanwhile. A look that finds none costs a few system calls and a row of the log of jobs."""

FIRST_RETRY_SECONDS: Final = 1 * SECONDS
LONGEST_RETRY_SECONDS: Final = 60 * SECONDS
"""A job that failed is not started again by questions before this; explicit requests always start one."""


class JobRunner:
    """Everything but `look` and `wait_progress` is synchronous. `nursery` is that of the workspace's incarnation, which ends
    all jobs.

    `last` is the last job that others saw, or that failed, `failure` its error. `text_ready_at` is when a first index could be
    searched, by this event loop's clock, long ago where there was one at the start; `text_seconds` is what its text took.
    `was_vain` says that the last run found nothing to do.
    """

    def __init__(
        self,
        *,
        project: Callable[[], Project],
        bench: Workbench,
        tracking: Tracking,
        nursery: trio.Nursery,
        remember: Callable[[JobView], None],
        announce: Callable[[], None],
    ) -> None:
        self.index = IndexOnDisk(schema_status="not_indexed", schema_version=0)
        self.last: JobState | None = None
        self.failure: CodeCompassError | None = None
        self.last_run_seconds = 0.0
        self.text_ready_at = float("-inf")
        self.text_seconds = 0.0
        self.was_vain = False
        self._project = project
        self._bench = bench
        self._tracking = tracking
        self._changes = tracking.changes
        self._nursery = nursery
        self._remember = remember
        self._announce = announce
        self._log = structlog.get_logger(__name__)
        self._running: JobRun | None = None
        self._next: JobRun | None = None
        self._progressed = trio.Event()
        self._is_wanted = ""
        self._failures = 0
        self._retry_at = float("-inf")

    @property
    def is_running(self) -> bool:
        """Whether a job runs, be it one that only looks."""
        return self._running is not None

    @property
    def active(self) -> JobState | None:
        """The job that others see: not one that only looks whether anything has changed."""
        run = self._next or self._running
        return run.job.state if run is not None and run.is_visible else None

    @property
    def taken_files(self) -> frozenset[str]:
        """The changed files that the running job takes in, as far as they are known by name."""
        run = self._running
        return frozenset() if run is None or run.taken is None else run.taken.files

    @property
    def working(self) -> JobView | None:
        """The job that others see, to follow it."""
        run = self._next or self._running
        return run.job if run is not None and run.is_visible else None

    async def wait_progress(self) -> None:
        """Returns once a job has ended, be it to make way for the next one, or the first index is there to be read."""
        await self._progressed.wait()

    async def inspect_index(self) -> None:
        """Learns how the index lies on disk. Raises what `Workbench.inspect_index` raises."""
        self.index = await self._bench.inspect_index()

    def order(self, message: StartJob) -> JobTicket:
        """Starts the job that is asked for or joins one that does the same. Raises IndexInProgress where neither can be."""
        run = self._running
        if run is None:
            return JobTicket(self._launch(message.cause, force=message.force, is_explicit=True), is_joined=False)
        if message.force and not run.force:
            if self._next is not None:
                return JobTicket(self._next.job, is_joined=True)
            state = run.job.state
            if not run.is_visible:
                # It only looks whether anything has changed, which a rebuild does as well.
                run.scope.cancel()
                return JobTicket(self._launch(message.cause, force=True, is_explicit=True), is_joined=False)
            raise IndexInProgress(
                f"job {state.job_id} is bringing this index up to date. Wait for it to end, then force a rebuild.",
                job_id=state.job_id,
            )
        run.show()
        return JobTicket(run.job, is_joined=True)

    def cancel(self, job_id: str) -> bool:
        """Stops the job of that id. False where there is none such to be stopped."""
        for run in (self._running, self._next):
            if run is not None and run.job.state.job_id == job_id:
                run.scope.cancel()
                return True
        return False

    def want(self, cause: str) -> None:
        """Sees to it that a job covers what was seen by now; one that runs already may have to be followed by another.

        Does nothing in the pause after a failure.
        """
        if self._running is not None:
            if self._running.taken is None or self._running.taken.position < self._changes.seen:
                self._is_wanted = cause
        elif trio.current_time() >= self._retry_at:
            self._launch(cause, force=False, is_explicit=False)

    def rebuild(self, damage: CodeCompassError) -> JobView:
        """Gives up the index that was found damaged. Returns the job that builds it anew, begun now or earlier."""
        self.index = IndexOnDisk(schema_status="corrupt_manifest", damage=damage.message)
        self._tracking.note(None)
        for run in (self._running, self._next):
            if run is not None and run.force:
                return run.job
        if self._running is not None and not self._running.is_visible:
            self._running.scope.cancel()
        return self._launch("the index is damaged", force=True, is_explicit=True)

    def _launch(self, cause: str, *, force: bool, is_explicit: bool) -> OwnedJob:
        project = self._project()
        is_full = force or self.index.meta is None
        job = OwnedJob(
            JobState(
                job_id=new_job_id(),
                project_id=project.project_id,
                project_name=project.name,
                root=str(project.root),
                mode="full" if is_full else "incremental",
                status="queued",
                cause=cause,
                created_at=time.time(),
            )
        )
        self._remember(job)
        self._start(JobRun(job, force=force, is_visible=is_explicit or is_full))
        return job

    def _start(self, run: JobRun) -> None:
        """Starts a job, or lets it wait for the one that is being cancelled for it."""
        if self._running is not None:
            self._next = run
            return
        self._next = None
        self._is_wanted = ""
        self._running = run
        self._nursery.start_soon(self._run, run)
        self._announce()

    async def _run(self, run: JobRun) -> None:
        job = run.job
        started = trio.current_time()
        published = trio.Event()
        try:
            with run.scope:
                with ungrouped():
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(run.keep_journal, self._bench)
                        nursery.start_soon(self._see_first, published)
                        report = await self._index(run, published.set)
                        nursery.cancel_scope.cancel()
                await self.inspect_index()
                assert run.taken is not None
                self._changes.landed(run.taken)
                self._failures = 0
                run.ending = _ended(job.state, "published", mode=report.mode, report=report)
                self._tracking.watch(report)
            if run.scope.cancelled_caught:
                run.failure = Cancelled("cancelled on request")
                run.ending = _ended(job.state, "cancelled", error=run.failure)
        except CodeCompassError as error:
            run.failure = error
            run.ending = _ended(job.state, "failed", error=error)
        except Exception as error:  # noqa: BLE001 (one job fails, not the workspace)
            self._log.exception("job_failed", job_id=job.state.job_id)
            cause = innermost(error)
            run.failure = InternalError(f"{type(cause).__name__}: {cause}")
            run.ending = _ended(job.state, "failed", error=run.failure)
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + JOURNAL_DEADLINE_SECONDS):
                await self._end(run, trio.current_time() - started)

    async def _index(self, run: JobRun, on_published: Callable[[], None]) -> JobReport:
        job = run.job

        def on_progress(progress: Progress) -> None:
            if job.state.status == "queued":
                job.update(replace(job.state, status="running", started_at=time.time(), progress=progress))
            else:
                job.update(replace(job.state, progress=progress))
            if progress.files_total:
                run.show()
            if run.is_visible:
                self._announce()

        while True:
            await self._tracking.drain()
            run.taken = self._changes.take()
            run.is_rebuild = run.force or bool(self.index.damage)
            order = JobOrder(
                job_id=job.state.job_id,
                force=run.is_rebuild,
                directories=None if run.is_rebuild or self.index.meta is None else run.taken.directories,
                files=run.taken.files,
                # Whoever made an unknown workspace known waits for the answer and for no more than it takes.
                text_first=self._project().is_auto_discovered,
            )
            try:
                return await self._bench.index(order, on_progress, on_published)
            except IndexInProgress:
                # Another process writes. What it publishes is as good as ours; then only what is left is our work.
                self._changes.put_back(run.taken)
                run.taken = None
                await self._bench.wait_unlocked()
                if self.index.damage:
                    await self.inspect_index()

    async def _see_first(self, published: trio.Event) -> None:
        """Takes in the first generation as soon as it is there, while the job goes on: its own, or another process's."""
        began = trio.current_time()
        # Of a damaged index the description may still be readable.
        while self.index.meta is None and not self.index.damage:
            if published.is_set():
                await trio.sleep(FIRST_LOOK_SECONDS)
            else:
                with trio.move_on_after(FIRST_LOOK_SECONDS):
                    await published.wait()
            try:
                index = await self._bench.inspect_index()
            except CodeCompassError as error:
                self._log.info("not_looked", error=error.message)
                continue
            if self.index.meta is None and index.meta is not None:
                self.index = index
                self.text_ready_at = trio.current_time()
                self.text_seconds = self.text_ready_at - began
                self._progress()

    async def _end(self, run: JobRun, seconds: float) -> None:
        final = run.ending or _ended(run.job.state, "cancelled", error=Cancelled("the server stopped before the job had ended"))
        if final.status == "published" and self.index.interruption is not None:
            # A success makes up for what was interrupted, also where nothing was left to do: the log has to hold it.
            run.show()
            self.index = replace(self.index, interruption=None)
        # Before anybody can see the end: who then asks for the log finds the job in it.
        await run.end_journal(self._bench, final)
        run.job.update(final)
        self._running = None
        self.last_run_seconds = seconds
        self.was_vain = final.report is not None and not final.report.files_changed
        if run.is_visible or (final.status != "published" and self._next is None):
            self.last, self.failure = final, run.failure
        elif self.last is not None and self.last.status == "failed":
            self.last = self.failure = None
        if final.status != "published" and run.taken is not None:
            self._changes.put_back(run.taken)
        if self._next is not None:
            self._start(self._next)
        elif final.status != "published":
            # A file system that answers again is as good as ever, and until then a job costs nothing.
            self._failures += not isinstance(run.failure, FileSystemUnresponsive)
            pause = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** max(0, self._failures - 1))
            self._retry_at = trio.current_time() + pause
        elif self.index.damage and not run.is_rebuild:
            # It began before the damage was known, and touched nothing of what is damaged.
            self._launch("the index is damaged", force=True, is_explicit=True)
        elif self._is_wanted and not self._changes.is_current:
            self._launch(self._is_wanted, force=False, is_explicit=False)
        self._progress()

    def _progress(self) -> None:
        self._progressed.set()
        self._progressed = trio.Event()
        self._announce()


def _ended(
    state: JobState,
    status: FinalStatus,
    *,
    error: CodeCompassError | None = None,
    mode: JobMode | None = None,
    report: JobReport | None = None,
) -> JobState:
    return replace(
        state,
        status=status,
        error="" if error is None else error.message,
        error_code="" if error is None else error.code,
        mode=mode or state.mode,
        report=report,
        finished_at=time.time(),
    )

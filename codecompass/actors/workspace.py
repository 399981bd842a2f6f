"""The actor of one workspace: sole owner of what it knows of its index, its jobs and its freshness.

    mailbox --> loop --> one task a question --> workbench
                 |-----> at most one index job --> workbench
                 |-----> watcher --> changes --> index job

The loop never awaits work: it takes a message, starts a task or changes state, and goes back to the mailbox. All tasks run
in the nursery of one incarnation; a crash of the loop ends them all and the supervisor starts the next incarnation.
"""

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import structlog
import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.change_log import ChangeLog, Pending
from codecompass.actors.indexing import JobReport
from codecompass.actors.jobs import JobState, JobView, OwnedJob
from codecompass.actors.mailbox import Envelope, Mailbox
from codecompass.actors.messages import CancelJob, JobTicket, Query, StartJob
from codecompass.actors.observation import WorkspaceObservation
from codecompass.actors.progress import Progress
from codecompass.actors.ungrouped import ungrouped
from codecompass.actors.workbench import Order, Standing, View, Workbench
from codecompass.errors import (
    Cancelled,
    CodeCompassError,
    IndexDamaged,
    IndexInProgress,
    InternalError,
    StoreNewer,
)
from codecompass.protocol.metadata import FreshnessStatus, IndexingStatus
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import FreshnessPolicy, IndexStatus
from codecompass.store.job_log import FinalStatus, JobMode, new_job_id
from codecompass.store.registry import Project
from codecompass.units import MILLISECONDS, MINUTES, SECONDS

if TYPE_CHECKING:
    from codecompass.actors.watching import TreeWatcher

DEBOUNCE_SECONDS: Final = 50 * MILLISECONDS
"""An editor writes a file in several steps, a checkout many files: one job for them. A question does not wait for this."""

LONGEST_BREATH_SECONDS: Final = 1 * SECONDS
"""Between two jobs for changes that nobody has asked about, the workspace rests as long as the last job took, at most this."""

AUDIT_SECONDS: Final = 10 * MINUTES
"""A look at 20,000 files costs 0.2 s of CPU."""

JOURNAL_SECONDS: Final = 0.5 * SECONDS
"""How often the log of jobs learns how far a job is."""

JOURNAL_DEADLINE_SECONDS: Final = 10 * SECONDS
"""How long the end of a job may take to be written down, also while the server stops."""

FIRST_RETRY_SECONDS: Final = 1 * SECONDS
LONGEST_RETRY_SECONDS: Final = 60 * SECONDS
"""A job that failed is not started again by questions before this; explicit requests always start one."""


class _Check:
    """A look at every file that is going on, shared by all who came before it began."""

    def __init__(self) -> None:
        self.done = trio.Event()


class _Running:
    """The job of a workspace and what the workspace keeps about it. `shown` once others may see it: it does real work."""

    def __init__(self, job: OwnedJob, *, force: bool, is_visible: bool) -> None:
        self.job = job
        self.force = force
        self.scope = trio.CancelScope()
        self.shown = trio.Event()
        self.is_visible = is_visible
        self.has_entry = False
        self.taken: Pending | None = None
        self.ending: JobState | None = None
        if is_visible:
            self.shown.set()


class WorkspaceSettings(Struct, frozen=True, kw_only=True):
    """Tunables of a workspace, in seconds."""

    freshness_policy: FreshnessPolicy = "balanced"
    freshness_wait: float = 0.3
    idle: float = 15 * MINUTES


class WorkspaceActor:
    """One incarnation. `run` returns once the mailbox is closed and everything taken from it is answered."""

    def __init__(
        self,
        *,
        project: Callable[[], Project],
        mailbox: Mailbox,
        workbench: Workbench,
        settings: WorkspaceSettings,
        publish: Callable[[WorkspaceObservation], None],
        retire: Callable[[str], None],
        remember: Callable[[JobView], None],
    ) -> None:
        self._project = project
        self._mailbox = mailbox
        self._bench = workbench
        self._settings = settings
        self._publish = publish
        self._retire = retire
        self._remember = remember
        self._log = structlog.get_logger(__name__)
        self._changes = ChangeLog()
        self._standing = Standing(schema_status="not_indexed", schema_version=0)
        self._opened = trio.Event()
        self._progressed = trio.Event()
        self._checking: _Check | None = None
        self._job: _Running | None = None
        self._last_job: JobState | None = None
        self._next: _Running | None = None
        self._is_wanted = ""
        self._failures = 0
        self._retry_at = float("-inf")
        self._watcher: TreeWatcher | None = None
        self._is_updating = False
        self._to_watch: tuple[frozenset[str], tuple[str, ...]] | None = None
        self._waiting = trio.CancelScope()
        self._nudge = trio.Event()
        self._in_flight = 0
        self._last_run_seconds = 0.0
        self._was_vain = False

    async def run(self) -> None:
        """Serves the mailbox. Raises what is a defect; everything that can be answered is answered."""
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._open)
                nursery.start_soon(self._keep_watch)
                await self._loop()
                # What was taken is answered; nothing else is worth finishing. A job resumes where it last published.
                while self._in_flight:
                    await self._progressed.wait()
                nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True):
                await self._bench.close()

    # the loop

    async def _loop(self) -> None:
        while True:
            try:
                with trio.move_on_after(self._settings.idle):
                    envelope = await self._mailbox.receive()
                    self._take(envelope)
                    continue
            except trio.EndOfChannel:
                break
            # Looking and retiring in one step without a checkpoint: nothing can be posted in between.
            if self._is_idle:
                self._retire("idle")

    @property
    def _is_idle(self) -> bool:
        return self._job is None and not self._in_flight and not self._mailbox.n_queued

    def _take(self, envelope: Envelope) -> None:
        match envelope.message:
            case Query():
                self._in_flight += 1
                self._nursery.start_soon(self._serve, envelope, envelope.message)
            case StartJob():
                try:
                    envelope.answer(self._order(envelope.message))
                except CodeCompassError as error:
                    envelope.answer(error)
            case CancelJob():
                envelope.answer(self._cancel(envelope.message.job_id))

    async def _serve(self, envelope: Envelope, query: Query) -> None:
        with structlog.contextvars.bound_contextvars(request_id=envelope.request_id):
            try:
                with envelope.scope:
                    try:
                        envelope.answer(await self._reply(query))
                    except CodeCompassError as error:
                        envelope.answer(error)
                    except Exception as error:  # noqa: BLE001 (one question fails, not the workspace)
                        self._log.exception("query_failed", tool=query.request.tool)
                        envelope.answer(
                            InternalError(
                                f"{query.request.tool} failed unexpectedly ({type(error).__name__}). The log has the details; "
                                "call again, or ask in another way."
                            )
                        )
            finally:
                self._in_flight -= 1
                if not envelope.is_answered:
                    if envelope.scope.cancel_called:
                        envelope.answer(Cancelled("the caller left before the answer was there. Call again."))
                    else:
                        envelope.answer(crashed_error())
                self._wake()

    # questions

    async def _reply(self, query: Query) -> Reply:
        deadline = trio.current_time() + self._settings.freshness_wait
        await self._opened.wait()
        if isinstance(query.request, IndexStatus):
            freshness = await self._settle("best_effort", deadline)
            return await self._bench.answer(query, self._view(freshness))
        if self._standing.meta is None:
            await self._bootstrap(deadline)
        if self._standing.meta is None:
            return await self._bench.answer(query, self._view("syncing" if self._job else "stale"))
        policy: FreshnessPolicy = getattr(query.request, "freshness_policy", None) or self._settings.freshness_policy
        freshness = await self._settle(policy, deadline)
        if policy == "strict" and freshness != "fresh":
            raise await self._bench.stale()
        try:
            return await self._bench.answer(query, self._view(freshness))
        except IndexDamaged as error:
            await self._repair(error, deadline)
            return await self._bench.answer(query, self._view("fresh" if self._changes.is_current else "syncing"))

    async def _bootstrap(self, deadline: float) -> None:
        """Sees to it that there will be an index, and waits a moment: a small tree is indexed before anybody notices."""
        if self._standing.is_newer:
            raise StoreNewer(
                "the index was written by a newer codecompass. Upgrade this program, or set CODECOMPASS_HOME to another place.",
                remediation="upgrade codecompass",
            )
        self._want("first use" if self._standing.schema_status == "not_indexed" else "the index on disk does not fit")
        with trio.move_on_at(deadline):
            while self._standing.meta is None and self._job is not None:
                await self._progressed.wait()
        if self._standing.meta is None and self._job is None and self._last_job is not None and self._last_job.error:
            raise _failed_error(self._last_job)

    async def _settle(self, policy: FreshnessPolicy, deadline: float) -> FreshnessStatus:
        """Lets small changes land. Returns `fresh` only if the index holds all that had changed when this was called."""
        is_fresh = False
        with trio.move_on_at(deadline):
            is_fresh = await self._become_fresh(may_start=policy != "best_effort")
        return "fresh" if is_fresh else self._not_fresh

    async def _become_fresh(self, *, may_start: bool) -> bool:
        while True:
            is_exact = await self._look()
            if self._changes.is_current:
                return True
            if not may_start:
                return False
            wanted = self._changes.seen
            self._want("question")
            while self._changes.covered < wanted and self._job is not None:
                await self._progressed.wait()
            if self._changes.covered < wanted:
                return False
            if is_exact:
                return True
            # The job may have passed a file before it changed, and nobody watches: look again.

    @property
    def _not_fresh(self) -> FreshnessStatus:
        return "stale" if self._job is None else "syncing"

    async def _look(self) -> bool:
        """Brings the change log up to now: from the watcher where that is exact, else by looking at every file.

        Returns whether it was exact. If not, and a job is due anyway, nothing is looked at.
        """
        if self._is_exact:
            self._drain()
            return True
        if self._changes.is_current:
            # A check that began before this question may have passed what has changed since.
            running = self._checking
            if running is not None:
                await running.done.wait()
            if self._checking is None or self._checking is running:
                self._checking = _Check()
                self._nursery.start_soon(self._check, self._checking)
            await self._checking.done.wait()
        return False

    async def _check(self, check: _Check) -> None:
        try:
            if await self._bench.differs():
                self._note(None)
        finally:
            if self._checking is check:
                self._checking = None
            check.done.set()

    async def _repair(self, error: IndexDamaged, deadline: float) -> None:
        self._log.error("index_damaged", cause=error.message)
        if self._job is None:
            self._standing = Standing(schema_status="corrupt_manifest", damage=error.message)
            self._note(None)
            self._launch("the index is damaged", force=True, is_explicit=True)
        with trio.move_on_at(deadline):
            while self._standing.meta is None and self._job is not None:
                await self._progressed.wait()
        if self._standing.meta is None:
            raise error

    def _view(self, freshness: FreshnessStatus) -> View:
        return View(
            standing=self._standing,
            freshness=freshness,
            indexing=self._indexing_status,
            active_job=self._active_job,
        )

    @property
    def _active_job(self) -> JobState | None:
        """The job that others see: not one that only looks whether anything has changed."""
        running = self._next or self._job
        return running.job.state if running is not None and running.is_visible else None

    @property
    def _indexing_status(self) -> IndexingStatus:
        meta = self._standing.meta
        if self._active_job is not None or (self._job is not None and (meta is None or meta.completeness == "partial")):
            return "indexing"
        if meta is not None:
            return "ready"
        return "failed" if self._last_job is not None and self._last_job.status == "failed" else "not_indexed"

    # jobs

    def _order(self, message: StartJob) -> JobTicket:
        running = self._job
        if running is None:
            return JobTicket(self._launch(message.cause, force=message.force, is_explicit=True), is_joined=False)
        if message.force and not running.force:
            if self._next is not None:
                return JobTicket(self._next.job, is_joined=True)
            state = running.job.state
            if not running.is_visible:
                # It only looks whether anything has changed, which a rebuild does as well.
                running.scope.cancel()
                return JobTicket(self._launch(message.cause, force=True, is_explicit=True), is_joined=False)
            raise IndexInProgress(
                f"job {state.job_id} is bringing this index up to date. Wait for it to end, then force a rebuild.",
                job_id=state.job_id,
            )
        running.is_visible = True
        running.shown.set()
        return JobTicket(running.job, is_joined=True)

    def _cancel(self, job_id: str) -> bool:
        for running in (self._job, self._next):
            if running is not None and running.job.state.job_id == job_id:
                running.scope.cancel()
                return True
        return False

    def _want(self, cause: str) -> None:
        """Sees to it that a job covers what was seen by now; one that runs already may have to be followed by another."""
        if self._job is not None:
            if self._job.taken is None or self._job.taken.position < self._changes.seen:
                self._is_wanted = cause
        elif trio.current_time() >= self._retry_at:
            self._launch(cause, force=False, is_explicit=False)

    def _launch(self, cause: str, *, force: bool, is_explicit: bool) -> OwnedJob:
        project = self._project()
        is_full = force or self._standing.meta is None
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
        self._start(_Running(job, force=force, is_visible=is_explicit or is_full))
        return job

    def _start(self, running: _Running) -> None:
        """Starts a job, or lets it wait for the one that is being cancelled for it."""
        if self._job is not None:
            self._next = running
            return
        self._next = None
        self._is_wanted = ""
        self._job = running
        self._nursery.start_soon(self._run_job, running)
        self._announce()

    async def _run_job(self, running: _Running) -> None:
        job = running.job
        started = trio.current_time()
        try:
            with running.scope:
                with ungrouped():
                    async with trio.open_nursery() as nursery:
                        nursery.start_soon(self._journal, running)
                        report = await self._index(running)
                        nursery.cancel_scope.cancel()
                standing = await self._bench.look()
                self._standing = standing
                assert running.taken is not None
                self._changes.landed(running.taken)
                self._failures = 0
                running.ending = _ended(job.state, "published", mode=report.mode, report=report)
                self._ask_to_watch(report)
            if running.scope.cancelled_caught:
                running.ending = _ended(job.state, "cancelled", error="cancelled on request")
        except CodeCompassError as error:
            running.ending = _ended(job.state, "failed", error=error.message)
        except Exception as error:  # noqa: BLE001 (one job fails, not the workspace)
            self._log.exception("job_failed", job_id=job.state.job_id)
            running.ending = _ended(job.state, "failed", error=f"{type(error).__name__}: {error}")
        finally:
            with trio.CancelScope(shield=True, deadline=trio.current_time() + JOURNAL_DEADLINE_SECONDS):
                await self._end_job(running, trio.current_time() - started)

    async def _end_job(self, running: _Running, seconds: float) -> None:
        job = running.job
        final = running.ending or _ended(job.state, "cancelled", error="the server stopped before the job had ended")
        if running.is_visible:
            # Before anybody can see the end: who then asks for the log finds the job in it.
            try:
                if not running.has_entry:
                    await self._bench.journal_begin(job.state)
                await self._bench.journal_end(final)
            except Exception as error:  # noqa: BLE001 (the log of jobs must not stop a job)
                self._log.warning("job_not_noted", job_id=final.job_id, error=str(error))
        job.update(final)
        self._job = None
        self._last_run_seconds = seconds
        self._was_vain = final.report is not None and not final.report.files_changed
        if running.is_visible or (final.status != "published" and self._next is None):
            self._last_job = final
        elif self._last_job is not None and self._last_job.status == "failed":
            self._last_job = None
        if final.status != "published" and running.taken is not None:
            self._changes.put_back(running.taken)
        if self._next is not None:
            self._start(self._next)
        elif final.status != "published":
            self._failures += 1
            pause = min(LONGEST_RETRY_SECONDS, FIRST_RETRY_SECONDS * 2 ** (self._failures - 1))
            self._retry_at = trio.current_time() + pause
        elif self._is_wanted and not self._changes.is_current:
            self._launch(self._is_wanted, force=False, is_explicit=False)
        self._wake()
        self._announce()

    async def _index(self, running: _Running) -> JobReport:
        job = running.job

        def on_progress(progress: Progress) -> None:
            if job.state.status == "queued":
                job.update(replace(job.state, status="running", started_at=time.time(), progress=progress))
            else:
                job.update(replace(job.state, progress=progress))
            if progress.files_total and not running.is_visible:
                running.is_visible = True
            if running.is_visible:
                running.shown.set()
                self._announce()

        while True:
            self._drain()
            running.taken = self._changes.take()
            order = Order(
                job_id=job.state.job_id,
                force=running.force,
                directories=None if running.force or self._standing.meta is None else running.taken.directories,
            )
            try:
                return await self._bench.index(order, on_progress)
            except IndexInProgress:
                # Another process writes. What it publishes is as good as ours; then only what is left is our work.
                self._changes.put_back(running.taken)
                running.taken = None
                await self._bench.wait_unlocked()

    async def _journal(self, running: _Running) -> None:
        """Keeps the log of jobs informed. A log that cannot be written must not stop a job."""
        await running.shown.wait()
        job = running.job
        try:
            await self._bench.journal_begin(job.state)
            running.has_entry = True
            while True:
                await trio.sleep(JOURNAL_SECONDS)
                await self._bench.journal_progress(job.state)
        except CodeCompassError as error:
            self._log.warning("job_not_noted", job_id=job.state.job_id, error=error.message)

    # changes

    def _note(self, directories: frozenset[str] | None) -> None:
        self._changes.note(directories)
        if not self._changes.is_current:
            self._nudge.set()

    def _drain(self) -> None:
        if self._watcher is not None and not self._is_updating:
            changes = self._watcher.drain()
            # Rules decide about files anywhere, and a branch is switched by writing many: both are for a whole scan to see.
            is_anywhere = changes.is_everything or changes.affects_rules or changes.affects_head
            self._note(None if is_anywhere else changes.directories)

    @property
    def _is_exact(self) -> bool:
        """Whether draining the watcher proves that nothing else has changed."""
        return self._watcher is not None and not self._is_updating and self._watcher.is_exact

    def _ask_to_watch(self, report: JobReport) -> None:
        """Has the watcher watch what the newest scan went through, and nothing else any more."""
        self._to_watch = (report.directories, report.repositories)
        self._waiting.cancel()

    async def _keep_watch(self) -> None:
        """The only task that waits for the watcher and changes what it watches. Without one each question looks by itself."""
        try:
            async with self._bench.watch() as watcher, trio.open_nursery() as nursery:
                self._watcher = watcher
                nursery.start_soon(self._follow_changes)
                nursery.start_soon(self._audit)
                while True:
                    if self._to_watch is not None:
                        (directories, repositories), self._to_watch = self._to_watch, None
                        self._is_updating = True
                        await watcher.update(directories, repositories)
                        self._is_updating = False
                        self._drain()
                        self._announce()
                    self._waiting = trio.CancelScope()
                    with self._waiting:
                        await watcher.wait_change()
                        await trio.sleep(DEBOUNCE_SECONDS)
                    self._drain()
        except Exception as error:  # noqa: BLE001 (without a watcher each question looks by itself)
            self._log.warning("not_watching", error=str(error), remedy="each question looks at the files itself")
        finally:
            self._watcher = None
        self._note(None)

    async def _follow_changes(self) -> None:
        """Takes changes in as they come. Where they turn out to be none, as with a log that is ignored, ever less eagerly."""
        breath = DEBOUNCE_SECONDS
        while True:
            await self._nudge.wait()
            self._nudge = trio.Event()
            self._want("files changed")
            while self._job is not None:
                await self._progressed.wait()
            breath = min(2 * breath, LONGEST_BREATH_SECONDS) if self._was_vain else max(DEBOUNCE_SECONDS, self._last_run_seconds)
            await trio.sleep(min(breath, LONGEST_BREATH_SECONDS))
            if not self._changes.is_current:
                self._nudge.set()

    async def _audit(self) -> None:
        """Looks at everything now and then: a write through a second name of a file is an event for no watcher."""
        while True:
            await trio.sleep(AUDIT_SECONDS)
            self._note(None)

    # the state that others see

    async def _open(self) -> None:
        try:
            self._standing = await self._bench.look()
        except CodeCompassError as error:
            self._log.warning("not_opened", error=error.message)
        self._opened.set()
        self._announce()

    def _wake(self) -> None:
        self._progressed.set()
        self._progressed = trio.Event()

    def _announce(self) -> None:
        project, meta, job = self._project(), self._standing.meta, self._job
        self._publish(
            WorkspaceObservation(
                project_id=project.project_id,
                project_name=project.name,
                root=str(project.root),
                lifecycle="running",
                indexing_status=self._indexing_status,
                freshness_status="fresh" if self._changes.is_current else self._not_fresh,
                schema_status=self._standing.schema_status,
                warm_status="warm" if self._opened.is_set() else "warming",
                ref="" if meta is None else meta.ref,
                generation=0 if meta is None else meta.generation,
                file_count=0 if meta is None else meta.file_count,
                symbol_count=0 if meta is None else meta.symbol_count,
                last_indexed_at=None if meta is None else meta.published_at,
                active_job=self._active_job,
                last_job=self._last_job,
                interruption=self._standing.interruption,
                is_watched=self._is_exact,
                is_working=job is not None,
            )
        )


def crashed_error() -> InternalError:
    """Returns the answer to a question whose workspace crashed while it was in work."""
    return InternalError(
        "the workspace crashed while it was answering, and is being started again. Call again.",
        retry_after_ms=int(FIRST_RETRY_SECONDS / MILLISECONDS),
    )


def _ended(
    state: JobState, status: FinalStatus, *, error: str = "", mode: JobMode | None = None, report: JobReport | None = None
) -> JobState:
    return replace(state, status=status, error=error, mode=mode or state.mode, report=report, finished_at=time.time())


def _failed_error(job: JobState) -> InternalError:
    return InternalError(
        f"this workspace could not be indexed: {job.error} It is tried again after a pause; index_repo tries at once.",
        job_id=job.job_id,
        cause=job.error,
    )

"""The work below a workspace's actor: threads, disk, worker processes. The actor decides when; this does it.

Each method is one piece of work that can be cancelled; none keeps state of the workspace but open files. The actor knows it
as the Protocol `Workbench`, so that its schedules can be tested with work that takes a virtual second.
"""

import time
from collections.abc import Callable, Collection, Mapping
from contextlib import AbstractAsyncContextManager
from functools import wraps
from typing import TYPE_CHECKING, Final, ParamSpec, Protocol, TypeVar

import msgspec
import trio
from msgspec import Struct

from codecompass.actors.answering import (
    active_job,
    job_progress,
    query,
    query_settings,
    require_ref,
    timeout_seconds,
)
from codecompass.actors.blocking_calls import PATIENCE_SECONDS, Call
from codecompass.actors.index_limits import index_limits
from codecompass.actors.indexing import SCAN_PATIENCE_SECONDS, IndexJob, JobMemory, JobReport
from codecompass.actors.job_model import JobState, Progress
from codecompass.actors.ledger import Ledger
from codecompass.actors.limits import Limits
from codecompass.actors.memory import release_unused
from codecompass.actors.messages import Query
from codecompass.actors.watching.changes import Changes
from codecompass.actors.worker_pool import WorkerPool
from codecompass.errors import CodeCompassError, FileSystemUnresponsive, IndexDamaged, InternalError
from codecompass.protocol.metadata import AnswerState, FreshnessStatus, IndexingStatus, SchemaStatus
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import FreshnessPolicy, IndexStatus
from codecompass.query.metadata import CHANGED_SOMEWHERE, HEAD_HAS_MOVED, mark_stale, stale_warning
from codecompass.query.status import JobsState, index_status, jobs_state
from codecompass.scan.files import Stamp, is_unchanged
from codecompass.scan.git_repository import read_head
from codecompass.scan.walk import ScanCancelled
from codecompass.settings import AnswerForm, Settings
from codecompass.store.drift import Drift, find_drift, stale_error
from codecompass.store.epochs import compatibility
from codecompass.store.index import IndexMeta, Snapshot, WorkspaceIndex
from codecompass.store.job_log import Interruption
from codecompass.store.layout import HomeLayout
from codecompass.store.lock import is_locked
from codecompass.store.mapped_files import MappedFiles
from codecompass.store.registry import Project
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.units import MILLISECONDS, MINUTES, SECONDS

if TYPE_CHECKING:
    from codecompass.actors.watching.watcher import TreeWatcher

P = ParamSpec("P")
T = TypeVar("T")

RECENT_JOBS: Final = 5
"""Ended jobs that `index_status` shows."""

LARGE_JOB_FILES: Final = 200
"""A job that took in so many files has needed memory that is worth giving back."""

COMPARISON_SECONDS: Final = 2 * SECONDS
"""How long an answer that did not become fresh in time looks for the files that it does not know: 130,000 of them, about."""

LOCK_POLL_SECONDS: Final = 0.05 * SECONDS
LOCK_DEADLINE_SECONDS: Final = 10 * MINUTES


class Standing(Struct, frozen=True, kw_only=True):
    """How an index lies on disk. `meta` is there when it can be read, `damage` says why not where its versions would fit."""

    schema_status: SchemaStatus
    schema_version: int = SCHEMA_VERSION
    is_newer: bool = False
    meta: IndexMeta | None = None
    damage: str = ""
    interruption: Interruption | None = None


class View(Struct, frozen=True, kw_only=True):
    """What the actor knows at the moment of an answer.

    `policy` is that of the question. `is_first` says that the answer does not wait for the symbols of a first index.
    `changed_files` are those known to have changed since, where the whole tree is not to be looked at. `refusal` is why what
    has changed cannot be taken in, empty where nothing is in the way.
    """

    standing: Standing
    freshness: FreshnessStatus
    indexing: IndexingStatus
    active_job: JobState | None = None
    policy: FreshnessPolicy = "best_effort"
    is_first: bool = False
    changed_files: frozenset[str] = frozenset()
    refusal: str = ""


class Comparison(Struct, frozen=True, kw_only=True):
    """How the tree differed from one generation of the index, a moment ago."""

    generation: int
    published_at: float
    drift: Drift

    def is_of(self, snapshot: Snapshot) -> bool:
        """Whether it was made with what `snapshot` holds."""
        return (self.generation, self.published_at) == (snapshot.generation, snapshot.meta.published_at)


class Order(Struct, frozen=True, kw_only=True):
    """What a job is to do. `directories` None looks at the whole tree; `files` are read whatever their times say;
    `text_first` publishes the text of a first index apart, however small it is."""

    job_id: str
    force: bool
    directories: frozenset[str] | None
    files: frozenset[str] = frozenset()
    text_first: bool = False


class Workbench(Protocol):
    """See `IndexWorkbench`, which is the real one."""

    async def look(self) -> Standing: ...
    async def answer(self, query: Query, view: View) -> Reply: ...
    async def index(
        self, order: Order, on_progress: Callable[[Progress], None], on_published: Callable[[], None]
    ) -> JobReport: ...
    async def differs(self) -> bool: ...
    async def written_links(self, linked: Mapping[str, Stamp]) -> frozenset[str]: ...
    async def wait_unlocked(self) -> None: ...
    async def drain(self, watcher: "TreeWatcher") -> Changes: ...
    def watch(self) -> AbstractAsyncContextManager["TreeWatcher"]: ...
    async def journal_begin(self, job: JobState) -> None: ...
    async def journal_start(self, job: JobState) -> None: ...
    async def journal_progress(self, job: JobState) -> None: ...
    async def journal_end(self, job: JobState) -> None: ...
    async def close(self) -> None: ...


class IndexWorkbench:
    """The index of one project on this machine."""

    def __init__(
        self,
        *,
        project: Project,
        home: HomeLayout,
        settings: Settings,
        load_settings: Callable[[], Settings],
        pool: WorkerPool,
        limits: Limits,
        ledger: Ledger,
        mapped_files: MappedFiles | None = None,
        answers: AnswerForm = "json",
    ) -> None:
        """`settings` are the project's, `load_settings` reads them again before each job that looks at the whole tree.
        `answers` is the form for which replies are made."""
        self._answers: AnswerForm = answers
        self._project = project
        self._layout = home.project(project.project_id)
        self._load_settings = load_settings
        self._use(settings)
        self._pool = pool
        self._limits = limits
        self._ledger = ledger
        self._memory: JobMemory | None = None
        self._index = WorkspaceIndex(self._layout, project.project_id, mapped_files)

    def _use(self, settings: Settings) -> None:
        self._settings = settings
        self._index_limits = index_limits(settings.index)
        self._query_settings = query_settings(settings, self._answers)

    async def look(self) -> Standing:
        """Returns how the index lies on disk. Opens it, so that the first question finds it warm."""
        _active, _recent, interruption = await self._ledger.jobs(self._project.project_id, 0)
        standing = await trio.to_thread.run_sync(self._look, limiter=self._limits.checks)
        return msgspec.structs.replace(standing, interruption=interruption)

    async def answer(self, query: Query, view: View) -> Reply:
        """Answers a question from the newest generation. One that is not known to be fresh is compared with the tree first.

        Raises IndexStale where the policy is `strict` and it is not, and what the functions of `query` raise.
        """
        if isinstance(query.request, IndexStatus):
            active, recent, interruption = await self._ledger.jobs(self._project.project_id, RECENT_JOBS)
            jobs = jobs_state(active, recent, interruption)
            is_waiting_for_other = active is not None and active.status == "running" and _is_queued(view.active_job)
            if view.active_job is not None and not is_waiting_for_other:
                jobs = msgspec.structs.replace(jobs, active_job=active_job(view.active_job))
            compared, ref = None, ""
            if view.standing.meta is not None and view.refusal and view.freshness != "fresh":
                compared = await self._compare()
            elif view.standing.meta is None:
                ref = (await self._look_at_tree(lambda _call: read_head(str(self._project.root)))).ref
            return await trio.to_thread.run_sync(
                _tamed(self._status), query, view, jobs, ref, compared, limiter=self._limits.queries
            )
        compared = None
        if view.freshness != "fresh" and _is_to_compare(view):
            compared = await self._compare()
        return await trio.to_thread.run_sync(_tamed(self._answer), query, view, compared, limiter=self._limits.queries)

    async def _look_at_tree(self, work: Callable[[Call], T], *, patience: float = PATIENCE_SECONDS) -> T:
        """Runs what looks at the workspace's own file system, which may not answer: not in the threads that all share."""
        return await self._limits.blocking.run(work, self._project.root, patience=patience)

    async def _compare(self) -> Comparison | None:
        """Compares the newest generation with the tree; None where that takes too long."""
        ends = time.monotonic() + COMPARISON_SECONDS

        def compare(call: Call) -> Comparison | None:
            with self._index.snapshot() as snapshot:
                try:
                    drift = self._drift(snapshot, lambda: call.is_over() or time.monotonic() > ends)
                except (ScanCancelled, OSError):
                    return None
                return Comparison(generation=snapshot.generation, published_at=snapshot.meta.published_at, drift=drift)

        try:
            return await self._look_at_tree(_tamed(compare))
        except FileSystemUnresponsive:
            return None

    async def index(self, order: Order, on_progress: Callable[[Progress], None], on_published: Callable[[], None]) -> JobReport:
        """Runs a job to its end; `on_published` is called after each publication. Raises what `IndexJob.run` raises."""
        async with self._limits.writers:
            if order.directories is None:
                self._use(await self._look_at_tree(lambda _call: self._load_settings()))
            job = IndexJob(
                root=self._project.root,
                layout=self._layout,
                pool=self._pool,
                limits=self._index_limits,
                job_id=order.job_id,
                force=order.force or self._index.has_faults,
                changed_directories=order.directories,
                changed_files=order.files,
                memory=self._memory,
                text_first=order.text_first,
                blocking=self._limits.blocking,
                turns=self._limits.writers,
                on_progress=on_progress,
                on_published=on_published,
            )
            report = await job.run()
            self._memory = job.memory
            if report.files_changed >= LARGE_JOB_FILES:
                del job
                await trio.to_thread.run_sync(release_unused, limiter=self._limits.checks)
            return report

    async def differs(self) -> bool:
        """Compares the tree with the index, file by file: about 15 us each. True as well where that cannot be done."""

        def check(call: Call) -> bool:
            try:
                with self._index.snapshot() as snapshot:
                    drift = self._drift(snapshot, call.is_over)
                    return not (drift.is_fresh and drift.names_head_of(snapshot))
            except (CodeCompassError, OSError, ScanCancelled):
                return True

        try:
            return await self._look_at_tree(_tamed(check), patience=SCAN_PATIENCE_SECONDS)
        except FileSystemUnresponsive:
            return True

    async def written_links(self, linked: Mapping[str, Stamp]) -> frozenset[str]:
        """Returns which of these files, by their path below the root, do not look as they did: about 2 us each."""
        root = str(self._project.root)

        def look(_call: Call) -> frozenset[str]:
            return frozenset(path for path, stamp in linked.items() if not is_unchanged(f"{root}/{path}", stamp))

        return await self._look_at_tree(look)

    async def wait_unlocked(self) -> None:
        """Returns once no process writes this index. Bounded by LOCK_DEADLINE_SECONDS."""
        with trio.move_on_after(LOCK_DEADLINE_SECONDS):
            while await trio.to_thread.run_sync(is_locked, self._layout, limiter=self._limits.checks):  # noqa: ASYNC110
                # The lock is another process's: there is nothing to be woken by.
                await trio.sleep(LOCK_POLL_SECONDS)

    def watch(self) -> AbstractAsyncContextManager["TreeWatcher"]:
        """Watches the tree."""
        from codecompass.actors.watching.watcher import open_tree_watcher  # only where something is watched

        return open_tree_watcher(self._project.root, run=self._run_for_watcher)

    async def _run_for_watcher(self, work: Callable[[], T]) -> T:
        return await self._look_at_tree(lambda _call: work(), patience=SCAN_PATIENCE_SECONDS)

    async def drain(self, watcher: "TreeWatcher") -> Changes:
        """Returns what a watcher knows by now. It looks at what has come and gone, in the tree."""
        return await self._look_at_tree(lambda _call: watcher.drain())

    async def journal_begin(self, job: JobState) -> None:
        """Enters a job into the log of all processes, as one that waits."""
        await self._ledger.enter_job(job.project_id, job.mode, cause=job.cause, job_id=job.job_id)

    async def journal_start(self, job: JobState) -> None:
        """Notes that it runs. Call it once the job has the writer lock: whatever ran before is over then."""
        await self._ledger.start_job(job.job_id)

    async def journal_progress(self, job: JobState) -> None:
        """Writes down how far it is."""
        await self._ledger.update_job(job.job_id, job_progress(job))

    async def journal_end(self, job: JobState) -> None:
        """Writes down how it ended."""
        assert job.status in ("published", "failed", "cancelled")
        await self._ledger.finish_job(
            job.job_id,
            job.status,
            progress=job_progress(job),
            mode=job.mode,
            ref="" if job.report is None else job.report.ref,
            changed_files=0 if job.report is None else job.report.files_changed,
            error=job.error,
            error_code=job.error_code,
        )

    async def close(self) -> None:
        """Closes what is open."""
        await trio.to_thread.run_sync(self._index.close, limiter=self._limits.checks)

    def _look(self) -> Standing:
        found = compatibility(self._layout)
        standing = Standing(schema_status=found.status, schema_version=found.current_schema_version, is_newer=found.is_newer)
        if found.status != "compatible":
            return standing
        try:
            with self._index.snapshot() as snapshot:
                return msgspec.structs.replace(standing, meta=snapshot.meta)
        except IndexDamaged as error:
            return msgspec.structs.replace(standing, schema_status="corrupt_manifest", damage=error.message)

    def _answer(self, asked: Query, view: View, compared: Comparison | None) -> Reply:
        with self._index.snapshot() as snapshot:
            require_ref(asked.request.ref, snapshot.meta.ref)
            state = self._state(asked, view, snapshot.meta.ref)
            changed: Collection[str] = ()
            if view.freshness != "fresh":
                state, changed = self._compared(snapshot, state, view, compared)
                if view.refusal and state.freshness_status != "fresh":
                    state = _with_warning(state, view.refusal)
            # Begins here: what waiting and comparing took is not the search's fault.
            is_expired = _deadline(timeout_seconds(asked.request, self._settings.query.timeout_ms * MILLISECONDS))
            reply = query(snapshot, asked.request, state, self._query_settings, is_expired)
            return mark_stale(reply, changed, max_tokens=getattr(asked.request, "max_tokens", None)) if changed else reply

    def _compared(
        self, snapshot: Snapshot, state: AnswerState, view: View, compared: Comparison | None
    ) -> tuple[AnswerState, Collection[str]]:
        """Returns the state of an answer that did not become fresh in time, and the files that it does not know as they are.

        Raises IndexStale for a `strict` question.
        """
        is_whole = snapshot.meta.completeness == "complete"
        if view.policy != "strict" and (view.is_first or not is_whole):
            # A first index is being built: the answer says so, and that it is partial.
            return state, ()
        if view.policy == "best_effort":
            paths = tuple(sorted(view.changed_files))
            return _with_warning(state, stale_warning(paths) if paths else CHANGED_SOMEWHERE), paths
        # Only what was compared with the very generation that answers counts: one that is newer may have been read earlier.
        drift = compared.drift if compared is not None and compared.is_of(snapshot) else None
        if drift is not None and is_whole and drift.is_fresh and drift.names_head_of(snapshot):
            return msgspec.structs.replace(state, freshness_status="fresh"), ()
        if view.policy == "strict":
            raise stale_error(snapshot, drift)
        if drift is None:
            return _with_warning(state, CHANGED_SOMEWHERE), view.changed_files
        if not drift.paths:
            return _with_warning(state, HEAD_HAS_MOVED if drift.is_fresh else CHANGED_SOMEWHERE), ()
        return _with_warning(state, stale_warning(drift.paths)), frozenset(drift.paths)

    def _drift(self, snapshot: Snapshot, is_cancelled: Callable[[], bool] | None = None) -> Drift:
        limits = self._index_limits
        return find_drift(snapshot, str(self._project.root), limits.rules, limits.fingerprint, is_cancelled=is_cancelled)

    def _status(self, asked: Query, view: View, jobs: JobsState, ref: str, compared: Comparison | None) -> Reply:
        assert isinstance(asked.request, IndexStatus)
        versions = {"current_schema_version": view.standing.schema_version, "required_schema_version": SCHEMA_VERSION}
        if view.standing.meta is None:
            require_ref(asked.request.ref, ref)
            return index_status(None, asked.request, self._state(asked, view, ref), jobs, **versions)
        with self._index.snapshot() as snapshot:
            ref = snapshot.meta.ref
            require_ref(asked.request.ref, ref)
            state = self._state(asked, view, ref)
            if view.refusal and view.freshness != "fresh":
                # No job says whether anything has changed: none can be run.
                state, _changed = self._compared(snapshot, state, msgspec.structs.replace(view, policy="balanced"), compared)
                if state.freshness_status != "fresh":
                    state = _with_warning(state, view.refusal)
            return index_status(snapshot, asked.request, state, jobs, **versions)

    def _state(self, asked: Query, view: View, ref: str) -> AnswerState:
        return AnswerState(
            workspace=str(self._project.root),
            project_id=self._project.name,
            ref=ref,
            is_partial=view.is_first,
            freshness_status=view.freshness,
            indexing_status=view.indexing,
            schema_status=view.standing.schema_status,
            schema_name=self._project.schema_name if asked.names_project else "",
            warnings=asked.warnings,
            hint=asked.hint,
        )


def _tamed(work: Callable[P, T]) -> Callable[P, T]:
    """Makes an error of ours of a panic in one of the libraries, which is no Exception and would end the whole server."""

    @wraps(work)
    def run(*arguments: P.args, **options: P.kwargs) -> T:
        try:
            return work(*arguments, **options)
        except BaseException as error:
            if type(error).__name__ != "PanicException":
                raise
            raise InternalError(
                f"a library failed unexpectedly ({error}). The log has the details; ask in another way."
            ) from error

    return run


def _deadline(seconds: float) -> Callable[[], bool]:
    """Returns what tells a thread that its time is over. It raises trio.Cancelled where nobody waits for it any more."""
    ends = time.monotonic() + seconds

    def is_over() -> bool:
        trio.from_thread.check_cancelled()
        return time.monotonic() > ends

    return is_over


def _is_to_compare(view: View) -> bool:
    """Whether an answer depends on how the tree differs from the index now; see `_compared`."""
    meta = view.standing.meta
    is_whole = meta is None or meta.completeness == "complete"
    return view.policy == "strict" or (view.policy == "balanced" and not view.is_first and is_whole)


def _with_warning(state: AnswerState, warning: str) -> AnswerState:
    return msgspec.structs.replace(state, warnings=(*state.warnings, warning))


def _is_queued(job: JobState | None) -> bool:
    return job is not None and job.status == "queued"

"""The workbench of a commit's actor: builds the commit's index once from git's object database and answers questions from it.

Nothing here reads the working tree: a commit is never stale, and every line of an answer comes from the index of that commit.
"""

import time
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from math import inf
from typing import TYPE_CHECKING, TypeVar

import trio

from codecompass.actors.answering import asked_ref, options_for, query, query_settings, search_seconds
from codecompass.actors.blocking_calls import Limits
from codecompass.actors.commit_indexing import CommitJob
from codecompass.actors.commits import fitting
from codecompass.actors.differences import COMPARISON_PATIENCE_SECONDS, IsCancelled, with_differences
from codecompass.actors.failures import panics_as_errors
from codecompass.actors.index_answers import AnswerContext, IndexOnDisk, thread_time_limit
from codecompass.actors.index_limits import index_limits
from codecompass.actors.job_state import JobReport, JobState
from codecompass.actors.messages import Query
from codecompass.actors.starting_point import FindBases, any_base
from codecompass.actors.unindexed_answers import UnindexedAnswer
from codecompass.actors.watching.changes import WatchedChanges
from codecompass.actors.workbench import JobOrder, wait_unlocked
from codecompass.actors.worker_pool import WorkerPool
from codecompass.errors import IndexDamaged
from codecompass.jobs import Progress
from codecompass.log import get_logger
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import IndexStatus
from codecompass.query.options import QueryOptions
from codecompass.query.status import JobsState, active_job, index_status
from codecompass.scan.files import Stamp
from codecompass.scan.git_revisions import NamedCommit
from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.settings import AnswerForm, Settings
from codecompass.store.commit_indexes import note_use
from codecompass.store.epochs import compatibility
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.mapped_files import MappedFiles
from codecompass.store.registry import Project
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.units import MILLISECONDS

if TYPE_CHECKING:
    from codecompass.actors.watching.watcher import TreeWatcher

T = TypeVar("T")


class CommitWorkbench:
    """A `Workbench` for the index of one commit. Its jobs are not recorded in the registry: they concern only those who wait."""

    def __init__(
        self,
        *,
        project: Project,
        commit: NamedCommit,
        home: HomeLayout,
        settings: Settings,
        pool: WorkerPool,
        limits: Limits,
        mapped_files: MappedFiles | None = None,
        answers: AnswerForm = "json",
        git_roots: GitRoots = ANYWHERE,
        bases: FindBases = any_base,
    ) -> None:
        self._project = project
        self._commit = commit
        self._home = home.project(project.project_id)
        self._layout = self._home.commit(commit.commit)
        self._pool = pool
        self._limits = limits
        self._bases = bases
        self._index_limits = index_limits(settings.index, git_roots)
        self._timeout = settings.query.timeout_ms * MILLISECONDS
        self._options = query_settings(settings, answers)
        self._index = WorkspaceIndex(self._layout, project.project_id, mapped_files)

    async def inspect_index(self) -> IndexOnDisk:
        """Returns the state of the index on disk; an index built by other rules counts as none."""
        return await trio.to_thread.run_sync(self._inspect, limiter=self._limits.checks)

    def _inspect(self) -> IndexOnDisk:
        found = compatibility(self._layout)
        if found.status != "compatible":
            version = found.current_schema_version
            return IndexOnDisk(schema_status=found.status, schema_version=version, is_newer=found.is_newer)
        try:
            with self._index.snapshot() as snapshot:
                meta = fitting(snapshot.meta, self._commit, self._index_limits)
        except IndexDamaged as error:
            get_logger(__name__).error("index_damaged", workspace=str(self._project.root), cause=error.message)
            return IndexOnDisk(schema_status="corrupt_manifest", damage=error.message)
        if meta is not None:
            note_use(self._layout)
        return IndexOnDisk(schema_status="not_indexed" if meta is None else "compatible", meta=meta)

    async def answer(self, query: Query, context: AnswerContext) -> Reply:
        """Answers a question from the commit's index."""

        async def run(work: Callable[[IsCancelled], T]) -> T:
            root = self._project.root
            return await self._limits.blocking.run(lambda call: work(call.is_over), root, patience=COMPARISON_PATIENCE_SECONDS)

        workers, own = nullcontext(self._pool), options_for(query, self._options)
        root, limits = self._project.root, self._index_limits
        options = await with_differences(own, query.request, root, limits, lambda: workers, run, self._commit)
        answer = panics_as_errors(self._answer)
        ends = inf
        if context.ends_at != inf:
            ends = time.monotonic() + search_seconds(query.request, context.ends_at, trio.current_time())
        return await trio.to_thread.run_sync(answer, query, context, options, ends, limiter=self._limits.queries)

    async def answer_unindexed(self, query: Query, context: AnswerContext, deadline: float) -> UnindexedAnswer | None:
        """Returns None: the files of a commit are not on disk."""
        return None

    def _answer(self, asked: Query, context: AnswerContext, options: QueryOptions, search_ends: float) -> Reply:
        name, _field = asked_ref(asked.request) or (self._commit.name, "")
        state = AnswerState(
            workspace=str(self._project.root),
            project_id=self._project.name,
            ref=name,
            commit=self._commit.commit,
            indexing_status=context.indexing if context.index.meta is None else "ready",
            schema_status=context.index.schema_status,
            schema_name=self._project.schema_name if asked.names_project else "",
            warnings=asked.warnings,
            hint=asked.hint,
        )
        if isinstance(asked.request, IndexStatus):
            return self._status(asked.request, state, context)
        with self._index.snapshot() as snapshot:
            seconds = self._timeout if search_ends == inf else search_ends - time.monotonic()
            reply = query(snapshot, asked.request, state, options, thread_time_limit(seconds))
        note_use(self._layout)
        return reply

    def _status(self, request: IndexStatus, state: AnswerState, context: AnswerContext) -> Reply:
        jobs = JobsState(active_job=None if context.active_job is None else active_job(context.active_job))
        versions = {"current_schema_version": context.index.schema_version, "required_schema_version": SCHEMA_VERSION}
        if context.index.meta is None:
            return index_status(None, request, state, jobs, **versions)
        with self._index.snapshot() as snapshot:
            return index_status(snapshot, request, state, jobs, **versions)

    async def index(
        self, order: JobOrder, on_progress: Callable[[Progress], None], on_published: Callable[[], None]
    ) -> JobReport:
        """Builds the index, unless it exists. Raises the same errors as `CommitJob.run`."""
        async with self._limits.writers:
            has_faults = await trio.to_thread.run_sync(lambda: self._index.has_faults, limiter=self._limits.checks)
            return await CommitJob(
                root=self._project.root,
                layout=self._home,
                commit=self._commit,
                pool=self._pool,
                limits=self._index_limits,
                job_id=order.job_id,
                force=order.force or has_faults,
                blocking=self._limits.blocking,
                bases=self._bases,
                on_progress=on_progress,
                on_published=on_published,
            ).run()

    async def wait_unlocked(self) -> None:
        """Waits until no process writes this index."""
        await wait_unlocked(self._layout, self._limits)

    async def differs(self) -> bool:
        """Returns False: a commit does not change."""
        return False

    async def written_links(self, linked: Mapping[str, Stamp]) -> frozenset[str]:
        """Returns the empty set: nobody writes the files of a commit."""
        return frozenset()

    async def drain(self, watcher: "TreeWatcher") -> WatchedChanges:
        """Returns no changes."""
        return WatchedChanges()

    def watch(self) -> AbstractAsyncContextManager["TreeWatcher"]:
        """Raises AssertionError: the actor of a commit watches nothing."""
        raise AssertionError("a commit is not watched")

    async def record_queued(self, job: JobState) -> None:
        """Does nothing: jobs of commits are not recorded."""

    async def record_running(self, job: JobState) -> None:
        """Does nothing, as `record_queued`."""

    async def record_progress(self, job: JobState) -> bool:
        """Does nothing, as `record_queued`. Returns False."""
        return False

    async def record_end(self, job: JobState) -> None:
        """Does nothing, as `record_queued`."""

    async def forget(self, paused_until: float) -> bool:
        """Forgets nothing: the project is that of the working tree. Returns False."""
        return False

    async def restore(self) -> None:
        """Does nothing, as nothing was forgotten."""

    def is_forgotten(self, project: Project) -> bool:
        """Returns False."""
        return False

    @property
    def makes_vectors(self) -> bool:
        """False: search by meaning covers the working tree alone."""
        return False

    async def make_vectors(self) -> bool:
        """Makes none, and returns False."""
        return False

    async def close(self) -> None:
        """Closes the index."""
        await trio.to_thread.run_sync(self._index.close, limiter=self._limits.checks)

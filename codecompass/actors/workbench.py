"""The work that a workspace's actor orders: threads, disk, worker processes. The actor decides when; the workbench does it.

Each method is one piece of work that can be cancelled; apart from open files and the last job's memory it keeps no state of the
workspace. The actor knows it as two Protocols, `Workbench` for the index and `TreeWork` for the tree, so that its schedules can
be tested with work in virtual time.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import TYPE_CHECKING, Final, Protocol, TypeVar

import trio
from msgspec.structs import replace

from codecompass.actors.blocking_calls import Limits, load_module
from codecompass.actors.index_answers import AnswerContext, IndexAnswers, IndexOnDisk, inspected
from codecompass.actors.index_limits import index_limits
from codecompass.actors.indexing import IndexJob
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.job_state import JobReport, JobState, Published
from codecompass.actors.messages import Query
from codecompass.actors.question import Question
from codecompass.actors.tools import Tools
from codecompass.actors.tree_comparison import TreeComparison
from codecompass.actors.tree_scan import SCAN_PATIENCE_SECONDS, JobMemory
from codecompass.actors.unindexed_answers import UnindexedAnswer, answer_unindexed
from codecompass.actors.unindexed_files import UnindexedFiles
from codecompass.actors.watching.changes import WatchedChanges
from codecompass.errors import IndexInProgress, StoreRefused
from codecompass.jobs import Progress
from codecompass.memory import release_memory
from codecompass.protocol.replies import Reply
from codecompass.query.options import QueryOptions
from codecompass.scan.files import Stamp
from codecompass.scan.git_roots import GitRoots
from codecompass.settings import Settings
from codecompass.store.index import WorkspaceIndex
from codecompass.store.job_log import JobLog
from codecompass.store.layout import ProjectLayout
from codecompass.store.lock import is_locked
from codecompass.store.registry import Project
from codecompass.units import MINUTES, SECONDS

if TYPE_CHECKING:
    from codecompass.actors.vector_upkeep import VectorUpkeep
    from codecompass.actors.watching.watcher import TreeWatcher

T = TypeVar("T")

LARGE_JOB_FILES: Final = 200
"""Number of changed files from which a job's memory is worth returning to the system."""

LOCK_POLL_SECONDS: Final = 0.05 * SECONDS
LOCK_DEADLINE_SECONDS: Final = 10 * MINUTES

HISTORY_PATIENCE_SECONDS: Final = 30 * SECONDS
"""How long git may take to list what the last commits changed."""


class Workbench(Protocol):
    """The work on one index that an actor needs. IndexWorkbench documents each method."""

    @property
    def tree(self) -> "TreeWork | None":
        """The work on the tree that the index is of; None for a commit, which never changes."""

    async def inspect_index(self) -> IndexOnDisk: ...
    async def answer(self, query: Query, context: AnswerContext) -> Reply: ...
    async def index(self, order: JobOrder, on_progress: Callable[[Progress], None], on_published: Published) -> JobReport: ...
    async def wait_unlocked(self) -> None: ...
    async def close(self) -> None: ...


class TreeWork(Protocol):
    """The work on a working tree that its actor needs besides: watching, comparing and reading it, and the record of its jobs."""

    async def answer_unindexed(self, query: Query, context: AnswerContext, deadline: float) -> UnindexedAnswer | None: ...
    async def differs(self) -> bool: ...
    async def written_links(self, linked: Mapping[str, Stamp]) -> frozenset[str]: ...
    async def drain(self, watcher: "TreeWatcher") -> WatchedChanges: ...
    def watch(self) -> AbstractAsyncContextManager["TreeWatcher"]: ...
    async def record_queued(self, job: JobState) -> None: ...
    async def record_running(self, job: JobState) -> None: ...
    async def record_progress(self, job: JobState) -> bool: ...
    async def record_end(self, job: JobState) -> None: ...
    async def forget(self, paused_until: float) -> bool: ...
    async def restore(self) -> None: ...
    def is_forgotten(self, project: Project) -> bool: ...
    def refusal(self, project: Project) -> StoreRefused | None: ...
    @property
    def makes_vectors(self) -> bool: ...
    async def make_vectors(self) -> bool: ...
    async def read_uses(self, give_way: Callable[[], Awaitable[None]]) -> int: ...
    async def keep_up_with_commits(self) -> None: ...


class IndexWorkbench:
    """The workbench of one project's working tree: a `Workbench` and its `TreeWork`."""

    def __init__(
        self, tools: Tools, project: Project, settings: Settings, load_settings: Callable[[], Settings], git_roots: GitRoots
    ) -> None:
        """`settings` are the project's; `load_settings` reads them again before each job that scans the whole tree. A repository
        that leads out of `git_roots` counts as none."""
        self._tools = tools
        self._project = project
        self._layout = tools.home.project(project.project_id)
        self._load_settings = load_settings
        self._limits = limits = tools.limits
        self._registry = tools.registry
        self._registrations = tools.registrations
        self._memory: JobMemory | None = None
        self._index = WorkspaceIndex(self._layout, project.project_id, tools.mapped_files)
        self._git_roots = git_roots
        own = index_limits(settings.index, git_roots)
        self._comparison = TreeComparison(project.root, self._index, own, limits.blocking)
        self._unindexed = UnindexedFiles(project, self._comparison)
        self._vectors: VectorUpkeep | None = None
        if tools.lane is not None:
            from codecompass.actors import vector_upkeep  # only where search by meaning is on

            self._vectors = vector_upkeep.VectorUpkeep(tools.lane, self._layout, self._index, limits)
        self._answers = IndexAnswers(tools, project, self._index, self._comparison, settings, self._vectors)

    @property
    def tree(self) -> TreeWork:
        """Itself."""
        return self

    async def inspect_index(self) -> IndexOnDisk:
        """Returns the state of the index on disk. Opens the index, so that the first question finds it warm."""
        interruption = await self._registry.run_jobs(JobLog.interruption, self._project.project_id)
        index = await trio.to_thread.run_sync(inspected, self._index, self._project.root, limiter=self._limits.checks)
        return replace(index, interruption=interruption)

    async def answer(self, query: Query, context: AnswerContext) -> Reply:
        """Answers a question from the newest generation. Raises the same errors as `IndexAnswers.answer`."""
        return await self._answers.answer(query, context)

    async def answer_unindexed(self, query: Query, context: AnswerContext, deadline: float) -> UnindexedAnswer | None:
        """Answers a question from the files themselves, read within its deadline by the event loop's clock.

        Returns None if nothing could be read, or nothing that answers. Raises InvalidInput if the question cannot be read,
        FileSystemUnresponsive, PermissionDenied or InternalError if the files cannot. Safe to cancel.
        """
        answers = self._answers

        async def ask_files(index: WorkspaceIndex, asked: Question, options: QueryOptions) -> Reply:
            return await answers.answer_from(index, asked, standing, options)

        files, refused = self._unindexed, context.refused
        # The warning of an answer from the files says the same, and more.
        standing = context if refused is None else replace(context, refusal="")
        return await answer_unindexed(self._project, files, query, deadline, answers.options, ask_files, refused)

    async def index(self, order: JobOrder, on_progress: Callable[[Progress], None], on_published: Published) -> JobReport:
        """Runs a job. Raises the same errors as `IndexJob.run`."""
        try:
            report = await self._run_job(order, on_progress, on_published)
        except IndexInProgress:
            # Another process makes the index: questions go on reading files.
            raise
        except StoreRefused:
            # So they do if nobody can make it.
            self._unindexed.expect_no_job()
            raise
        except BaseException:
            await self._unindexed.close()
            raise
        await self._unindexed.close()
        return report

    async def _run_job(self, order: JobOrder, on_progress: Callable[[Progress], None], on_published: Published) -> JobReport:
        async with self._limits.writers:
            if order.directories is None:
                settings = await self._comparison.run_on_tree(lambda _call: self._load_settings())
                self._comparison.limits = index_limits(settings.index, self._git_roots)
                self._answers.use(settings)
            has_faults = await trio.to_thread.run_sync(lambda: self._index.has_faults, limiter=self._limits.checks)
            context = JobContext(
                root=self._project.root,
                layout=self._layout,
                pool=self._tools.pool,
                limits=self._comparison.limits,
                blocking=self._limits.blocking,
                turns=self._limits.writers,
                bases=self._tools.bases,
                on_progress=on_progress,
                on_published=on_published,
                on_scanned=self._unindexed.note_scan,
                give_way=self._unindexed.give_way,
            )
            job = IndexJob(context, replace(order, force=order.force or has_faults), self._memory)
            report = await job.run()
            self._memory = job.memory
            if report.files_changed >= LARGE_JOB_FILES:
                del job
                await trio.to_thread.run_sync(release_memory, limiter=self._limits.checks)
            return report

    async def differs(self) -> bool:
        """Compares all files. Returns whether tree and index differ."""
        return await self._comparison.differs()

    async def written_links(self, linked: Mapping[str, Stamp]) -> frozenset[str]:
        """Returns which of these files, by path relative to the root, have another stamp now."""
        return await self._comparison.written_links(linked)

    async def wait_unlocked(self) -> None:
        """Waits until no process writes this index, at most LOCK_DEADLINE_SECONDS."""
        await wait_unlocked(self._layout, self._limits)

    @asynccontextmanager
    async def watch(self) -> AsyncIterator["TreeWatcher"]:
        """Opens a watcher of the tree."""
        await load_module("codecompass.actors.watching.watcher")  # only where something is watched
        from codecompass.actors.watching.watcher import open_tree_watcher

        async with open_tree_watcher(self._project.root, run=self._run_for_watcher, git_roots=self._git_roots) as watcher:
            yield watcher

    async def _run_for_watcher(self, work: Callable[[], T]) -> T:
        return await self._comparison.run_on_tree(lambda _call: work(), patience=SCAN_PATIENCE_SECONDS)

    async def drain(self, watcher: "TreeWatcher") -> WatchedChanges:
        """Returns the changes that `watcher` has seen. Draining calls stat() on what was created and deleted."""
        return await self._comparison.run_on_tree(lambda _call: watcher.drain())

    async def record_queued(self, job: JobState) -> None:
        """Enters a waiting job into the registry."""
        await self._registry.run_jobs(JobLog.create, job.project_id, job.mode, cause=job.cause, job_id=job.job_id)

    async def record_running(self, job: JobState) -> None:
        """Records that the job runs. To be called once it has the writer lock, when any earlier job has ended."""
        await self._registry.run_jobs(JobLog.start, job.job_id)

    async def record_progress(self, job: JobState) -> bool:
        """Records the progress of the job. Returns whether a person has asked, in another process, for its end."""
        return await self._registry.run_jobs(JobLog.update, job.job_id, job.progress.recorded())

    async def record_end(self, job: JobState) -> None:
        """Records the end of the job."""
        assert job.status in ("published", "failed", "cancelled")
        await self._registry.run_jobs(JobLog.finish, job.job_id, job.status, job.outcome)

    async def forget(self, paused_until: float) -> bool:
        """Forgets a project whose first index came to nothing; see `OwnRegistrations.forget`."""
        return self._registrations is not None and await self._registrations.forget(self._project.project_id, paused_until)

    async def restore(self) -> None:
        """Registers the forgotten project again."""
        assert self._registrations is not None
        await self._registrations.restore(self._project.project_id)

    def refusal(self, project: Project) -> StoreRefused | None:
        """Returns why this entry of the project could not be registered; see `OwnRegistrations.refusal`."""
        return None if self._registrations is None else self._registrations.refusal(project)

    def is_forgotten(self, project: Project) -> bool:
        """Whether this entry of the project was removed by `forget`."""
        return self._registrations is not None and self._registrations.is_forgotten(project)

    @property
    def makes_vectors(self) -> bool:
        """Whether search by meaning is on."""
        return self._vectors is not None

    async def make_vectors(self) -> bool:
        """Makes the vectors that the newest generation lacks; see `VectorUpkeep.run`. Only if `makes_vectors`."""
        assert self._vectors is not None
        return await self._vectors.run()

    async def read_uses(self, give_way: Callable[[], Awaitable[None]]) -> int:
        """Reads the uses of names that the index lacks, while `give_way` lets it; see `UsesPass.run`."""
        from codecompass.actors.uses_pass import UsesPass

        context = JobContext(
            root=self._project.root,
            layout=self._layout,
            pool=self._tools.pool,
            limits=self._comparison.limits,
            give_way=give_way,
        )
        return await UsesPass(context).run()

    async def keep_up_with_commits(self) -> None:
        """Reads from git which files changed together, unless that is kept. Raises FileSystemUnresponsive."""
        from codecompass.actors.change_upkeep import history_of_head

        root, roots = self._project.root, self._comparison.limits.rules.git_roots
        await self._limits.blocking.run(
            lambda call: history_of_head(self._layout, str(root), roots, call.is_over),
            root,
            patience=HISTORY_PATIENCE_SECONDS,
        )

    async def close(self) -> None:
        """Closes the index."""
        await self._unindexed.close()
        await trio.to_thread.run_sync(self._index.close, limiter=self._limits.checks)


async def wait_unlocked(layout: ProjectLayout, limits: Limits) -> None:
    """Waits until no process writes the index in `layout`, at most LOCK_DEADLINE_SECONDS."""
    with trio.move_on_after(LOCK_DEADLINE_SECONDS):
        while await trio.to_thread.run_sync(is_locked, layout, limiter=limits.checks):  # noqa: ASYNC110
            # Another process holds the lock: no event in this process tells when it is released.
            await trio.sleep(LOCK_POLL_SECONDS)

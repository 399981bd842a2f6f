"""The workbench of a commit's actor: builds the commit's index once from git's object database and answers questions from it.

Nothing here reads the working tree: a commit is never stale, and every line of an answer comes from the index of that commit.
"""

from collections.abc import Callable
from contextlib import nullcontext

import trio
from msgspec.structs import replace

from codecompass.actors.answering import asked_ref
from codecompass.actors.asking import Standing, StoredIndex, TimeLimit, ask, query_settings
from codecompass.actors.commit_indexing import CommitJob
from codecompass.actors.commits import fitting
from codecompass.actors.differences import prepared_options
from codecompass.actors.failures import panics_as_errors
from codecompass.actors.index_answers import AnswerContext, IndexOnDisk, inspected, search_limit
from codecompass.actors.index_limits import index_limits
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.job_state import JobReport, Published
from codecompass.actors.messages import Query
from codecompass.actors.tools import Tools
from codecompass.actors.workbench import wait_unlocked
from codecompass.jobs import Progress
from codecompass.protocol.job_views import active_job
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import IndexStatus
from codecompass.query.options import QueryOptions
from codecompass.query.status import JobsState
from codecompass.scan.git_revisions import NamedCommit
from codecompass.scan.git_roots import GitRoots
from codecompass.settings import Settings
from codecompass.store.commit_indexes import note_use
from codecompass.store.index import WorkspaceIndex
from codecompass.store.registry import Project
from codecompass.units import MILLISECONDS


class CommitWorkbench:
    """A `Workbench` for the index of one commit. Its jobs are not recorded in the registry: they concern only those who wait."""

    tree: None = None

    def __init__(self, tools: Tools, project: Project, commit: NamedCommit, settings: Settings, git_roots: GitRoots) -> None:
        self._tools = tools
        self._project = project
        self._commit = commit
        self._home = tools.home.project(project.project_id)
        self._layout = self._home.commit(commit.commit)
        self._limits = tools.limits
        self._index_limits = index_limits(settings.index, git_roots)
        self._timeout = settings.query.timeout_ms * MILLISECONDS
        self._options = query_settings(settings, tools.answers)
        self._index = WorkspaceIndex(self._layout, project.project_id, tools.mapped_files)

    async def inspect_index(self) -> IndexOnDisk:
        """Returns the state of the index on disk; an index built by other rules counts as none."""
        return await trio.to_thread.run_sync(self._inspect, limiter=self._limits.checks)

    def _inspect(self) -> IndexOnDisk:
        found = inspected(self._index, self._project.root)
        if found.meta is None:
            return found
        if fitting(found.meta, self._commit, self._index_limits) is None:
            return IndexOnDisk(schema_status="not_indexed")
        note_use(self._layout)
        return found

    async def answer(self, query: Query, context: AnswerContext) -> Reply:
        """Answers a question from the commit's index."""
        root, limits = self._project.root, self._index_limits
        options = await prepared_options(self._tools, query, self._options, root, limits, self._layout, self._commit)
        limit = search_limit(query, context, self._timeout)
        answer = panics_as_errors(self._answer)
        return await trio.to_thread.run_sync(answer, query, context, options, limit, limiter=self._limits.queries)

    def _answer(self, asked: Query, context: AnswerContext, options: QueryOptions, limit: TimeLimit) -> Reply:
        reply = ask(self._asked_index(asked, context), asked, options, limit)
        if not isinstance(asked.request, IndexStatus):
            note_use(self._layout)
        return reply

    def _asked_index(self, asked: Query, context: AnswerContext) -> StoredIndex:
        name, _field = asked_ref(asked.request) or (self._commit.name, "")
        has_index = context.index.meta is not None
        known = Standing(
            ref=name,
            commit=self._commit.commit,
            indexing="ready" if has_index else context.indexing,
            schema_status=context.index.schema_status,
            schema_version=context.index.schema_version,
            jobs=JobsState(active_job=None if context.active_job is None else active_job(context.active_job)),
        )
        is_open = has_index or not isinstance(asked.request, IndexStatus)
        return StoredIndex(project=self._project, open=self._index.snapshot if is_open else nullcontext, known=known)

    async def index(self, order: JobOrder, on_progress: Callable[[Progress], None], on_published: Published) -> JobReport:
        """Builds the index, unless it exists. Raises the same errors as `CommitJob.run`."""
        async with self._limits.writers:
            has_faults = await trio.to_thread.run_sync(lambda: self._index.has_faults, limiter=self._limits.checks)
            context = JobContext(
                root=self._project.root,
                layout=self._home,
                pool=self._tools.pool,
                limits=self._index_limits,
                blocking=self._limits.blocking,
                bases=self._tools.bases,
                on_progress=on_progress,
                on_published=on_published,
            )
            return await CommitJob(context, replace(order, force=order.force or has_faults), self._commit).run()

    async def wait_unlocked(self) -> None:
        """Waits until no process writes this index."""
        await wait_unlocked(self._layout, self._limits)

    async def close(self) -> None:
        """Closes the index."""
        await trio.to_thread.run_sync(self._index.close, limiter=self._limits.checks)

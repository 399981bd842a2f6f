"""Answers questions from the newest generation of one index, in threads, with what the workspace knows at that moment. An answer
that is not fresh names the files that have changed.
"""

import time
from collections.abc import Callable, Collection
from contextlib import nullcontext
from math import inf
from typing import TYPE_CHECKING, Final, TypeVar

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.answering import (
    options_for,
    query,
    query_settings,
    require_ref,
    search_seconds,
    timeout_seconds,
    waits_until,
)
from codecompass.actors.async_registry import AsyncRegistry
from codecompass.actors.differences import COMPARISON_PATIENCE_SECONDS, IsCancelled, with_differences
from codecompass.actors.failures import panics_as_errors
from codecompass.actors.job_state import JobState
from codecompass.actors.messages import Query
from codecompass.actors.tree_comparison import Comparison, TreeComparison
from codecompass.actors.worker_pool import WorkerPool
from codecompass.errors import DeadlineExceeded
from codecompass.jobs import Interruption
from codecompass.protocol.metadata import AnswerState, FreshnessStatus, IndexingStatus, SchemaStatus
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import FreshnessPolicy, IndexStatus
from codecompass.query.metadata import CHANGED_SOMEWHERE, HEAD_HAS_MOVED, mark_stale, stale_warning
from codecompass.query.options import QueryOptions
from codecompass.query.status import JobsState, active_job, index_status, jobs_state, unpublished_job
from codecompass.scan.git_repository import read_head
from codecompass.settings import AnswerForm, Settings
from codecompass.store.drift import stale_error
from codecompass.store.index import WorkspaceIndex
from codecompass.store.job_log import JobLog
from codecompass.store.registry import Project, Registry
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.store.snapshot import IndexMeta, Snapshot
from codecompass.units import MILLISECONDS

if TYPE_CHECKING:
    from codecompass.actors.vector_upkeep import VectorUpkeep

T = TypeVar("T")

LATE_SHARE: Final = 0.1
"""How much longer than its own time a question is waited for, as a share of it: what was found by then is written down."""

LATE_SECONDS: Final = 50 * MILLISECONDS
"""And at least so much."""

RECENT_JOBS: Final = 5
"""Ended jobs that `index_status` shows."""


class IndexOnDisk(Struct, frozen=True, kw_only=True):
    """The state of an index on disk, by its own versions and metadata."""

    schema_status: SchemaStatus
    schema_version: int = SCHEMA_VERSION
    is_newer: bool = False
    """Whether a newer program wrote it."""
    meta: IndexMeta | None = None
    """Metadata of the newest generation, None if it cannot be read."""
    damage: str = ""
    """Why it cannot be read although its versions fit; empty without damage."""
    interruption: Interruption | None = None
    """Jobs that were lost with their process since the last success, from the registry."""


class AnswerContext(Struct, frozen=True, kw_only=True):
    """What the actor knows of the workspace at the moment of an answer."""

    index: IndexOnDisk
    freshness: FreshnessStatus
    indexing: IndexingStatus
    active_job: JobState | None = None
    last_job: JobState | None = None
    """The last job that was visible or failed."""
    policy: FreshnessPolicy = "best_effort"
    """The freshness policy of the question."""
    is_first: bool = False
    """Whether the answer does not wait for the symbols of a first index."""
    ends_at: float = inf
    """When the time that the question itself names is up, by the event loop's clock; inf if it names none."""
    changed_files: frozenset[str] = frozenset()
    """Files known to have changed since, for an answer that is not compared with the tree."""
    refusal: str = ""
    """Why changes cannot be indexed; empty if they can."""


class IndexAnswers:
    """Answers any number of questions at a time. `form` is the form of the replies."""

    def __init__(
        self,
        project: Project,
        index: WorkspaceIndex,
        comparison: TreeComparison,
        registry: AsyncRegistry,
        settings: Settings,
        form: AnswerForm,
        limiter: trio.CapacityLimiter,
        pool: WorkerPool,
        vectors: "VectorUpkeep | None" = None,
    ) -> None:
        self._vectors = vectors
        self._pool = pool
        self._project = project
        self._index = index
        self._comparison = comparison
        self._registry = registry
        self._form: AnswerForm = form
        self._limiter = limiter
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Applies new settings to the following answers."""
        self._timeout_ms = settings.query.timeout_ms
        self._query_settings = query_settings(settings, self._form)

    async def answer(self, asked: Query, context: AnswerContext) -> Reply:
        """Answers a question from the newest generation. If that is not known to be fresh, it is compared with the tree first.

        Raises IndexStale if the policy is `strict` and the index is not fresh, and the errors of the functions of `query`.
        """
        if isinstance(asked.request, IndexStatus):
            return await self._answer_status(asked, context)
        compared = None
        if context.freshness != "fresh" and _needs_comparison(context):
            # Of a question's own time the search keeps its share.
            left = waits_until(asked.request, context.ends_at) - trio.current_time()
            compared = await self._comparison.compare(max(0.0, left))
        options = await self.options(asked)
        if self._vectors is not None and not asked.is_internal:
            options = replace(options, meaning=await self._vectors.meaning_of(asked.request))
        return await self._in_thread(self._index, asked, context, compared, options)

    async def answer_from(self, index: WorkspaceIndex, asked: Query, context: AnswerContext, options: QueryOptions) -> Reply:
        """Answers a question from another index than the workspace's own. Raises the errors of the functions of `query`."""
        return await self._in_thread(index, asked, context, None, options)

    async def _in_thread(
        self, index: WorkspaceIndex, asked: Query, context: AnswerContext, compared: Comparison | None, options: QueryOptions
    ) -> Reply:
        """Returns the answer; one that names its time is waited for a little longer than that. Raises DeadlineExceeded then: the
        thread is in a step that cannot be interrupted."""
        ends = self._search_ends(asked, context)
        late = max(LATE_SECONDS, LATE_SHARE * timeout_seconds(asked.request, 0.0))
        with trio.move_on_after(inf if ends == inf else max(0.0, ends - time.monotonic()) + late):
            return await trio.to_thread.run_sync(
                panics_as_errors(self._answer),
                index,
                asked,
                context,
                compared,
                options,
                ends,
                limiter=self._limiter,
                abandon_on_cancel=True,
            )
        raise DeadlineExceeded("the search had found nothing yet when its time was up. Raise timeout_ms, or shorten the query.")

    def _search_ends(self, asked: Query, context: AnswerContext) -> float:
        """Returns when the search has to end, by `time.monotonic`; inf for a question that names no time. Waiting for a thread
        takes of the question's time."""
        if context.ends_at == inf:
            return inf
        return time.monotonic() + search_seconds(asked.request, context.ends_at, trio.current_time())

    async def options(self, asked: Query) -> QueryOptions:
        """Returns the options of a question, with the differences that it is about, if it is about any."""
        options = options_for(asked, self._query_settings)

        async def run(work: Callable[[IsCancelled], T]) -> T:
            return await self._comparison.run_on_tree(lambda call: work(call.is_over), patience=COMPARISON_PATIENCE_SECONDS)

        limits = self._comparison.limits
        return await with_differences(options, asked.request, self._project.root, limits, lambda: nullcontext(self._pool), run)

    async def _answer_status(self, asked: Query, context: AnswerContext) -> Reply:
        jobs = await self._registry.run(_jobs_of, self._project.project_id)
        is_waiting_for_other = (
            jobs.active_job is not None
            and jobs.active_job.status == "running"
            and context.active_job is not None
            and context.active_job.status == "queued"
        )
        if context.active_job is not None and not is_waiting_for_other:
            jobs = replace(jobs, active_job=active_job(context.active_job))
        if not jobs.recent_jobs and context.index.meta is None and context.last_job is not None:
            # The records of a forgotten project are gone.
            jobs = replace(jobs, recent_jobs=(unpublished_job(context.last_job),))
        compared, ref = None, ""
        if context.index.meta is not None and context.refusal and context.freshness != "fresh":
            compared = await self._comparison.compare()
        elif context.index.meta is None:
            root = str(self._project.root)
            roots = self._comparison.limits.rules.git_roots
            ref = (await self._comparison.run_on_tree(lambda _call: read_head(root, roots))).ref
        return await trio.to_thread.run_sync(
            panics_as_errors(self._status), asked, context, jobs, ref, compared, limiter=self._limiter
        )

    # in threads

    def _answer(
        self,
        index: WorkspaceIndex,
        asked: Query,
        context: AnswerContext,
        compared: Comparison | None,
        options: QueryOptions,
        search_ends: float,
    ) -> Reply:
        with index.snapshot() as snapshot:
            if index is not self._index:
                # Generations are numbered in the workspace's own index.
                snapshot = replace(snapshot, generation=0)
            state = self._state(asked, context, snapshot.meta.ref)
            changed: Collection[str] = ()
            if context.freshness != "fresh":
                state, changed = _with_changes(snapshot, state, context, compared)
                if context.refusal and state.freshness_status != "fresh":
                    state = _with_warning(state, context.refusal)
            # For a question that names no time it starts here: waiting and comparing do not count against that of the settings.
            seconds = self._timeout_ms * MILLISECONDS if search_ends == inf else search_ends - time.monotonic()
            reply = query(snapshot, asked.request, state, options, thread_time_limit(seconds))
            return mark_stale(reply, changed, max_tokens=getattr(asked.request, "max_tokens", None)) if changed else reply

    def _status(self, asked: Query, context: AnswerContext, jobs: JobsState, ref: str, compared: Comparison | None) -> Reply:
        assert isinstance(asked.request, IndexStatus)
        versions = {"current_schema_version": context.index.schema_version, "required_schema_version": SCHEMA_VERSION}
        if context.index.meta is None:
            require_ref(asked.request.ref, ref)
            return index_status(None, asked.request, self._state(asked, context, ref), jobs, **versions)
        with self._index.snapshot() as snapshot:
            ref = snapshot.meta.ref
            require_ref(asked.request.ref, ref)
            state = self._state(asked, context, ref)
            if context.refusal and context.freshness != "fresh":
                # No job can run to find out whether anything has changed.
                state, _changed = _with_changes(snapshot, state, replace(context, policy="balanced"), compared)
                if state.freshness_status != "fresh":
                    state = _with_warning(state, context.refusal)
            reply = index_status(snapshot, asked.request, state, jobs, **versions)
            return reply if self._vectors is None else replace(reply, semantic=self._vectors.report(snapshot))

    def _state(self, asked: Query, context: AnswerContext, ref: str) -> AnswerState:
        return AnswerState(
            workspace=str(self._project.root),
            project_id=self._project.name,
            ref=ref,
            is_partial=context.is_first,
            freshness_status=context.freshness,
            indexing_status=context.indexing,
            schema_status=context.index.schema_status,
            schema_name=self._project.schema_name if asked.names_project else "",
            warnings=asked.warnings,
            hint=asked.hint,
        )


class AnswersFromFiles:
    """How a workspace answers from another index than its own. An `unindexed_answers.Answering`."""

    def __init__(self, answers: IndexAnswers, context: AnswerContext) -> None:
        self._answers = answers
        self._context = context

    async def options(self, asked: Query) -> QueryOptions:
        """See `Answering`."""
        return await self._answers.options(asked)

    async def answer(self, index: WorkspaceIndex, asked: Query, options: QueryOptions) -> Reply:
        """See `Answering`."""
        return await self._answers.answer_from(index, asked, self._context, options)


def _with_changes(
    snapshot: Snapshot, state: AnswerState, context: AnswerContext, compared: Comparison | None
) -> tuple[AnswerState, Collection[str]]:
    """Returns the state of an answer that did not become fresh in time, and the files whose newest content the index lacks.

    Raises IndexStale for a `strict` question.
    """
    is_whole = snapshot.meta.completeness == "complete"
    if context.policy != "strict" and (context.is_first or not is_whole):
        # A first index is being built: the answer says so, and that it is partial.
        return state, ()
    if context.policy == "best_effort":
        paths = tuple(sorted(context.changed_files))
        return _with_warning(state, stale_warning(paths) if paths else CHANGED_SOMEWHERE), paths
    # Only a comparison with the very generation that answers counts: a newer generation may hold files as they were read earlier.
    drift = compared.drift if compared is not None and compared.is_of(snapshot) else None
    if drift is not None and is_whole and drift.is_fresh and drift.names_head_of(snapshot):
        return replace(state, freshness_status="fresh"), ()
    if context.policy == "strict":
        raise stale_error(snapshot, drift)
    if drift is None:
        return _with_warning(state, CHANGED_SOMEWHERE), context.changed_files
    if not drift.paths:
        return _with_warning(state, HEAD_HAS_MOVED if drift.is_fresh else CHANGED_SOMEWHERE), ()
    return _with_warning(state, stale_warning(drift.paths)), frozenset(drift.paths)


def _needs_comparison(context: AnswerContext) -> bool:
    """Whether `_with_changes` needs a comparison of tree and index."""
    meta = context.index.meta
    is_whole = meta is None or meta.completeness == "complete"
    return context.policy == "strict" or (context.policy == "balanced" and not context.is_first and is_whole)


def _with_warning(state: AnswerState, warning: str) -> AnswerState:
    return replace(state, warnings=(*state.warnings, warning))


def _jobs_of(registry: Registry, project_id: str) -> JobsState:
    jobs = JobLog(registry)
    return jobs_state(jobs.active(project_id), jobs.recent(project_id, RECENT_JOBS), jobs.interruption(project_id))


def thread_time_limit(seconds: float) -> Callable[[], bool]:
    """Returns a function that tells a thread whether `seconds` have passed. It raises trio.Cancelled once the caller has left."""
    ends = time.monotonic() + seconds

    def is_over() -> bool:
        trio.from_thread.check_cancelled()
        return time.monotonic() > ends

    return is_over

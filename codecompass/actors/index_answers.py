"""Answers questions from the newest generation of one index, in threads or reader processes, with what the workspace knows at
that moment. An answer that is not fresh names the files that have changed.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Final

import trio
from msgspec import Struct
from msgspec.structs import replace

from codecompass.actors.answering import require_ref, search_seconds, timeout_seconds, waits_until
from codecompass.actors.asking import Standing, TimeLimit, ask, ask_status, query_settings
from codecompass.actors.differences import prepared_options
from codecompass.actors.failures import panics_as_errors
from codecompass.actors.job_state import JobState
from codecompass.actors.messages import Query
from codecompass.actors.question import Question
from codecompass.actors.tools import Tools
from codecompass.actors.tree_comparison import Comparison, TreeComparison
from codecompass.errors import DeadlineExceeded, IndexDamaged, StoreRefused
from codecompass.jobs import Interruption
from codecompass.log import get_logger
from codecompass.protocol.job_views import active_job, ended_job
from codecompass.protocol.metadata import FreshnessStatus, IndexingStatus, SchemaStatus
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import FreshnessPolicy, IndexStatus
from codecompass.query.metadata import CHANGED_SOMEWHERE, HEAD_HAS_MOVED
from codecompass.query.options import QueryOptions
from codecompass.query.status import JobsState, jobs_state
from codecompass.scan.git_repository import read_head
from codecompass.settings import Settings
from codecompass.store.drift import stale_error
from codecompass.store.epochs import compatibility
from codecompass.store.index import WorkspaceIndex
from codecompass.store.registry import Project
from codecompass.store.schema import SCHEMA_VERSION
from codecompass.store.snapshot import IndexMeta, Snapshot
from codecompass.units import MILLISECONDS

if TYPE_CHECKING:
    from codecompass.actors.vector_upkeep import VectorUpkeep


LATE_SHARE: Final = 0.1
"""How much longer than its own time a question is waited for, as a share of it: what was found by then is written down."""

LATE_SECONDS: Final = 50 * MILLISECONDS
"""And at least so much."""


class IndexOnDisk(Struct, frozen=True, kw_only=True):
    """The state of an index on disk, by its own versions and metadata."""

    schema_status: SchemaStatus
    schema_version: int = SCHEMA_VERSION
    is_newer: bool = False
    """Whether a newer program wrote it."""
    meta: IndexMeta | None = None
    """Metadata of the newest generation, None if it cannot be read."""
    lacks_uses: bool = False
    """Whether uses of names are still to be read from some of its files."""
    damage: str = ""
    """Why it cannot be read although its versions fit; empty without damage."""
    interruption: Interruption | None = None
    """Jobs that were lost with their process since the last success, from the registry."""


def inspected(index: WorkspaceIndex, root: Path) -> IndexOnDisk:
    """Returns the state of the index of a workspace on disk, without interruptions. Opens it, so that the first question finds it
    warm. In a thread."""
    found = compatibility(index.layout)
    on_disk = IndexOnDisk(schema_status=found.status, schema_version=found.current_schema_version, is_newer=found.is_newer)
    if found.status != "compatible":
        return on_disk
    try:
        with index.snapshot() as snapshot:
            return replace(on_disk, meta=snapshot.meta, lacks_uses=snapshot.facts.has_unread_uses())
    except IndexDamaged as error:
        get_logger(__name__).error("index_damaged", workspace=str(root), cause=error.message)
        return replace(on_disk, schema_status="corrupt_manifest", damage=error.message)


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
    refused: StoreRefused | None = None
    """Why no index can be made; None if one can, or is there."""


class IndexAnswers:
    """Answers any number of questions at a time."""

    def __init__(
        self,
        tools: Tools,
        project: Project,
        index: WorkspaceIndex,
        comparison: TreeComparison,
        settings: Settings,
        vectors: "VectorUpkeep | None" = None,
    ) -> None:
        self._tools = tools
        self._project = project
        self._index = index
        self._comparison = comparison
        self._vectors = vectors
        self.use(settings)

    def use(self, settings: Settings) -> None:
        """Applies new settings to the following answers."""
        self._timeout = settings.query.timeout_ms * MILLISECONDS
        self._query_settings = query_settings(settings, self._tools.answers)

    async def answer(self, asked: Query, context: AnswerContext) -> Reply:
        """Answers a question from the newest generation. If that is not known to be fresh, it is compared with the tree first.

        Raises IndexStale if the policy is `strict` and the index is not fresh, and the errors of the functions of `query`.
        """
        if isinstance(asked.request, IndexStatus):
            return await self._answer_status(asked, asked.request, context)
        compared = None
        if context.freshness != "fresh" and _needs_comparison(context):
            # Of a question's own time the search keeps its share.
            left = waits_until(asked.request, context.ends_at) - trio.current_time()
            compared = await self._comparison.compare(max(0.0, left))
        options = await self.options(asked)
        if self._vectors is not None and not asked.is_internal:
            options = replace(options, meaning=await self._vectors.meaning_of(asked.request))
        tree = TreeIndex(project=self._project, index=self._index, context=context, compared=compared)
        return await self._ask(tree, asked, options)

    async def answer_from(self, index: WorkspaceIndex, asked: Question, context: AnswerContext, options: QueryOptions) -> Reply:
        """Answers a question from another index than the workspace's own. Raises the errors of the functions of `query`."""
        return await self._ask(TreeIndex(project=self._project, index=index, context=context, is_own=False), asked, options)

    async def _ask(self, tree: "TreeIndex", asked: Question, options: QueryOptions) -> Reply:
        """Returns the answer; one that names its time is waited for a little longer than that. Raises DeadlineExceeded then: the
        thread is in a step that cannot be interrupted."""
        limit = search_limit(asked, tree.context, self._timeout)
        late = max(LATE_SECONDS, LATE_SHARE * timeout_seconds(asked.request, 0.0))

        async def in_thread() -> Reply:
            return await trio.to_thread.run_sync(
                panics_as_errors(ask), tree, asked, options, limit, limiter=self._tools.limits.queries, abandon_on_cancel=True
            )

        readers = self._tools.readers
        with trio.move_on_after(inf if limit.ends_at == inf else max(0.0, limit.ends_at - time.monotonic()) + late):
            return await (in_thread() if readers is None else readers.answer(tree, asked, options, limit, in_thread))
        raise DeadlineExceeded("the search had found nothing yet when its time was up. Raise timeout_ms, or shorten the query.")

    async def options(self, asked: Question) -> QueryOptions:
        """Returns the options of a question, with the differences that it is about, if it is about any."""
        root, limits = self._project.root, self._comparison.limits
        return await prepared_options(self._tools, asked, self._query_settings, root, limits, self._index.layout)

    async def _answer_status(self, asked: Query, request: IndexStatus, context: AnswerContext) -> Reply:
        jobs = await self._tools.registry.run_jobs(jobs_state, self._project.project_id)
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
            jobs = replace(jobs, recent_jobs=(ended_job(context.last_job),))
        compared, ref = None, ""
        if context.index.meta is not None and context.refusal and context.freshness != "fresh":
            compared = await self._comparison.compare()
        elif context.index.meta is None:
            root = str(self._project.root)
            roots = self._comparison.limits.rules.git_roots
            ref = (await self._comparison.run_on_tree(lambda _call: read_head(root, roots))).ref
        tree = TreeStatus(
            project=self._project,
            index=self._index,
            context=context,
            compared=compared,
            head=ref,
            jobs=jobs,
            vectors=self._vectors,
        )
        return await trio.to_thread.run_sync(
            panics_as_errors(ask_status), tree, asked, request, limiter=self._tools.limits.queries
        )


class TreeIndex(Struct, frozen=True, kw_only=True):
    """The index of a working tree, with what its workspace knows when it is asked. An `asking.Backend`.

    It was compared with the tree where `_needs_comparison` says so. `is_own` is False for what was read of files that are not
    indexed yet.
    """

    project: Project
    index: WorkspaceIndex
    context: AnswerContext
    compared: Comparison | None = None
    is_own: bool = True

    @contextmanager
    def open(self) -> Iterator[Snapshot | None]:
        """See `Backend`."""
        with self.index.snapshot() as snapshot:
            # Generations are numbered in the workspace's own index.
            yield snapshot if self.is_own else replace(snapshot, generation=0)

    def standing(self, question: Question, snapshot: Snapshot | None) -> Standing:
        """See `Backend`. Raises IndexStale for a `strict` question, unless the index is fresh."""
        known = _known(self.context)
        return known if snapshot is None else _after_comparison(snapshot, known, self.context, self.compared)


class TreeStatus(TreeIndex, frozen=True, kw_only=True):
    """The same index for `index_status`, which is answered without an index too: `head` is the ref then."""

    head: str = ""
    jobs: JobsState = JobsState()
    vectors: "VectorUpkeep | None" = None

    @contextmanager
    def open(self) -> Iterator[Snapshot | None]:
        """See `Backend`."""
        if self.context.index.meta is None:
            yield None
            return
        with self.index.snapshot() as snapshot:
            yield snapshot

    def standing(self, question: Question, snapshot: Snapshot | None) -> Standing:
        """See `Backend`."""
        context = self.context
        ref = self.head if snapshot is None else snapshot.meta.ref
        require_ref(question.request.ref, ref)
        known = replace(_known(context), ref=ref, schema_version=context.index.schema_version, jobs=self.jobs)
        if snapshot is None:
            return known.warned(context.refusal)
        if self.vectors is not None:
            known = replace(known, semantic=self.vectors.report(snapshot))
        if not context.refusal:
            return known
        # No job can run to find out whether anything has changed.
        return _after_comparison(snapshot, known, replace(context, policy="balanced"), self.compared)


def _known(context: AnswerContext) -> Standing:
    return Standing(
        is_partial=context.is_first,
        freshness=context.freshness,
        indexing=context.indexing,
        schema_status=context.index.schema_status,
    )


def _after_comparison(snapshot: Snapshot, known: Standing, context: AnswerContext, compared: Comparison | None) -> Standing:
    """Returns the standing of an index that did not become fresh in time. Raises IndexStale for a `strict` question."""
    if context.freshness == "fresh":
        return known
    found = _with_changes(snapshot, known, context, compared)
    return found if found.freshness == "fresh" else found.warned(context.refusal)


def _with_changes(snapshot: Snapshot, known: Standing, context: AnswerContext, compared: Comparison | None) -> Standing:
    is_whole = snapshot.meta.completeness == "complete"
    if context.policy != "strict" and (context.is_first or not is_whole):
        # A first index is being built: the answer says so, and that it is partial.
        return known
    changed = sorted(context.changed_files)
    if context.policy == "best_effort":
        return known.lacking(changed) if changed else known.warned(CHANGED_SOMEWHERE)
    # Only a comparison with the very generation that answers counts: a newer generation may hold files as they were read earlier.
    drift = compared.drift if compared is not None and compared.is_of(snapshot) else None
    if drift is not None and is_whole and drift.is_fresh and drift.names_head_of(snapshot):
        return replace(known, freshness="fresh")
    if context.policy == "strict":
        raise stale_error(snapshot, drift)
    if drift is None:
        return replace(known, changed=context.changed_files).warned(CHANGED_SOMEWHERE)
    if not drift.paths:
        return known.warned(HEAD_HAS_MOVED if drift.is_fresh else CHANGED_SOMEWHERE)
    return known.lacking(drift.paths)


def _needs_comparison(context: AnswerContext) -> bool:
    """Whether `_with_changes` needs a comparison of tree and index."""
    meta = context.index.meta
    is_whole = meta is None or meta.completeness == "complete"
    return context.policy == "strict" or (context.policy == "balanced" and not context.is_first and is_whole)


def search_limit(asked: Question, context: AnswerContext, seconds: float) -> TimeLimit:
    """Returns how long a search that begins now may take: `seconds`, but for a question that names its time. Waiting for a
    thread takes of that time."""
    ends_at = inf
    if context.ends_at != inf:
        ends_at = time.monotonic() + search_seconds(asked.request, context.ends_at, trio.current_time())
    return TimeLimit(seconds=seconds, ends_at=ends_at, is_dropped=caller_has_left)


def caller_has_left() -> bool:
    """Raises trio.Cancelled, in a thread, once the caller has left; else returns False."""
    trio.from_thread.check_cancelled()
    return False

"""How a workspace answers a question: makes sure that there is an index, lets changes land, queries it, repairs it once.

    no index        -> start a job; wait until all text can be searched, at most `first_answer_wait`, else IndexNotReady
    no symbols yet  -> wait for them if the answer needs them; else briefly, and only if they are expected in time
    changes pending -> wait until they are indexed, at most `freshness_wait`; the answer names those that are left

A generation without symbols holds the text of every file: a first index publishes nothing earlier (ADR 0009).
"""

from collections.abc import Callable
from typing import Final

import structlog
import trio

from codecompass.actors.answering import freshness_policy, needs_symbols, not_ready, timeout_seconds
from codecompass.actors.freshness import Freshness
from codecompass.actors.index_answers import AnswerContext
from codecompass.actors.job_queue import JobQueue
from codecompass.actors.job_state import JobState
from codecompass.actors.known_index import KnownIndex
from codecompass.actors.messages import Query, Settle, Settled
from codecompass.actors.workbench import Workbench
from codecompass.errors import (
    Cancelled,
    CodeCompassError,
    IndexDamaged,
    IndexIncompatible,
    IndexNotReady,
    PermissionDenied,
    StoreNewer,
    error_of,
)
from codecompass.protocol.metadata import FreshnessStatus, IndexingStatus
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import FreshnessPolicy, IndexStatus
from codecompass.query.metadata import cannot_update
from codecompass.store.registry import Project
from codecompass.units import MILLISECONDS, SECONDS

SYMBOLS_WAIT_SECONDS: Final = 2 * SECONDS
"""How long an answer that text alone can give waits for the symbols of a first index, which rank definitions first."""

FIRST_ANSWER_SECONDS: Final = 2.5 * SECONDS
"""Bound of such an answer from the start of the first index, unless its text alone took longer: people wait three seconds."""

LEAST_PARSING: Final = 0.8
"""Least time that the symbols of a first index take, as a share of the time its text took (Django and curl: 0.95 and 1.0)."""

FORECAST_SECONDS: Final = 250 * MILLISECONDS
"""How often such an answer forecasts whether the symbols will come in time. If not, it stops waiting."""


class Questions:
    """Answers any number of questions at a time. Waits are in seconds; `opened` is set once the index has been inspected."""

    def __init__(
        self,
        bench: Workbench,
        index: KnownIndex,
        jobs: JobQueue,
        freshness: Freshness,
        *,
        project: Callable[[], Project],
        policy: FreshnessPolicy,
        freshness_wait: float,
        first_answer_wait: float,
        opened: trio.Event,
    ) -> None:
        self._bench: Final = bench
        self._index: Final = index
        self._jobs: Final = jobs
        self._freshness: Final = freshness
        self._project: Final = project
        self._policy: Final[FreshnessPolicy] = policy
        self._freshness_wait: Final = freshness_wait
        self._first_answer_wait: Final = first_answer_wait
        self._opened: Final = opened
        self._log: Final = structlog.get_logger(__name__)

    @property
    def indexing_status(self) -> IndexingStatus:
        """The indexing status that answers report."""
        jobs, meta = self._jobs, self._index.meta
        if jobs.active is not None or (jobs.is_running and (meta is None or self._index.lacks_symbols)):
            return "indexing"
        if meta is not None:
            return "ready"
        return "failed" if jobs.last is not None and jobs.last.status == "failed" else "not_indexed"

    async def reply(self, query: Query) -> Reply:
        """Returns the answer. Raises a CodeCompassError if that is the answer."""
        began = trio.current_time()
        await self._opened.wait()
        if isinstance(query.request, IndexStatus):
            freshness = await self._freshness.settle("best_effort", began + self._freshness_wait)
            return await self._bench.answer(query, self._context(freshness, "best_effort"))
        wait = min(self._first_answer_wait, timeout_seconds(query.request, self._first_answer_wait))
        context = await self._ready(query, began + wait)
        try:
            return await self._bench.answer(query, context)
        except (IndexDamaged, IndexIncompatible, IndexNotReady) as error:
            await self._repair(error, query, began + wait)
            # Known changes are relative to the index that is gone: check again.
            return await self._bench.answer(query, await self._ready(query, began + wait))

    async def settle(self, asked: Settle) -> Settled:
        """Lets changes land. Raises IndexNotReady if there is no index."""
        await self._opened.wait()
        if self._index.meta is None:
            raise not_ready(self._jobs.active, has_text=False, schema_status=self._index.on_disk.schema_status)
        if self._index.lacks_symbols:
            return Settled("syncing")
        wait = min(asked.seconds, self._freshness_wait)
        return Settled(await self._freshness.settle(asked.policy or self._policy, trio.current_time() + wait))

    async def _ready(self, query: Query, deadline: float) -> AnswerContext:
        """Waits for an index until `deadline`, and then for changes; returns what is known of both.

        Raises the error that the question is answered with if there is no index in time.
        """
        jobs, request = self._jobs, query.request
        policy = freshness_policy(request, self._policy)
        is_bootstrap = self._index.meta is None
        if is_bootstrap:
            await self._bootstrap(query, deadline)
        # A question that introduced an unknown workspace is answered from its text alone, marked as partial.
        is_first = is_bootstrap and self._project().is_auto_discovered and not needs_symbols(request)
        if self._index.lacks_symbols and needs_symbols(request):
            await self._wait_symbols(query, deadline)
        elif self._index.lacks_symbols and not is_first:
            await self._wait_symbols_briefly(deadline)
        freshness: FreshnessStatus = "syncing"
        if policy == "strict" or not (is_first or self._index.lacks_symbols):
            freshness = await self._freshness.settle(policy, trio.current_time() + timeout_seconds(request, self._freshness_wait))
            if policy != "best_effort" and freshness != "fresh":
                freshness = "stale"
        else:
            jobs.ensure_job("question")
        return self._context(freshness, policy, is_first=is_first)

    async def _bootstrap(self, query: Query, deadline: float) -> None:
        """Starts a first job, and waits until the text of all files can be searched.

        Raises IndexNotReady if that takes longer than the deadline, StoreNewer, and the error of the job if it failed.
        """
        jobs = self._jobs
        if self._index.on_disk.is_newer:
            raise StoreNewer(
                "the index was written by a newer codecompass. Upgrade this program, or set CODECOMPASS_HOME to another place.",
                remediation="upgrade codecompass",
            )
        jobs.ensure_job("first use" if self._index.on_disk.schema_status == "not_indexed" else "the index on disk does not fit")
        self._tell_job(query)
        with trio.move_on_at(deadline):
            while self._index.meta is None and jobs.is_running:
                await jobs.wait_progress()
        if self._index.meta is None:
            raise self._unfinished(has_text=False)

    async def _wait_symbols(self, query: Query, deadline: float) -> None:
        """Waits until the index holds all symbols. Raises IndexNotReady if that takes longer than the deadline."""
        jobs = self._jobs
        jobs.ensure_job("question")
        self._tell_job(query)
        with trio.move_on_at(deadline):
            while self._index.lacks_symbols and jobs.is_running:
                await jobs.wait_progress()
        if self._index.lacks_symbols:
            raise self._unfinished(has_text=True)

    async def _wait_symbols_briefly(self, deadline: float) -> None:
        """Waits for the symbols for as long as they are expected in time."""
        jobs = self._jobs
        jobs.ensure_job("question")
        patience = min(SYMBOLS_WAIT_SECONDS, FIRST_ANSWER_SECONDS - self._index.text_seconds)
        deadline = min(deadline, self._index.text_ready_at + patience)
        with trio.move_on_at(deadline):
            while self._index.lacks_symbols and jobs.is_running and self._are_symbols_expected(deadline):
                with trio.move_on_after(FORECAST_SECONDS):
                    await jobs.wait_progress()

    def _are_symbols_expected(self, deadline: float) -> bool:
        if deadline - self._index.text_ready_at < max(FORECAST_SECONDS, LEAST_PARSING * self._index.text_seconds):
            return False
        elapsed = trio.current_time() - self._index.text_ready_at
        if elapsed < FORECAST_SECONDS:
            return True
        job = self._jobs.active
        if job is None or not job.progress.files_total:
            return False
        return elapsed * job.progress.files_total <= (deadline - self._index.text_ready_at) * job.progress.files_indexed

    def _tell_job(self, query: Query) -> None:
        job = self._jobs.active_view
        if job is not None and query.tell_job is not None:
            query.tell_job(job)

    async def _repair(self, error: CodeCompassError, query: Query, deadline: float) -> None:
        """Rebuilds an index that is damaged or gone, and waits for it, unless another process has already replaced it."""
        self._log.error("index_damaged", cause=error.message)
        if not isinstance(error, IndexDamaged):
            await self._index.inspect()
            if self._index.meta is not None:
                return
        job = self._jobs.rebuild(error)
        self._tell_job(query)
        with trio.move_on_at(deadline):
            await job.wait_end()

    def _unfinished(self, *, has_text: bool) -> CodeCompassError:
        """Returns the error for an index that was not ready in time: how far its job is, or why the last one failed."""
        jobs = self._jobs
        if not jobs.is_running and jobs.last is not None and jobs.failure is not None:
            return _failed_error(jobs.last, jobs.failure)
        return not_ready(jobs.active, has_text=has_text, schema_status=self._index.on_disk.schema_status)

    def _context(self, freshness: FreshnessStatus, policy: FreshnessPolicy, *, is_first: bool = False) -> AnswerContext:
        return AnswerContext(
            index=self._index.on_disk,
            freshness=freshness,
            # The status when the text could be searched, even if a small workspace is complete by now.
            indexing="indexing" if is_first else self.indexing_status,
            active_job=self._jobs.active,
            policy=policy,
            is_first=is_first,
            changed_files=self._freshness.changed_files,
            refusal=cannot_update(self._jobs.failure) if isinstance(self._jobs.failure, PermissionDenied) else "",
        )


def _failed_error(job: JobState, failure: CodeCompassError) -> CodeCompassError:
    # A cancelled job does not mean that the question was cancelled.
    code = IndexNotReady.code if isinstance(failure, Cancelled) else failure.code
    cause = failure.message if failure.message.endswith(".") else f"{failure.message}."
    what = f"commit {job.commit[:12]}" if job.commit else "this workspace"
    remedy = "a later question does." if job.commit else "index_repo tries at once."
    return error_of(
        code,
        f"{what} could not be indexed: {cause} It is tried again after a pause; {remedy}",
        **{**failure.data, "job_id": job.job_id, "cause": failure.message},
    )

"""How a workspace answers a question: sees to it that there is an index, lets changes land, asks it, repairs it once."""

from typing import Final

import structlog
import trio

from codecompass.actors.freshness import Freshness
from codecompass.actors.job_runner import JobRunner
from codecompass.actors.jobs import JobState
from codecompass.actors.messages import Query
from codecompass.actors.workbench import View, Workbench
from codecompass.errors import (
    Cancelled,
    CodeCompassError,
    IndexDamaged,
    IndexIncompatible,
    IndexNotReady,
    StoreNewer,
    error_of,
)
from codecompass.protocol.metadata import FreshnessStatus, IndexingStatus
from codecompass.protocol.replies import Reply
from codecompass.protocol.requests import FreshnessPolicy, IndexStatus


class Questions:
    """Answers any number of questions at a time. `wait` is how long one waits for changes to land, in seconds."""

    def __init__(
        self, bench: Workbench, jobs: JobRunner, freshness: Freshness, *, policy: FreshnessPolicy, wait: float, opened: trio.Event
    ) -> None:
        self._bench: Final = bench
        self._jobs: Final = jobs
        self._freshness: Final = freshness
        self._policy: Final[FreshnessPolicy] = policy
        self._wait: Final = wait
        self._opened: Final = opened
        self._log: Final = structlog.get_logger(__name__)

    @property
    def indexing_status(self) -> IndexingStatus:
        """What an answer says of the work on the index."""
        jobs, meta = self._jobs, self._jobs.standing.meta
        if jobs.active is not None or (jobs.is_running and (meta is None or meta.completeness == "partial")):
            return "indexing"
        if meta is not None:
            return "ready"
        return "failed" if jobs.last is not None and jobs.last.status == "failed" else "not_indexed"

    async def reply(self, query: Query) -> Reply:
        """Returns the answer. Raises the CodeCompassError that is the answer."""
        deadline = trio.current_time() + self._wait
        await self._opened.wait()
        if isinstance(query.request, IndexStatus):
            freshness = await self._freshness.settle("best_effort", deadline)
            return await self._bench.answer(query, self._view(freshness))
        if self._jobs.standing.meta is None:
            await self._bootstrap(deadline)
        if self._jobs.standing.meta is None:
            return await self._bench.answer(query, self._view("syncing" if self._jobs.is_running else "stale"))
        policy: FreshnessPolicy = getattr(query.request, "freshness_policy", None) or self._policy
        freshness = await self._freshness.settle(policy, deadline)
        if policy == "strict" and freshness != "fresh":
            raise await self._bench.stale()
        try:
            return await self._bench.answer(query, self._view(freshness))
        except (IndexDamaged, IndexIncompatible, IndexNotReady) as error:
            await self._repair(error, deadline)
            return await self._bench.answer(query, self._view("fresh" if self._freshness.status == "fresh" else "syncing"))

    async def _bootstrap(self, deadline: float) -> None:
        """Sees to it that there will be an index, and waits a moment: a small tree is indexed before anybody notices."""
        jobs = self._jobs
        if jobs.standing.is_newer:
            raise StoreNewer(
                "the index was written by a newer codecompass. Upgrade this program, or set CODECOMPASS_HOME to another place.",
                remediation="upgrade codecompass",
            )
        jobs.want("first use" if jobs.standing.schema_status == "not_indexed" else "the index on disk does not fit")
        with trio.move_on_at(deadline):
            while jobs.standing.meta is None and jobs.is_running:
                await jobs.wait_progress()
        self._require_hope()

    async def _repair(self, error: IndexDamaged | IndexIncompatible | IndexNotReady, deadline: float) -> None:
        """Builds anew what is damaged or gone, and waits a moment. Another process may have replaced it already."""
        self._log.error("index_damaged", cause=error.message)
        if not isinstance(error, IndexDamaged):
            await self._jobs.look()
            if self._jobs.standing.meta is not None:
                return
        job = self._jobs.rebuild(error)
        with trio.move_on_at(deadline):
            await job.wait_end()
        self._require_hope()

    def _require_hope(self) -> None:
        """Raises what the last job failed of where there is no index and nobody makes one."""
        jobs = self._jobs
        if jobs.standing.meta is None and not jobs.is_running and jobs.last is not None and jobs.failure is not None:
            raise _failed_error(jobs.last, jobs.failure)

    def _view(self, freshness: FreshnessStatus) -> View:
        return View(
            standing=self._jobs.standing,
            freshness=freshness,
            indexing=self.indexing_status,
            active_job=self._jobs.active,
        )


def _failed_error(job: JobState, failure: CodeCompassError) -> CodeCompassError:
    # That a job was cancelled does not mean that the question was.
    code = IndexNotReady.code if isinstance(failure, Cancelled) else failure.code
    cause = failure.message if failure.message.endswith(".") else f"{failure.message}."
    return error_of(
        code,
        f"this workspace could not be indexed: {cause} It is tried again after a pause; index_repo tries at once.",
        **{**failure.data, "job_id": job.job_id, "cause": failure.message},
    )

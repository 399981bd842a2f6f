"""How a workspace answers a question: makes sure that there is an index, lets changes land, queries it, repairs it once.

    no index        -> start a job; wait until all text can be searched, at most `first_answer_wait`
    no symbols yet  -> wait for them if the answer needs them; else briefly, and only if they are expected in time
    a long wait     -> read the files that the question needs beside it, and answer from them if the index is not there first
    no room for one -> answer from the files, and say what keeps the index from being written
    changes pending -> wait until they are indexed, at most `freshness_wait`; the answer names those that are left

A generation without symbols holds the text of every file: a first index publishes nothing earlier (ADR 0009). What is read
beside it answers as soon as it can (ADR 0033); IndexNotReady is raised only if nothing could be read.
"""

from collections.abc import Callable
from math import inf
from typing import Final

import structlog
import trio

from codecompass.actors.answering import (
    Patience,
    failed_error,
    freshness_policy,
    needs_symbols,
    not_ready,
    timeout_seconds,
    told_freshness,
    waits_until,
)
from codecompass.actors.freshness import Freshness
from codecompass.actors.index_answers import AnswerContext
from codecompass.actors.job_queue import JobQueue
from codecompass.actors.known_index import KnownIndex
from codecompass.actors.messages import Query, Settle, Settled
from codecompass.actors.unindexed_answers import UnindexedAnswer
from codecompass.actors.workbench import Workbench
from codecompass.errors import (
    CodeCompassError,
    IndexDamaged,
    IndexIncompatible,
    IndexNotReady,
    PermissionDenied,
    StoreNewer,
    WorkspaceBusy,
)
from codecompass.nurseries import open_nursery
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


LEAST_PATIENCE: Final = 0.2
PATIENCE: Final = 0.6
"""How long a question waits for the index alone before files are read, as shares of `files_answer_after`: at least, and at most
if the index is expected by then. By default half a second and a second and a half: most first indexes take no longer."""

PATIENCE_SHARE: Final = 0.25
"""And at most this share of the time that the question has."""

GRACE_SECONDS: Final = 5 * SECONDS
"""How much longer files may be read than the question waits for the index, at most as long as it waits."""

LEAST_READING_SECONDS: Final = 5 * SECONDS
"""How long files may be read at least if they alone can answer, because no index can be written."""


class Questions:
    """Answers any number of questions at a time. `opened` is set once the index has been inspected."""

    def __init__(
        self,
        bench: Workbench,
        index: KnownIndex,
        jobs: JobQueue,
        freshness: Freshness,
        *,
        project: Callable[[], Project],
        patience: Patience,
        opened: trio.Event,
    ) -> None:
        self._bench: Final = bench
        self._index: Final = index
        self._jobs: Final = jobs
        self._freshness: Final = freshness
        self._project: Final = project
        self._patience: Final = patience
        self._opened: Final = opened
        self._lacking_since = float("inf")
        self._log: Final = structlog.get_logger(__name__)

    @property
    def indexing_status(self) -> IndexingStatus:
        """The indexing status that answers report."""
        jobs, meta = self._jobs, self._index.meta
        if jobs.is_indexing or (jobs.is_running and (meta is None or self._index.lacks_symbols)):
            return "indexing"
        if meta is not None:
            return "ready"
        has_failed = jobs.refused is not None or (jobs.last is not None and jobs.last.status == "failed")
        return "failed" if has_failed else "not_indexed"

    async def reply(self, query: Query) -> Reply:
        """Returns the answer. Raises a CodeCompassError if that is the answer."""
        began = trio.current_time()
        await self._opened.wait()
        if isinstance(query.request, IndexStatus):
            freshness = await self._freshness.settle("best_effort", began + self._patience.freshness_wait)
            return await self._bench.answer(query, self._context(freshness, "best_effort"))
        ends_at = began + timeout_seconds(query.request, inf)
        deadline = min(began + self._patience.first_answer_wait, waits_until(query.request, ends_at))
        found = await self._ready(query, deadline, ends_at)
        if not isinstance(found, AnswerContext):
            return found
        try:
            return await self._bench.answer(query, found)
        except (IndexDamaged, IndexIncompatible, IndexNotReady) as error:
            await self._repair(error, query)
            # Known changes are relative to the index that is gone: check again.
            found = await self._ready(query, deadline, ends_at)
            return await self._bench.answer(query, found) if isinstance(found, AnswerContext) else found

    async def settle(self, asked: Settle) -> Settled:
        """Lets changes land. Raises IndexNotReady if there is no index."""
        await self._opened.wait()
        if self._index.meta is None:
            raise not_ready(self._jobs.active, has_text=False, schema_status=self._index.on_disk.schema_status)
        if self._index.lacks_symbols:
            return Settled("syncing")
        wait = min(asked.seconds, self._patience.freshness_wait)
        return Settled(await self._freshness.settle(asked.policy or self._patience.policy, trio.current_time() + wait))

    async def _ready(self, query: Query, deadline: float, ends_at: float) -> AnswerContext | Reply:
        """Waits for an index until `deadline`, and then for changes; returns what is known of both. Returns the reply instead if
        the files themselves answer sooner. `ends_at` is when the time of the question is up.

        Raises the error that the question is answered with if there is no index in time, and nothing could be read.
        """
        jobs, request = self._jobs, query.request
        policy = freshness_policy(request, self._patience.policy)
        is_bootstrap = self._index.meta is None
        if is_bootstrap or (self._index.lacks_symbols and needs_symbols(request)):
            reply = await self._wait_or_read(query, deadline, ends_at, policy)
            if reply is not None:
                return reply
        # A question that introduced an unknown workspace is answered from its text alone, marked as partial.
        is_first = is_bootstrap and self._project().is_auto_discovered and not needs_symbols(request)
        if self._index.lacks_symbols and not is_first:
            await self._wait_symbols_briefly(deadline)
        freshness: FreshnessStatus = "syncing"
        if policy == "strict" or not (is_first or self._index.lacks_symbols):
            until = trio.current_time() + self._patience.freshness_wait if ends_at == inf else waits_until(request, ends_at)
            freshness = told_freshness(policy, await self._freshness.settle(policy, until))
        else:
            jobs.ensure_job("question")
        return self._context(freshness, policy, ends_at, is_first=is_first)

    async def _wait_or_read(self, query: Query, deadline: float, ends_at: float, policy: FreshnessPolicy) -> Reply | None:
        """Waits until the index can answer, and reads the files that the question needs beside it if that takes long.

        Returns None once the index can answer, the reply if the files did so sooner. Raises the error of the wait if neither did;
        a `strict` question is answered by the index alone.
        """
        if policy == "strict":
            await self._wait_index(query, deadline)
            return None
        now = trio.current_time()
        self._lacking_since = min(self._lacking_since, now)
        wait = max(0.0, deadline - now)
        reading_begins = min(self._lacking_since + PATIENCE * self._patience.files_answer_after, now + PATIENCE_SHARE * wait)
        least_patience = self._lacking_since + LEAST_PATIENCE * self._patience.files_answer_after
        answers_from = min(self._lacking_since + self._patience.files_answer_after, deadline)
        is_over = trio.Event()
        failure: CodeCompassError | None = None
        found: UnindexedAnswer | None = None

        async def read() -> None:
            nonlocal found
            with trio.move_on_at(min(least_patience, reading_begins)):
                await is_over.wait()
            if self._is_expected_by(answers_from):
                with trio.move_on_at(reading_begins):
                    await is_over.wait()
            found = await self._read(query, policy, deadline, ends_at)
            if found is not None and found.is_sure:
                with trio.move_on_at(answers_from):
                    await is_over.wait()
                nursery.cancel_scope.cancel()

        async with open_nursery() as nursery:
            nursery.start_soon(read)
            try:
                await self._wait_index(query, deadline)
                nursery.cancel_scope.cancel()
            except (IndexNotReady, IndexIncompatible, WorkspaceBusy) as error:
                failure = error
                if self._jobs.refused is not None:
                    nursery.cancel_scope.cancel()
                nursery.cancel_scope.deadline = min(trio.current_time() + min(GRACE_SECONDS, wait), ends_at)
                is_over.set()
            except CodeCompassError as error:
                failure, found = error, None
                nursery.cancel_scope.cancel()
        if self._can_answer(query):
            self._lacking_since = float("inf")
            return None
        if self._jobs.refused is not None and (found is None or failure is not None):
            # Read again with that cause, which the answer names; what was read so far is kept.
            found = await self._read(query, policy, trio.current_time() + max(LEAST_READING_SECONDS, wait), ends_at)
        if found is None:
            assert failure is not None
            raise failure
        if isinstance(found.reply, CodeCompassError):
            raise found.reply
        return found.reply

    async def _read(self, query: Query, policy: FreshnessPolicy, deadline: float, ends_at: float) -> UnindexedAnswer | None:
        """Returns the answer of the files themselves; None if they cannot be read. The wait for the index then goes on."""
        tree = self._bench.tree
        if tree is None:
            return None  # The files of a commit are not on disk.
        context = self._context("syncing", policy, ends_at, is_first=True)
        try:
            return await tree.answer_unindexed(query, context, deadline)
        except CodeCompassError as error:
            self._log.warning("files_not_read", error=error.message)
        except Exception:  # noqa: BLE001 (the index answers later)
            self._log.exception("files_not_read")
        return None

    def _is_expected_by(self, time: float) -> bool:
        """Whether a first index is expected by a time, going by what the job has done since it was first waited for."""
        job = self._jobs.active
        if job is None or not job.progress.files_total:
            return False
        elapsed = trio.current_time() - self._lacking_since
        return elapsed * job.progress.files_total <= (time - self._lacking_since) * job.progress.files_indexed

    def _can_answer(self, query: Query) -> bool:
        return self._index.meta is not None and not (self._index.lacks_symbols and needs_symbols(query.request))

    async def _wait_index(self, query: Query, deadline: float) -> None:
        """Waits until the index can answer the question. Raises the error that it is answered with if that takes too long."""
        if self._index.meta is None:
            await self._bootstrap(query, deadline)
        if self._index.lacks_symbols and needs_symbols(query.request):
            await self._wait_symbols(query, deadline)

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

    async def _repair(self, error: CodeCompassError, query: Query) -> None:
        """Starts to rebuild an index that is damaged or gone, unless another process has already replaced it."""
        self._log.error("index_damaged", cause=error.message)
        if not isinstance(error, IndexDamaged):
            await self._index.inspect()
            if self._index.meta is not None:
                return
        self._jobs.rebuild(error)
        self._tell_job(query)

    def _unfinished(self, *, has_text: bool) -> CodeCompassError:
        """Returns the error for an index that was not ready in time: how far its job is, or why the last one failed."""
        jobs = self._jobs
        if not jobs.is_running and jobs.refused is not None and jobs.failure is None:
            return jobs.refused
        if not jobs.is_running and jobs.last is not None and jobs.failure is not None:
            return failed_error(jobs.last, jobs.failure, is_forgotten=jobs.is_forgotten)
        return not_ready(jobs.active, has_text=has_text, schema_status=self._index.on_disk.schema_status)

    def _context(
        self, freshness: FreshnessStatus, policy: FreshnessPolicy, ends_at: float = inf, *, is_first: bool = False
    ) -> AnswerContext:
        refused = self._jobs.refused if self._index.meta is None or self._index.lacks_symbols else None
        failure = refused or self._jobs.failure
        is_unwritable = isinstance(failure, PermissionDenied)
        return AnswerContext(
            index=self._index.on_disk,
            freshness=freshness,
            # The status when the text could be searched, even if a small workspace is complete by now.
            indexing="indexing" if is_first and refused is None else self.indexing_status,
            active_job=self._jobs.active,
            last_job=self._jobs.last,
            policy=policy,
            is_first=is_first,
            ends_at=ends_at,
            changed_files=self._freshness.changed_files,
            refusal=cannot_update(failure, has_index=self._index.meta is not None) if is_unwritable and failure else "",
            refused=refused,
        )

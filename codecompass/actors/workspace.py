"""The actor of one workspace, or of one commit of it: sole owner of what is known of its index, its changes and its jobs.

    mailbox --> loop --> one task a question
                 |-----> at most one index job
                 `-----> the watcher

The loop never awaits work: it takes a message, starts a task or changes state, and returns to the mailbox. All tasks run in the
nursery of one incarnation; a crash of the loop ends them all and the supervisor starts the next incarnation.

The actor is made of parts. Each part knows only those below it, and each piece of state is written by one part:

    questions.py     no state: answers questions, and has each wait for what it needs
    freshness.py     no state: lets changes land before an answer and in the background
    job_queue.py     the running job and the waiting one (job_run.py: one job), the last one, the pause after a failure
    tracking.py      the log of changes and the watcher
    UsesUpkeep       the reading of uses that a first index left out (uses_pass.py)
    Embedding        the making of vectors, if search by meaning is on (vector_upkeep.py)
    known_index.py   what is known of the index on disk
    workbench.py     no state of the workspace: threads, disk, worker processes
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, assert_never

import structlog
import trio
from msgspec import Struct

from codecompass.actors.answering import Patience
from codecompass.actors.freshness import CommitFreshness, Freshness
from codecompass.actors.job_queue import LONGEST_RETRY_SECONDS, JobQueue
from codecompass.actors.job_state import JobHandle
from codecompass.actors.known_index import KnownIndex
from codecompass.actors.messages import CancelJob, Envelope, Mailbox, Query, Settle, StartJob
from codecompass.actors.observation import WorkspaceObservation
from codecompass.actors.questions import Questions
from codecompass.actors.tracking import ChangeTracker
from codecompass.actors.uses_pass import UsesUpkeep
from codecompass.actors.workbench import Workbench
from codecompass.errors import Cancelled, CodeCompassError, InternalError
from codecompass.scan.git_revisions import NamedCommit
from codecompass.store.registry import Project
from codecompass.units import MINUTES

if TYPE_CHECKING:
    from codecompass.actors.vector_upkeep import Embedding

FORGOTTEN_IDLE_SECONDS: Final = 2 * LONGEST_RETRY_SECONDS
"""Time without a message after which the workspace of a forgotten project is retired. Until then it knows how long the next pause
is."""

CRASH_RETRY_MS = 1000
"""Recommended wait after a question was lost in a crash: a restart takes a twentieth of it."""


class WorkspaceSettings(Struct, frozen=True, kw_only=True):
    """Tunables of a workspace."""

    patience: Patience = Patience()
    idle: float = 15 * MINUTES
    """Seconds without a message after which an idle workspace is retired."""


class ActorContext(Struct, frozen=True, kw_only=True):
    """What an incarnation gets from its supervisor. None of the functions waits."""

    project: Callable[[], Project]
    """Returns the newest entry of the project."""
    mailbox: Mailbox
    settings: WorkspaceSettings
    publish: Callable[[WorkspaceObservation], None]
    """Called with the observation after each transition."""
    retire: Callable[[str], None]
    """Retires the workspace, for this reason."""
    remember: Callable[[JobHandle], None]
    """Called with each new job."""
    commit: NamedCommit | None = None
    """The indexed commit, None for the working tree."""


async def run_workspace(context: ActorContext, bench: Workbench) -> None:
    """Runs one incarnation until the mailbox is closed and every received message is answered. Closes `bench`.

    Raises only defects: other errors are answers.
    """
    try:
        async with trio.open_nursery() as nursery:
            # The nursery is passed to the parts of the actor: the tasks they start end with this incarnation.
            await _WorkspaceActor(context, bench, nursery).run()
            # All questions are answered; nothing else is worth finishing. A job is resumed from its last publication.
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True):
            await bench.close()


class _WorkspaceActor:
    """One incarnation: its loop and its parts."""

    def __init__(self, context: ActorContext, bench: Workbench, nursery: trio.Nursery) -> None:
        self._project = context.project
        self._mailbox = context.mailbox
        self._settings = settings = context.settings
        self._publish = context.publish
        self._retire = context.retire
        self._nursery = nursery
        self._log = structlog.get_logger(__name__)
        self._opened = trio.Event()
        self._waiting = trio.CancelScope()
        self._in_flight = 0
        self._answered = trio.Event()
        self._tree = bench.tree
        self._index = KnownIndex(bench)
        self._changes = ChangeTracker(bench.tree, nursery, self._announce)
        self._jobs = JobQueue(
            project=context.project,
            bench=bench,
            index=self._index,
            changes=self._changes,
            nursery=nursery,
            remember=context.remember,
            announce=self._announce,
            commit=context.commit,
        )
        self._uses = None if bench.tree is None else UsesUpkeep(bench.tree, self._index, lambda: self._is_busy)
        self._embedding: Embedding | None = None
        if bench.tree is not None and bench.tree.makes_vectors:
            from codecompass.actors import vector_upkeep  # only where search by meaning is on

            self._embedding = vector_upkeep.Embedding(bench.tree, self._index, self._announce)
        self._freshness = (CommitFreshness if bench.tree is None else Freshness)(self._changes, self._jobs)
        self._questions = Questions(
            bench,
            self._index,
            self._jobs,
            self._freshness,
            project=context.project,
            patience=settings.patience,
            opened=self._opened,
        )

    async def run(self) -> None:
        """Serves the mailbox until it is closed, then waits until every received message is answered."""
        self._nursery.start_soon(self._open)
        if self._tree is not None:
            self._nursery.start_soon(self._changes.keep_watch, self._freshness.follow)
        if self._embedding is not None:
            self._nursery.start_soon(self._embedding.keep_up)
        if self._uses is not None:
            self._nursery.start_soon(self._uses.keep_up)
        await self._loop()
        while self._in_flight:
            await self._answered.wait()

    async def _open(self) -> None:
        try:
            await self._index.inspect()
        except CodeCompassError as error:
            self._log.warning("index_not_inspected", error=error.message)
        self._opened.set()
        self._announce()

    async def _loop(self) -> None:
        while True:
            try:
                with trio.move_on_after(self._idle_seconds) as self._waiting:
                    envelope = await self._mailbox.receive()
                    try:
                        self._take(envelope)
                    except BaseException:
                        # A received envelope must be answered, even in a crash.
                        if not envelope.is_answered:
                            envelope.answer(crashed_error())
                        raise
                    continue
            except trio.EndOfChannel:
                break
            # Check and retirement are one step without a checkpoint: no message can be posted in between.
            if self._is_idle:
                self._retire("idle")

    @property
    def _idle_seconds(self) -> float:
        """How long the workspace stays open without a message; for a forgotten project no longer than its pauses take to grow."""
        return min(self._settings.idle, FORGOTTEN_IDLE_SECONDS) if self._jobs.is_forgotten else self._settings.idle

    @property
    def _is_idle(self) -> bool:
        is_embedding = self._embedding is not None and self._embedding.is_working
        is_reading = self._uses is not None and self._uses.is_working
        return not (self._is_busy or is_embedding or is_reading or self._mailbox.n_queued)

    @property
    def _is_busy(self) -> bool:
        return bool(self._jobs.is_running or self._in_flight)

    def _take(self, envelope: Envelope) -> None:
        match envelope.message:
            case Query() | Settle():
                self._in_flight += 1
                self._nursery.start_soon(self._serve, envelope, envelope.message)
            case StartJob():
                try:
                    envelope.answer(self._jobs.start(envelope.message))
                except CodeCompassError as error:
                    envelope.answer(error)
            case CancelJob():
                envelope.answer(self._jobs.cancel(envelope.message.job_id))
            case _:
                assert_never(envelope.message)

    async def _serve(self, envelope: Envelope, asked: Query | Settle) -> None:
        with structlog.contextvars.bound_contextvars(request_id=envelope.request_id):
            try:
                with envelope.scope:
                    try:
                        questions = self._questions
                        envelope.answer(await (questions.reply(asked) if isinstance(asked, Query) else questions.settle(asked)))
                    except CodeCompassError as error:
                        envelope.answer(error)
                    except Exception as error:  # noqa: BLE001 (one question fails, not the workspace)
                        tool = asked.request.tool if isinstance(asked, Query) else "settling"
                        self._log.exception("query_failed", tool=tool)
                        envelope.answer(
                            InternalError(
                                f"{tool} failed unexpectedly ({type(error).__name__}). The log has the details; "
                                "call again, or change the question."
                            )
                        )
            finally:
                self._in_flight -= 1
                if not envelope.is_answered:
                    if envelope.scope.cancel_called:
                        envelope.answer(Cancelled("cancelled before the answer was ready. Call again."))
                    else:
                        envelope.answer(crashed_error())
                self._answered.set()
                self._answered = trio.Event()

    def _announce(self) -> None:
        """Publishes an observation. Called after each transition."""
        if self._jobs.is_forgotten:
            self._waiting.deadline = min(self._waiting.deadline, trio.current_time() + FORGOTTEN_IDLE_SECONDS)
        if self._embedding is not None:
            self._embedding.note()
        if self._uses is not None:
            self._uses.note()
        project, jobs, index = self._project(), self._jobs, self._index.on_disk
        meta = index.meta
        self._publish(
            WorkspaceObservation(
                project_id=project.project_id,
                project_name=project.name,
                root=str(project.root),
                lifecycle="running",
                indexing_status=self._questions.indexing_status,
                freshness_status=self._freshness.status,
                schema_status=index.schema_status,
                warm_status="warm" if self._opened.is_set() else "warming",
                ref="" if meta is None else meta.ref,
                generation=0 if meta is None else meta.generation,
                file_count=0 if meta is None else meta.file_count,
                symbol_count=0 if meta is None else meta.symbol_count,
                last_indexed_at=None if meta is None else meta.published_at,
                active_job=jobs.active,
                last_job=jobs.last,
                interruption=index.interruption,
                is_watched=self._changes.is_exact,
                is_working=jobs.is_running,
                scan_warnings=jobs.scan_warnings,
                refusal="" if jobs.refused is None else jobs.refused.message,
                semantic="" if self._embedding is None else self._embedding.state,
            )
        )


def crashed_error() -> InternalError:
    """Returns the error for a question whose workspace crashed while it was in work."""
    return InternalError(
        "the workspace crashed while it was answering, and is being started again. Call again.",
        retry_after_ms=CRASH_RETRY_MS,
    )

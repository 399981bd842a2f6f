"""Answers questions about many projects from their indexes on disk, without their actors.

An actor would scan and watch the tree of each of a hundred projects. Here an index is opened as it is on disk, read and closed.
If its workspace is live, its actor has said before that the index holds the current tree. Otherwise it is unknown what has
changed since: the files that an answer shows are compared with the disk, and the changed ones are marked.

A server reads in reader processes, which are started for the first such question and end after some idle time: in threads,
reading a hundred indexes would hold the interpreter lock against questions about one project.
"""

import os
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Final, TypeVar

import trio
from msgspec import Struct

from codecompass.actors.answering import freshness_policy, options_for, query, query_settings, time_limit
from codecompass.actors.blocking_calls import Limits
from codecompass.actors.failures import panics_as_errors
from codecompass.actors.messages import Query, QueryRequest
from codecompass.errors import CodeCompassError, IndexStale, InternalError
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import FindReferencesReply, LocateSymbolReply, Reply, SearchCodeReply, SearchEvidence
from codecompass.query.merging import sample_evidence
from codecompass.query.metadata import mark_stale
from codecompass.query.options import QueryOptions
from codecompass.settings import FreshnessPolicy, Settings
from codecompass.store.drift import changed_since_indexed, manifest_entry
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.manifest import ManifestEntry
from codecompass.store.registry import Project
from codecompass.store.snapshot import Snapshot
from codecompass.units import SECONDS

if TYPE_CHECKING:
    from trio_parallel import WorkerContext

T = TypeVar("T")

Shown = dict[str, ManifestEntry | None]
"""The files that an answer shows, each with its manifest entry."""

COLD_READERS: Final = 2
"""Processes or threads that read at a time; each has one index open, with about ten files."""

IDLE_SECONDS: Final = 60 * SECONDS
"""A reader process that was idle for this long ends: it holds 50 MB, of which a quarter is shared."""

SAMPLED_AT_ONCE: Final = 8
"""Projects that one call to a reader process samples: passing a call costs a tenth of a sample."""

LATE_SECONDS: Final = 2 * SECONDS
"""A reader process that exceeds its time by this much is killed: the store's disk does not answer."""

NICENESS: Final = 15
"""Niceness of a reader process: questions about one project go first when cores are scarce."""


class ColdAnswers:
    """Answers from indexes on disk. Get one from `open_cold_answers`.

    `settings` are the server's: reading those of each project would cost more than the answer.
    """

    def __init__(self, home: HomeLayout, settings: Settings, limits: Limits, *, in_processes: bool) -> None:
        self._home = home
        self._options = query_settings(settings, settings.server.answers)
        self._policy: FreshnessPolicy = settings.query.freshness_policy
        self._blocking = limits.blocking
        self._limiter = trio.CapacityLimiter(COLD_READERS)
        self._in_processes = in_processes
        self._wanted = trio.Event()
        self._opened = trio.Event()
        self._readers: WorkerContext | None = None

    @property
    def are_fresh(self) -> bool:
        """False: it is not known what has changed since an index was written."""
        return False

    async def concerned(self, projects: Sequence[Project], asked: Query, seconds: float) -> Collection[str] | None:
        """Returns None, for all projects: only their own indexes say which are concerned."""
        return None

    async def answer(self, project: Project, asked: Query, seconds: float, *, is_fresh: bool = False) -> Reply:
        """Answers a question from the project's index on disk. `seconds` bounds the search.

        With `is_fresh` the index is known to hold the current tree; otherwise hits in files that have changed are marked.

        Raises IndexStale for a `strict` question without `is_fresh`, IndexNotReady, IndexIncompatible, IndexDamaged,
        FileSystemUnresponsive, and the errors of the query.
        """
        if not is_fresh and freshness_policy(asked.request, self._policy) == "strict":
            raise IndexStale("it is not open here, so its files may have changed; ask about it alone")
        options = options_for(asked, self._options)
        found: ColdAnswer = await self._read(seconds, answer_cold, self._home, project, asked.request, options, seconds, is_fresh)
        if not found.shown:
            return found.reply
        root = str(project.root)
        changed = await self._blocking.run(lambda _call: changed_since_indexed(root, found.shown), root)
        return mark_stale(found.reply, changed) if changed else found.reply

    async def sample(
        self, projects: Sequence[Project], words: str, seconds: float, found: dict[str, SearchEvidence | CodeCompassError]
    ) -> None:
        """Adds to `found`, by project id and as they arrive, the sample of each project's index for the question `words`, or the
        error that prevented it."""

        async def read(some: Sequence[Project]) -> None:
            told = await self._read(seconds, sample_cold, self._home, some, words)
            found.update((project.project_id, each) for project, each in zip(some, told, strict=True))

        async with trio.open_nursery() as nursery:
            for first in range(0, len(projects), SAMPLED_AT_ONCE):
                nursery.start_soon(read, projects[first : first + SAMPLED_AT_ONCE])

    async def _read(self, seconds: float, work: Callable[..., T], *arguments: object) -> T:
        if not self._in_processes:
            return await trio.to_thread.run_sync(work, *arguments, limiter=self._limiter)
        import trio_parallel  # only where a question is about several projects

        self._wanted.set()
        await self._opened.wait()
        assert self._readers is not None
        try:
            # A reader whose question was cancelled finishes it: starting another process takes longer.
            with trio.CancelScope(shield=True, deadline=trio.current_time() + seconds + LATE_SECONDS):
                result: T = await self._readers.run_sync(work, *arguments, kill_on_cancel=True, limiter=self._limiter)
                return result
        except trio_parallel.BrokenWorkerError as error:
            raise InternalError("the process that read this index has ended. Call again.") from error
        raise InternalError("the index could not be read in time. Call again, or name fewer projects.")

    async def serve(self) -> None:
        """Keeps the reader processes available, from the first question that needs them. Runs until cancelled."""
        await self._wanted.wait()
        import trio_parallel

        async with trio_parallel.open_worker_context(idle_timeout=IDLE_SECONDS, init=be_nice) as readers:
            self._readers = readers
            self._opened.set()
            await trio.sleep_forever()


@asynccontextmanager
async def open_cold_answers(
    home: HomeLayout, settings: Settings, limits: Limits, *, in_processes: bool
) -> AsyncIterator[ColdAnswers]:
    """Yields a ColdAnswers; its reader processes have ended when the block ends. Without `in_processes` it reads in threads."""
    answers = ColdAnswers(home, settings, limits, in_processes=in_processes)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(answers.serve)
        yield answers
        nursery.cancel_scope.cancel()


# in a reader process or a thread, without an event loop


def be_nice() -> bool:
    """Lowers the priority of this process. Called once in each reader process."""
    os.nice(NICENESS)
    return True


class ColdAnswer(Struct, frozen=True):
    """A reply, and the files in it that are to be compared with the disk."""

    reply: Reply
    shown: Shown


def answer_cold(
    home: HomeLayout,
    project: Project,
    request: QueryRequest,
    options: QueryOptions,
    seconds: float,
    is_fresh: bool,
) -> ColdAnswer:
    """Returns the answer to a question. A search that takes longer than `seconds` ends with what it has found.

    With `is_fresh` the index is known to hold the current tree. Raises IndexNotReady, IndexIncompatible, IndexDamaged, and the
    errors of the query.
    """
    with _opened(home, project) as snapshot:
        state = AnswerState(
            workspace=str(project.root),
            project_id=project.name,
            ref=snapshot.meta.ref,
            freshness_status="fresh" if is_fresh else "stale",
        )
        asked = panics_as_errors(query)
        reply = asked(snapshot, request, state, options, time_limit(seconds))
        shown: Shown = {}
        for path in () if is_fresh else _paths(reply):
            row = snapshot.facts.file(path)
            shown[path] = None if row is None else manifest_entry(row)
        return ColdAnswer(reply, shown)


def sample_cold(home: HomeLayout, projects: Sequence[Project], words: str) -> list[SearchEvidence | CodeCompassError]:
    """Returns the sample of each project's index for the question `words`, or the error that prevented it."""
    return [_sampled(home, project, words) for project in projects]


def _sampled(home: HomeLayout, project: Project, words: str) -> SearchEvidence | CodeCompassError:
    try:
        with _opened(home, project) as snapshot:
            return panics_as_errors(sample_evidence)(snapshot, words)
    except CodeCompassError as error:
        return error


@contextmanager
def _opened(home: HomeLayout, project: Project) -> Iterator[Snapshot]:
    index = WorkspaceIndex(home.project(project.project_id), project.project_id)
    try:
        with index.snapshot() as snapshot:
            yield snapshot
    finally:
        index.close()


def _paths(reply: Reply) -> Iterable[str]:
    match reply:
        case SearchCodeReply() | LocateSymbolReply():
            return {result.path for result in reply.results}
        case FindReferencesReply():
            return {reference.path for reference in reply.references}
    return ()

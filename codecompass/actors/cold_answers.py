"""Answers questions about many projects from their indexes on disk, without their actors.

An actor would scan and watch the tree of each of a hundred projects. Here an index is opened as it is on disk, read and closed.
If its workspace is live, its actor has said before that the index holds the current tree. Otherwise it is unknown what has
changed since: the files that an answer shows are compared with the disk, and the changed ones are marked.

A server reads in reader processes (`cold_readers.py`).
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from typing import Final, TypeVar

import trio
from msgspec import Struct

from codecompass.actors.answering import freshness_policy
from codecompass.actors.asking import Standing, StoredIndex, TimeLimit, ask, options_for, query_settings
from codecompass.actors.blocking_calls import Limits
from codecompass.actors.cold_readers import ColdReaders
from codecompass.actors.failures import panics_as_errors
from codecompass.actors.messages import Query
from codecompass.actors.question import QueryRequest, Question
from codecompass.actors.reader_processes import ReaderEnded
from codecompass.actors.summaries import Summaries
from codecompass.errors import CodeCompassError, DeadlineExceeded, IndexStale, reported
from codecompass.nurseries import open_nursery
from codecompass.protocol.replies import FindReferencesReply, LocateSymbolReply, Reply, SearchCodeReply, SearchEvidence
from codecompass.protocol.requests import FindReferences, LocateSymbol, SearchCode
from codecompass.query.merging import sample_evidence
from codecompass.query.metadata import mark_stale
from codecompass.query.options import QueryOptions
from codecompass.query.summarized import able, expected_of, is_decidable
from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.settings import FreshnessPolicy, Settings
from codecompass.store.drift import changed_since_indexed, manifest_entry
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.store.manifest import ManifestEntry
from codecompass.store.registry import Project
from codecompass.store.snapshot import Snapshot
from codecompass.store.word_summary import WordSummary

T = TypeVar("T")

Shown = dict[str, ManifestEntry | None]
"""The files that an answer shows, each with its manifest entry."""

SUMMARIES_SHARE: Final = 0.3
"""How much of the time for samples may go into reading the summaries."""

MAX_WAITING: Final = 4
"""Samples that wait for a reader, or are read, at a time: enough that none waits for a question."""

SAMPLE_SHARE: Final = 0.4
"""How much of the time for all samples one may take: two that cannot be read must leave time for the others."""


class ColdAnswers:
    """Answers from indexes on disk. Get one from `open_cold_answers`.

    `settings` are the server's: reading those of each project would cost more than the answer.
    """

    def __init__(self, home: HomeLayout, settings: Settings, limits: Limits, readers: ColdReaders, git_roots: GitRoots) -> None:
        self._git_roots = git_roots
        self._home = home
        self._options = query_settings(settings, settings.server.answers)
        self._policy: FreshnessPolicy = settings.query.freshness_policy
        self._blocking = limits.blocking
        self._queries = limits.queries
        self.readers = readers
        self.summaries = Summaries(home, limits.blocking, readers)

    @property
    def are_fresh(self) -> bool:
        """False: it is not known what has changed since an index was written."""
        return False

    async def concerned(self, projects: Sequence[Project], asked: Query, seconds: float) -> Collection[str] | None:
        """Returns the ids of the projects that can have what is asked for exactly, and of those of which that is not known;
        None if it cannot be determined, or if no project is known to have the name: then something similar is looked for.

        Raises InvalidInput for a regular expression that RE2 rejects.
        """
        request = asked.request
        assert isinstance(request, SearchCode | LocateSymbol | FindReferences)
        imported = asked.imported
        if imported is None and not is_decidable(request):
            return None
        is_able = partial(able, request, imported)
        having, known = await self._from_summaries(projects, seconds, is_able) or (frozenset(), frozenset())
        unknown = {each.project_id for each in projects} - known
        return having | unknown if having or imported is not None or isinstance(request, SearchCode) else None

    async def _from_summaries(
        self, projects: Sequence[Project], seconds: float, read: Callable[[Mapping[str, WordSummary]], T]
    ) -> T | None:
        """Returns what `read` makes of the summaries, by project id; None if that takes longer than `seconds`, or if they cannot
        be read: then the indexes themselves are asked. In a thread: there may be a thousand summaries and as many words. Raises
        the errors of `read`."""
        with trio.move_on_after(seconds):
            try:
                known = await self.summaries.known(projects)
            except CodeCompassError:
                return None
            return await trio.to_thread.run_sync(read, known, limiter=self._queries, abandon_on_cancel=True)
        return None

    async def prepare(self, project: Project, seconds: float) -> None:
        """Does nothing: indexes are on this machine."""

    async def answer(self, project: Project, asked: Query, seconds: float, *, is_fresh: bool = False) -> Reply:
        """Answers a question from the project's index on disk. `seconds` bounds the search.

        With `is_fresh` the index is known to hold the current tree; otherwise hits in files that have changed are marked.

        Raises IndexStale for a `strict` question without `is_fresh`, IndexNotReady, IndexIncompatible, IndexDamaged,
        FileSystemUnresponsive, DeadlineExceeded, ReaderEnded, and the errors of the query.
        """
        if not is_fresh and freshness_policy(asked.request, self._policy) == "strict":
            raise IndexStale("it is not open here, so its files may have changed; ask about it alone")
        options = options_for(asked, self._options)
        read = partial(self.readers.run, seconds, answer_cold, self._home, project, asked.request, options, seconds, is_fresh)
        found: ColdAnswer = await self._again_if_ended(read)
        if not found.shown:
            return found.reply
        root = str(project.root)
        roots = self._git_roots.and_root(root)
        changed = await self._blocking.run(lambda _call: changed_since_indexed(root, found.shown, roots), root)
        return mark_stale(found.reply, changed) if changed else found.reply

    def late(self, project: Project) -> CodeCompassError:
        """Returns the error for a project that did not answer in time."""
        return DeadlineExceeded("it did not answer in time", project_id=project.project_id)

    async def sample(
        self, projects: Sequence[Project], words: str, seconds: float, found: dict[str, SearchEvidence | CodeCompassError]
    ) -> None:
        """Adds to `found`, by project id and as they arrive, the sample of each project's index for the question `words`, or the
        error that prevented it. Projects with less of its words than MAX_SAMPLED others (`summarized.py`) get a sample without
        hits.
        """
        expected = await self._from_summaries(projects, SUMMARIES_SHARE * seconds, partial(expected_of, words))
        best, others = ((), {}) if expected is None else expected
        found.update(others)
        # What is known to have the words comes first: the others may take all the time.
        ordered = sorted(projects, key=lambda each: each.project_id not in best)
        waiting = iter([each for each in ordered if each.project_id not in found])

        async def read_in_turn() -> None:
            for each in waiting:
                read = partial(self.readers.run, SAMPLE_SHARE * seconds, sample_cold, self._home, each, words, late_seconds=0)
                try:
                    found[each.project_id] = await self._again_if_ended(read)
                except Exception as error:  # noqa: BLE001 (a project that fails costs its own part)
                    found[each.project_id] = reported(error)

        async with open_nursery() as nursery:
            for _ in range(MAX_WAITING):
                nursery.start_soon(read_in_turn)

    async def _again_if_ended(self, read: Callable[..., Awaitable[T]]) -> T:
        try:
            return await read()
        except ReaderEnded:
            # The system may have killed it while it was idle.
            return await read(has_ended_process=True)


@asynccontextmanager
async def open_cold_answers(
    home: HomeLayout, settings: Settings, limits: Limits, git_roots: GitRoots = ANYWHERE, *, in_processes: bool
) -> AsyncIterator[ColdAnswers]:
    """Yields a ColdAnswers; its reader processes have ended when the block ends. Without `in_processes` it reads in threads."""
    readers = ColdReaders(prepared, in_processes=in_processes)
    async with open_nursery() as nursery:
        nursery.start_soon(readers.serve)
        answers = ColdAnswers(home, settings, limits, readers, git_roots)
        nursery.start_soon(answers.summaries.serve)
        yield answers
        nursery.cancel_scope.cancel()


# in a reader process or a thread, without an event loop


def prepared() -> bool:
    """Returns True, once this module and all that it needs are loaded."""
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
    standing = Standing(freshness="fresh" if is_fresh else "stale")
    with _opened(home, project) as snapshot:
        index = StoredIndex(project=project, open=lambda: nullcontext(snapshot), known=standing)
        reply = panics_as_errors(ask)(index, Question(request=request), options, TimeLimit(seconds=seconds))
        shown: Shown = {}
        for path in () if is_fresh else _paths(reply):
            row = snapshot.facts.file(path)
            shown[path] = None if row is None else manifest_entry(row)
        return ColdAnswer(reply, shown)


def sample_cold(home: HomeLayout, project: Project, words: str) -> SearchEvidence:
    """Returns the sample of the project's index for the question `words`. Raises IndexNotReady, IndexIncompatible and
    IndexDamaged."""
    with _opened(home, project) as snapshot:
        return panics_as_errors(sample_evidence)(snapshot, words)


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
            return {use.path for use in reply.references} | {use.path for use in reply.elsewhere}
    return ()

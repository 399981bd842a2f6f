"""A fake workbench for a workspace's actor: it takes virtual time and checks ownership. For testing schedules, not answers."""

import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Final

import trio

from codecompass.actors.index_answers import AnswerContext, IndexOnDisk
from codecompass.actors.job_context import JobOrder
from codecompass.actors.job_state import JobReport, JobState, Published, WatchList
from codecompass.actors.messages import Query
from codecompass.actors.unindexed_answers import UnindexedAnswer
from codecompass.actors.watching.changes import WatchedChanges
from codecompass.actors.watching.watcher import TreeWatcher
from codecompass.errors import DeadlineExceeded, IndexStale, PermissionDenied
from codecompass.jobs import Progress
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import LocateSymbolReply, Reply
from codecompass.query.metadata import answer_metadata
from codecompass.scan.files import Stamp
from codecompass.store.registry import Project
from codecompass.store.snapshot import IndexMeta
from codecompass.store.writer import WriteCounts


class InjectedCrash(Exception):
    """A deliberate defect."""


WATCH_LIST: Final = WatchList(directories=frozenset({"src"}))


class World:
    """State shared by all workbenches of a run: the disk, and a record of the events."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.generation: dict[str, int] = {}
        self.edits: dict[str, int] = {}
        self.indexed_edits: dict[str, int] = {}
        self.open: dict[str, FakeWorkbench] = {}
        self.writing: set[str] = set()
        self.watching: dict[str, int] = {}
        self.crashes_due: dict[str, int] = {}
        self.n_crashes = 0
        self.ended_jobs: list[JobState] = []
        self.n_queries = 0

    def edit(self, project: Project) -> None:
        """Changes a project's tree."""
        self.edits[project.project_id] = self.edits.get(project.project_id, 0) + 1
        bench = self.open.get(project.project_id)
        if bench is not None and bench.watcher is not None:
            bench.watcher.changed.set()

    def crash_if_due(self, project_id: str) -> None:
        """Raises a crash if one is due for this project."""
        if self.crashes_due.get(project_id, 0) > 0:
            self.crashes_due[project_id] -= 1
            self.n_crashes += 1
            raise InjectedCrash(project_id)

    async def make(self, project: Project) -> "FakeWorkbench":
        """Returns a workbench for a new incarnation."""
        return FakeWorkbench(self, project)


class FakeWatcher:
    """Reports every edit of its project, and everything until its first `update` and once after it. Exact for some projects."""

    touches_tree = False

    def __init__(self, world: World, project: Project, *, is_exact: bool) -> None:
        self.is_exact = False
        self._can_be_exact = is_exact
        self.changed = trio.Event()
        self._world = world
        self._project_id = project.project_id
        self._seen = world.edits.get(project.project_id, 0)
        self._is_set = False
        self._is_everything = True

    def drain(self) -> WatchedChanges:
        edits = self._world.edits.get(self._project_id, 0)
        directories = frozenset({"src"}) if edits > self._seen else frozenset()
        changes = WatchedChanges(directories=directories, is_everything=self._is_everything)
        self._seen = edits
        self._is_everything = not self._is_set
        return changes

    async def wait_change(self) -> None:
        await self.changed.wait()
        self.changed = trio.Event()

    def watches(self, directories: object, repositories: object, files: object) -> bool:
        return False

    async def update(
        self, directories: object, repositories: object = (), files: object = None, *, has_all_files: bool = False
    ) -> None:
        await trio.lowlevel.checkpoint()
        self.files, self.has_all_files = files, has_all_files
        self._is_everything = self._is_everything or not self._is_set
        self._is_set = True
        self.is_exact = self._can_be_exact


class FakeWorkbench:
    """A `Workbench` with its `TreeWork`. Asserts that a project's index has one owner and one writer."""

    def __init__(self, world: World, project: Project) -> None:
        self._world = world
        self._project = project
        self._id = project.project_id
        self.watcher: FakeWatcher | None = None
        self._is_open = False

    @property
    def tree(self) -> "FakeWorkbench":
        return self

    async def inspect_index(self) -> IndexOnDisk:
        self._own()
        await self._spend(0.01)
        self._world.crash_if_due(self._id)
        return IndexOnDisk(schema_status="compatible" if self._meta() else "not_indexed", meta=self._meta())

    async def answer(self, query: Query, context: AnswerContext) -> Reply:
        await self._spend(0.2)
        self._world.n_queries += 1
        assert self._meta() is not None, "asked without an index"
        if context.policy == "strict" and context.freshness != "fresh":
            raise IndexStale("stale. Run sync_repo.")
        chance = self._world.random.random()
        if chance < 0.05:
            raise DeadlineExceeded("too slow. Ask for less.")
        if chance < 0.08:
            raise InjectedCrash("in a query")
        state = AnswerState(
            workspace=str(self._project.root), project_id=self._id, ref="live", freshness_status=context.freshness
        )
        metadata = answer_metadata(None, state)
        return LocateSymbolReply(results=(), total_candidates=self._world.edits.get(self._id, 0), metadata=metadata)

    async def answer_unindexed(self, query: Query, context: AnswerContext, deadline: float) -> UnindexedAnswer | None:
        await self._spend(0.2)
        return None

    async def index(self, order: JobOrder, on_progress: Callable[[Progress], None], on_published: Published) -> JobReport:
        self._own()
        assert self._id not in self._world.writing, "two writers of one index"
        self._world.writing.add(self._id)
        try:
            edits = self._world.edits.get(self._id, 0)
            on_progress(Progress(stage="parsing", files_total=edits, files_scanned=edits))
            await self._spend(2.0)
            chance = self._world.random.random()
            if chance < 0.1:
                raise PermissionDenied("the disk is full. Free some space.", path="/", suggested_action="free space")
            if chance < 0.15:
                raise InjectedCrash("in the writer")
            self._world.generation[self._id] = self._world.generation.get(self._id, 0) + 1
            self._world.indexed_edits[self._id] = edits
            on_published(WATCH_LIST)
        finally:
            self._world.writing.discard(self._id)
        return JobReport(
            mode="full" if order.force else "incremental",
            generation=self._world.generation[self._id],
            ref="live",
            commit="",
            file_count=edits,
            symbol_count=0,
            source_bytes=0,
            files_scanned=edits,
            files_changed=edits,
            counts=WriteCounts(),
            quarantined=(),
            duration_seconds=1.0,
        )

    async def differs(self) -> bool:
        await self._spend(0.05)
        self._world.crash_if_due(self._id)
        return self._world.edits.get(self._id, 0) != self._world.indexed_edits.get(self._id, -1)

    async def written_links(self, linked: Mapping[str, Stamp]) -> frozenset[str]:
        return frozenset()

    async def drain(self, watcher: TreeWatcher) -> WatchedChanges:
        raise AssertionError("this watcher looks at no tree")

    async def wait_unlocked(self) -> None:
        raise AssertionError("nobody else writes here")

    @asynccontextmanager
    async def watch(self) -> AsyncIterator[FakeWatcher]:
        assert self.watcher is None, "two watchers of one workspace"
        self.watcher = FakeWatcher(self._world, self._project, is_exact=int(self._id, 16) % 2 == 0)
        self._world.watching[self._id] = self._world.watching.get(self._id, 0) + 1
        try:
            if self._world.random.random() < 0.2:
                await self._spend(1.0)
                raise InjectedCrash("in the watcher")
            yield self.watcher
        finally:
            self._world.watching[self._id] -= 1
            self.watcher = None

    async def record_queued(self, job: JobState) -> None:
        await self._spend(0.01)

    async def record_running(self, job: JobState) -> None:
        assert job.status != "queued", "a job that waits does not run"
        await self._spend(0.01)

    async def record_progress(self, job: JobState) -> bool:
        await self._spend(0.01)
        return False

    async def record_end(self, job: JobState) -> None:
        self._world.ended_jobs.append(job)
        await self._spend(0.01)

    async def forget(self, paused_until: float) -> bool:
        return False

    async def restore(self) -> None:
        raise AssertionError("nothing was forgotten")

    def is_forgotten(self, project: Project) -> bool:
        return False

    def refusal(self, project: Project) -> None:
        return None

    async def read_uses(self, give_way: Callable[[], Awaitable[None]]) -> int:
        return 0

    async def keep_up_with_commits(self) -> None:
        pass

    makes_vectors = False

    async def make_vectors(self) -> bool:
        return True

    async def close(self) -> None:
        if self._is_open:
            assert self._world.open.pop(self._id) is self
            self._is_open = False
        await trio.lowlevel.checkpoint()

    def _meta(self) -> IndexMeta | None:
        generation = self._world.generation.get(self._id)
        if generation is None:
            return None
        return IndexMeta(
            generation=generation,
            completeness="complete",
            ref="live",
            commit="",
            published_at=0.0,
            file_count=0,
            symbol_count=0,
            source_bytes=0,
            rules_fingerprint="",
        )

    def _own(self) -> None:
        """Opens the index on first use; asserts that no other workbench has it open."""
        if not self._is_open:
            assert self._id not in self._world.open, "two owners of one index"
            self._world.open[self._id] = self
            self._is_open = True
        assert self._world.open.get(self._id) is self, "work of somebody who does not own the index"

    async def _spend(self, seconds: float) -> None:
        await trio.sleep(self._world.random.random() * seconds)

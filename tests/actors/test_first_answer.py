"""How long requests wait for a first index, its symbols and changes, in virtual time with a scripted workbench."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio
from msgspec.structs import replace

from codecompass.actors.answering import not_ready, search_seconds
from codecompass.actors.index_answers import AnswerContext, IndexOnDisk
from codecompass.actors.job_context import JobOrder
from codecompass.actors.job_state import JobReport, JobState, Published
from codecompass.actors.messages import Query
from codecompass.actors.question import QueryRequest
from codecompass.actors.supervisor import SupervisorSettings, open_supervisor
from codecompass.actors.unindexed_answers import UnindexedAnswer
from codecompass.errors import CodeCompassError, IndexNotReady, WorkspaceBusy
from codecompass.jobs import Progress
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.replies import LocateSymbolReply, Reply
from codecompass.protocol.requests import GetCodeContext, GetFileOutline, LocateSymbol, SearchCode
from codecompass.query.metadata import answer_metadata
from codecompass.store.registry import Project
from tests.support.fake_workbench import FakeWorkbench, World

pytestmark = pytest.mark.invariant(of="tests/actors/test_unindexed_answers.py")

FILES = 100
PROJECT = Project(
    project_id=f"{1:016x}",  # odd: its watcher is not exact, so each request checks the tree
    alias=None,
    root=Path("/project/1"),
    is_auto_discovered=False,
    is_default=False,
    created_at=0.0,
    last_used_at=0.0,
)
STATE = AnswerState(workspace="/project/1", project_id="x", ref="live")
FROM_FILES = LocateSymbolReply(results=(), total_candidates=7, metadata=answer_metadata(None, STATE))
SEARCH, CONTEXT, LOCATE = SearchCode(query="x"), GetCodeContext(query="x"), LocateSymbol(name="x")
OUTLINE = GetFileOutline(path="a.py")


class ScriptedWorkbench(FakeWorkbench):
    """Takes a given time for the text and the symbols of a first index, and for each later job."""

    def __init__(
        self,
        world: World,
        project: Project,
        *,
        text: float,
        symbols: float,
        later: float = 0.05,
        reading: float = float("inf"),
        is_sure: bool = True,
    ) -> None:
        """`reading` is how long the files themselves take to answer, `is_sure` whether that answer leaves no doubt."""
        super().__init__(world, project)
        self._text, self._symbols, self._later = text, symbols, later
        self._reading, self._is_sure = reading, is_sure
        self.n_builds = 0
        self.n_readings = self.n_readings_cancelled = 0
        self._lacks_symbols = False
        self.orders: list[JobOrder] = []
        self.contexts: list[AnswerContext] = []

    async def _spend(self, seconds: float) -> None:
        await trio.lowlevel.checkpoint()

    async def inspect_index(self) -> IndexOnDisk:
        index = await super().inspect_index()
        if index.meta is None or not self._lacks_symbols:
            return index
        return replace(index, meta=replace(index.meta, completeness="partial"))

    async def answer(self, query: Query, context: AnswerContext) -> Reply:
        self.contexts.append(context)
        self._world.random.seed(3)  # FakeWorkbench fails queries at random; this seed prevents it
        return await super().answer(query, context)

    async def answer_unindexed(self, query: Query, context: AnswerContext, deadline: float) -> UnindexedAnswer | None:
        self.n_readings += 1
        try:
            await trio.sleep(self._reading)
        except trio.Cancelled:
            self.n_readings_cancelled += 1
            raise
        assert (context.is_first, context.indexing, context.freshness) == (True, "indexing", "syncing")
        return UnindexedAnswer(FROM_FILES, self._is_sure)

    async def index(self, order: JobOrder, on_progress: Callable[[Progress], None], on_published: Published) -> JobReport:
        self.orders.append(order)
        if self._meta() is None:
            self.n_builds += 1
            await self._steps("parsing", self._text, on_progress)
            self._world.generation[self._id] = 1
            self._lacks_symbols = True
            on_published(None)
            await self._steps("indexing", self._symbols, on_progress)
            self._lacks_symbols = False
        else:
            await trio.sleep(self._later)
        self._world.random.seed(3)
        return await super().index(order, on_progress, on_published)

    async def _steps(self, stage: str, seconds: float, on_progress: Callable[[Progress], None]) -> None:
        for done in range(FILES):
            on_progress(Progress(stage=stage, files_scanned=FILES, files_total=FILES, files_indexed=done))  # type: ignore[arg-type]
            await trio.sleep(seconds / FILES)


class Stage:
    """One workspace. `ask` returns the reply or the error, and the seconds that it took."""

    def __init__(self, supervisor, bench: ScriptedWorkbench, project: Project, world: World) -> None:
        self._supervisor, self.bench, self._project, self._world = supervisor, bench, project, world

    async def ask(self, request: QueryRequest) -> tuple[Reply | CodeCompassError, float]:
        began = trio.current_time()
        try:
            answer = await self._supervisor.route(self._project).ask(Query(request=request))
        except CodeCompassError as error:
            answer = error
        return answer, round(trio.current_time() - began, 6)

    def edit(self) -> None:
        self._world.edit(self._project)


@asynccontextmanager
async def stage(*, is_auto: bool = False, **seconds: float | bool) -> AsyncIterator[Stage]:
    world = World(3)
    project = replace(PROJECT, is_auto_discovered=is_auto)
    bench = ScriptedWorkbench(world, project, **seconds)

    async def make(_project: Project) -> FakeWorkbench:
        return bench

    async with open_supervisor(make, SupervisorSettings(), stop_seconds=1.0) as supervisor:
        yield Stage(supervisor, bench, project, world)


@pytest.mark.parametrize("request_", [SEARCH, CONTEXT])
async def test_what_text_answers_waits_for_symbols_that_are_nearly_there(autojump_clock, request_):
    async with stage(text=1, symbols=1) as workspace:
        answer, seconds = await workspace.ask(request_)

    assert not isinstance(answer, CodeCompassError)
    assert 2 <= seconds < 2.5
    assert (workspace.bench.contexts[0].freshness, workspace.bench.contexts[0].indexing) == ("fresh", "ready")


@pytest.mark.parametrize("request_", [SEARCH, CONTEXT])
@pytest.mark.parametrize(("text", "patience"), [(1.5, 0.6), (3, 0.1)])
async def test_what_text_answers_does_not_wait_for_symbols_that_are_far_away(autojump_clock, request_, text, patience):
    """If the text alone took longer than FIRST_ANSWER_SECONDS, the request does not wait for the symbols at all."""
    async with stage(text=text, symbols=60) as workspace:
        answer, seconds = await workspace.ask(request_)

    assert not isinstance(answer, CodeCompassError)
    assert text <= seconds < text + patience
    assert (workspace.bench.contexts[0].freshness, workspace.bench.contexts[0].indexing) == ("syncing", "indexing")


async def test_later_questions_do_not_wait_anew_for_the_symbols_of_a_first_index(autojump_clock):
    async with stage(text=3, symbols=60) as workspace:
        await workspace.ask(SEARCH)
        await trio.sleep(5)

        _answer, seconds = await workspace.ask(SEARCH)

    assert seconds < 0.1


@pytest.mark.parametrize("request_", [LOCATE, GetFileOutline(path="a.py")])
async def test_what_symbols_answer_waits_until_all_are_there(autojump_clock, request_):
    async with stage(text=3, symbols=12) as workspace:
        _answer, seconds = await workspace.ask(request_)

    assert 15 <= seconds < 15.5
    assert workspace.bench.contexts[0].indexing == "ready"


@pytest.mark.parametrize(("text", "symbols", "request_", "done"), [(50, 1, SEARCH, 50), (50, 1, LOCATE, 50), (5, 40, LOCATE, 50)])
async def test_what_is_not_ready_in_time_is_told_how_far_it_is(autojump_clock, text, symbols, request_, done):
    async with stage(text=text, symbols=symbols) as workspace:
        answer, seconds = await workspace.ask(request_)

        assert isinstance(answer, IndexNotReady)
        assert 25 <= seconds < 30.1  # its files could not be read either
        assert (answer.data["files_indexed"], answer.data["files_total"]) == (pytest.approx(done, abs=1), FILES)
        assert answer.data["retry_after_ms"] > 0
        assert not workspace.bench.contexts

        # The job continues meanwhile, and a repeated request waits for the rest of it.
        with trio.fail_after(60):
            while isinstance((await workspace.ask(request_))[0], IndexNotReady):
                pass
        assert workspace.bench.n_builds == 1


async def test_a_caller_with_less_time_is_answered_in_it(autojump_clock):
    async with stage(text=10, symbols=1, reading=0.8) as workspace:
        answer, seconds = await workspace.ask(SearchCode(query="x", timeout_ms=1500))

    assert answer is FROM_FILES
    assert 1.2 <= seconds < 1.5


@pytest.mark.parametrize("seconds", [0.5, 2, 10, 60])
@pytest.mark.parametrize(
    "times",
    [
        {"text": 600, "symbols": 1},
        {"text": 600, "symbols": 1, "reading": 600},
        {"text": 600, "symbols": 1, "reading": 1, "is_sure": False},
        {"text": 0, "symbols": 600},
        {"text": 0, "symbols": 0, "later": 600},
        {"text": 0.3, "symbols": 0.3, "later": 0.3},
    ],
)
@pytest.mark.parametrize("policy", [None, "strict", "balanced", "best_effort"])
async def test_no_step_of_a_question_outlasts_the_time_that_it_names(autojump_clock, seconds, times, policy):
    """Each of them had all of it: first the index, then its changes, then the search, and files beside them."""
    request = SearchCode(query="x", timeout_ms=round(seconds * 1000), freshness_policy=policy)
    async with stage(**times) as workspace:
        for _ in range(3):
            began = trio.current_time()
            _, taken = await workspace.ask(request)
            for context in workspace.bench.contexts:
                left = search_seconds(request, context.ends_at, began + taken)
                assert taken + left <= 1.01 * seconds
            assert taken <= 1.01 * seconds
            workspace.bench.contexts.clear()
            workspace.edit()


@pytest.mark.parametrize(
    ("text", "symbols", "request_"), [(50, 1, SEARCH), (50, 1, CONTEXT), (50, 1, LOCATE), (1, 50, LOCATE), (1, 50, OUTLINE)]
)
async def test_what_would_wait_long_is_answered_from_the_files_themselves(autojump_clock, text, symbols, request_):
    async with stage(text=text, symbols=symbols, reading=3) as workspace:
        answer, seconds = await workspace.ask(request_)
        again, seconds_again = await workspace.ask(request_)

    assert answer is FROM_FILES
    assert 3.5 <= seconds < 4.6
    assert again is FROM_FILES
    assert 3 <= seconds_again < 3.1  # it is known by now that the index takes long
    assert not workspace.bench.contexts


async def test_an_index_that_is_there_first_answers_and_the_reading_ends(autojump_clock):
    async with stage(text=4, symbols=0.2, reading=10) as workspace:
        answer, seconds = await workspace.ask(LOCATE)

    assert answer is not FROM_FILES
    assert 4.2 <= seconds < 4.7
    assert workspace.bench.n_readings_cancelled == 1


@pytest.mark.parametrize("request_", [SEARCH, LOCATE])
async def test_no_file_is_read_for_a_question_whose_index_is_expected_soon(autojump_clock, request_):
    async with stage(text=0.6, symbols=0.6, reading=0.1) as workspace:
        answer, _seconds = await workspace.ask(request_)

    assert answer is not FROM_FILES
    assert not workspace.bench.n_readings


async def test_an_answer_from_the_files_waits_as_long_as_people_do_for_the_index(autojump_clock):
    async with stage(text=1.9, symbols=0.2, reading=0.1) as workspace:
        answer, seconds = await workspace.ask(LOCATE)

    assert answer is not FROM_FILES
    assert 2.1 <= seconds < 2.5


async def test_an_answer_that_leaves_doubt_waits_for_the_index(autojump_clock):
    async with stage(text=9, symbols=0.2, reading=1, is_sure=False) as workspace:
        answer, seconds = await workspace.ask(LOCATE)

    assert answer is not FROM_FILES
    assert 9.2 <= seconds < 9.7


async def test_an_answer_that_leaves_doubt_is_better_than_none(autojump_clock):
    async with stage(text=90, symbols=1, reading=1, is_sure=False) as workspace:
        answer, seconds = await workspace.ask(LOCATE)

    assert answer is FROM_FILES
    assert 25 <= seconds < 25.1


async def test_a_reading_that_is_nearly_done_is_waited_for(autojump_clock):
    async with stage(text=90, symbols=1, reading=27) as workspace:
        answer, seconds = await workspace.ask(LOCATE)

    assert answer is FROM_FILES
    assert 27 <= seconds < 29


async def test_a_strict_question_is_answered_by_the_index_alone(autojump_clock):
    async with stage(text=90, symbols=1, reading=1) as workspace:
        answer, seconds = await workspace.ask(LocateSymbol(name="x", freshness_policy="strict"))

    assert isinstance(answer, IndexNotReady)
    assert 25 <= seconds < 25.1
    assert not workspace.bench.n_readings


def test_a_job_with_all_files_done_is_never_told_as_an_index_that_is_not_ready():
    state = JobState(
        job_id="j",
        project_id="p",
        project_name="p",
        root="/p",
        mode="full",
        status="running",
        cause="test",
        created_at=0.0,
        progress=Progress(stage="finalizing", files_scanned=147, files_total=147, files_indexed=147),
    )

    for has_text in (False, True):
        error = not_ready(state, has_text=has_text)
        assert isinstance(error, WorkspaceBusy)
        assert error.data["retry_after_ms"] > 0


async def test_what_was_taken_up_by_asking_is_answered_with_its_text_and_marked(autojump_clock):
    """A request that adds a workspace is answered as soon as its text is indexed, however small the workspace is."""
    async with stage(is_auto=True, text=3, symbols=0.5) as workspace:
        _answer, seconds = await workspace.ask(SEARCH)

    view = workspace.bench.contexts[0]
    assert 3 <= seconds < 3.1
    assert (view.is_first, view.indexing, view.freshness) == (True, "indexing", "syncing")
    assert workspace.bench.orders[0].text_first


@pytest.mark.parametrize("policy", ["balanced", "strict"])
async def test_changes_are_waited_for_and_no_longer_than_is_said(autojump_clock, policy):
    async with stage(text=0.1, symbols=0.1, later=60) as workspace:
        await workspace.ask(LOCATE)
        await trio.sleep(600)
        workspace.edit()

        _answer, seconds = await workspace.ask(LocateSymbol(name="x", freshness_policy=policy))

    assert 5 <= seconds < 5.1
    assert (workspace.bench.contexts[-1].freshness, workspace.bench.contexts[-1].policy) == ("stale", policy)


async def test_the_wait_for_changes_is_a_bound_and_not_a_delay(autojump_clock):
    async with stage(text=0.1, symbols=0.1, later=0.3) as workspace:
        await workspace.ask(LOCATE)
        await trio.sleep(600)
        workspace.edit()

        _answer, seconds = await workspace.ask(LOCATE)

    assert 0.3 <= seconds < 1
    assert workspace.bench.contexts[-1].freshness == "fresh"


async def test_what_does_not_wait_is_answered_at_once_and_said_to_be_behind(autojump_clock):
    async with stage(text=0.1, symbols=0.1, later=60) as workspace:
        await workspace.ask(LOCATE)
        await trio.sleep(600)
        workspace.edit()

        _answer, seconds = await workspace.ask(LocateSymbol(name="x", freshness_policy="best_effort"))

    assert seconds < 0.1
    assert workspace.bench.contexts[-1].freshness in ("stale", "syncing")

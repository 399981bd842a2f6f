"""Which job runs when several are requested and cancelled, in virtual time: each test itself has to name the clock."""

from itertools import permutations
from pathlib import Path

import pytest
import trio

from codecompass.actors import job_queue
from codecompass.actors.answering import Patience
from codecompass.actors.messages import CancelJob, Query, StartJob
from codecompass.actors.supervisor import SupervisorSettings, open_supervisor
from codecompass.actors.workspace import WorkspaceSettings
from codecompass.errors import IndexInProgress, IndexNotReady, PermissionDenied
from codecompass.protocol.requests import LocateSymbol
from codecompass.store.registry import Project
from tests.support.fake_workbench import FakeWorkbench, World

pytestmark = pytest.mark.invariant(
    "A job that is being cancelled is joined by nobody and refuses nobody: what is requested meanwhile starts after "
    "it, without a pause"
)

PROJECT = Project(
    project_id=f"{2:016x}",
    alias=None,
    root=Path("/project/2"),
    is_auto_discovered=False,
    is_default=False,
    created_at=0.0,
    last_used_at=0.0,
)
"""A project whose fake watcher is exact once it watches."""

JOB_SECONDS, STOPPING_SECONDS, FORGETTING_SECONDS, TIDYING_SECONDS = 10.0, 3.0, 1.0, 30.0
QUESTION = Query(request=LocateSymbol(name="x"))
ORDERS = list(permutations(("start", "cancel", "force", "sync", "cancel it")))


class SlowWorkbench(FakeWorkbench):
    """Each job takes JOB_SECONDS, and STOPPING_SECONDS to end when it is cancelled. `failures` are raised first."""

    failures: list[Exception]

    async def index(self, order, on_progress, on_published):
        self.orders.append(order)
        try:
            await trio.sleep(JOB_SECONDS)
        except trio.Cancelled:
            with trio.CancelScope(shield=True):
                await trio.sleep(STOPPING_SECONDS)
            raise
        if self.failures:
            raise self.failures.pop(0)
        return await super().index(order, on_progress, on_published)

    async def _spend(self, seconds):
        await trio.lowlevel.checkpoint()


class TidyingWorkbench(SlowWorkbench):
    """After its publication, a job still cleans up for TIDYING_SECONDS."""

    async def index(self, order, on_progress, on_published):
        report = await super().index(order, on_progress, on_published)
        await trio.sleep(TIDYING_SECONDS)
        return report


class ForgettingWorkbench(SlowWorkbench):
    """Of a project that its server registered by itself; removing the entry takes FORGETTING_SECONDS."""

    is_gone = False
    n_restored = 0

    async def forget(self, paused_until):
        await trio.sleep(FORGETTING_SECONDS)
        self.is_gone = True
        return True

    async def restore(self):
        self.is_gone = False
        self.n_restored += 1

    def is_forgotten(self, project):
        return self.is_gone


@pytest.fixture
async def bench():
    world = World(1)
    world.random.random = lambda: 1.0  # no chance failures
    world.edit(PROJECT)
    bench = SlowWorkbench(world, PROJECT)
    bench.failures, bench.orders = [], []
    return bench


@pytest.fixture
async def workspace(bench):
    async def make(project):
        return bench

    settings = SupervisorSettings(workspace=WorkspaceSettings(patience=Patience(freshness_wait=60.0, first_answer_wait=60.0)))
    async with open_supervisor(make, settings, stop_seconds=60.0) as supervisor:
        yield supervisor.route(PROJECT)


@pytest.fixture
async def forgetting():
    """The workspace of such a project, and its workbench."""
    world = World(1)
    world.random.random = lambda: 1.0
    world.edit(PROJECT)
    bench = ForgettingWorkbench(world, PROJECT)
    bench.failures, bench.orders = [], []

    async def make(project):
        return bench

    settings = SupervisorSettings(workspace=WorkspaceSettings(patience=Patience(freshness_wait=60.0, first_answer_wait=60.0)))
    async with open_supervisor(make, settings, stop_seconds=60.0) as supervisor:
        yield supervisor, bench


@pytest.fixture
async def tidying():
    """A workspace whose jobs clean up for long, with a first index; its supervisor and its workbench."""
    world = World(1)
    world.random.random = lambda: 1.0
    bench = TidyingWorkbench(world, PROJECT)
    bench.failures, bench.orders = [], []

    async def make(project):
        return bench

    settings = SupervisorSettings(workspace=WorkspaceSettings(patience=Patience(freshness_wait=60.0, first_answer_wait=60.0)))
    async with open_supervisor(make, settings, stop_seconds=60.0) as supervisor:
        await (await start(supervisor.route(PROJECT))).wait_end()
        world.edit(PROJECT)
        yield supervisor, bench


async def start(workspace, **arguments):
    return await workspace.ask(StartJob(cause="test", **arguments))


async def cancel(workspace, job):
    assert await workspace.ask(CancelJob(job_id=job.state.job_id))


async def test_a_job_that_is_being_cancelled_is_joined_by_nobody(autojump_clock, workspace):
    first = await start(workspace)
    await trio.sleep(1)
    await cancel(workspace, first)
    second, third = await start(workspace), await start(workspace)

    assert second is third
    assert second is not first
    assert (await first.wait_end()).status == "cancelled"
    assert (await second.wait_end()).status == "published"


async def test_a_rebuild_requested_meanwhile_starts_after_it_and_is_not_refused(autojump_clock, workspace, bench):
    first = await start(workspace)
    await trio.sleep(1)
    await cancel(workspace, first)
    rebuild = await start(workspace, force=True)

    assert (await rebuild.wait_end()).status == "published"
    assert [order.force for order in bench.orders] == [False, True]


async def test_a_job_that_waits_becomes_a_rebuild_if_one_is_requested(autojump_clock, workspace, bench):
    await (await start(workspace)).wait_end()
    first = await start(workspace)
    await trio.sleep(1)
    await cancel(workspace, first)
    waiting = await start(workspace)
    rebuild = await start(workspace, force=True)

    assert rebuild is waiting
    assert rebuild.state.mode == "full"
    assert (await rebuild.wait_end()).status == "published"
    assert bench.orders[-1].force


async def test_a_question_that_comes_while_a_job_is_being_cancelled_is_answered_after_the_next_one(autojump_clock, workspace):
    first = await start(workspace)
    await trio.sleep(1)
    await cancel(workspace, first)

    assert (await workspace.ask(QUESTION)).metadata.freshness_status == "fresh"


async def test_a_cancelled_job_delays_no_question(autojump_clock, workspace):
    """Cancelling is no failure: there is no pause."""
    await (await start(workspace)).wait_end()
    for _ in range(5):
        first = await start(workspace, force=True)
        await trio.sleep(1)
        await cancel(workspace, first)
        await first.wait_end()
        began = trio.current_time()

        assert (await workspace.ask(QUESTION)).metadata.freshness_status == "fresh"

        assert trio.current_time() - began < JOB_SECONDS + job_queue.FIRST_RETRY_SECONDS


async def test_a_cancelled_job_leaves_the_pause_after_failures_as_it_was(autojump_clock, workspace, bench):
    await (await start(workspace)).wait_end()
    bench.failures = [PermissionDenied("the disk is full", path="/", suggested_action="free space")]
    await (await start(workspace, force=True)).wait_end()
    for _ in range(6):
        first = await start(workspace, force=True)
        await cancel(workspace, first)
        await first.wait_end()
    began = trio.current_time()
    await trio.sleep(job_queue.FIRST_RETRY_SECONDS)

    assert (await workspace.ask(QUESTION)).metadata.freshness_status == "fresh"
    assert trio.current_time() - began < JOB_SECONDS + 2 * job_queue.FIRST_RETRY_SECONDS


async def test_a_job_that_waits_can_be_cancelled_and_the_next_request_makes_another(autojump_clock, workspace):
    first = await start(workspace)
    await trio.sleep(1)
    await cancel(workspace, first)
    waiting = await start(workspace)
    await cancel(workspace, waiting)
    next_one = await start(workspace)

    assert next_one is not waiting
    assert (await waiting.wait_end()).status == "cancelled"
    assert not first.state.has_ended
    assert (await next_one.wait_end()).status == "published"


@pytest.mark.parametrize("pause", [0, 0.5, STOPPING_SECONDS + 0.5])
@pytest.mark.parametrize("is_indexed", [False, True])
async def test_in_whatever_order_jobs_are_requested_and_cancelled_each_ends_as_it_should(autojump_clock, is_indexed, pause):
    for order in ORDERS:
        await check_order(order, is_indexed=is_indexed, pause=pause)


async def check_order(order, *, is_indexed, pause):
    """`cancel` is for the job returned first, `cancel it` for the one returned last; `sync` is for an edit made before."""
    world = World(1)
    world.random.random = lambda: 1.0
    bench = SlowWorkbench(world, PROJECT)
    bench.failures, bench.orders = [], []

    async def make(project):
        return bench

    jobs, cancelled = [], set()
    settings = SupervisorSettings(workspace=WorkspaceSettings(patience=Patience(freshness_wait=600.0, first_answer_wait=600.0)))
    async with open_supervisor(make, settings, stop_seconds=60.0) as supervisor:
        workspace = supervisor.route(PROJECT)
        if is_indexed:
            await (await start(workspace)).wait_end()
        for step in order:
            if step.startswith("cancel"):
                if jobs:
                    job = jobs[0] if step == "cancel" else jobs[-1]
                    if await workspace.ask(CancelJob(job_id=job.state.job_id)):
                        cancelled.add(job.state.job_id)
            else:
                if step == "sync":
                    world.edit(PROJECT)
                try:
                    job = await start(workspace, force=step == "force")
                except IndexInProgress as error:
                    running = error.data["job_id"]
                    assert (step, running in cancelled) == ("force", False), order
                else:
                    assert job.state.job_id not in cancelled, (order, "joined a job that is being cancelled")
                    jobs.append(job)
            await trio.sleep(pause)
        for job in jobs:
            ended = await job.wait_end()
            assert ended.status == ("cancelled" if ended.job_id in cancelled else "published"), (order, ended)
        edits = world.edits.get(PROJECT.project_id, 0)
        assert (await workspace.ask(QUESTION)).metadata.freshness_status == "fresh", order
        assert world.indexed_edits[PROJECT.project_id] >= edits, order


async def test_a_forgotten_project_is_indexed_again_by_nobody_and_its_workspace_ends(autojump_clock, forgetting):
    supervisor, bench = forgetting
    bench.failures = [PermissionDenied("the disk is full", path="/", suggested_action="free space")]

    with pytest.raises(PermissionDenied, match="retried by a later question; call index_repo to retry now"):
        await supervisor.route(PROJECT).ask(QUESTION)
    bench._world.edit(PROJECT)
    await trio.sleep(job_queue.LONGEST_RETRY_SECONDS)
    with pytest.raises(PermissionDenied):
        await supervisor.route(PROJECT).ask(QUESTION)
    await trio.sleep(2 * job_queue.LONGEST_RETRY_SECONDS + 1)

    assert len(bench.orders) == 1
    assert supervisor.find(PROJECT.project_id) is None


async def test_the_pauses_of_a_project_that_is_forgotten_again_and_again_grow(autojump_clock, forgetting):
    supervisor, bench = forgetting
    bench.failures = [PermissionDenied("the disk is full", path="/", suggested_action="free space") for _ in range(5)]
    n_asked = 0

    while len(bench.orders) < 5:
        bench.is_gone = False  # the router registers it again
        with pytest.raises(PermissionDenied):
            await supervisor.route(PROJECT).ask(QUESTION)
        n_asked += 1
        await trio.sleep(1)

    assert n_asked > 10


async def test_those_who_waited_for_a_cancelled_first_job_start_no_other(autojump_clock, forgetting):
    supervisor, bench = forgetting
    failures = []

    async def ask():
        with pytest.raises(IndexNotReady, match="The next question starts a new job") as raised:
            await supervisor.route(PROJECT).ask(QUESTION)
        failures.append(raised.value)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(ask)
        nursery.start_soon(ask)
        await trio.sleep(1)
        await cancel(supervisor.route(PROJECT), await start(supervisor.route(PROJECT)))

    assert (len(failures), len(bench.orders), bench.is_gone) == (2, 1, True)


@pytest.mark.parametrize("after", [0, STOPPING_SECONDS + FORGETTING_SECONDS / 2])
async def test_a_job_that_is_ordered_while_the_project_is_being_forgotten_runs_for_a_registered_one(
    autojump_clock, forgetting, after
):
    supervisor, bench = forgetting
    first = await start(supervisor.route(PROJECT))
    await trio.sleep(1)
    await cancel(supervisor.route(PROJECT), first)
    await trio.sleep(after)

    second = await start(supervisor.route(PROJECT))

    assert (await second.wait_end()).status == "published"
    assert (bench.is_gone, bench.n_restored) == (False, int(after > 0))


async def test_an_answer_waits_for_the_publication_of_a_change_and_not_for_the_end_of_its_job(autojump_clock, tidying):
    supervisor, _ = tidying
    began = trio.current_time()

    assert (await supervisor.route(PROJECT).ask(QUESTION)).metadata.freshness_status == "fresh"

    assert JOB_SECONDS <= trio.current_time() - began < JOB_SECONDS + TIDYING_SECONDS
    observation = supervisor.find(PROJECT.project_id)
    assert (observation.indexing_status, observation.freshness_status) == ("ready", "fresh")
    assert observation.active_job.status == "running"


async def test_what_changes_while_a_job_cleans_up_is_indexed_after_it(autojump_clock, tidying):
    supervisor, bench = tidying
    workspace = supervisor.route(PROJECT)
    await workspace.ask(QUESTION)
    bench._world.edit(PROJECT)

    assert (await workspace.ask(QUESTION)).metadata.freshness_status == "fresh"

    assert bench._world.indexed_edits[PROJECT.project_id] == 2


@pytest.mark.parametrize("force", [False, True])
async def test_a_job_requested_while_one_cleans_up_follows_it_and_is_not_refused(autojump_clock, tidying, force):
    """The one that cleans up would not index what has changed since it began."""
    supervisor, bench = tidying
    workspace = supervisor.route(PROJECT)
    await workspace.ask(QUESTION)
    running = supervisor.find(PROJECT.project_id).active_job

    job = await start(workspace, force=force)

    assert job.state.job_id != running.job_id
    assert (await job.wait_end()).status == "published"
    assert bench.orders[-1].force == force

"""Random schedules of asks, cancellations, crashes, evictions and restarts for the actor layer, under a virtual clock.

`run_seed` raises AssertionError if an invariant is violated.
"""

from collections import Counter
from pathlib import Path

import structlog.testing
import trio
import trio.testing
from trio import _core

from codecompass.actors.answering import Patience
from codecompass.actors.messages import CancelJob, Query, StartJob
from codecompass.actors.supervisor import SupervisorSettings, WorkspaceSupervisor, open_supervisor
from codecompass.actors.workspace import WorkspaceSettings
from codecompass.errors import CodeCompassError
from codecompass.protocol.requests import FreshnessPolicy, LocateSymbol
from codecompass.store.registry import Project
from tests.support.fake_workbench import World

N_PROJECTS = 6
N_CLIENTS = 8
ASKS_PER_CLIENT = 12
MAX_LIVE = 3
ASK_DEADLINE_SECONDS = 600.0
"""Virtual. Nothing here takes longer than a few seconds, but the pauses after crashes add up."""


def project(number: int) -> Project:
    return Project(
        project_id=f"{number:016x}",
        alias=None,
        root=Path(f"/project/{number}"),
        is_auto_discovered=False,
        is_default=False,
        created_at=0.0,
        last_used_at=0.0,
    )


class Run:
    """One seed: the world, the clients, and the outcomes of their asks."""

    def __init__(self, seed: int) -> None:
        self.world = World(seed)
        self.random = self.world.random
        self.projects = [project(number) for number in range(N_PROJECTS)]
        self.outcomes: Counter[str] = Counter()
        self.cancelled_jobs: set[str] = set()
        self.stopping_jobs: set[str] = set()
        self.is_stopping = False

    async def go(self) -> None:
        settings = SupervisorSettings(
            workspace=WorkspaceSettings(patience=Patience(freshness_wait=0.3), idle=20.0), max_live=MAX_LIVE
        )
        async with open_supervisor(self.world.make, settings, stop_seconds=5.0) as supervisor:
            async with trio.open_nursery() as nursery:
                for _ in range(N_CLIENTS):
                    nursery.start_soon(self.client, supervisor)
                nursery.start_soon(self.trouble, supervisor)
                nursery.start_soon(self.orders, supervisor)
            await self.burst_into_the_stop(supervisor)
            if self.random.random() < 0.5:
                await trio.sleep(60)  # idle workspaces retire
            self.check(supervisor)
        self.check_end(supervisor)

    async def client(self, supervisor: WorkspaceSupervisor) -> None:
        for _ in range(ASKS_PER_CLIENT):
            await trio.sleep(self.random.random())
            await self.ask(supervisor, self.random.choice(self.projects))
            self.check(supervisor)

    async def ask(self, supervisor: WorkspaceSupervisor, target: Project) -> None:
        chance = self.random.random()
        patience = self.random.random() if chance < 0.2 else ASK_DEADLINE_SECONDS
        await self.send(supervisor, target, self.message(supervisor, target, chance), patience)

    def message(self, supervisor: WorkspaceSupervisor, target: Project, chance: float) -> Query | StartJob | CancelJob:
        policy: FreshnessPolicy = self.random.choice(("strict", "balanced", "best_effort"))
        if chance < 0.75:
            return Query(request=LocateSymbol(name="x", freshness_policy=policy))
        if chance < 0.95:
            return StartJob(cause="test", force=self.random.random() < 0.3)
        observation = supervisor.find(target.project_id)
        job = observation.active_job if observation is not None else None
        return CancelJob(job_id="none" if job is None else job.job_id)

    async def send(
        self, supervisor: WorkspaceSupervisor, target: Project, message: Query | StartJob | CancelJob, patience: float
    ) -> None:
        if isinstance(message, CancelJob):
            self.cancelled_jobs.add(message.job_id)
        stopping = frozenset(self.stopping_jobs)
        edits = self.world.edits.get(target.project_id, 0)
        with trio.move_on_after(patience) as scope:
            try:
                reply = await supervisor.route(target).ask(message, request_id="r")  # type: ignore[call-overload]
            except CodeCompassError as error:
                self.refuse_defect(error)
                if isinstance(message, StartJob):
                    self.refuse_stopping(stopping, error.data.get("job_id"))
                self.outcomes[error.code] += 1
            else:
                self.outcomes["answered"] += 1
                if isinstance(message, CancelJob) and reply:
                    self.stopping_jobs.add(message.job_id)
                if isinstance(message, StartJob):
                    self.refuse_stopping(stopping, reply.state.job_id)
                if isinstance(message, Query) and reply.metadata.freshness_status == "fresh":
                    known = self.world.indexed_edits.get(target.project_id, -1)
                    assert known >= edits, f"fresh, but {edits} edits were made before the question and {known} are indexed"
        if scope.cancelled_caught:
            assert patience < ASK_DEADLINE_SECONDS, f"never answered: {message}"
            self.outcomes["left"] += 1

    def refuse_stopping(self, stopping: frozenset[str], job_id: object) -> None:
        """A job that was being cancelled before it was requested is neither joined nor a reason to refuse."""
        assert job_id not in stopping, "joined a job that is being cancelled, or refused for it"

    def refuse_defect(self, error: CodeCompassError) -> None:
        """Errors are valid answers, except those that only a broken invariant can cause."""
        assert error.code != "cancelled", "an answer meant for somebody who left"
        assert "AssertionError" not in error.message, error.message

    async def orders(self, supervisor: WorkspaceSupervisor) -> None:
        """Job requests of every kind and cancellations, one right after the other, in every order."""
        for target in self.projects:
            kinds = ["start", "force", "sync", "cancel", "cancel"]
            self.random.shuffle(kinds)
            for kind in kinds:
                if kind == "sync":
                    self.world.edit(target)
                chance = 1.0 if kind == "cancel" else 0.9
                message = StartJob(cause=kind, force=True) if kind == "force" else self.message(supervisor, target, chance)
                await self.send(supervisor, target, message, ASK_DEADLINE_SECONDS)
                await trio.sleep(self.random.choice((0, 0, 0.1, 2.0)))
            self.check(supervisor)

    async def trouble(self, supervisor: WorkspaceSupervisor) -> None:
        """Edits, crashes and evictions; each of the latter two at least once."""
        for round_ in range(20):
            await trio.sleep(self.random.random())
            target = self.random.choice(self.projects)
            chance = self.random.random()
            if chance < 0.4:
                self.world.edit(target)
            elif chance < 0.6 or round_ == 5:
                n_crashes = 8 if self.random.random() < 0.15 else self.random.randint(1, 2)
                self.world.crashes_due[target.project_id] = n_crashes
                # A client that leaves between the order of the crash and its end.
                with trio.move_on_after(0.001) as scope:
                    await self.ask(supervisor, target)
                self.outcomes["left"] += scope.cancelled_caught
            elif (chance < 0.8 or round_ == 10) and await supervisor.evict(target.project_id):
                self.outcomes["evicted"] += 1
            self.check(supervisor)

    async def burst_into_the_stop(self, supervisor: WorkspaceSupervisor) -> None:
        """Asks that are queued, in progress or waiting for a restart while the server stops: each must still be answered."""
        target = self.random.choice(self.projects)
        while not await supervisor.evict(target.project_id):  # noqa: ASYNC110
            await trio.sleep(1)  # its last job is still running
        # It crashes repeatedly at its start: some asks arrive while it is up, some during the pauses.
        self.world.crashes_due[target.project_id] = 4
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.ask, supervisor, target)
            for _ in range(8):
                nursery.start_soon(self.late_ask, supervisor, target)
            await trio.sleep(0.02 + self.random.random() * 0.5)
            self.is_stopping = True
            nursery.start_soon(supervisor.stop, 5.0)

    async def late_ask(self, supervisor: WorkspaceSupervisor, target: Project) -> None:
        await trio.sleep(self.random.random() * 0.5)
        await self.ask(supervisor, target)

    def check(self, supervisor: WorkspaceSupervisor) -> None:
        """Checks the invariants that hold at every moment."""
        live = supervisor.observe()
        assert supervisor.n_started - supervisor.n_retired == len(live), "a workspace left without being retired"
        busy = [each for each in live if each.in_flight or each.queued or each.is_working or each.active_job]
        assert len(live) <= max(MAX_LIVE, len(busy)), "more live workspaces than the cap, and they are not busy"
        for each in live:
            assert each.queued + each.in_flight <= 64
            assert "AssertionError" not in each.last_error, each.last_error
            assert each.lifecycle not in ("stopped", "draining")
        for watchers in self.world.watching.values():
            assert watchers <= 1
        for job in self.world.ended_jobs:
            assert "AssertionError" not in job.error, job.error
        if not self.is_stopping:
            for job in self.world.ended_jobs:
                lost = job.status == "cancelled" and job.job_id not in self.cancelled_jobs and not self.world.n_crashes
                assert not lost, f"a job was thrown away: {job.error}"

    def check_end(self, supervisor: WorkspaceSupervisor) -> None:
        """Checks what holds after the stop, and that this seed had every kind of event."""
        assert not supervisor.observe()
        assert not self.world.open, "an index is still open"
        assert not self.world.writing, "a writer is still there"
        assert not any(self.world.watching.values()), "a watcher is still there"
        assert self.world.n_crashes or supervisor.n_crashes, "no crash in this seed"
        assert self.outcomes["left"], "no cancellation in this seed"
        assert supervisor.n_retired, "no eviction in this seed"


def run_seed(seed: int) -> Counter[str]:
    """Runs one schedule; returns the outcomes of its asks. Deterministic: the seed also determines the order of tasks."""
    run = Run(seed)
    _core._run._ALLOW_DETERMINISTIC_SCHEDULING = True  # type: ignore[misc]
    _core._run._r.seed(seed)
    clock = trio.testing.MockClock(autojump_threshold=0)
    with structlog.testing.capture_logs():
        trio.run(run.go, clock=clock)
    return run.outcomes

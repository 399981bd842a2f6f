"""The loop of a workspace never waits for work: blocked work delays no message."""

from pathlib import Path

import pytest
import trio

from codecompass.actors.job_state import JobHandle
from codecompass.actors.messages import CancelJob, Query, StartJob
from codecompass.actors.supervisor import SupervisorSettings, open_supervisor
from codecompass.protocol.requests import SearchCode
from codecompass.store.registry import Project
from tests.support.fake_workbench import FakeWorkbench, World

PROJECT = Project(
    project_id=f"{1:016x}",
    alias=None,
    root=Path("/project/1"),
    is_auto_discovered=False,
    is_default=False,
    created_at=0.0,
    last_used_at=0.0,
)


class StuckWorkbench(FakeWorkbench):
    """Starts all work and finishes none."""

    async def _spend(self, seconds: float) -> None:
        await trio.sleep_forever()


@pytest.mark.invariant("A workspace's loop never awaits work")
async def test_messages_are_taken_at_once_while_all_work_of_a_workspace_stands_still(autojump_clock):
    world = World(1)

    async def make(project: Project) -> FakeWorkbench:
        return StuckWorkbench(world, project)

    async with open_supervisor(make, SupervisorSettings(), stop_seconds=1.0) as supervisor, trio.open_nursery() as nursery:
        workspace = supervisor.route(PROJECT)
        for _ in range(5):
            nursery.start_soon(workspace.ask, Query(request=SearchCode(query="x")))
        began = trio.current_time()

        job = await workspace.ask(StartJob(cause="test"))
        was_there = await workspace.ask(CancelJob(job_id="of nobody"))

        assert trio.current_time() == began
        assert not was_there
        assert isinstance(job, JobHandle)
        nursery.cancel_scope.cancel()

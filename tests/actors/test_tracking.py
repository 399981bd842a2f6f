"""What a workspace knows of its changes: when the word of its watcher is proof."""

from pathlib import Path

import trio
import trio.testing

from codecompass.actors.tracking import ChangeTracker
from codecompass.actors.workbench import JobOrder
from codecompass.identity import ProjectId
from codecompass.store.registry import Project
from tests.support.fake_workbench import World

PROJECT = Project(
    project_id=ProjectId("0000000000000002"),
    alias=None,
    root=Path("/srv/shop"),
    is_auto_discovered=False,
    is_default=False,
    created_at=0.0,
    last_used_at=0.0,
)
"""Of one whose watcher is exact once it watches."""


async def test_a_watcher_proves_nothing_before_it_watches_all_that_the_last_scan_found(autojump_clock):
    """What the scan found for the first time, as in a directory that was closed before, can be written to unseen until then."""
    bench = await World(seed=1).make(PROJECT)
    async with trio.open_nursery() as nursery:
        tracker = ChangeTracker(bench, nursery, lambda: None)
        nursery.start_soon(tracker.keep_watch, trio.sleep_forever)
        order = JobOrder(job_id="1", force=False, directories=None)

        was_exact = []
        for _ in range(2):
            taken = tracker.take()
            report = await bench.index(order, lambda _progress: None, lambda: None)
            tracker.landed(taken, report)
            was_exact.append(tracker.is_exact)
            await trio.testing.wait_all_tasks_blocked()
            was_exact.append(tracker.is_exact)
        nursery.cancel_scope.cancel()

    assert was_exact == [False, True, False, True]

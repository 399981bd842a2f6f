"""When a workspace may rely on its watcher."""

from contextlib import asynccontextmanager
from pathlib import Path

import trio
import trio.testing
from msgspec.structs import replace

from codecompass.actors.blocking_calls import unresponsive
from codecompass.actors.job_context import JobOrder
from codecompass.actors.job_state import WatchList
from codecompass.actors.tracking import ChangeTracker
from codecompass.identity import ProjectId
from codecompass.scan.walk import ScannedFile
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
"""A project whose fake watcher is exact once it watches."""


WATCHING_SECONDS = 10
"""The first watcher of this world fails; the next one watches by then."""


async def test_a_watcher_proves_nothing_before_it_watches_all_that_the_last_scan_found(autojump_clock):
    """Directories that the scan finds for the first time (say, unreadable before) can change unseen until they are watched."""
    bench = await World(seed=1).make(PROJECT)
    async with trio.open_nursery() as nursery:
        tracker = ChangeTracker(bench, nursery, lambda: None)
        nursery.start_soon(tracker.keep_watch, trio.sleep_forever)
        order = JobOrder(job_id="1", force=False, directories=None)

        was_exact = []
        for _ in range(2):
            taken = tracker.take()
            await bench.index(order, lambda _progress: None, tracker.watch_scanned)
            tracker.landed(taken)
            was_exact.append(tracker.is_exact)
            await trio.testing.wait_all_tasks_blocked()
            was_exact.append(tracker.is_exact)
        nursery.cancel_scope.cancel()

    assert was_exact == [False, True, False, True]


async def test_a_watcher_that_watches_all_that_was_scanned_is_not_told_again_and_stays_exact(autojump_clock):
    """After most edits: until it is told, the next question would compare every file."""
    bench = await World(seed=1).make(PROJECT)
    scanned = WatchList(directories=frozenset({"", "src"}))
    told = []
    async with trio.open_nursery() as nursery:
        tracker = ChangeTracker(bench, nursery, lambda: None)
        nursery.start_soon(tracker.keep_watch, trio.sleep_forever)
        tracker.watch_scanned(scanned)
        await trio.sleep(WATCHING_SECONDS)
        bench.watcher.watches = lambda directories, _repositories, _files: told.append(directories) or True

        tracker.watch_scanned(scanned)
        assert tracker.is_exact
        tracker.watch_scanned(replace(scanned, has_all_files=True))
        assert not tracker.is_exact
        nursery.cancel_scope.cancel()

    assert told == [scanned.directories]


async def test_files_of_two_jobs_are_watched_if_the_watcher_was_told_of_neither(autojump_clock):
    bench = await World(seed=1).make(PROJECT)
    one, two, three = (ScannedFile(path, 1, 1, 1, 1) for path in ("a.py", "src/b.py", "src/c.py"))
    told = []
    async with trio.open_nursery() as nursery:
        tracker = ChangeTracker(bench, nursery, lambda: None)
        tracker.watch_scanned(WatchList(files={"": (one,), "src": (two,)}, has_all_files=True))
        tracker.watch_scanned(WatchList(files={"src": (three,)}))
        nursery.start_soon(tracker.keep_watch, trio.sleep_forever)
        await trio.sleep(WATCHING_SECONDS)
        told.append((bench.watcher.files, bench.watcher.has_all_files))
        tracker.watch_scanned(WatchList(files={"src": (two,)}))
        await trio.testing.wait_all_tasks_blocked()
        told.append((bench.watcher.files, bench.watcher.has_all_files))
        nursery.cancel_scope.cancel()

    assert told == [({"": (one,), "src": (three,)}, True), ({"src": (two,)}, False)]


async def test_a_job_that_ends_while_the_watcher_is_drained_loses_no_file_of_the_one_before(autojump_clock):
    """Draining touches the tree and may take long; the watcher is told of nothing meanwhile."""
    bench = await World(seed=1).make(PROJECT)
    one, two = (ScannedFile(path, 1, 1, 1, 1) for path in ("a.py", "src/b.py"))
    gates = [trio.Event() for _ in range(4)]
    begun = iter(gates)

    async def drain(watcher):
        await next(begun).wait()
        return watcher.drain()

    async with trio.open_nursery() as nursery:
        tracker = ChangeTracker(bench, nursery, lambda: None)
        nursery.start_soon(tracker.keep_watch, trio.sleep_forever)
        await trio.sleep(WATCHING_SECONDS)
        bench.watcher.touches_tree, bench.drain = True, drain
        nursery.start_soon(tracker.drain)
        await trio.testing.wait_all_tasks_blocked()
        tracker.watch_scanned(WatchList(files={"": (one,)}, has_all_files=True))
        await trio.testing.wait_all_tasks_blocked()
        gates[0].set()
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(tracker.drain)
        await trio.testing.wait_all_tasks_blocked()
        gates[1].set()
        await trio.testing.wait_all_tasks_blocked()
        tracker.watch_scanned(WatchList(files={"src": (two,)}))
        for gate in gates:
            gate.set()
        await trio.testing.wait_all_tasks_blocked()
        told = bench.watcher.files, bench.watcher.has_all_files
        nursery.cancel_scope.cancel()

    assert told == ({"": (one,), "src": (two,)}, True)


class Unwatchable:
    """A workbench whose watching fails with each of `failures` in turn, and then succeeds."""

    def __init__(self, bench, failures):
        self._bench = bench
        self._failures = iter(failures)
        self.attempts = []

    def __getattr__(self, name):
        return getattr(self._bench, name)

    @asynccontextmanager
    async def watch(self):
        self.attempts.append(trio.current_time())
        failure = next(self._failures, None)
        if failure is not None:
            raise failure
        async with self._bench.watch() as watcher:
            yield watcher


async def attempts_to_watch(failures, until):
    """Returns the seconds at which watching is attempted, up to `until`."""
    bench = Unwatchable(await World(seed=1).make(PROJECT), failures)
    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(ChangeTracker(bench, nursery, lambda: None).keep_watch, trio.sleep_forever)
        await trio.sleep(until)
        nursery.cancel_scope.cancel()
    return [round(at - began) for at in bench.attempts]


async def test_a_watcher_that_fails_is_replaced_after_pauses_that_grow_up_to_a_bound(autojump_clock):
    assert await attempts_to_watch([OSError("no more watches")] * 8, 100) == [0, 1, 3, 7, 15, 31, 61, 91]


async def test_one_lost_while_its_file_system_comes_back_is_replaced_soon(autojump_clock):
    """A hanging call ends with an error when the file system is back, without any request."""
    hanging = [unresponsive("/srv/shop")] * 5

    assert await attempts_to_watch([*hanging, ConnectionAbortedError()], 7.5) == [0, 1, 2, 3, 4, 5, 7]

"""A server that has ended, however busy it was, leaves no task, busy thread, file, process or writer."""

import gc
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest
import tantivy
import trio

from codecompass.actors.messages import StartJob
from codecompass.errors import CodeCompassError
from codecompass.store.lock import is_locked
from tests.support.asking import (
    HURRIED,
    ONE_WORKER,
    locate,
    open_workspace,
    paths_of,
    search,
    until_indexed,
    until_quiet,
)
from tests.support.faults import held_workers, workers
from tests.support.sample import SAMPLE
from tests.support.serving import open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="/proc says what a process has open")

TREE = {**SAMPLE, **{f"m{n}.py": "".join(f"def f{n}_{i}(x):\n    return x\n\n" for i in range(100)) for n in range(30)}}


@pytest.fixture
def tree(repository: TestWorkspace) -> TestWorkspace:
    repository.write(TREE)
    repository.commit()
    return repository


def tasks() -> list[str]:
    """Returns the names of all tasks of this run except trio's own."""
    found = []
    waiting = [trio.lowlevel.current_root_task()]
    while waiting:
        task = waiting.pop()
        found.append(task.name)
        waiting += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return sorted(name for name in found if not name.startswith(("<init>", "trio.", "<TrioToken")))


def threads_at_work() -> list[str]:
    """Returns the names of busy threads; trio keeps idle ones for ten seconds, under names of its own."""
    return [
        thread.name
        for thread in threading.enumerate()
        if thread is not threading.main_thread() and not thread.name.startswith("Trio thread")
    ]


def native_threads() -> list[str]:
    """Returns the names of the libraries' native threads; the interpreter's threads have the name of the process."""
    names = []
    for entry in os.listdir("/proc/self/task"):
        with suppress(OSError):  # has ended
            names.append(Path(f"/proc/self/task/{entry}/comm").read_text().strip())
    return sorted(name for name in names if name.startswith(("thrd-tantivy", "merge_thread", "segment_updater")))


def open_files() -> list[str]:
    found = []
    for entry in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{entry}"))
        except FileNotFoundError:
            pass  # the descriptor that lists this directory
    return sorted(name for name in found if "/fd" not in name)


def mapped_files(home: Path) -> list[str]:
    return [line for line in Path("/proc/self/maps").read_text().splitlines() if str(home) in line]


def what_is_left(home: Path) -> list[object]:
    """Returns busy and native threads, worker processes and mapped files: nothing soon after a server has ended."""
    return [*threads_at_work(), *native_threads(), *workers(), *mapped_files(home)]


def check_writable(tree: TestWorkspace) -> None:
    """Asserts that nobody holds the lock of the project or tantivy's in any of its directories."""
    assert not is_locked(tree.layout)
    for meta in tree.layout.root.rglob("meta.json"):
        tantivy.Index.open(str(meta.parent)).writer(15_000_000, 1).rollback()


async def idle(serving, tree: TestWorkspace) -> None:
    handle = await open_workspace(serving, tree)
    await until_indexed(handle)
    await until_quiet(handle)


async def asked(serving, tree: TestWorkspace) -> None:
    """During requests."""
    handle = await open_workspace(serving, tree)
    await until_indexed(handle)

    async def ask() -> None:
        with trio.move_on_after(0):
            await handle.ask(search(r"(a|b)+x", mode="regex"))

    async with trio.open_nursery() as nursery:
        for _ in range(20):
            nursery.start_soon(ask)
            nursery.start_soon(handle.ask, locate("Order"))
        await until(lambda: handle.observation.in_flight > 0)
        nursery.cancel_scope.cancel()


async def indexing(serving, tree: TestWorkspace) -> None:
    """During a job, with everything open that a job opens."""
    handle = await open_workspace(serving, tree)
    await until_indexed(handle)
    await until_quiet(handle)
    job = await handle.ask(StartJob(cause="test", force=True))
    await until(lambda: job.state.progress.files_total > 0)


async def starting(serving, tree: TestWorkspace) -> None:
    """Before any work has started."""
    await open_workspace(serving, tree)


@pytest.mark.invariant("A server that has ended leaves no task, thread, file, process or writer behind")
@pytest.mark.slow
@pytest.mark.parametrize("moment", [idle, asked, indexing, starting], ids=lambda moment: moment.__name__)
async def test_nothing_is_left_of_a_server_that_ended_while(moment, tree, tmp_path):
    home = tmp_path / "home"
    async with open_serving(home, settings=ONE_WORKER) as serving:
        await idle(serving, tree)  # now everything is open that the process opens once and keeps
    gc.collect()
    before = tasks(), open_files()

    with trio.fail_after(60):
        async with open_serving(home, settings=HURRIED if moment is starting else ONE_WORKER) as serving:
            await moment(serving, tree)

    # A thread that was busy when its server ended may take a moment to close its files.
    await until(lambda: gc.collect() >= 0 and (tasks(), open_files()) == before, "the tasks and open files of before")
    await until(lambda: what_is_left(home) == [], "the end of all threads, processes and mapped files")
    check_writable(tree)


async def test_a_job_that_is_held_ends_with_the_server_and_questions_behind_it_are_answered(tree, tmp_path):
    """Even a worker that does not run must not delay the server's end."""
    told = []

    async def ask(handle) -> None:
        try:
            await handle.ask(locate("just_saved"))
        except CodeCompassError as error:
            told.append(error.code)

    async with trio.open_nursery() as nursery:
        with trio.fail_after(60):
            async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
                handle = await open_workspace(serving, tree)
                await until_indexed(handle)
                await until_quiet(handle)
                with held_workers():
                    tree.write({"saved.py": "def just_saved(): pass\n"})
                    for _ in range(5):
                        nursery.start_soon(ask, handle)
                    await until(lambda: handle.observation.in_flight == 5)
                    await serving.server.supervisor.stop(0.2)
                await until(lambda: len(told) == 5)

    assert told == ["internal_error"] * 5
    await until(lambda: [*threads_at_work(), *workers()] == [], "the end of all threads and processes")
    check_writable(tree)


async def test_servers_in_turn_open_no_more_files_than_one(tree, tmp_path):
    async def serve_once():
        async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
            await asked(serving, tree)

    await serve_once()
    await serve_once()
    gc.collect()
    count = len(open_files())
    for _ in range(4):
        await serve_once()
        # A thread that was busy when its server ended may take a moment to close its files, and what a cancelled task held in its
        # traceback is closed by garbage collection.
        await until(lambda: gc.collect() >= 0 and len(open_files()) <= count)


@pytest.mark.invariant(of="test_no_module_has_state")
async def test_two_servers_live_in_one_process_and_end_in_any_order(tree, tmp_path):
    """With separate data directories, over the same tree; the first one ends first."""

    async def serve(home: str, stop: trio.Event, task_status) -> None:
        async with open_serving(tmp_path / home, settings=ONE_WORKER) as serving:
            task_status.started(serving)
            await stop.wait()

    stops = trio.Event(), trio.Event()
    async with trio.open_nursery() as nursery:
        servers = [await nursery.start(serve, f"home {number}", stop) for number, stop in enumerate(stops)]
        handles = [await open_workspace(serving, tree) for serving in servers]
        for handle in handles:
            await until_indexed(handle)
        tree.write({"saved.py": "def just_saved(): pass\n"})
        assert [await paths_of(handle, "just_saved") for handle in handles] == [["saved.py"], ["saved.py"]]

        stops[0].set()
        await until(lambda: len(nursery.child_tasks) == 1)

        tree.write({"saved_again.py": "def saved_again(): pass\n"})
        assert await paths_of(handles[1], "saved_again") == ["saved_again.py"]
        stops[1].set()
    await until(lambda: workers() == [], "the end of all processes")

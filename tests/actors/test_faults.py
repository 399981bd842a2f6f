"""Crashes of a workspace's parts over the real store: requests are answered, and the neighbour is not affected."""

import os
import signal

import pytest
import trio
from structlog.testing import capture_logs

from codecompass import query as core
from codecompass.actors import child_lifecycle
from codecompass.actors.job_queue import JobQueue
from codecompass.actors.messages import CancelJob, StartJob
from codecompass.actors.workbench import IndexWorkbench
from codecompass.errors import InternalError
from codecompass.store.lock import is_locked
from codecompass.store.writer import IndexWriter
from tests.support.asking import (
    ONE_WORKER,
    index,
    locate,
    open_neighbour,
    open_workspace,
    paths_of,
    search,
    until_indexed,
    until_quiet,
)
from tests.support.faults import held_workers
from tests.support.serving import open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace


class InjectedCrash(Exception):
    """A deliberate defect."""


@pytest.fixture
def small(repository: TestWorkspace) -> TestWorkspace:
    repository.write({"a.py": "def alpha():\n    return 1\n", "pkg/b.py": "class Beta:\n    def gamma(self): pass\n"})
    repository.commit()
    return repository


@pytest.fixture(autouse=True)
def log():
    """Captures the log: otherwise the tracebacks of the crashes would take most of the time of these tests."""
    with capture_logs() as entries:
        yield entries


def crash_once(
    monkeypatch, owner: object, name: str, error: BaseException, when=lambda *_: True, *, is_at_end: bool = False
) -> None:
    """Makes the next call of a function for which `when` holds fail, and only that one.

    It fails before doing anything, or with `is_at_end` after its work, if failing earlier would leave something open.
    """
    sound = getattr(owner, name)

    def broken(*arguments, **options):
        if not when(*arguments):
            return sound(*arguments, **options)
        monkeypatch.setattr(owner, name, sound)
        if is_at_end:
            sound(*arguments, **options)
        raise error

    monkeypatch.setattr(owner, name, broken)


@pytest.mark.invariant("Queued requests survive a crash of the actor; those in progress are told about it")
async def test_a_crash_of_the_loop_is_answered_and_what_comes_meanwhile_waits_for_the_restart(small, tmp_path, monkeypatch):
    monkeypatch.setattr(child_lifecycle, "FIRST_PAUSE_SECONDS", 3.0)
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        crash_once(monkeypatch, JobQueue, "cancel", InjectedCrash("in the loop"))

        with pytest.raises(InternalError) as told:
            await handle.ask(CancelJob(job_id="any"))
        await until(lambda: handle.observation.lifecycle == "restarting")
        found = []

        async def ask() -> None:
            found.append(await paths_of(handle, "alpha"))

        async with trio.open_nursery() as nursery:
            for _ in range(5):
                nursery.start_soon(ask)
            await until(lambda: handle.observation.queued == 5)
            assert handle.observation.lifecycle == "restarting"

        assert told.value.data["retry_after_ms"] > 0
        assert found == [["a.py"]] * 5
        assert handle.observation.restarts == 1
        assert handle.observation.last_error == "InjectedCrash: in the loop"
        await neighbour.check()


@pytest.mark.invariant(of="test_a_crash_of_the_loop_is_answered_and_what_comes_meanwhile_waits_for_the_restart")
async def test_what_is_in_work_when_the_loop_crashes_is_told_so(small, tmp_path, monkeypatch):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_quiet(handle)
        told = []

        async def ask() -> None:
            try:
                await handle.ask(locate("alpha"))
            except InternalError as error:
                told.append(error.message)

        with held_workers():
            small.write({"a.py": "def alpha_two(): pass\n"})
            async with trio.open_nursery() as nursery:
                for _ in range(3):
                    nursery.start_soon(ask)
                await until(lambda: handle.observation.in_flight == 3)
                crash_once(monkeypatch, JobQueue, "cancel", InjectedCrash("in the loop"))
                with pytest.raises(InternalError):
                    await handle.ask(CancelJob(job_id="any"))

        assert len(told) == 3
        assert all("Call again" in message for message in told)
        assert await paths_of(handle, "alpha_two") == ["a.py"]


async def test_a_crash_at_the_start_is_tried_again(small, tmp_path, monkeypatch):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        crash_once(monkeypatch, IndexWorkbench, "inspect_index", InjectedCrash("as it opens"))

        handle = await open_workspace(serving, small)

        await until(lambda: handle.observation.restarts == 1)
        assert await paths_of(handle, "alpha") == ["a.py"]
        await neighbour.check()


@pytest.mark.invariant("A failing question, job, watcher or worker affects nothing else")
async def test_a_crash_in_a_question_costs_that_question(small, tmp_path, monkeypatch):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        crash_once(monkeypatch, core, "search_code", ZeroDivisionError("in a question"))

        with pytest.raises(InternalError, match=r"search_code failed unexpectedly \(ZeroDivisionError\)"):
            await handle.ask(search("alpha"))

        assert await paths_of(handle, "alpha") == ["a.py"]
        assert handle.observation.restarts == 0
        await neighbour.check()


async def test_a_panic_of_a_library_in_a_question_costs_that_question(small, tmp_path, monkeypatch):
    """A pyo3 panic is not an Exception, so handlers of Exception do not catch it."""
    panic = type("PanicException", (BaseException,), {})
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        crash_once(monkeypatch, core, "search_code", panic("index out of bounds"))

        with pytest.raises(InternalError, match="index out of bounds"):
            await handle.ask(search("alpha"))

        assert await paths_of(handle, "alpha") == ["a.py"]
        await neighbour.check()


@pytest.mark.invariant(of="test_a_crash_in_a_question_costs_that_question")
@pytest.mark.parametrize("step", ["write_text", "publish", "abandon"])
async def test_a_crash_in_the_writer_fails_the_job_and_leaves_the_index_as_it_was(step, small, tmp_path, monkeypatch):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_quiet(handle)
        generation = handle.observation.generation
        # Not in a job that only checks for changes, which may run at any time.
        crash_once(
            monkeypatch,
            IndexWriter,
            step,
            InjectedCrash("in the writer"),
            lambda writer, *_: writer.epoch.is_new or writer.counts.files_written,
            is_at_end=step == "abandon",
        )

        failed = await index(handle, force=True)

        assert (failed.status, failed.error_code, failed.error) == ("failed", "internal_error", "InjectedCrash: in the writer")
        assert not is_locked(small.layout)
        assert await paths_of(handle, "alpha") == ["a.py"]
        assert handle.observation.generation == generation or step == "abandon"
        assert (await index(handle, force=True)).status == "published"
        assert await paths_of(handle, "alpha") == ["a.py"]
        assert handle.observation.restarts == 0
        await neighbour.check()


@pytest.mark.invariant(of="test_a_crash_in_a_question_costs_that_question")
@pytest.mark.parametrize("step", ["drain", "update", "wait_change"])
async def test_a_crash_of_the_watcher_makes_questions_look_by_themselves(step, small, tmp_path, monkeypatch):
    inotify = pytest.importorskip("codecompass.actors.watching.inotify")
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        crash_once(monkeypatch, inotify.InotifyWatcher, step, OSError("the descriptor is bad"))
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until(lambda: getattr(inotify.InotifyWatcher, step).__name__ == step, "the crash")

        small.write({"a.py": "def alpha_three(): pass\n"})

        assert await paths_of(handle, "alpha_three") == ["a.py"]
        assert handle.observation.restarts == 0
        await neighbour.check()


async def test_a_watcher_that_crashed_is_replaced(small, tmp_path, monkeypatch):
    inotify = pytest.importorskip("codecompass.actors.watching.inotify")
    monkeypatch.setattr("codecompass.actors.tracking.REPLACE_WATCHER_SECONDS", 0.01)
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_quiet(handle)
        crash_once(monkeypatch, inotify.InotifyWatcher, "drain", OSError("the descriptor is bad"))

        assert await paths_of(handle, "alpha") == ["a.py"]

        await until_quiet(handle)
        small.write({"a.py": "def alpha_four(): pass\n"})
        assert await paths_of(handle, "alpha_four") == ["a.py"]


@pytest.mark.invariant(of="test_a_crash_in_a_question_costs_that_question")
async def test_a_worker_that_is_killed_is_replaced_and_its_files_are_tried_again(small, tmp_path):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        with held_workers() as held:
            job = await handle.ask(StartJob(cause="test", force=True))
            await until(lambda: job.state.progress.files_total > 0)
            for pid in held:
                os.kill(pid, signal.SIGKILL)
            with trio.fail_after(60):
                state = await job.wait_end()

        assert (state.status, state.report.quarantined) == ("published", ())
        assert await paths_of(handle, "alpha") == ["a.py"]
        assert small.status_of("a.py") == ("indexed", "")
        await neighbour.check()


@pytest.mark.invariant("A workspace that keeps crashing is disabled without affecting others, and its error says what helps")
async def test_a_workspace_that_crashes_again_and_again_is_given_up_until_it_is_rebuilt(small, tmp_path, monkeypatch):
    """Other workspaces go on; the error names a remedy, which works."""
    monkeypatch.setattr(child_lifecycle, "FIRST_PAUSE_SECONDS", 0.001)
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        sound = IndexWorkbench.inspect_index

        async def broken(self):
            if self._project.root == small.root:
                raise InjectedCrash("always")
            return await sound(self)

        monkeypatch.setattr(IndexWorkbench, "inspect_index", broken)
        handle = await open_workspace(serving, small)
        await until(lambda: handle.observation.lifecycle == "failed")
        told = await serving.refusal("search_code", workspace=small.root, query="alpha")
        await neighbour.check()
        monkeypatch.setattr(IndexWorkbench, "inspect_index", sound)

        rebuilt = await serving.call("index_repo", workspace=small.root, force=True, wait_seconds=50)

        assert told["error"]["code"] == "workspace_failed"
        assert "force: true" in told["error"]["message"]
        assert rebuilt["status"] == "published"
        assert await paths_of(handle, "alpha") == ["a.py"]
        await neighbour.check()

"""Faults around a served workspace: a missing root, a full disk, a clock that is set. Each is reported and survived."""

import os
import time

import pytest
import trio
from structlog.testing import capture_logs

from codecompass.actors.messages import StartJob
from codecompass.errors import CodeCompassError
from tests.support.asking import (
    ONE_WORKER,
    index,
    locate,
    open_neighbour,
    open_workspace,
    paths_of,
    until_indexed,
    until_quiet,
)
from tests.support.faults import held_workers, small_file_system, unmount
from tests.support.processes import run_python
from tests.support.serving import open_serving
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

TREE = {"a.py": "def alpha():\n    return 1\n", "pkg/b.py": "class Beta:\n    def gamma(self): pass\n"}


@pytest.fixture(autouse=True)
def log():
    """Captures the log: otherwise the tracebacks of the crashes would take most of the time of these tests."""
    with capture_logs() as entries:
        yield entries


@pytest.fixture
def small(repository: TestWorkspace) -> TestWorkspace:
    repository.write(TREE)
    repository.commit()
    return repository


LOSSES = {
    "moved": (lambda root: root.rename(root.with_name("away")), "is gone"),
    "made a link": (
        lambda root: (root.rename(root.with_name("away")), root.symlink_to(root.with_name("neighbour"))),
        "is a link to elsewhere now",
    ),
    "made a file": (lambda root: (root.rename(root.with_name("away")), root.write_text("")), "is no longer a directory"),
}


@pytest.mark.invariant(of="test_a_root_that_is_replaced_during_a_job_is_not_mixed_into_one_index")
@pytest.mark.parametrize("loss", LOSSES)
async def test_a_root_that_is_lost_is_named_and_its_index_kept_until_it_is_back(loss, small, tmp_path):
    lose, words = LOSSES[loss]
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_quiet(handle)
        generation = handle.observation.generation

        lose(small.root)

        failed = await index(handle)
        told = await serving.refusal("search_code", project_id=handle.project.project_id, query="alpha")
        assert (failed.status, failed.error_code) == ("failed", "project_not_found")
        assert words in failed.error
        assert "projects gc" in failed.error
        assert told["error"]["code"] == "project_not_found"
        assert small.index.compatibility().status == "compatible"
        await neighbour.check()

        if loss != "moved":
            small.root.unlink()
        small.root.with_name("away").rename(small.root)
        small.write({"back.py": "def returned(): pass\n"})
        assert (await index(handle)).status == "published"
        assert await paths_of(handle, "returned") == ["back.py"]
        assert await paths_of(handle, "alpha") == ["a.py"]
        assert handle.observation.generation == generation + 1
        assert handle.observation.restarts == 0


async def test_a_root_that_is_replaced_is_indexed_as_what_it_is_now(small, tmp_path):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_quiet(handle)
        other = TestWorkspace(tmp_path / "other", tmp_path / "home")
        other.write({"z.py": "def zeta(): pass\n"})

        small.root.rename(tmp_path / "away")
        other.root.rename(small.root)

        assert await paths_of(handle, "zeta") == ["z.py"]
        assert await paths_of(handle, "alpha") == []
        await neighbour.check()


@pytest.mark.invariant("An index holds a single tree: nothing is published of a root that disappeared or was replaced meanwhile")
async def test_a_root_that_is_replaced_during_a_job_is_not_mixed_into_one_index(small, tmp_path):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_quiet(handle)
        other = TestWorkspace(tmp_path / "other", tmp_path / "home")
        other.write({"z.py": "def zeta(): pass\n", "a.py": "def alpha(): return 'of another tree'\n"})
        with held_workers():
            job = await handle.ask(StartJob(cause="test", force=True))
            await until(lambda: job.state.progress.files_total > 0)
            small.root.rename(tmp_path / "away")
            other.root.rename(small.root)
        with trio.fail_after(60):
            state = await job.wait_end()

        assert (state.status, state.error_code) == ("failed", "project_not_found")
        assert "was moved or replaced while it was being indexed" in state.error
        await until_indexed(handle)
        assert await paths_of(handle, "zeta") == ["z.py"]
        assert await paths_of(handle, "gamma") == []


async def test_a_file_system_that_is_unmounted_takes_no_index_with_it(tmp_path):
    root = tmp_path / "mounted"
    with small_file_system(root, "4m"):
        mounted = TestWorkspace(root, tmp_path / "home")
        mounted.write(TREE)
        async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
            neighbour = await open_neighbour(serving, tmp_path)
            handle = await open_workspace(serving, mounted)
            await until_indexed(handle)
            generation = handle.observation.generation

            unmount(root)

            failed = await index(handle)
            assert (failed.status, failed.error_code) == ("failed", "project_not_found")
            assert "that was mounted there is gone" in failed.error
            reply = await handle.ask(locate("alpha", freshness_policy="best_effort"))
            assert ([result.path for result in reply.results], reply.metadata.freshness_status) == (["a.py"], "stale")
            await neighbour.check()
            with small_file_system(root, "4m"):
                mounted.write({**TREE, "new.py": "def mounted_again(): pass\n"})
                assert (await index(handle)).status == "published"
                assert await paths_of(handle, "mounted_again") == ["new.py"]
                assert handle.observation.generation == generation + 1


MANY = {f"m{n}.py": "".join(f"def f{n}_{i}(x):\n    return {n * i}\n\n" for i in range(200)) for n in range(60)}


async def test_a_full_disk_fails_the_job_and_answers_go_on_until_there_is_room(small, tmp_path):
    home = tmp_path / "home"
    with small_file_system(home, "3m"):
        small.home = home
        async with open_serving(home, settings=ONE_WORKER) as serving:
            handle = await open_workspace(serving, small)
            await until_indexed(handle)
            await until_quiet(handle)
            ballast = home / "ballast"
            free = os.statvfs(home)
            ballast.write_bytes(b"\0" * (free.f_bavail * free.f_bsize - 200_000))
            small.write(MANY)

            failed = await index(handle, force=True)

            assert (failed.status, failed.error_code) == ("failed", "permission_denied")
            assert "free disk space" in failed.error
            told = await serving.refusal("index_repository", repo_path=small.root)
            assert told["error"]["code"] == "permission_denied"
            reply = await handle.ask(locate("alpha", freshness_policy="best_effort"))
            assert [result.path for result in reply.results] == ["a.py"]
            ballast.unlink()
            for path in MANY:
                if path != "m1.py":
                    (small.root / path).unlink()
            assert (await index(handle)).status == "published"
            assert await paths_of(handle, "f1_1") == ["m1.py"]
            assert handle.observation.restarts == 0


SERVE_UNDER_A_LIMIT = """
import resource, signal, sys, trio
from pathlib import Path
from tests.support.asking import ONE_WORKER, index, open_neighbour, open_workspace, paths_of
from tests.support.serving import open_serving
from tests.support.workspace import TestWorkspace
import structlog

async def main(root, home):
    tree = TestWorkspace(Path(root), Path(home))
    async with open_serving(Path(home), settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, Path(home).parent)
        handle = await open_workspace(serving, tree)
        assert (await index(handle)).status == "published"
        tree.write({f"m{n}.py": "".join(f"def f{n}_{i}(x): return {n * i}\\n" for i in range(200)) for n in range(60)})
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))
        failed = await index(handle, force=True)
        print(failed.status, failed.error_code, "free disk space" in failed.error)
        print(await paths_of(handle, "alpha", freshness_policy="best_effort"))
        assert await paths_of(neighbour.handle, "omega") == ["o.py"]
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        print((await index(handle)).status, await paths_of(handle, "f1_1"), handle.observation.restarts)
        await neighbour.check()

structlog.configure(logger_factory=structlog.ReturnLoggerFactory())
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
trio.run(main, *sys.argv[1:])
"""


def test_files_that_may_not_grow_fail_the_job_and_answers_go_on(small, tmp_path):
    """Simulates a full disk without mounting one."""
    done = run_python(SERVE_UNDER_A_LIMIT, str(small.root), str(tmp_path / "home"))

    assert done.stdout.splitlines() == [
        "failed permission_denied True",
        "['a.py']",
        "published ['m1.py'] 0",
    ], done.stdout + done.stderr


DAY = 86_400


@pytest.mark.invariant("Setting the clock changes no answer")
@pytest.mark.parametrize("jump", [-DAY, DAY])
async def test_a_wall_clock_that_is_set_changes_no_answer(jump, small, tmp_path, monkeypatch):
    """This is the wall clock, used for timestamps and reports; the event loop's clock cannot be set."""
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_quiet(handle)
        with held_workers():
            small.write({"a.py": "def alpha_two(): pass\n"})
            job = await handle.ask(StartJob(cause="test"))
            await until(lambda: job.state.progress.files_total > 0)
            for name, factor in (("time", 1), ("time_ns", 10**9)):
                real = getattr(time, name)
                monkeypatch.setattr(time, name, lambda real=real, factor=factor: real() + jump * factor)
        with trio.fail_after(60):
            state = await job.wait_end()

        assert state.status == "published"
        assert await paths_of(handle, "alpha_two") == ["a.py"]
        small.write({"a.py": "def alpha_six(): pass\n"})
        assert await paths_of(handle, "alpha_six") == ["a.py"]
        await until_quiet(handle)  # an answer does not wait for the end of the job that published it
        status = await serving.call("index_status", workspace=small.root)
        assert status["active_job"] is None
        assert all(job["duration_ms"] >= 0 for job in status["recent_jobs"])
        assert {job["status"] for job in status["recent_jobs"]} == {"published"}
        await serving.call("health_check")
        await neighbour.check()


async def test_a_clock_that_leaps_as_after_a_long_sleep_ends_idle_workspaces_and_loses_nothing(small, tmp_path, mock_clock):
    mock_clock.rate = 1.0
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, small)
        await until_indexed(handle)
        await until_quiet(handle)
        with held_workers():
            small.write({"a.py": "def alpha_two(): pass\n"})
            job = await handle.ask(StartJob(cause="test", force=False))
            await until(lambda: job.state.progress.files_total > 0)
            # Less than the time after which a silent worker counts as stuck.
            mock_clock.jump(20)
        assert (await job.wait_end()).status == "published"
        await until_quiet(handle)

        mock_clock.jump(DAY)

        await until(lambda: serving.server.supervisor.find(handle.project.project_id) is None, "the end of an idle workspace")
        assert await paths_of(handle, "alpha_two") == ["a.py"]


async def test_an_error_that_a_job_ended_with_is_what_a_first_question_is_told(tmp_path):
    """There is no index and it cannot be built: the error code gives programs the reason."""
    root = TestWorkspace(tmp_path / "project", tmp_path / "home")
    root.write(TREE)
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, root)
        root.root.rename(tmp_path / "away")

        with pytest.raises(CodeCompassError) as told:
            await handle.ask(locate("alpha"))

        assert told.value.code == "project_not_found"
        assert told.value.data["workspace"] == str(root.root)
        assert "call index_repo to retry now" in told.value.message

"""Behaviour of the worker pool that the tests of jobs do not cover."""

import os
import signal

import pytest
import trio

from codecompass.actors.worker_pool import OUTSIDE_ATTEMPTS, open_worker_pool
from codecompass.errors import IndexNotReady, InternalError
from tests.support.faults import workers


async def test_workers_that_never_work_fail_the_job_instead_of_making_an_empty_index(workspace, monkeypatch):
    """A broken installation must not look like a repository without readable files."""
    workspace.write({f"m{number}.py": "x = 1\n" for number in range(40)})
    # A Python that cannot find its library exits before it runs anything.
    monkeypatch.setenv("PYTHONHOME", "/nonexistent")

    async with open_worker_pool(2) as pool:
        with pytest.raises(InternalError, match="codecompass doctor"):
            await workspace.sync(pool=pool)

    with pytest.raises(IndexNotReady), workspace.index.snapshot():
        pass


async def test_after_workers_that_never_work_the_published_index_stays(workspace, monkeypatch):
    workspace.write({"a.py": "def before(): pass\n"})
    await workspace.sync()
    workspace.write({f"m{number}.py": "x = 1\n" for number in range(40)})

    with monkeypatch.context() as broken:
        broken.setenv("PYTHONHOME", "/nonexistent")
        with pytest.raises(InternalError):
            await workspace.sync()

    assert workspace.names() == {("a.py", "before")}
    await workspace.sync()
    assert len(workspace.paths()) == 41


async def test_workers_that_are_killed_while_they_have_nothing_to_do_are_no_fault_of_a_file(workspace):
    workspace.write({f"m{number}.py": f"def first_{number}(): pass\n" for number in range(40)})
    async with open_worker_pool(2) as pool:
        await workspace.sync(pool=pool)
        for pid in workers():
            os.kill(pid, signal.SIGKILL)
            await trio.to_thread.run_sync(os.waitid, os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        workspace.write({f"m{number}.py": f"def second_{number}(): pass\n" for number in range(40)})

        await workspace.sync(pool=pool)

        assert pool.killed_count == 0
    assert workspace.names() == {(f"m{number}.py", f"second_{number}") for number in range(40)}


def killed_at_work(pool, monkeypatch, count):
    """Kills the first `count` workers of `pool` that receive work, before they answer."""
    living, n_given = pool._living, 0

    async def living_and_killed():
        nonlocal n_given
        worker = await living()
        n_given += 1
        if n_given <= count:
            os.kill(worker.process.pid, signal.SIGKILL)
        return worker

    monkeypatch.setattr(pool, "_living", living_and_killed)


async def test_a_file_is_not_given_up_because_others_kill_the_workers_that_read_it(workspace, monkeypatch):
    workspace.write({"a.py": "def first(): pass\n", "b.py": "def second(): pass\n"})
    async with open_worker_pool(1) as pool:
        killed_at_work(pool, monkeypatch, OUTSIDE_ATTEMPTS - 1)

        await workspace.sync(pool=pool)

        assert pool.killed_count == OUTSIDE_ATTEMPTS - 1
    assert workspace.names() == {("a.py", "first"), ("b.py", "second")}


async def test_where_every_worker_is_killed_at_one_file_the_job_fails_and_the_next_one_has_it(workspace, monkeypatch):
    workspace.write({"a.py": "def first(): pass\n"})
    async with open_worker_pool(1) as pool:
        killed_at_work(pool, monkeypatch, OUTSIDE_ATTEMPTS)

        with pytest.raises(InternalError, match=r"killed from outside \(10 in a row at a\.py\)"):
            await workspace.sync(pool=pool)
        await workspace.sync(pool=pool)

    assert workspace.names() == {("a.py", "first")}

"""The pool by itself: what the tests of jobs do not reach."""

import os
import signal

import pytest
import trio

from codecompass.actors.worker_pool import open_worker_pool
from codecompass.errors import IndexNotReady, InternalError
from tests.support.faults import workers


async def test_workers_that_never_work_fail_the_job_instead_of_making_an_empty_index(workspace, monkeypatch):
    """A broken installation must not look like a repository in which no file can be read."""
    workspace.write({f"m{number}.py": "x = 1\n" for number in range(40)})
    # A Python that does not find its library ends before it runs anything.
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

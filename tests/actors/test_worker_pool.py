"""The pool by itself: what the tests of jobs do not reach."""

import pytest

from codecompass.actors.worker_pool import open_worker_pool
from codecompass.errors import IndexNotReady, InternalError


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

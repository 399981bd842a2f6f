"""Indexes read without their actors, as last published, in other processes."""

import os
import signal

import pytest
import trio
import trio.testing

from codecompass.actors.blocking_calls import Limits
from codecompass.actors.cold_answers import open_cold_answers
from codecompass.actors.messages import Query
from codecompass.errors import CodeCompassError, IndexNotReady
from codecompass.protocol.replies import SearchEvidence
from codecompass.protocol.requests import LocateSymbol
from codecompass.settings import Settings
from codecompass.store.layout import HomeLayout
from tests.support.cold_reading import project_of, reader_pids, warm, writer_of
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace

LOCATE = Query(request=LocateSymbol(name="settle"))


@pytest.fixture
async def project(workspace):
    workspace.write({"a.py": "def settle():\n    pass\n"})
    await workspace.sync()
    return project_of(workspace)


def opened(workspace, *, in_processes=True):
    return open_cold_answers(HomeLayout(workspace.home), Settings(), Limits(), in_processes=in_processes)


@pytest.mark.parametrize("in_processes", [True, False])
async def test_an_index_is_read_in_another_process_or_in_a_thread(workspace, project, in_processes):
    before = set(reader_pids())
    async with opened(workspace, in_processes=in_processes) as cold:
        reply = await cold.answer(project, LOCATE, 10)
        found = {}
        await cold.sample([project], "settle", 10, found)
        started = (
            await until(lambda: set(reader_pids()) - before, "a reader process") if in_processes else set(reader_pids()) - before
        )

    assert [result.path for result in reply.results] == ["a.py"]
    assert isinstance(found[project.project_id], SearchEvidence)
    assert bool(started) == in_processes
    await until(lambda: not set(reader_pids()) & started, "the end of the processes")


async def test_nothing_is_started_where_nobody_asks(workspace):
    before = set(reader_pids())
    async with opened(workspace):
        assert set(reader_pids()) == before


async def test_the_error_of_an_index_comes_as_it_is(workspace):
    missing = project_of(workspace)
    found = {}
    async with opened(workspace) as cold:
        with pytest.raises(IndexNotReady):
            await cold.answer(missing, LOCATE, 10)
        await cold.sample([missing], "settle", 10, found)

    assert isinstance(found[missing.project_id], IndexNotReady)


async def test_a_hit_in_a_file_that_has_changed_is_marked(workspace, project):
    async with opened(workspace, in_processes=False) as cold:
        before = await cold.answer(project, LOCATE, 10)
        workspace.write({"a.py": "\n\ndef settle():\n    pass\n"})
        after = await cold.answer(project, LOCATE, 10)

    assert [result.stale for result in (*before.results, *after.results)] == [False, True]


@pytest.fixture
def other(tmp_path):
    return TestWorkspace(tmp_path / "other", tmp_path / "home")


@pytest.mark.parametrize("in_processes", [True, False])
async def test_an_index_that_fails_unexpectedly_costs_its_own_part(workspace, project, other, in_processes):
    directory = HomeLayout(workspace.home).project(other.project_id).root
    directory.parent.mkdir(parents=True, exist_ok=True)
    directory.symlink_to(directory)
    found = {}
    async with opened(workspace, in_processes=in_processes) as cold:
        await cold.sample([project_of(other), project], "settle", 10, found)

    assert isinstance(found[project.project_id], SearchEvidence)
    assert isinstance(found[other.project_id], CodeCompassError)


async def test_a_process_that_is_killed_costs_only_the_project_that_it_was_reading(workspace, project, other):
    """Eight projects are sampled by one call to a reader process; the system may kill it for one of them."""
    other.write({"b.py": "def settle():\n    pass\n"})
    await other.sync()
    current = HomeLayout(workspace.home).project(other.project_id).current
    current.unlink()
    os.mkfifo(current)
    before, found = set(reader_pids()), {}
    async with opened(workspace) as cold, trio.open_nursery() as nursery:
        await cold.answer(project, LOCATE, 10)
        pids = await warm(cold.readers)
        nursery.start_soon(cold.sample, [project_of(other), project], "settle", 20, found)
        writer = await writer_of(current)
        for pid in pids:
            os.kill(pid, signal.SIGKILL)
        os.close(writer)
        await until(lambda: project.project_id in found, "the sample of the other project")
        nursery.cancel_scope.cancel()

    assert isinstance(found[project.project_id], SearchEvidence)
    await until(lambda: not set(reader_pids()) - before, "the end of the processes")

"""The background verification of all files: the next request repairs what it finds."""

import os

import pytest
import trio
from structlog.testing import capture_logs

from codecompass.actors import verifying
from codecompass.actors.verifying import Verifier
from codecompass.store.layout import HomeLayout
from tests.support.asking import ONE_WORKER, open_workspace, paths_of, until_indexed, until_quiet
from tests.support.serving import open_serving
from tests.support.waiting import until


@pytest.mark.invariant(of="test_reading_everything_finds_what_no_stamp_shows_and_the_next_job_builds_anew")
async def test_what_a_disk_forgot_is_found_and_the_next_question_is_right(repository, tmp_path):
    repository.write({"a.py": "def alpha(): pass\n", "b.py": "def beta(): pass\n"})
    repository.commit()
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, repository)
        await until_indexed(handle)
        await until_quiet(handle)
        verifier = Verifier(serving.server.launch.home, lambda: (handle.project.project_id,))
        for path in repository.layout.root.rglob("*.fast"):
            status = path.stat()
            with path.open("r+b") as file:
                file.write(bytes(status.st_size))
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

        with capture_logs() as log:
            await verifier.verify(handle.project.project_id)

            assert await paths_of(handle, "alpha") == ["a.py"]
            assert await paths_of(handle, "beta") == ["b.py"]
        assert [entry["event"] for entry in log].count("index_damaged") == 2, "by the pass, and by the question"


async def test_an_index_that_is_gone_is_no_reason_to_stop(tmp_path, monkeypatch):
    monkeypatch.setattr(verifying, "ROUND_SECONDS", 0.001)
    verifier = Verifier(HomeLayout(tmp_path), lambda: ("0123456789abcdef",))
    with capture_logs() as log:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(verifier.work)
            await until(lambda: len(log) > 1)
            nursery.cancel_scope.cancel()

    assert {entry["event"] for entry in log} == {"index_not_verified"}

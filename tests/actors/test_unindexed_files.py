"""How a job and the reading of files for questions share the processors."""

from pathlib import Path

import pytest
import trio

from codecompass.actors.blocking_calls import BlockingCalls
from codecompass.actors.index_limits import IndexLimits
from codecompass.actors.tree_comparison import TreeComparison
from codecompass.actors.unindexed_files import GIVE_WAY_SECONDS, GIVE_WAY_SHARE, Coverage, UnindexedFiles
from codecompass.scan.rules import ScanRules
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import ProjectLayout
from codecompass.store.registry import Project
from tests.support.workspace import TestWorkspace


@pytest.fixture
def files(tmp_path: Path) -> UnindexedFiles:
    project = Project(
        project_id="0" * 16,
        alias=None,
        root=tmp_path,
        is_auto_discovered=False,
        is_default=False,
        created_at=0.0,
        last_used_at=0.0,
    )
    index = WorkspaceIndex(ProjectLayout(tmp_path / "index"), project.project_id)
    return UnindexedFiles(project, TreeComparison(tmp_path, index, IndexLimits(rules=ScanRules()), BlockingCalls()))


async def test_a_job_does_not_wait_while_no_question_reads(files, autojump_clock):
    began = trio.current_time()

    await files.give_way()
    async with files:
        pass
    await files.give_way()

    assert trio.current_time() == began


async def test_a_job_waits_until_the_questions_have_been_answered(files, autojump_clock):
    began = trio.current_time()

    async def question(seconds: float) -> None:
        async with files:
            await trio.sleep(seconds)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(question, 1)
        nursery.start_soon(question, 3)
        await trio.sleep(0.1)
        await files.give_way()
        assert trio.current_time() - began == pytest.approx(3)


async def test_a_job_gets_on_however_many_questions_read(files, autojump_clock):
    """Otherwise the index for which they wait would never be there."""
    began = trio.current_time()
    async with files:
        n_batches = 0
        while trio.current_time() - began < 100:
            await files.give_way()
            await trio.sleep(1)  # the work of a batch
            n_batches += 1

    assert n_batches >= (1 - GIVE_WAY_SHARE) * 100 - GIVE_WAY_SECONDS - 1


@pytest.mark.parametrize(
    ("coverage", "is_whole", "said"),
    [
        ((4895, 4895, 5, 5), True, "of all 4,895 files. Call"),
        ((4895, 4895, 683, 40), False, "of all 4,895 files, of which the best 40 of 683 were read. Call"),
        ((4895, 3000, 5, 5), False, "of 3,000 of 4,895 files. Call"),
    ],
)
def test_an_answer_says_what_it_rests_on(coverage, is_whole, said):
    n_files, n_probed, n_wanted, n_read = coverage
    known = Coverage(n_files=n_files, n_probed=n_probed, n_wanted=n_wanted, n_read=n_read, holds_name=True)

    assert known.is_whole is is_whole
    assert said in known.warning()


async def test_a_job_tells_what_it_has_scanned(tmp_path, repository: TestWorkspace):
    """So that the tree is not scanned twice at the same time."""
    from codecompass.actors.indexing import IndexJob
    from codecompass.actors.job_context import JobContext, JobOrder
    from codecompass.actors.worker_pool import open_worker_pool

    repository.write({"a.py": "x = 1\n", "b/c.py": "y = 2\n"})
    scanned = []
    async with open_worker_pool(1) as pool:
        await IndexJob(
            JobContext(
                root=repository.root,
                layout=repository.layout,
                pool=pool,
                limits=IndexLimits(rules=ScanRules()),
                on_scanned=lambda found: scanned.append([file.path for file in found.files]),
            ),
            JobOrder(job_id="test"),
        ).run()

    assert scanned[0] == ["a.py", "b/c.py"]

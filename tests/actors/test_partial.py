"""A job that scans only changed directories produces the same index as a full scan."""

import os
import random
from pathlib import Path

import pytest

from codecompass.actors.indexing import IndexJob
from codecompass.actors.job_context import JobContext, JobOrder
from codecompass.actors.job_state import JobReport
from codecompass.actors.tree_scan import JobMemory
from codecompass.actors.worker_pool import WorkerPool, open_worker_pool
from tests.support.dump import dump, hits
from tests.support.random_tree import NAMES, RandomTree
from tests.support.workspace import LIMITS, TestWorkspace

STEPS = 10

Listing = dict[str, dict[str, tuple]]


def listing(root: Path) -> Listing:
    """Returns what a watcher detects changes of: the entries of every directory except git's own."""
    found: Listing = {}
    for directory, names, files in os.walk(root):
        names[:] = [name for name in names if name != ".git"]
        inside = [os.lstat(os.path.join(directory, name)) for name in files]
        found[os.path.relpath(directory, root)] = {
            **dict.fromkeys(names, ()),
            **{name: (s.st_mode, s.st_size, s.st_mtime_ns, s.st_ino) for name, s in zip(files, inside, strict=True)},
        }
    return found


def changed(before: Listing, after: Listing, rng: random.Random) -> frozenset[str]:
    """Returns the changed directories. One that appeared or vanished may be left out: it also changes its parent."""
    return frozenset(
        path
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path) and (path in before.keys() & after.keys() or path == "." or rng.random() < 0.5)
    )


class Watched:
    """A workspace whose jobs are told what has changed since the previous one."""

    def __init__(self, workspace: TestWorkspace, pool: WorkerPool, rng: random.Random) -> None:
        self.workspace = workspace
        self.rng = rng
        self.pool = pool
        self.memory: JobMemory | None = None
        self.seen: Listing = {}

    async def sync(self) -> JobReport:
        now = listing(self.workspace.root)
        job = IndexJob(
            JobContext(root=self.workspace.root, layout=self.workspace.layout, pool=self.pool, limits=LIMITS),
            JobOrder(job_id="test", directories=changed(self.seen, now, self.rng)),
            memory=self.memory,
        )
        report = await job.run()
        self.memory, self.seen = job.memory, now
        return report


async def check(seed: int, tmp_path: Path, pool: WorkerPool) -> int:
    """Returns how many jobs scanned only changed directories."""
    rng = random.Random(seed)
    root = tmp_path / f"tree{seed}"
    git = rng.random() < 0.7
    watched = Watched(TestWorkspace(root, tmp_path / f"kept{seed}", git=git), pool, rng)
    tree = RandomTree(watched.workspace, rng, git=git)
    for _ in range(30):
        tree.create()
    history: list[str] = []
    n_partial = 0
    await watched.sync()
    for step in range(STEPS):
        history.append("+".join(tree.step() for _ in range(rng.randrange(1, 4))))
        report = await watched.sync()
        n_partial += report.is_partial_scan
        fresh = TestWorkspace(root, tmp_path / f"fresh{seed}.{step}")
        await fresh.sync(pool=pool)

        expected, actual = dump(fresh.index), dump(watched.workspace.index)

        for part in expected:
            assert actual[part] == expected[part], f"seed {seed}, {part} differs after {history}"
        word = rng.choice(NAMES).lower()
        assert hits(watched.workspace.index, word) == hits(fresh.index, word), f"seed {seed}, {word!r} differs after {history}"
    return n_partial


@pytest.mark.invariant(of="test_an_updated_index_equals_a_fresh_one")
@pytest.mark.slow
async def test_looking_at_changed_directories_equals_looking_at_everything(tmp_path, repetitions):
    n_partial = 0
    async with open_worker_pool(2) as pool:
        for seed in range(repetitions(4, 12)):
            n_partial += await check(seed, tmp_path, pool)

    assert n_partial > STEPS * repetitions(1, 2)

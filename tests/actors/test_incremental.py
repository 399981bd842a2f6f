"""After any changes, an updated index equals one built from nothing."""

import random

import pytest

from codecompass.actors.worker_pool import WorkerPool, open_worker_pool
from tests.support.dump import dump, hits
from tests.support.random_tree import NAMES, RandomTree
from tests.support.workspace import TestWorkspace

STEPS = 8
WORDS = [*(name.lower() for name in NAMES), "http", "line", "import", "limit", "struct"]


async def check(seed: int, tmp_path, pool: WorkerPool) -> None:
    rng = random.Random(seed)
    root = tmp_path / f"tree{seed}"
    git = rng.random() < 0.7
    kept = TestWorkspace(root, tmp_path / f"kept{seed}", git=git)
    tree = RandomTree(kept, rng, git=git)
    history: list[str] = []
    await kept.sync(pool=pool)
    for step in range(STEPS):
        history.append("+".join(tree.step() for _ in range(rng.randrange(1, 4))))
        await kept.sync(pool=pool)
        fresh = TestWorkspace(root, tmp_path / f"fresh{seed}.{step}")
        await fresh.sync(pool=pool)

        expected, actual = dump(fresh.index), dump(kept.index)

        for part in expected:
            assert actual[part] == expected[part], f"seed {seed}, {part} differs after {history}"
        for word in rng.sample(WORDS, 4):
            assert hits(kept.index, word) == hits(fresh.index, word), f"seed {seed}, {word!r} differs after {history}"


@pytest.mark.invariant(
    "An updated index equals a fresh one, table by table and hit by hit, even if only changed directories were scanned"
)
@pytest.mark.slow
async def test_an_updated_index_equals_a_fresh_one(tmp_path, repetitions):
    async with open_worker_pool(2) as pool:
        for seed in range(repetitions(4, 10)):
            await check(seed, tmp_path, pool)

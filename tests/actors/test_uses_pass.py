"""Uses that a first index leaves out: answers do not depend on whether the background has read them."""

from pathlib import Path

import pytest
import trio
import trio.testing
from msgspec.structs import replace

from codecompass.actors.index_answers import IndexOnDisk
from codecompass.actors.uses_pass import LONGEST_PAUSE_SECONDS, UsesUpkeep
from codecompass.actors.worker_pool import WorkerPool, open_worker_pool
from codecompass.nurseries import open_nursery
from codecompass.protocol.metadata import AnswerState
from codecompass.protocol.requests import FindReferences, GetCallGraph
from codecompass.query.call_graph import get_call_graph
from codecompass.query.references import find_references
from codecompass.store.index import inspect_index
from codecompass.store.snapshot import IndexMeta
from tests.query.project import FILES
from tests.support.dump import dump
from tests.support.workspace import LIMITS, TestWorkspace

STATE = AnswerState(workspace="/home/me/shop", project_id="0123456789abcdef", ref="main")
META = IndexMeta(
    generation=1,
    completeness="complete",
    ref="main",
    commit="",
    published_at=1.0,
    file_count=0,
    symbol_count=0,
    source_bytes=0,
    rules_fingerprint="",
)
OTHERS = {
    "shop/aliased.py": "from shop.storage import open_storage as opened\n\n\ndef connect():\n    return opened('x').count('y')\n",
    "web/Panel.vue": '<script setup lang="ts">\nimport { parseHeader } from "./header";\nparseHeader("a");\n</script>\n',
    "run.sh": "reset() { :; }\nreset\n",
    "web/page.html": "<script>\nfunction inPage() {}\ninPage();\n</script>\n",
    "shop/rows.py": "def rows(db):\n    return db.run('SELECT a FROM reset')\n",
}


@pytest.fixture
async def pool():
    async with open_worker_pool(2) as pool:
        yield pool


@pytest.fixture
async def workspace(tmp_path: Path, pool: WorkerPool) -> TestWorkspace:
    """A first index whose uses are unread."""
    workspace = TestWorkspace(tmp_path / "shop", tmp_path / "home", git=True)
    workspace.write(FILES | OTHERS)
    workspace.commit()
    await workspace.sync(pool=pool, defers_uses=True)
    assert unread(workspace)
    return workspace


def unread(workspace: TestWorkspace) -> set[str]:
    """Returns the paths of the files whose uses are unread."""
    with workspace.index.snapshot() as snapshot:
        return {file.path for file in snapshot.facts.indexed_files(list(snapshot.facts.unread_uses())).values()}


def answers(workspace: TestWorkspace) -> list[object]:
    """Returns what is known of the uses of every definition."""
    with workspace.index.snapshot() as snapshot:
        names = {symbol.qualified_name for id_, _ in snapshot.facts.paths() for symbol in snapshot.facts.symbols_in_file(id_)}
        found: list[object] = []
        for name in sorted(names - {""}):
            found.append(find_references(snapshot, FindReferences(symbol_name=name), STATE))
            found.append(get_call_graph(snapshot, GetCallGraph(symbol_name=name, direction="callees"), STATE))
        return found


@pytest.mark.invariant("An answer about uses is the same before and after the background has read them")
async def test_answers_about_uses_are_the_same_before_and_after_they_are_read(workspace, pool):
    before = answers(workspace)

    await workspace.read_uses(pool)

    assert not unread(workspace)
    assert answers(workspace) == before


async def test_an_index_whose_uses_were_read_later_equals_one_that_read_them_at_once(workspace, pool, tmp_path):
    at_once = TestWorkspace(workspace.root, tmp_path / "other")
    await at_once.sync(pool=pool)

    await workspace.read_uses(pool)

    assert dump(workspace.index) == dump(at_once.index)


async def test_reading_uses_makes_no_new_publication(workspace, pool):
    published = inspect_index(workspace.layout).meta

    assert await workspace.read_uses(pool)

    assert inspect_index(workspace.layout).meta == published
    assert await workspace.read_uses(pool) == 0


async def test_a_changed_file_is_left_to_the_job_that_indexes_the_change(workspace, pool):
    workspace.write({"shop/aliased.py": "def other():\n    reset()\n"})

    await workspace.read_uses(pool)

    assert unread(workspace) == {"shop/aliased.py"}
    await workspace.sync(pool=pool, defers_uses=True)
    assert not unread(workspace)


async def test_a_removed_file_has_no_uses_to_read(workspace, pool):
    (workspace.root / "shop/aliased.py").unlink()
    await workspace.sync(pool=pool)

    await workspace.read_uses(pool)

    assert not unread(workspace)


async def test_a_file_whose_uses_kill_workers_counts_as_read(workspace, pool, monkeypatch):
    run = pool.run

    async def killed(batch):
        result = await run(batch)
        kept = tuple(each for each in result.answers if each.path != "shop/limits.py")
        return type(result)(kept, ("shop/limits.py",), ())

    monkeypatch.setattr(pool, "run", killed)

    await workspace.read_uses(pool)

    assert not unread(workspace)


async def test_a_fork_knows_which_uses_its_source_has_not_read(workspace, pool, tmp_path):
    limits = type(LIMITS)(rules=LIMITS.rules, fork_from_files=1, known_from_files=1)
    workspace.git("worktree", "add", "-q", "--detach", str(tmp_path / "second"))
    second = TestWorkspace(tmp_path / "second", workspace.home)

    report = await second.sync(limits=limits, pool=pool)

    assert report.mode == "incremental"
    assert unread(second) == unread(workspace)
    await second.read_uses(pool)
    await workspace.read_uses(pool)
    assert not unread(second)
    assert dump(second.index)["uses"] == dump(workspace.index)["uses"]


class Tree:
    """Has uses to read in two batches, before each of which it gives way; records when it reads."""

    def __init__(self) -> None:
        self.read_at: list[float] = []
        self.kept_up = 0

    async def read_uses(self, give_way) -> int:
        for _ in range(2):
            await give_way()
            self.read_at.append(trio.current_time())
        return 2

    async def keep_up_with_commits(self) -> None:
        self.kept_up += 1


class Published:
    """An index with a complete generation."""

    def __init__(self, *, lacks_uses: bool = True) -> None:
        self.on_disk = IndexOnDisk(schema_status="compatible", meta=META, lacks_uses=lacks_uses)

    @property
    def meta(self) -> IndexMeta:
        return self.on_disk.meta

    def publish(self, **changes: object) -> None:
        """Publishes another generation that lacks nothing."""
        meta = replace(self.meta, generation=self.meta.generation + 1, **changes)
        self.on_disk = replace(self.on_disk, meta=meta, lacks_uses=False)


async def test_the_pass_waits_for_questions_but_not_for_ever(autojump_clock):
    tree = Tree()
    began = trio.current_time()
    upkeep = UsesUpkeep(tree, Published(), lambda: trio.current_time() - began < LONGEST_PAUSE_SECONDS * 1.5)
    async with open_nursery() as nursery:
        nursery.start_soon(upkeep.keep_up)
        upkeep.note()
        await trio.sleep(10 * LONGEST_PAUSE_SECONDS)
        nursery.cancel_scope.cancel()

    first, second = (at - began for at in tree.read_at)
    assert first == pytest.approx(LONGEST_PAUSE_SECONDS)
    assert LONGEST_PAUSE_SECONDS < second < 2 * LONGEST_PAUSE_SECONDS


async def test_a_publication_is_checked_once(autojump_clock):
    tree = Tree()
    upkeep = UsesUpkeep(tree, Published(), lambda: False)
    async with open_nursery() as nursery:
        nursery.start_soon(upkeep.keep_up)
        for _ in range(3):
            upkeep.note()
            await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert len(tree.read_at) == 2
    assert tree.kept_up == 1


async def test_an_edit_reads_neither_uses_nor_the_history_of_a_commit_that_is_known(autojump_clock):
    """A job has read the uses of an edited file; opening the index to find that out would slow the answer with the edit."""
    tree, index = Tree(), Published()
    upkeep = UsesUpkeep(tree, index, lambda: False)
    async with open_nursery() as nursery:
        nursery.start_soon(upkeep.keep_up)
        for changes in ({}, {}, {"commit": "b" * 40}):
            upkeep.note()
            await trio.testing.wait_all_tasks_blocked()
            index.publish(**changes)
        upkeep.note()
        await trio.testing.wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert len(tree.read_at) == 2
    assert tree.kept_up == 2

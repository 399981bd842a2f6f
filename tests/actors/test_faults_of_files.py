"""Index files damaged or deleted, before or while the index is open: they are rebuilt, and no other workspace is affected."""

import shutil
import sys
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from codecompass.protocol.requests import GetFileOutline
from tests.support.asking import (
    ONE_WORKER,
    Query,
    locate,
    open_neighbour,
    open_workspace,
    paths_of,
    search,
    until_evicted,
    until_indexed,
    until_quiet,
)
from tests.support.faults import damage
from tests.support.serving import open_serving
from tests.support.workspace import TestWorkspace

TREE = {f"m{n}.py": "".join(f"def f{n}_{i}(x):\n    return needle_{n}(x)\n\n" for i in range(100)) for n in range(20)}
"""Large enough for several pages in each file of the index."""

KINDS = {
    "facts": ("facts.db", "facts.db-wal", "facts.db-shm"),
    "log of the facts": ("facts.db-wal", "facts.db-shm"),
    "text": ("*.store", "*.term", "*.idx", "*.pos", "*.fast", "*.fieldnorm"),
    "description of the text": ("meta.json", ".managed.json"),
    "pointer": ("CURRENT",),
}

WHILE_OPEN = [(kind, how) for kind in KINDS for how in ("emptied", "overwritten")] + [
    ("text", "halved"),
    ("facts", "halved"),
    ("text", "flipped"),
    ("facts", "flipped"),
]
BEFORE = [(kind, how) for kind in KINDS for how in ("emptied", "overwritten") if kind != "log of the facts"] + [
    ("text", "flipped")
]


@pytest.fixture(autouse=True)
def log():
    """Captures the log: otherwise the tracebacks of the crashes would take most of the time of these tests."""
    with capture_logs() as entries:
        yield entries


@pytest.fixture
def tree(repository: TestWorkspace) -> TestWorkspace:
    repository.write(TREE)
    repository.commit()
    return repository


def damage_all(tree: TestWorkspace, kind: str, how: str) -> None:
    paths = [path for pattern in KINDS[kind] for path in tree.layout.root.rglob(pattern)]
    assert paths, "nothing to damage"
    for path in paths:
        damage(path, how)


async def check_answers(handle) -> None:
    """Asserts that every kind of request gets complete results."""
    assert await paths_of(handle, "f7_7") == ["m7.py"]
    reply = await handle.ask(search("needle_9", mode="literal"))
    assert {result.path for result in reply.results} == {"m9.py"}
    outline = await handle.ask(Query(request=GetFileOutline(path="m3.py")))
    assert len(outline.symbols) == 100
    assert outline.metadata.freshness_status == "fresh"


async def paths_when_fresh(handle, name: str) -> list[str]:
    """Repeats the request until its answer is fresh: a repair can take longer than a request waits."""
    for _ in range(20):
        reply = await handle.ask(locate(name))
        if reply.metadata.freshness_status == "fresh":
            break
    return [result.path for result in reply.results if result.name == name]


@pytest.mark.invariant("Damage to an index, even to mapped files, makes its workspace rebuild it and affects no other workspace")
@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="a mapped file that is cut short ends the process elsewhere")
@pytest.mark.parametrize(("kind", "how"), WHILE_OPEN)
async def test_damage_while_it_is_open_is_repaired_and_no_other_workspace_disturbed(kind, how, tree, tmp_path):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, tree)
        await until_indexed(handle)
        await until_quiet(handle)
        await check_answers(handle)

        damage_all(tree, kind, how)

        await check_answers(handle)
        tree.write({"new.py": "def after_the_damage(): pass\n"})
        assert await paths_when_fresh(handle, "after_the_damage") == ["new.py"]
        await check_answers(handle)
        assert handle.observation.restarts == 0
        await neighbour.check()


@pytest.mark.invariant(of="test_damage_while_it_is_open_is_repaired_and_no_other_workspace_disturbed")
@pytest.mark.slow
@pytest.mark.parametrize(("kind", "how"), BEFORE)
async def test_damage_before_it_is_opened_is_repaired_and_no_other_workspace_disturbed(kind, how, tree, tmp_path):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        neighbour = await open_neighbour(serving, tmp_path)
        handle = await open_workspace(serving, tree)
        await until_indexed(handle)
        await until_evicted(serving, handle)
        damage_all(tree, kind, how)

        handle = await open_workspace(serving, tree)

        await check_answers(handle)
        tree.write({"new.py": "def after_the_damage(): pass\n"})
        assert await paths_when_fresh(handle, "after_the_damage") == ["new.py"]
        assert handle.observation.restarts == 0
        await neighbour.check()


async def test_damage_is_found_by_the_job_that_meets_it_first(tree, tmp_path):
    async with open_serving(tmp_path / "home", settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, tree)
        await until_indexed(handle)
        await until_quiet(handle)
        damage_all(tree, "facts", "overwritten")

        tree.write({"m7.py": "def f7_7(): pass\n"})
        await until_indexed(handle)

        assert await paths_of(handle, "f7_7") == ["m7.py"]
        assert await paths_of(handle, "f8_8") == ["m8.py"]


@pytest.mark.parametrize("what", ["projects", "epochs", "everything"])
async def test_an_index_that_is_deleted_while_it_is_open_is_built_anew(what, tree, tmp_path):
    home = tmp_path / "home"
    async with open_serving(home, settings=ONE_WORKER) as serving:
        handle = await open_workspace(serving, tree)
        await until_indexed(handle)
        await until_quiet(handle)
        deleted: tuple[Path, ...] = {
            "projects": (home / "projects",),
            "epochs": (tree.layout.epochs,),
            "everything": tuple(home.iterdir()),
        }[what]
        for path in deleted:
            shutil.rmtree(path) if path.is_dir() else path.unlink()

        await check_answers(handle)
        tree.write({"new.py": "def after_the_damage(): pass\n"})
        assert await paths_when_fresh(handle, "after_the_damage") == ["new.py"]
        await check_answers(handle)

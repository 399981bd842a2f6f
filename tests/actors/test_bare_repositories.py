"""A bare repository has no files on disk: its index is that of its HEAD."""

import subprocess
from pathlib import Path

import pytest

from codecompass.errors import RefNotIndexed
from codecompass.scan.git_repository import bare_repository_at, find_repository
from codecompass.settings import QuerySettings, Settings
from codecompass.store.drift import changed_since_indexed, find_drift, manifest_entry
from codecompass.store.registry import Registry
from tests.support.serving import open_serving
from tests.support.workspace import LIMITS, TestWorkspace


@pytest.fixture
def bare(repository: TestWorkspace, tmp_path: Path) -> TestWorkspace:
    repository.write({"pkg/a.py": "def first(): pass\n", "latin.py": "# für\ndef zähler(): pass\n".encode("latin-1")})
    repository.commit()
    subprocess.run(["git", "clone", "-q", "--bare", str(repository.root), str(tmp_path / "r.git")], check=True)
    return TestWorkspace(tmp_path / "r.git", repository.home)


def drift(workspace: TestWorkspace):
    with workspace.index.snapshot() as snapshot:
        return find_drift(snapshot, str(workspace.root), LIMITS.rules, LIMITS.fingerprint)


async def test_its_index_has_the_files_of_head_and_none_of_the_repository_itself(bare: TestWorkspace):
    await bare.sync()

    assert bare.paths() == ["latin.py", "pkg/a.py"]
    assert bare.names() == {("latin.py", "zähler"), ("pkg/a.py", "first")}
    with bare.index.snapshot() as snapshot:
        assert (snapshot.meta.ref, snapshot.meta.completeness) == ("main", "complete")
    assert drift(bare).is_fresh


async def test_it_follows_head(bare: TestWorkspace, repository: TestWorkspace):
    await bare.sync()
    before = bare.root.joinpath("refs/heads").exists()
    repository.write({"pkg/b.py": "def second(): pass\n"})
    repository.commit()
    repository.git("push", "-q", str(bare.root), "main")
    assert before
    assert not drift(bare).is_fresh

    await bare.sync()

    assert bare.paths() == ["latin.py", "pkg/a.py", "pkg/b.py"]
    assert drift(bare).is_fresh


async def test_nothing_is_done_while_head_stays(bare: TestWorkspace):
    first = await bare.sync()

    again = await bare.sync()

    assert (again.generation, again.files_changed, again.counts.files_written) == (first.generation, 0, 0)


async def test_no_hit_counts_as_changed(bare: TestWorkspace):
    await bare.sync()

    with bare.index.snapshot() as snapshot:
        entries = {row.path: manifest_entry(row) for row in snapshot.facts.files()}
    assert changed_since_indexed(str(bare.root), entries) == frozenset()


async def test_one_without_a_commit_says_so(tmp_path: Path):
    empty = TestWorkspace(tmp_path / "empty.git", tmp_path / "home")
    empty.git("init", "-q", "--bare")

    with pytest.raises(RefNotIndexed):
        await empty.sync()


def test_only_git_directories_that_say_so_are_bare_repositories(bare: TestWorkspace, repository: TestWorkspace, tmp_path: Path):
    assert bare_repository_at(str(repository.root / ".git")) is None
    assert bare_repository_at(str(repository.root)) is None
    assert find_repository(str(bare.root / "objects")) == bare_repository_at(str(bare.root))
    for name in ("objects", "refs"):
        (tmp_path / "like" / name).mkdir(parents=True)
    (tmp_path / "like/HEAD").write_text("ref: refs/heads/main\n")
    assert bare_repository_at(str(tmp_path / "like")) is None


async def test_a_server_answers_from_head_and_follows_it(bare: TestWorkspace, repository: TestWorkspace):
    settings = Settings(query=QuerySettings(freshness_wait_ms=60_000, first_answer_wait_ms=600_000))
    async with open_serving(bare.home, settings=settings) as serving:
        project = await serving.registry.run(Registry.register, bare.root)
        place = {"project_id": project.project_id}
        done = await serving.call("index_repo", wait_seconds=50, **place)
        assert done["file_count"] == 2

        found = await serving.call("search_code", query="zähler", **place)
        assert [hit["path"] for hit in found["results"]] == ["latin.py"]
        assert "stale" not in found["results"][0]
        assert found["metadata"]["freshness_status"] == "fresh"

        repository.write({"pkg/b.py": "def second(): pass\n"})
        repository.commit()
        repository.git("push", "-q", str(bare.root), "main")
        found = await serving.call("locate_symbol", name="second", freshness_policy="strict", **place)
        assert [hit["path"] for hit in found["results"]] == ["pkg/b.py"]

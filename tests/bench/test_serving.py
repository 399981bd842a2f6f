"""The measurements of the server on a small tree: every figure is present, and the tree is unchanged."""

from pathlib import Path

import pytest

from bench import indexing, serving
from bench.client import Connection
from bench.corpus import Tree
from bench.edits import Edit
from bench.job import UpdateLost
from bench.serving import Plan
from bench.synthetic import source_files

PLAN = Plan(starts=1, edits=2, update_rounds=1, queries=12, ends=1, idle_seconds=0.1)


@pytest.fixture
def tree(tmp_path) -> Tree:
    root = tmp_path / "tree"
    for file in source_files(3, 40):
        (root / file.path).parent.mkdir(parents=True, exist_ok=True)
        (root / file.path).write_text(file.text)
    indexing.index(root, tmp_path / "home", "--force")
    return Tree(name="40 files", root=root, is_ours=True)


def contents(root: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


@pytest.mark.slow
def test_saves_are_seen_both_ways_and_taken_back(tree, tmp_path):
    before = contents(tree.root)

    runs = serving.measure_saves(tree, tmp_path / "home", PLAN)

    assert contents(tree.root) == before
    assert (len(runs.asked.seconds), len(runs.watched.seconds), runs.files) == (2, 2, 40)
    assert len(runs.update_cpu_seconds) == len(runs.update_wall_seconds) == 1
    assert runs.update_cpu_seconds[0] > 0


@pytest.mark.slow
def test_a_start_is_measured_to_the_right_answer(tree, tmp_path):
    runs = serving.measure_start(tree, tmp_path / "home", PLAN)

    assert 0 < runs.initialize[0] < runs.first_answer[0]
    assert runs.asked.rss >= runs.asked.anonymous > 0
    assert runs.end[0] > 0


@pytest.mark.slow
def test_a_server_that_indexes_is_asked_all_the_while(tree, tmp_path):
    runs = serving.measure_indexing(tree, tmp_path / "other")

    by_kind = {asked.kind: asked.milliseconds for asked in runs.asked}
    assert runs.files == 40
    assert by_kind["ping"]
    assert len(by_kind["ping"]) == len(by_kind["health_check"])
    assert runs.peak_rss_all is not None
    assert runs.peak_rss_all > runs.files


@pytest.mark.slow
def test_a_save_that_a_fresh_answer_does_not_hold_ends_the_measurement(tree, tmp_path):
    """No figure is meaningful if the server says `fresh` and is not."""
    with serving.serving(tree.root, tmp_path / "home") as server:
        server.initialize()

        with pytest.raises(UpdateLost, match="says it is fresh"):
            _await_what_was_never_written(server, tree)


def _await_what_was_never_written(server: Connection, tree: Tree) -> None:
    serving.await_visible(server, Edit(root=tree.root, path="go.mod", name="NeverWritten", before=b""))

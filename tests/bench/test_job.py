"""A job in a separate process reports what it did, and leaves the measured tree unchanged."""

from pathlib import Path

import pytest

from bench import floor, indexing, job, other_programs
from bench.corpus import Tree, make_repository
from bench.edits import editable
from bench.indexing import Plan, measure_tree
from bench.synthetic import source_files

PLAN = Plan(cold_runs=1, unchanged_runs=1, update_rounds=1)


def make_tree(root: Path, files: int) -> Tree:
    for file in source_files(3, files):
        (root / file.path).parent.mkdir(parents=True, exist_ok=True)
        (root / file.path).write_text(file.text)
    make_repository(root)
    return Tree(name=f"{files} files", root=root, is_ours=True)


def test_a_job_tells_files_symbols_and_sizes_of_what_it_indexed(tmp_path):
    tree = make_tree(tmp_path / "tree", 30)
    (tree.root / "logo.png").write_bytes(b"\x89PNG\0\0")

    usage, done = indexing.index(tree.root, tmp_path / "home", "--force")
    floor_run = other_programs.floor_run(tree.root, tmp_path / "home")

    assert done.report.file_count == 30
    assert done.report.symbol_count > 30
    assert done.skipped == {"binary": 1}
    assert done.publications == 1
    assert done.index_bytes > 0
    assert 0 < done.searchable_seconds <= usage.wall_seconds
    assert isinstance(floor_run, floor.FloorRun)
    assert (floor_run.files_read, floor_run.files_parsed) == (30, 30)


@pytest.mark.slow
def test_a_measured_tree_is_left_as_it_was(tmp_path):
    tree = make_tree(tmp_path / "tree", 40)
    before = {path: path.read_bytes() for path in tree.root.rglob("*") if path.is_file() and ".git" not in path.parts}

    runs = measure_tree(tree, tmp_path / "home", PLAN, cold_runs=1)

    assert {path: path.read_bytes() for path in before} == before
    assert [update.report.files_changed for update in runs.updates] == [10]
    assert [check.report.files_changed for check in runs.checks] == [0]
    assert runs.updates[0].report.counts.files_written == 10


@pytest.mark.slow
def test_somebody_elses_tree_is_never_edited(tmp_path, monkeypatch):
    monkeypatch.setattr("bench.corpus.OUT", tmp_path / "out")
    tree = make_tree(tmp_path / "tree", 30)
    theirs = Tree(name="theirs", root=tree.root, is_ours=False)
    for path in editable(str(path) for path in tree.root.rglob("*.*") if ".git" not in path.parts):
        Path(path).chmod(0o444)
    before = {path: path.stat().st_mtime_ns for path in tree.root.rglob("*") if path.is_file() and ".git" not in path.parts}

    runs = measure_tree(theirs, tmp_path / "home", PLAN, cold_runs=1)

    assert {path: path.stat().st_mtime_ns for path in before} == before
    assert runs.updates
    assert (tmp_path / "out" / "trees").is_dir()


def test_every_cold_run_begins_without_an_index(tmp_path):
    """A rebuild publishes once, at its end, so it would not measure the first contact."""
    tree = make_tree(tmp_path / "tree", 20)

    runs = [indexing.cold_run(tree, tmp_path / "home") for _ in range(2)]

    assert [run.job.report.mode for run in runs] == ["full", "full"]
    assert [run.job.report.generation for run in runs] == [1, 1]


def test_an_update_that_cannot_be_found_is_an_error(tmp_path):
    tree = make_tree(tmp_path / "tree", 20)
    indexing.index(tree.root, tmp_path / "home", "--force")
    lost = job.Edit(root=tree.root, path="go.mod", name="NowhereToBeFound", before=b"")

    with pytest.raises(job.UpdateLost, match="NowhereToBeFound"):
        job.require_visible(job.layout_for(tree.root, tmp_path / "home"), [lost])

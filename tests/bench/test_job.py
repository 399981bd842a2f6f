"""A job in a separate process reports what it did, and leaves the measured tree unchanged."""

from pathlib import Path

import pytest

from bench import floor, indexing, job, other_programs
from bench.corpus import Tree, make_repository
from bench.synthetic import source_files


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

"""The costs of worktrees, branches and refs are measured until the right answer."""

import sys

import pytest

from bench.branches import measure


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads the CPU time of a running server from /proc")
def test_every_row_is_measured_to_a_right_answer(tmp_path):
    tree = tmp_path / "project"
    tree.mkdir()
    for number in range(60):
        (tree / f"module_{number}.py").write_text(f"def function_{number}():\n    return {number}\n")

    rows = measure(tree, tmp_path / "measured", changed=5, rounds=1)

    assert [row.what.partition(":")[0] for row in rows] == [
        "first index",
        "second worktree",
        "second worktree",
        "checkout of a branch with 5 other files, never seen",
        "checkout of a branch with 5 other files, seen before",
        "first question about another ref",
    ]
    assert all(row.value >= 0 for row in rows)

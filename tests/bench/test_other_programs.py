"""The cost of other programs, if they are installed and succeed."""

from bench.other_programs import git_status_usage


def test_a_repository_that_git_refuses_has_no_figure_and_stops_nothing(tmp_path):
    (tmp_path / ".git").write_text("no directory is named here\n")

    assert git_status_usage(tmp_path) is None

"""The truth that is made from git: what a commit changed of its parent's files, and what is counted of an answer."""

from bench.quality.changes import Measured, rows_of, table


def change(repository, *paths: str) -> str:
    repository.write({path: f"{path} {repository.git('rev-list', '--all', '--count')}" for path in paths})
    repository.commit()
    return repository.git("rev-parse", "HEAD").strip()


def test_a_row_is_a_commit_that_changes_code_and_tests_of_its_parent(repository):
    parent = change(repository, "app/a.py", "tests/test_a.py", "CHANGES.md")
    commit = change(repository, "app/a.py", "tests/test_a.py", "CHANGES.md", "tests/test_new.py")
    change(repository, "app/a.py")
    change(repository, "tests/test_a.py")

    (row,) = rows_of(repository.root, 10, 10)

    assert (row.commit, row.parent, row.given) == (commit, parent, "app/a.py")
    assert (row.code, row.tests, set(row.others)) == (("app/a.py",), ("tests/test_a.py",), {"CHANGES.md", "tests/test_a.py"})


def test_rows_are_thinned_out_evenly_and_begin_with_the_oldest(repository):
    commits = [change(repository, "app/a.py", "tests/test_a.py") for _ in range(7)][1:]

    assert [row.commit for row in rows_of(repository.root, 6, 6)] == commits
    assert [row.commit for row in rows_of(repository.root, 6, 3)] == commits[1::2]
    assert [row.commit for row in rows_of(repository.root, 2, 6)] == commits[-2:]


def test_every_repository_counts_the_same():
    def row(repo: str, recall: float) -> Measured:
        return Measured(repo=repo, commit="c", task="code2test", recall={"now": recall}, ms=1.0, characters=10)

    assert "now               0.750" in table([row("a", 1.0), row("a", 1.0), row("a", 1.0), row("b", 0.5)])

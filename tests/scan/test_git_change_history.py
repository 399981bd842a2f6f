"""What the last commits changed together, read from real repositories."""

import pytest

from codecompass.scan import git_change_history
from codecompass.scan.git_change_history import ChangeHistory, read_change_history
from codecompass.scan.git_repository import GitError, find_repository
from tests.support.workspace import TestWorkspace


@pytest.fixture
def history(repository):
    """Returns the history of a directory of the repository, by default of all of it, up to a commit."""

    def read(directory="", commit="HEAD") -> ChangeHistory:
        found = find_repository(str(repository.root))
        assert found is not None
        head = repository.git("rev-parse", commit).strip()
        return read_change_history(found, str(repository.root / directory), head)

    return read


def files(history: ChangeHistory) -> list[set[str]]:
    """Returns the files of each commit, the newest first."""
    return [{history.paths[place] for place in commit} for commit in history.commits]


def commit(repository, *paths: str) -> None:
    repository.write({path: f"{path} {repository.git('rev-list', '--all', '--count')}" for path in paths})
    repository.commit()


def test_the_files_of_each_commit_are_read_newest_first(repository, history):
    commit(repository, "a.py", "tests/test a.py")
    commit(repository, "a.py", "naïve.py")

    assert files(history()) == [{"a.py", "naïve.py"}, {"a.py", "tests/test a.py"}]


def test_nothing_after_the_given_commit_is_read(repository, history):
    commit(repository, "a.py")
    commit(repository, "b.py")

    assert files(history(commit="HEAD~1")) == [{"a.py"}]


def test_the_first_commits_of_a_shallow_clone_change_nothing_together(repository, tmp_path):
    commit(repository, "a.py", "b.py")
    commit(repository, "b.py", "c.py")
    commit(repository, "a.py", "c.py")
    shallow = TestWorkspace(tmp_path / "shallow", tmp_path / "home")
    shallow.git("clone", "-q", "--depth", "2", f"file://{repository.root}", ".")
    found = find_repository(str(shallow.root))
    assert found is not None

    # Git compares the older of the two with nothing.
    assert files(read_change_history(found, str(shallow.root), shallow.git("rev-parse", "HEAD").strip())) == [{"a.py", "c.py"}]


def test_a_subdirectory_has_the_commits_that_changed_it(repository, history):
    commit(repository, "app/a.py", "other.py")
    commit(repository, "other.py")
    commit(repository, "app/a.py", "app/b.py")

    assert files(history("app")) == [{"a.py", "b.py"}, {"a.py"}]


def test_a_merge_is_no_change_of_its_own(repository, history):
    commit(repository, "a.py")
    repository.git("checkout", "-q", "-b", "side")
    commit(repository, "b.py")
    repository.git("checkout", "-q", "main")
    commit(repository, "c.py")
    repository.git("merge", "-q", "--no-ff", "--no-edit", "side")

    assert sorted(map(sorted, files(history()))) == [["a.py"], ["b.py"], ["c.py"]]


def test_the_files_of_a_commit_that_changed_many_are_left_out(repository, history, monkeypatch):
    monkeypatch.setattr(git_change_history, "MAX_FILES", 2)
    commit(repository, "a.py", "b.py", "c.py")
    commit(repository, "a.py", "b.py")

    assert files(history()) == [{"a.py", "b.py"}, set()]


def test_no_more_commits_are_read_than_the_limit(repository, history, monkeypatch):
    monkeypatch.setattr(git_change_history, "MAX_COMMITS", 1)
    commit(repository, "a.py")
    commit(repository, "b.py")

    assert files(history()) == [{"b.py"}]


def test_a_commit_that_does_not_exist_is_an_error(repository):
    commit(repository, "a.py")
    found = find_repository(str(repository.root))
    assert found is not None

    with pytest.raises(GitError):
        read_change_history(found, str(repository.root), "0" * 40)

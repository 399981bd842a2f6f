"""The history of changes is read once for each checked-out commit, kept, and read only within the allowed roots."""

import pytest

from codecompass.actors.change_upkeep import history_of_head
from codecompass.scan.git_change_history import NO_HISTORY, ChangeHistory
from codecompass.scan.git_roots import ANYWHERE, GitRoots
from codecompass.store.change_history import keep_history, kept_history


@pytest.fixture
def workspace(repository):
    repository.write({"a.py": "x = 1\n", "tests/test_a.py": "import a\n"})
    repository.commit()
    repository.layout.root.mkdir(parents=True)
    return repository


def history(workspace, roots: GitRoots = ANYWHERE) -> ChangeHistory:
    return history_of_head(workspace.layout, str(workspace.root), roots)


def test_the_history_is_read_again_for_another_commit(workspace):
    before = history(workspace)
    workspace.write({"a.py": "x = 2\n"})
    workspace.commit()
    now = history(workspace)

    assert now.head == workspace.git("rev-parse", "HEAD").strip() != before.head
    assert [[now.paths[place] for place in commit] for commit in now.commits] == [["a.py"], ["a.py", "tests/test_a.py"]]
    assert kept_history(workspace.layout) == now


def test_what_is_kept_of_the_same_commit_is_not_read_again(workspace):
    kept = ChangeHistory(workspace.git("rev-parse", "HEAD").strip(), ("kept.py",), ((0,),))
    keep_history(workspace.layout, kept)

    assert history(workspace) == kept


def test_a_directory_without_git_has_no_history(workspace):
    history(workspace)
    (workspace.root / ".git").rename(workspace.root.parent / "elsewhere.git")

    assert history(workspace) is NO_HISTORY


def test_a_repository_without_a_commit_has_no_history(repository):
    assert history(repository) is NO_HISTORY


def test_a_repository_that_leads_out_of_the_allowed_roots_has_no_history(workspace):
    outside = workspace.root.parent / "elsewhere.git"
    (workspace.root / ".git").rename(outside)
    (workspace.root / ".git").write_text(f"gitdir: {outside}\n")

    assert history(workspace, GitRoots((str(workspace.root),))) is NO_HISTORY
    assert not workspace.layout.changes.exists()


def test_what_cannot_be_kept_is_known_all_the_same(workspace):
    workspace.layout.root.rmdir()

    assert history(workspace).paths == ("a.py", "tests/test_a.py")
    assert not workspace.layout.root.exists()

"""Contents read from the object database are as git stores them; commits are found by their names."""

from pathlib import Path

import pytest

from codecompass.errors import InvalidInput, RefNotIndexed
from codecompass.scan import git_objects
from codecompass.scan.git_objects import Blob, read_blobs
from codecompass.scan.git_repository import GitCancelled, GitError, GitRepository, repository_at
from codecompass.scan.git_revisions import NamedCommit, resolve_commit

from .trees import git, repository

LARGE = 1 << 20


def opened(root: Path) -> GitRepository:
    found = repository_at(str(root))
    assert found is not None
    return found


def stored(root: Path, content: bytes) -> str:
    (root / "content").write_bytes(content)
    return git(root, "hash-object", "-w", "--no-filters", "content").decode().strip()


@pytest.mark.parametrize("group_bytes", [1, 10, LARGE])
def test_contents_come_back_in_order_however_they_are_grouped(tmp_path: Path, monkeypatch, group_bytes):
    repository(tmp_path, tracked=["a"])
    monkeypatch.setattr(git_objects, "GROUP_BYTES", group_bytes)
    contents = [b"", b"one\n", b"no newline at the end", b"\n\n4 blob\n", b"\0\xff binary", b"one\n"]
    ids = [stored(tmp_path, content) for content in contents]

    assert [blob.content for blob in read_blobs(opened(tmp_path), ids, LARGE)] == contents


def test_what_is_too_large_or_missing_is_said_and_costs_nothing_else(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    small, large, missing = stored(tmp_path, b"small"), stored(tmp_path, b"large" * 10), "1" * 40

    found = list(read_blobs(opened(tmp_path), [large, missing, small], 10))

    assert found == [Blob(large, 50, None), Blob(missing, -1, None), Blob(small, 5, b"small")]


def test_what_is_no_file_is_refused(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    commit = git(tmp_path, "rev-parse", "HEAD").decode().strip()

    with pytest.raises(GitError, match="not a file's content"):
        list(read_blobs(opened(tmp_path), [commit], LARGE))


def test_reading_can_be_cancelled(tmp_path: Path):
    repository(tmp_path, tracked=["a"])

    with pytest.raises(GitCancelled):
        list(read_blobs(opened(tmp_path), [stored(tmp_path, b"x")], LARGE, is_cancelled=lambda: True))


@pytest.mark.parametrize("name", ["main", "HEAD", "side", "v1", "refs/tags/v1", "HEAD~0", "HEAD^0", "main@{0}"])
def test_names_of_the_same_commit(tmp_path: Path, name):
    repository(tmp_path, tracked=["a"])
    git(tmp_path, "branch", "side")
    git(tmp_path, "tag", "--annotate", "-m", "t", "v1")
    commit = git(tmp_path, "rev-parse", "HEAD").decode().strip()
    tree = git(tmp_path, "rev-parse", "HEAD^{tree}").decode().strip()

    assert resolve_commit(opened(tmp_path), name) == NamedCommit(name, commit, tree)
    assert resolve_commit(opened(tmp_path), commit[:9]).commit == commit


@pytest.mark.parametrize(
    "name", ["", "-rf", "--all", "^main", "HEAD^@", "a..b", "HEAD:a", ":/text", "a b", "*", "a\0b", "a\nb", "x" * 300]
)
def test_what_names_no_commit_is_refused_with_what_to_do(tmp_path: Path, name):
    repository(tmp_path, tracked=["a"])

    with pytest.raises(InvalidInput, match="list_refs") as caught:
        resolve_commit(opened(tmp_path), name, field="base")
    assert caught.value.data["field"] == "base"


@pytest.mark.parametrize("name", ["nowhere", "HEAD~9", "f" * 40])
def test_a_commit_that_is_not_there_is_told_from_a_name_that_is_none(tmp_path: Path, name):
    repository(tmp_path, tracked=["a"])

    with pytest.raises(RefNotIndexed, match="list_refs") as caught:
        resolve_commit(opened(tmp_path), name, field="base")
    assert (caught.value.data["field"], caught.value.data["ref"]) == ("base", name)


def test_a_name_that_is_nearly_a_branch_or_tag_is_answered_with_those(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    git(tmp_path, "branch", "feature/retry-delays")
    git(tmp_path, "tag", "v1.10.0")

    with pytest.raises(RefNotIndexed, match="Similar names: feature/retry-delays") as caught:
        resolve_commit(opened(tmp_path), "feature/retry-delay~2")
    assert caught.value.data["similar"] == ["feature/retry-delays"]
    with pytest.raises(RefNotIndexed) as caught:
        resolve_commit(opened(tmp_path), "nothing-like-it")
    assert "similar" not in caught.value.data

"""Which directory above a path is its project."""

from pathlib import Path

import pytest

from codecompass.scan.roots import git_root_between, marked_root


def make(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            path.mkdir(exist_ok=True)
        else:
            path.write_text("gitdir: ../elsewhere\n" if path.name == ".git" else "")


@pytest.mark.parametrize(
    ("names", "start", "expected"),
    [
        ((".git/HEAD", "a/b/"), "a/b", "."),
        ((".git/HEAD", "a/package.json", "a/b/"), "a/b", "."),
        (("a/package.json", "a/b/"), "a/b", "a"),
        (("Cargo.toml", "a/Cargo.toml", "a/b/"), "a/b", "a"),
        ((".git/HEAD", "a/.codecompass/x", "a/b/"), "a/b", "a"),
        ((".git/HEAD", "a/.git", "a/b/"), "a/b", "a"),
        ((".git/HEAD", "a/.git/empty", "a/b/"), "a/b", "."),
        (("a/b/",), "a/b", None),
    ],
)
def test_the_nearest_repository_is_the_project_else_the_nearest_build_file(tmp_path, names, start, expected):
    """A package of a monorepo belongs to its repository; a `.git` without a HEAD is not a repository."""
    make(tmp_path, *names)

    found = marked_root(tmp_path / start, frozenset({Path("/"), tmp_path.parent}))

    assert found == (None if expected is None else tmp_path / expected)


def test_a_directory_that_is_never_a_project_is_skipped(tmp_path):
    """Dotfiles kept in git do not make a whole home directory a project."""
    make(tmp_path, ".git/HEAD", "package.json", "a/b/")

    assert marked_root(tmp_path / "a" / "b", frozenset({Path("/"), tmp_path, tmp_path.parent})) is None


def test_the_innermost_git_work_tree_below_an_ancestor_is_found(tmp_path):
    make(tmp_path, ".git/HEAD", "a/.git/HEAD", "a/b/c/")

    assert git_root_between(tmp_path / "a" / "b" / "c", tmp_path) == tmp_path / "a"
    assert git_root_between(tmp_path, tmp_path) is None

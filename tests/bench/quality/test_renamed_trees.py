"""Work trees with their names replaced, and answers with the original paths restored."""

import subprocess

import pytest

from bench.quality.data import Answer, Hit, Repository
from bench.quality.harness import WorkTree
from bench.quality.renamed_trees import hidden, renamed, without_name


@pytest.fixture
def tree(tmp_path):
    root = tmp_path / "trees" / "my-shop"
    for path in ("src/my_shop/cart.py", "src/MyShop.md", "build/kept.py", "README"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(path)
    return WorkTree(repository=Repository("my-shop", "", "python", "src/my_shop"), path=root, is_pinned=True)


@pytest.mark.parametrize(
    ("path", "repository", "neutral"),
    [
        ("src/flask/app.py", "flask", "src/project/app.py"),
        ("Newtonsoft.Json.Tests/Json.cs", "newtonsoft-json", "Project.Tests/Json.cs"),
        ("lua/lazy/core.lua", "lazy.nvim", "lua/project/core.lua"),
        ("tests/test_app.py", "flask", "tests/test_app.py"),
    ],
)
def test_the_name_is_gone_however_it_is_written(path, repository, neutral):
    assert without_name(path, repository) == neutral


def test_a_renamed_tree_has_the_same_files_under_another_folder(tree, tmp_path):
    copy = renamed(tree, tmp_path / "copies")

    assert copy.path.name != tree.path.name
    assert (copy.path / "src/my_shop/cart.py").read_text() == "src/my_shop/cart.py"
    assert copy.prefix("root") == tree.prefix("root")


def test_a_tree_without_names_gives_answers_with_the_true_paths(tree, tmp_path):
    copy = hidden(tree, tmp_path / "copies")
    found = [path.relative_to(copy.path).as_posix() for path in sorted(copy.path.rglob("*")) if path.is_file()]

    answer = Answer(repo="my-shop", query="q", results=tuple(Hit(path=path) for path in found))

    assert found == ["README", "build/kept.py", "src/Project.md", "src/project/cart.py"]
    assert copy.workspace("root").is_dir()
    assert [hit.path for hit in copy.restored(answer).results] == [
        "README",
        "build/kept.py",
        "src/MyShop.md",
        "src/my_shop/cart.py",
    ]
    assert tree.restored(answer) == answer


def test_names_that_would_meet_stay_apart(tree, tmp_path):
    (tree.path / "src" / "project").mkdir()
    (tree.path / "src" / "project" / "cart.py").write_text("another")

    copy = hidden(tree, tmp_path / "copies")

    assert sorted(copy.true_paths[path] for path in copy.true_paths if path.endswith("cart.py")) == [
        "src/my_shop/cart.py",
        "src/project/cart.py",
    ]


def test_of_a_git_tree_what_is_tracked_is_taken_and_tracked_again(tree, tmp_path):
    git = ["git", "-C", str(tree.path)]
    subprocess.run([*git, "init", "-q"], check=True)
    subprocess.run([*git, "add", "src", "build"], check=True)

    copy = hidden(tree, tmp_path / "copies")
    listed = subprocess.run(["git", "-C", str(copy.path), "ls-files"], capture_output=True, text=True, check=True).stdout.split()

    assert listed == ["build/kept.py", "src/Project.md", "src/project/cart.py"]

import subprocess
from pathlib import Path

import pytest

from codecompass.errors import RefNotIndexed
from codecompass.scan.commit_tree import read_commit_tree
from codecompass.scan.git_objects import read_blobs
from codecompass.scan.git_repository import GitCancelled, find_repository
from codecompass.scan.git_revisions import resolve_commit
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan
from tests.support.workspace import TestWorkspace


def tree_of(workspace: TestWorkspace, name: str = "HEAD", rules: ScanRules | None = None, root: Path | None = None):
    repository = find_repository(str(workspace.root))
    commit = resolve_commit(repository, name).commit
    return read_commit_tree(repository, str(root or workspace.root), commit, rules or ScanRules())


def skipped(tree):
    return {item.path: item.reason for item in tree.skipped}


def test_the_files_of_a_commit_are_those_of_its_checkout(repository):
    """For every kind of rule: git's ignore files, our own, the built-in ones, secrets, sizes, links."""
    repository.write(
        {
            ".gitignore": "*.log\nbuild/\n",
            ".codecompassignore": "docs/\n!docs/keep.md\n!secrets/named.pem\n",
            "docs/gone.md": "x",
            "docs/keep.md": "x",
            "deep/.codecompassignore": "*.gen\n",
            "deep/a.gen": "x",
            "deep/a.py": "x = 1",
            "tracked.log": "in, as git tracks it",
            "build/tool.py": "in as well",
            "node_modules/x.js": "out, tracked or not",
            ".hidden": "in",
            "key.pem": "secret",
            "secrets/named.pem": "taken in by name",
            "large.txt": "x" * 2000,
            "empty.txt": "",
        }
    )
    (repository.root / "inside").symlink_to("deep/a.py")
    (repository.root / "deep" / "outside").symlink_to("../../elsewhere")
    repository.git("add", "-A", "-f")
    repository.git("commit", "-q", "-m", "all")
    rules = ScanRules(max_file_bytes=1000, extra_excludes=("*.nothing",))

    tree = tree_of(repository, rules=rules)
    checkout = scan(str(repository.root), rules)

    assert [(file.path, file.size) for file in tree.files] == [(file.path, file.size) for file in checkout.files]
    assert tree.skipped == checkout.skipped
    assert "tracked.log" in {file.path for file in tree.files}
    assert skipped(tree) == {
        "key.pem": "secret",
        "large.txt": "too_large",
        "inside": "symlink",
        "deep/outside": "symlink_outside_root",
    }


def test_object_ids_name_the_contents(repository):
    repository.write({"a.py": "a = 1\n", "b.py": "b = 2\n"})
    repository.commit()
    tree = tree_of(repository)

    found = read_blobs(find_repository(str(repository.root)), [file.object_id for file in tree.files], 1000)

    assert [blob.content for blob in found] == [b"a = 1\n", b"b = 2\n"]


def test_neither_the_working_tree_nor_git_s_index_matters(repository):
    repository.write({"old.py": "x = 1\n"})
    repository.commit()
    repository.write({"new.py": "y = 1\n", "old.py": "edited\n"})
    repository.git("add", "new.py")

    assert [(file.path, file.size) for file in tree_of(repository).files] == [("old.py", 6)]


def test_a_workspace_below_the_top_sees_its_own_directory(repository):
    repository.write({"src/deep/a.py": "x", "src/b.py": "x", "other/c.py": "x"})
    repository.commit()

    assert [file.path for file in tree_of(repository, root=repository.root / "src").files] == ["b.py", "deep/a.py"]


def test_a_commit_without_the_workspace_s_directory_is_refused_with_what_to_do(repository):
    repository.write({"other/c.py": "x"})
    repository.commit()
    repository.write({"src/a.py": "x"})
    repository.commit()

    with pytest.raises(RefNotIndexed, match="no file below src"):
        tree_of(repository, "HEAD~1", root=repository.root / "src")


def test_a_submodule_is_skipped_and_said(repository, tmp_path):
    other = TestWorkspace(tmp_path / "other", tmp_path / "home", git=True)
    other.write({"lib.py": "x = 1\n"})
    other.commit()
    repository.write({"a.py": "x = 1\n"})
    repository.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other.root), "lib")
    repository.commit()

    assert skipped(tree_of(repository)) == {"lib": "submodule"}


def test_names_that_are_not_utf8_are_skipped_and_said(repository):
    repository.write({"a.py": "x = 1\n"})
    repository.commit()
    blob = repository.git("rev-parse", "HEAD:a.py").strip().encode()
    listing = b"100644 blob " + blob + b"\tb\xff.py\n040000 tree " + tree_of_blob(repository, blob) + b"\td\xff\n"
    tree = subprocess.run(["git", "mktree"], cwd=repository.root, input=listing, capture_output=True, check=True).stdout
    commit = repository.git("commit-tree", "-m", "odd", tree.decode().strip()).strip()

    assert skipped(tree_of(repository, commit)) == {r"b\xff.py": "path_not_utf8", r"d\xff": "path_not_utf8"}


def tree_of_blob(repository: TestWorkspace, blob: bytes) -> bytes:
    listing = b"100644 blob " + blob + b"\tinside.py\n"
    done = subprocess.run(["git", "mktree"], cwd=repository.root, input=listing, capture_output=True, check=True)
    return done.stdout.strip()


@pytest.mark.slow
def test_a_tree_deeper_than_calls_can_be_is_read(repository):
    repository.write({"a.py": "x = 1\n"})
    repository.commit()
    blob = repository.git("rev-parse", "HEAD:a.py").strip().encode()
    tree = tree_of_blob(repository, blob)
    for _ in range(1500):
        done = subprocess.run(
            ["git", "mktree"], cwd=repository.root, input=b"040000 tree " + tree + b"\td\n", capture_output=True, check=True
        )
        tree = done.stdout.strip()
    commit = repository.git("commit-tree", "-m", "deep", tree.decode()).strip()

    (file,) = tree_of(repository, commit).files

    assert file.path == "d/" * 1500 + "inside.py"


@pytest.mark.invariant("Reading a commit never uses the network")
def test_what_a_partial_clone_lacks_is_said_and_not_fetched(repository, tmp_path):
    repository.write({"a.py": "x = 1\n"})
    repository.commit()
    repository.git("config", "uploadpack.allowFilter", "true")
    partial = TestWorkspace(tmp_path / "partial", tmp_path / "home")
    partial.git("clone", "-q", "--no-checkout", "--filter=blob:none", f"file://{repository.root}", ".")

    with pytest.raises(RefNotIndexed, match="git fetch") as caught:
        tree_of(partial)

    assert caught.value.data["remediation"] == "git fetch --refetch"
    assert "missing" in partial.git("rev-list", "--objects", "--missing=print", "HEAD").replace("?", "missing")


def test_what_a_shallow_clone_lacks_is_no_commit_of_it(repository, tmp_path):
    for number in range(3):
        repository.write({"a.py": f"x = {number}\n"})
        repository.commit()
    shallow = TestWorkspace(tmp_path / "shallow", tmp_path / "home")
    shallow.git("clone", "-q", "--depth", "1", f"file://{repository.root}", ".")

    assert [file.path for file in tree_of(shallow).files] == ["a.py"]
    with pytest.raises(RefNotIndexed, match="shallow"):
        tree_of(shallow, "HEAD~1")


def test_a_repository_with_sha256_is_read(tmp_path):
    workspace = TestWorkspace(tmp_path / "project", tmp_path / "home")
    workspace.git("init", "-q", "-b", "main", "--object-format=sha256")
    workspace.write({"a.py": "x = 1\n"})
    workspace.commit()

    (file,) = tree_of(workspace).files

    assert (file.path, len(file.object_id)) == ("a.py", 64)


def test_a_replaced_commit_is_read_as_its_id_says(repository):
    """The content that an id names never changes, so neither does the index of a commit."""
    repository.write({"a.py": "first\n"})
    repository.commit()
    repository.write({"b.py": "second\n"})
    repository.commit()
    repository.git("replace", repository.git("rev-parse", "HEAD").strip(), repository.git("rev-parse", "HEAD~1").strip())

    assert [file.path for file in tree_of(repository, "HEAD").files] == ["a.py", "b.py"]


def test_names_of_other_objects_are_said_to_be_none_of_a_commit(repository):
    repository.write({"a.py": "x\n"})
    repository.commit()
    repository.git("tag", "of-tree", "HEAD^{tree}")
    repository.git("tag", "-a", "-m", "t", "of-blob", "HEAD:a.py")

    for name, what in (("of-tree", "a tree"), ("of-blob", "a blob")):
        with pytest.raises(RefNotIndexed, match=what):
            tree_of(repository, name)


def test_reading_can_be_cancelled(repository):
    repository.write({"a.py": "x\n"})
    repository.commit()
    opened = find_repository(str(repository.root))
    commit = resolve_commit(opened, "HEAD").commit

    with pytest.raises(GitCancelled):
        read_commit_tree(opened, str(repository.root), commit, ScanRules(), is_cancelled=lambda: True)

"""Differences between commits and the working tree agree with git, and finding them runs and changes nothing."""

import os
import subprocess
from pathlib import Path

import pytest

from codecompass.errors import InvalidInput, RefNotIndexed
from codecompass.scan import git_changes
from codecompass.scan.files import is_utf8
from codecompass.scan.git_changes import FileChange, GitChanges, Hunk, find_changes
from codecompass.scan.git_repository import GitError, GitRepository, repository_at
from codecompass.scan.git_revisions import WORKING_TREE, Side, default_base, named_side, read_refs, repository_of
from codecompass.scan.rules import ScanRules

from .trees import git, repository, write

TEXT = "".join(f"line {number} of the file\n" for number in range(40))


def opened(root: Path) -> GitRepository:
    found = repository_at(str(root))
    assert found is not None
    return found


def changes(root: Path, base: str = "HEAD", head: str | None = None, **options: object) -> GitChanges:
    """Returns the changes in the repository with its top at `root`."""
    known = opened(root)
    other = Side(name=WORKING_TREE) if head is None else named_side(known, head, field="head")
    rules = ScanRules(max_file_bytes=1 << 16)
    return find_changes(known, str(root), named_side(known, base, field="base"), other, rules, **options)


def by_path(found: GitChanges) -> dict[str, FileChange]:
    return {each.path: each for each in found.files}


def said_by_git(root: Path, *sides: str) -> dict[str, tuple[str, str, tuple[Hunk, ...]]]:
    """Returns by new path the status letter, the old path and the lines of git's own diff, which ignores untracked files."""
    listed = git(root, "diff", "--name-status", "-z", "-M", *sides).decode("utf-8", "surrogateescape").split("\0")
    found, at = {}, 0
    while at < len(listed) - 1:
        letter, n_paths = listed[at][0], 2 if listed[at][0] == "R" else 1
        old, new = listed[at + 1], listed[at + n_paths]
        patch = git(root, "diff", "-U0", "-M", *sides, "--", os.fsencode(old).decode("utf-8", "surrogateescape"), new)
        hunks = tuple(git_changes._hunks_of(patch))
        found[new] = (letter, old, hunks)
        at += 1 + n_paths
    return found


LETTERS = {"added": "A", "removed": "D", "changed": "M", "renamed": "R"}


@pytest.mark.invariant(of="test_nothing_that_the_repository_configures_runs_and_nothing_in_it_changes")
def test_the_working_tree_differs_as_git_says(tmp_path: Path):
    repository(
        tmp_path,
        tracked={
            "edited.py": TEXT, "staged.py": TEXT, "both.py": TEXT, "gone.py": TEXT + "gone\n", "old/name.py": TEXT + "x\n" * 9,
            "mode.sh": "#!/bin/sh\n", "same.py": TEXT + "same\n", "image.png": b"\0\1\2",
            "crlf.txt": "a\r\nb\r\n", "touched.py": "t\n",
            "link": "", "to_link": "text\n", "no_end.py": "a\nb", "dir/file.py": "file\n",
        },
    )  # fmt: skip
    write(tmp_path, {"edited.py": TEXT.replace("line 7 ", "another ").replace("line 30 of the file\n", "")})
    write(tmp_path, {"staged.py": TEXT + "more\n", "both.py": TEXT + "one\n", "image.png": b"\0\1\3", "crlf.txt": "a\r\nc\r\n"})
    git(tmp_path, "add", "staged.py", "both.py")
    write(tmp_path, {"both.py": "zero\n" + TEXT, "no_end.py": "a\nb\n", "touched.py": "t\n", "new.py": "new\n"})
    (tmp_path / "gone.py").unlink()
    (tmp_path / "new").mkdir()
    (tmp_path / "old/name.py").rename(tmp_path / "new/name.py")
    write(tmp_path, {"new/name.py": TEXT + "x\n" * 8 + "y\n"})
    (tmp_path / "mode.sh").chmod(0o755)
    (tmp_path / "to_link").unlink()
    (tmp_path / "to_link").symlink_to("/etc/passwd")
    (tmp_path / "dir/file.py").unlink()
    (tmp_path / "dir").rmdir()
    write(tmp_path, {"dir": "a file in place of a directory\n"})

    found = by_path(changes(tmp_path))

    # git's own diff ignores untracked files.
    git(tmp_path, "add", "--intent-to-add", "--all")
    said = said_by_git(tmp_path, "HEAD")
    assert {path: (LETTERS[each.status], each.old_path) for path, each in found.items()} == {
        path: (letter.replace("T", "M"), old) for path, (letter, old, _) in said.items()
    }
    # For the path `dir`, git also lists what was below it.
    compared = [path for path, each in found.items() if not each.note and path != "dir"]
    assert {path: found[path].hunks for path in compared} == {path: said[path][2] for path in compared}
    assert {path: each.note for path, each in found.items() if each.note} == {"image.png": "binary", "mode.sh": "mode"}
    assert found["new/name.py"].similarity > 90
    assert "same.py" not in found
    assert "touched.py" not in found, "the content is what counts"


def test_two_commits_differ_as_git_says(tmp_path: Path):
    repository(tmp_path, tracked={"a.py": TEXT, "b.py": TEXT * 2, "c.py": "c\n"})
    git(tmp_path, "mv", "b.py", "moved.py")
    git(tmp_path, "rm", "--quiet", "c.py")
    write(tmp_path, {"a.py": "first\n" + TEXT, "moved.py": TEXT * 2 + "last\n", "d.py": "d\n"})
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "-m", "second")

    found = by_path(changes(tmp_path, "HEAD~1", "HEAD"))

    assert {path: (LETTERS[each.status], each.old_path, each.hunks) for path, each in found.items()} == said_by_git(
        tmp_path, "HEAD~1", "HEAD"
    )


def test_a_directory_below_the_top_is_compared_alone_and_by_its_own_paths(tmp_path: Path):
    repository(tmp_path, tracked={"outside.py": "o\n", "sub/in.py": "i\n", "sub/deep/gone.py": TEXT})
    write(tmp_path, {"outside.py": "changed\n", "sub/in.py": "changed\n", "sub/new.py": "new\n"})
    (tmp_path / "sub/deep/gone.py").unlink()
    known = opened(tmp_path)
    head = Side(name=WORKING_TREE)

    found = find_changes(known, str(tmp_path / "sub"), named_side(known, "HEAD", field="base"), head, ScanRules())

    assert {each.path: each.status for each in found.files} == {
        "in.py": "changed", "new.py": "added", "deep/gone.py": "removed",
    }  # fmt: skip


def test_only_chosen_files_are_compared_and_a_renamed_one_by_either_path(tmp_path: Path):
    repository(tmp_path, tracked={"a/x.py": TEXT, "b.py": "b\n"})
    (tmp_path / "c").mkdir()
    git(tmp_path, "mv", "a/x.py", "c/x.py")
    write(tmp_path, {"b.py": "other\n"})

    found = changes(tmp_path, chosen=lambda paths: [path.startswith("a/") for path in paths])

    assert [(each.old_path, each.path, each.status) for each in found.files] == [("a/x.py", "c/x.py", "renamed")]


def test_what_cannot_be_compared_is_listed_with_the_reason(tmp_path: Path):
    repository(tmp_path, tracked={"filtered.dat": "f\n", "large.txt": "x\n", ".gitattributes": "*.dat filter=upper\n"})
    write(tmp_path, {"filtered.dat": "g\n", "large.txt": "x" * (1 << 17), "new_large.txt": "y" * (1 << 17), "id_rsa": "KEY\n"})

    found = changes(tmp_path, with_contents=True)

    assert {path: (each.status, each.note) for path, each in by_path(found).items()} == {
        "filtered.dat": ("changed", "filtered"),
        "large.txt": ("changed", "too_large"),
        "new_large.txt": ("added", "too_large"),
        "id_rsa": ("added", "secret"),
    }
    assert not any(b"KEY" in content for content in found.contents.values())


def test_the_lines_of_a_tracked_secret_are_counted_and_its_content_is_not_read(tmp_path: Path):
    repository(tmp_path, tracked={".env": "TOKEN=one\n"})
    write(tmp_path, {".env": "TOKEN=two\n"})

    found = changes(tmp_path, with_contents=True)

    assert (found.files[0].n_added, found.contents) == (1, {})


def test_names_that_are_not_utf8_are_compared(tmp_path: Path):
    repository(tmp_path, tracked={os.fsdecode(b"n\xe9.py"): "a\n"})
    write(tmp_path, {os.fsdecode(b"n\xe9.py"): "b\n"})

    (found,) = changes(tmp_path).files

    assert not is_utf8(found.path)
    assert found.hunks == (Hunk(1, 1, 1, 1),)


def test_line_ends_that_git_converts_are_no_difference(tmp_path: Path):
    repository(tmp_path, tracked={"a.txt": "one\ntwo\n", "b.txt": "one\r\n", ".gitattributes": "a.txt text\n"})
    write(tmp_path, {"a.txt": "one\r\ntwo\r\n", "b.txt": "one\n"})

    assert [each.path for each in changes(tmp_path).files] == ["b.txt"]


def test_a_submodule_is_one_entry_and_its_files_are_not_of_this_repository(tmp_path: Path):
    inner = repository(tmp_path / "inner", tracked=["one.py"])
    outer = repository(tmp_path / "outer", tracked=["a.py"])
    git(outer, "submodule", "--quiet", "add", str(inner), "module")
    git(outer, "commit", "--quiet", "-m", "module")
    write(outer / "module", {"one.py": "changed\n", "two.py": "new\n"})
    assert changes(outer).files == ()

    git(outer / "module", "add", "--all")
    git(outer / "module", "commit", "--quiet", "-m", "inner")

    assert [(each.path, each.note) for each in changes(outer).files] == [("module", "submodule")]


def test_a_sparse_checkout_lacks_nothing(tmp_path: Path):
    repository(tmp_path, tracked=["in/a.py", "out/b.py"])
    git(tmp_path, "sparse-checkout", "set", "in")

    assert not (tmp_path / "out").exists()
    assert changes(tmp_path).files == ()


def test_a_repository_of_sha256_is_compared(tmp_path: Path):
    git(tmp_path, "init", "--quiet", "--object-format=sha256")
    write(tmp_path, ["a.py"])
    git(tmp_path, "add", "a.py")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    write(tmp_path, {"a.py": "other\n", "b.py": "b\n"})

    found = changes(tmp_path, with_contents=True)

    assert [(each.path, len(each.new_blob)) for each in found.files] == [("a.py", 64), ("b.py", 64)]
    assert b"other\n" in found.contents.values()


def test_in_a_linked_work_tree_its_own_files_are_compared(tmp_path: Path):
    main = repository(tmp_path / "main", tracked=["a.py"])
    git(main, "worktree", "add", "--quiet", "-b", "side", str(tmp_path / "side"))
    write(tmp_path / "side", {"a.py": "side\n"})

    assert [each.path for each in changes(tmp_path / "side", "main").files] == ["a.py"]
    assert changes(main).files == ()


def test_a_conflict_is_compared_as_it_lies_there(tmp_path: Path):
    repository(tmp_path, tracked={"a.py": "base\n"})
    git(tmp_path, "checkout", "--quiet", "-b", "side")
    write(tmp_path, {"a.py": "side\n"})
    git(tmp_path, "commit", "--quiet", "-am", "side")
    git(tmp_path, "checkout", "--quiet", "main")
    write(tmp_path, {"a.py": "main\n"})
    git(tmp_path, "commit", "--quiet", "-am", "main")
    git(tmp_path, "merge", "--quiet", "side", statuses=(1,))

    (found,) = changes(tmp_path, with_contents=True).files

    assert found.n_added == (tmp_path / "a.py").read_text().count("\n") - 1


@pytest.mark.invariant(
    "A comparison with a commit agrees with git, and neither changes the repository nor runs what it configures"
)
def test_nothing_that_the_repository_configures_runs_and_nothing_in_it_changes(tmp_path: Path):
    root = repository(
        tmp_path / "root", tracked={"a.py": "a\n", "b.bin": b"\0b", ".gitattributes": "*.py diff=evil filter=evil\n"}
    )
    proof = tmp_path / "ran"
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\ntouch {proof}\ncat\n")
    program.chmod(0o755)
    for key in (
        "diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge",
        "filter.evil.process", "core.fsmonitor", "core.pager", "core.sshCommand", "core.editor",
    ):  # fmt: skip
        git(root, "config", key, str(program))
    hooks = root / ".git/hooks"
    for name in ("post-index-change", "post-checkout", "pre-commit"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    write(root, {"a.py": "changed\n", "b.bin": b"\0c", "c.py": "new\n"})
    before = {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()}

    found = changes(root, with_contents=True)

    assert {each.path for each in found.files} == {"a.py", "b.bin", "c.py"}
    assert not proof.exists()
    assert {path: path.read_bytes() for path in (root / ".git").rglob("*") if path.is_file()} == before


def test_git_is_not_started_where_its_attributes_are_a_pipe(tmp_path: Path):
    repository(tmp_path, tracked=["sub/a.py"])
    write(tmp_path, {"sub/a.py": "other\n"})
    os.mkfifo(tmp_path / "sub/.gitattributes")

    with pytest.raises(GitError, match="not a regular file"):
        changes(tmp_path)


def test_a_link_in_place_of_a_directory_leads_nowhere(tmp_path: Path):
    root = repository(tmp_path / "root", tracked={"sub/a.py": "a\n"})
    (root / "sub/a.py").unlink()
    (root / "sub").rmdir()
    write(tmp_path / "other", {"a.py": "SECRET\n"})
    (root / "sub").symlink_to(tmp_path / "other")

    found = changes(root, with_contents=True)

    assert {each.path: each.status for each in found.files} == {"sub": "added", "sub/a.py": "removed"}
    assert not any(b"SECRET" in content for content in found.contents.values())


def test_each_bound_is_said(tmp_path: Path, monkeypatch):
    repository(tmp_path, tracked={f"{number}.py": TEXT for number in range(6)})
    write(tmp_path, {f"{number}.py": f"{number}\n" + TEXT for number in range(6)})
    monkeypatch.setattr(git_changes, "MAX_COMPARED_FILES", 4)
    monkeypatch.setattr(git_changes, "MAX_LISTED_FILES", 5)
    found = changes(tmp_path)
    assert [each.note for each in found.files] == [""] * 4 + ["beyond_bound"]
    assert len(found.warnings) == 2

    monkeypatch.setattr(git_changes, "MAX_PATCH_BYTES", 1 << 10)
    assert "lines are given for some files only" in changes(tmp_path).warnings[-1]
    monkeypatch.setattr(git_changes, "MAX_PATCH_BYTES", 1 << 20)
    monkeypatch.setattr(git_changes, "MAX_CONTENT_BYTES", 1 << 10)
    assert "definitions are compared in the first" in changes(tmp_path, with_contents=True).warnings[-1]


def test_contents_that_a_clone_lacks_are_said_and_not_fetched(tmp_path: Path):
    origin = repository(tmp_path / "origin", tracked={"a.py": TEXT})
    write(origin, {"a.py": TEXT + "x\n"})
    git(origin, "commit", "--quiet", "-am", "second")
    git(origin, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", "--no-checkout", f"file://{origin}", str(partial))

    found = changes(partial, "HEAD~1", "HEAD", with_contents=True)

    assert [each.path for each in found.files] == ["a.py"]
    assert any("could not be compared" in said or "missing" in said for said in found.warnings), found.warnings


def without_objects(root: Path, *contents: str) -> None:
    """Takes the objects of these contents out of a repository whose objects are loose, as a partial clone lacks them."""
    for content in contents:
        object_id = subprocess.run(
            ["git", "hash-object", "--stdin"], input=content.encode(), cwd=root, check=True, capture_output=True
        ).stdout.decode()
        (root / ".git/objects" / object_id[:2] / object_id[2:].strip()).unlink()


def test_a_missing_content_costs_the_lines_of_its_own_file_alone(tmp_path: Path):
    root = repository(tmp_path, tracked={f"{name}.py": f"{name}\n" + TEXT for name in "abcdef"})
    moved = (root / "f.py").read_text()
    (root / "f.py").rename(root / "g.py")
    write(root, {"a.py": "a\n" + TEXT + "new\n", "b.py": "changed\n" + TEXT, "new.py": "new file\n"})
    (root / "e.py").unlink()
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "second")
    complete = by_path(changes(root, "HEAD~1", "HEAD"))
    without_objects(root, "b\n" + TEXT, moved)

    found = changes(root, "HEAD~1", "HEAD", with_contents=True)

    assert by_path(found) == {**complete, "b.py": by_path(found)["b.py"]}
    assert (by_path(found)["b.py"].note, by_path(found)["b.py"].hunks) == ("missing", ())
    assert (complete["a.py"].n_added, complete["e.py"].n_removed, complete["g.py"].status) == (1, 41, "renamed")
    (said,) = [each for each in found.warnings if "could not be compared" in each]
    assert said == (
        "lines of 1 file could not be compared, because this clone lacks their contents, and nothing is fetched: b.py"
    )


def test_a_partial_clone_compares_every_file_whose_contents_it_has(tmp_path: Path):
    """Git fails at the first object that it may not fetch, whichever command asks for it."""
    origin = repository(tmp_path / "origin", tracked={f"{name}.py": f"{name}\n" + TEXT for name in "abc"})
    write(origin, {f"{name}.py": f"{name}\n" + TEXT + "new\n" for name in "abc"})
    git(origin, "commit", "--quiet", "-am", "second")
    git(origin, "config", "uploadpack.allowFilter", "true")
    partial = tmp_path / "partial"
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{origin}", str(partial))
    for name in "ab":
        git(partial, "show", f"HEAD~1:{name}.py")  # fetches this content

    for head in ("HEAD", None):
        found = changes(partial, "HEAD~1", head, with_contents=True)

        assert [(each.path, each.n_added, each.note) for each in found.files] == [
            ("a.py", 1, ""),
            ("b.py", 1, ""),
            ("c.py", 0, "missing"),
        ]
        assert len(found.contents) == 4
        assert len(found.warnings) == 1
        assert found.warnings[0].endswith(": c.py")


def test_renames_of_identical_files_are_found_where_contents_are_missing(tmp_path: Path):
    root = repository(tmp_path, tracked={"a.py": "a\n" + TEXT, "b.py": "b\n" + TEXT})
    (root / "a.py").rename(root / "moved.py")
    (root / "b.py").unlink()
    write(root, {"c.py": "c\n" + TEXT})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "-m", "second")
    without_objects(root, "b\n" + TEXT)

    found = changes(root, "HEAD~1", "HEAD")

    assert [(each.path, each.status, each.note) for each in found.files] == [
        ("b.py", "removed", "missing"),
        ("c.py", "added", ""),
        ("moved.py", "renamed", ""),
    ]
    assert any("renames were only detected among identical files" in each for each in found.warnings)


# the default base


def base_of(root: Path, head: str | None = None) -> Side:
    known = opened(root)
    return default_base(known, Side(name=WORKING_TREE) if head is None else named_side(known, head, field="head"))


def revision(root: Path, name: str) -> str:
    return git(root, "rev-parse", name).decode().strip()


def test_a_branch_is_compared_with_where_it_left_the_default_branch(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    left = revision(tmp_path, "HEAD")
    git(tmp_path, "checkout", "--quiet", "-b", "side")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "on side")
    git(tmp_path, "checkout", "--quiet", "main")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "on main")
    git(tmp_path, "checkout", "--quiet", "--detach", "side")

    assert (base_of(tmp_path).commit, base_of(tmp_path, "side").commit) == (left, left)
    assert base_of(tmp_path).reason == "where it left main"


def test_the_default_branch_itself_is_compared_with_head_and_a_commit_with_the_one_before(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "second")

    assert base_of(tmp_path).commit == revision(tmp_path, "HEAD")
    assert "not committed" in base_of(tmp_path).reason
    assert base_of(tmp_path, "HEAD").commit == revision(tmp_path, "HEAD~1")
    assert base_of(tmp_path, "HEAD~1").name == "the empty tree"


def test_the_branch_of_origin_counts_first(tmp_path: Path):
    origin = repository(tmp_path / "origin", tracked=["a"])
    git(tmp_path, "clone", "--quiet", str(origin), str(tmp_path / "clone"))
    git(tmp_path / "clone", "commit", "--quiet", "--allow-empty", "-m", "not pushed")

    base = base_of(tmp_path / "clone")

    assert (base.commit, base.reason) == (revision(origin, "HEAD"), "where it left origin/main")
    git(tmp_path / "clone", "branch", "-m", "mine")
    assert read_refs(opened(tmp_path / "clone")).default_branch == "main"


def test_without_a_default_branch_or_a_commit_it_is_what_there_is(tmp_path: Path):
    unborn = tmp_path / "unborn"
    unborn.mkdir()
    git(unborn, "init", "--quiet")
    assert base_of(unborn).name == "the empty tree"

    root = repository(tmp_path / "other", tracked=["a"])
    git(root, "branch", "-m", "trunk")
    assert base_of(root).name == "the empty tree"
    assert read_refs(opened(root)).default_branch == ""
    git(root, "config", "init.defaultBranch", "trunk")
    assert base_of(root).commit == revision(root, "HEAD")
    assert read_refs(opened(root)).default_branch == "trunk"


def test_a_shallow_clone_is_compared_as_far_as_it_goes(tmp_path: Path):
    origin = repository(tmp_path / "origin", tracked=["a"])
    git(origin, "commit", "--quiet", "--allow-empty", "-m", "second")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin}", str(shallow))

    assert base_of(shallow).commit == revision(shallow, "HEAD")
    assert base_of(shallow, "HEAD").name == "the empty tree"
    with pytest.raises(RefNotIndexed, match="shallow"):
        named_side(opened(shallow), "HEAD~1", field="base")


@pytest.mark.parametrize("before", ["HEAD~1", "HEAD^", "HEAD~", "{first}^1", "main~1"])
def test_before_a_first_commit_there_is_nothing(tmp_path: Path, before: str):
    root = repository(tmp_path, tracked={"a": TEXT})
    git(root, "branch", "-M", "main")
    base = before.format(first=revision(root, "HEAD"))

    found = changes(root, base, "HEAD")

    assert {path: each.status for path, each in by_path(found).items()} == {"a": "added"}
    assert (found.base.name, found.base.commit) == ("the empty tree", "")
    for name, field in (("HEAD~2", "base"), ("gone~1", "base"), ("HEAD~1", "head")):
        with pytest.raises(RefNotIndexed):
            named_side(opened(root), name, field=field)


def test_what_is_no_repository_is_refused_with_what_to_do(tmp_path: Path):
    with pytest.raises(InvalidInput, match="needs a git repository"):
        repository_of(str(tmp_path), field="diff_context")


def test_no_object_of_ours_stays_behind(tmp_path: Path, monkeypatch):
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    root = repository(tmp_path / "root", tracked=["a"])
    write(root, {"a": "other\n"})

    assert len(changes(root).files) == 1
    assert list(scratch.iterdir()) == []
    assert subprocess.run(["git", "-C", str(root), "fsck"], check=True, capture_output=True).stdout == b""

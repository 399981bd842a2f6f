import os
from pathlib import Path

import pytest

from codecompass.scan.rules import MAX_IGNORE_BYTES, MAX_IGNORE_FILE_BYTES, ScanRules
from codecompass.scan.walk import scan

from .trees import git, indexed, paths, repository, write


def test_an_empty_repository_has_its_untracked_files(tmp_path: Path):
    repository(tmp_path)
    assert indexed(tmp_path) == []

    write(tmp_path, ["a.py"])
    assert indexed(tmp_path) == ["a.py"]


def test_a_file_is_tracked_as_soon_as_it_is_staged(tmp_path: Path):
    repository(tmp_path)
    write(tmp_path, [".staged", ".unstaged"])
    git(tmp_path, "add", "--force", ".staged")

    assert indexed(tmp_path) == [".staged"]


def test_a_tracked_file_that_is_gone_is_not_listed(tmp_path: Path):
    repository(tmp_path, tracked=["a.py", "b.py", "sub/c.py"])
    (tmp_path / "a.py").unlink()
    (tmp_path / "sub/c.py").unlink()
    (tmp_path / "sub").rmdir()

    assert indexed(tmp_path) == ["b.py"]


def test_a_conflicted_file_is_listed_once(tmp_path: Path):
    repository(tmp_path, tracked={".f": "one\n"})
    git(tmp_path, "checkout", "--quiet", "-b", "other")
    write(tmp_path, {".f": "two\n"})
    git(tmp_path, "commit", "--quiet", "-a", "-m", "two")
    git(tmp_path, "checkout", "--quiet", "main")
    write(tmp_path, {".f": "three\n"})
    git(tmp_path, "commit", "--quiet", "-a", "-m", "three")
    git(tmp_path, "merge", "--quiet", "other", statuses=(1,))

    assert indexed(tmp_path) == [".f"]


def test_a_renamed_case_is_listed_as_on_disk(tmp_path: Path):
    repository(tmp_path, tracked=["Readme.md", "src/A.py"])
    (tmp_path / "Readme.md").rename(tmp_path / "README.md")
    (tmp_path / "src").rename(tmp_path / "Src")

    assert indexed(tmp_path) == ["README.md", "Src/A.py"]


def test_a_directory_of_a_repository_obeys_the_rules_above_it(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "*.log\n/pkg/out/\n", "pkg/.flags": "", "pkg/kept.log": ""})
    write(tmp_path, {"pkg/.gitignore": "!wanted.log\n", ".git/info/exclude": "pkg/scratch\n"})
    write(tmp_path, ["pkg/a.log", "pkg/wanted.log", "pkg/out/b.py", "pkg/sub/out/c.py", "pkg/scratch", "pkg/d.py"])

    assert indexed(tmp_path / "pkg") == [".flags", ".gitignore", "d.py", "kept.log", "sub/out/c.py", "wanted.log"]


def test_a_root_that_the_repository_around_it_ignores_is_on_its_own(tmp_path: Path):
    """A home directory that is a repository of dotfiles and ignores everything else."""
    repository(tmp_path, tracked={".gitignore": "*\n"})
    root = write(tmp_path / "projects/app", {".gitignore": "*.log\n", "a.py": "", "a.log": ""})

    assert indexed(root) == [".gitignore", "a.py"]


def test_a_root_that_is_ignored_but_for_a_placeholder_is_indexed(tmp_path: Path):
    """A pattern cannot exclude the root itself, only what is inside."""
    repository(tmp_path, tracked={".gitignore": "/generated/\n*.log\n", "generated/.gitkeep": ""})
    root = write(tmp_path / "generated", ["a.py", "a.log"])

    assert indexed(root) == [".gitkeep", "a.py"]


def test_a_new_directory_of_a_repository_still_obeys_it(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "*.log\n"})
    root = write(tmp_path / "new", ["a.py", "a.log"])

    assert indexed(root) == ["a.py"]


def test_the_innermost_repository_of_the_root_counts(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "*.py\n"})
    inner = repository(tmp_path / "inner", tracked=[".kept"])
    write(inner, ["a.py"])

    assert indexed(inner) == [".kept", "a.py"]


def test_a_nested_clone_is_indexed_with_its_own_rules(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "*.log\n"})
    clone = repository(tmp_path / "libs/clone", tracked={".gitignore": "*.tmp\n", ".flags": "", "build/x.py": ""})
    write(clone, ["a.log", "a.tmp"])

    result = scan(str(tmp_path), ScanRules())

    assert paths(result) == [
        ".gitignore",
        "libs/clone/.flags",
        "libs/clone/.gitignore",
        "libs/clone/a.log",
        "libs/clone/build/x.py",
    ]
    assert result.repositories == ("", "libs/clone")


def test_a_nested_clone_that_is_ignored_is_left_out(tmp_path: Path):
    repository(tmp_path, tracked={".gitignore": "/clone/\n"})
    repository(tmp_path / "clone", tracked=["a.py"])

    assert indexed(tmp_path) == [".gitignore"]


def test_own_rules_reach_into_nested_clones(tmp_path: Path):
    write(tmp_path, {".codecompassignore": "*.csv\n"})
    repository(tmp_path / "clone", tracked=["a.csv", "a.py"])

    assert indexed(tmp_path) == [".codecompassignore", "clone/a.py"]


def test_a_folder_of_clones_without_git_of_its_own_is_a_workspace(tmp_path: Path):
    for name in ("one", "two"):
        repository(tmp_path / name, tracked=[".flags", "vendor/a.go"])

    assert indexed(tmp_path) == ["one/.flags", "one/vendor/a.go", "two/.flags", "two/vendor/a.go"]


def test_a_submodule_is_part_of_the_workspace(tmp_path: Path):
    library = repository(tmp_path / "library", tracked=[".flags", "build/a.py"])
    root = repository(tmp_path / "root", tracked={".gitignore": "/vendor/\n*.log\n", "a.py": ""})
    git(root, "submodule", "--quiet", "add", "--force", str(library), "vendor/library")
    write(root, ["vendor/library/new.log", "vendor/other/b.py"])

    assert indexed(root) == [
        ".gitignore",
        ".gitmodules",
        "a.py",
        "vendor/library/.flags",
        "vendor/library/build/a.py",
        "vendor/library/new.log",
    ]


def test_a_submodule_that_is_not_checked_out_is_an_empty_directory(tmp_path: Path):
    library = repository(tmp_path / "library", tracked=["a.py"])
    root = repository(tmp_path / "root")
    git(root, "submodule", "--quiet", "add", str(library), "library")
    git(root, "submodule", "--quiet", "deinit", "--force", "library")

    assert indexed(root) == [".gitmodules"]


def test_a_linked_worktree_inside_the_root_is_left_out_and_counted(tmp_path: Path):
    root = repository(tmp_path / "root", tracked=["a.py"])
    git(root, "worktree", "add", "--quiet", "trees/feature")

    result = scan(str(root), ScanRules())

    assert paths(result) == ["a.py"]
    assert (result.linked_worktrees, result.ignored_directories) == (1, 1)


def test_a_linked_worktree_whose_metadata_is_gone_is_left_out(tmp_path: Path):
    root = repository(tmp_path / "root", tracked=["a.py"])
    git(root, "worktree", "add", "--quiet", "trees/feature")
    (root / ".git/worktrees/feature/commondir").unlink()

    assert scan(str(root), ScanRules()).linked_worktrees == 1


def test_a_linked_worktree_can_be_included(tmp_path: Path):
    root = repository(tmp_path / "root", tracked=["a.py", ".flags"])
    git(root, "worktree", "add", "--quiet", "trees/feature")
    write(root, {".codecompassignore": "!trees/feature/\n"})

    assert indexed(root) == [".codecompassignore", ".flags", "a.py", "trees/feature/.flags", "trees/feature/a.py"]


def test_a_linked_worktree_as_root_is_a_workspace(tmp_path: Path):
    main = repository(tmp_path / "main", tracked=["a.py", ".flags"])
    git(main, "worktree", "add", "--quiet", "../feature")
    write(main, {".git/info/exclude": "*.tmp\n"})
    write(tmp_path / "feature", ["new.py", "new.tmp"])

    assert indexed(tmp_path / "feature") == [".flags", "a.py", "new.py"]


def test_a_linked_worktree_of_another_repository_is_indexed(tmp_path: Path):
    other = repository(tmp_path / "other", tracked=["a.py"])
    root = repository(tmp_path / "root")
    git(other, "worktree", "add", "--quiet", str(root / "feature"))

    assert indexed(root) == ["feature/a.py"]


def test_of_a_clone_beside_its_worktree_the_clone_is_indexed(tmp_path: Path):
    clone = repository(tmp_path / "clone", tracked=["a.py"])
    git(clone, "worktree", "add", "--quiet", "../feature")

    result = scan(str(tmp_path), ScanRules())

    assert paths(result) == ["clone/a.py"]
    assert result.linked_worktrees == 1


def test_the_worktrees_of_a_bare_repository_are_all_there_is(tmp_path: Path):
    source = repository(tmp_path / "source", tracked=["a.py"])
    root = tmp_path / "root"
    git(tmp_path, "clone", "--quiet", "--bare", str(source), str(root / ".bare"))
    write(root, {".git": "gitdir: ./.bare\n"})
    git(root / ".bare", "worktree", "add", "--quiet", str(root / "main"))

    assert indexed(root) == ["main/a.py"]


def test_a_bare_repository_is_left_out(tmp_path: Path):
    git(tmp_path, "init", "--quiet", "--bare", "server")
    write(tmp_path, ["a.py"])

    assert indexed(tmp_path) == ["a.py"]


def test_a_broken_nested_repository_does_not_stop_the_scan(tmp_path: Path):
    repository(tmp_path, tracked=["a.py"])
    write(tmp_path, {"broken/.git/HEAD": "nonsense", "broken/b.py": "", "broken/.c": ""})

    result = scan(str(tmp_path), ScanRules())

    assert paths(result) == ["a.py", "broken/b.py"]
    assert len(result.warnings) == 1
    assert "broken/" in result.warnings[0]


def test_git_that_is_missing_counts_as_nothing_tracked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    repository(tmp_path, tracked={".flags": "", "build/a.py": "", "b.py": "", ".gitignore": "*.log\n", "c.log": ""})
    monkeypatch.setenv("PATH", "/nonexistent")

    result = scan(str(tmp_path), ScanRules())

    assert paths(result) == [".gitignore", "b.py"]
    assert len(result.warnings) == 1


def test_an_ignore_file_that_is_a_link_is_not_read(tmp_path: Path):
    outside = write(tmp_path / "outside", {"rules": "*\n"})
    root = write(tmp_path / "root", ["a.py"])
    os.symlink(outside / "rules", root / ".gitignore")

    result = scan(str(root), ScanRules())

    assert paths(result) == ["a.py"]
    assert result.warnings == (".gitignore was not read: a symbolic link",)


def test_the_excludes_of_a_repository_may_be_a_link(tmp_path: Path):
    """It is not part of the tree, and git follows it."""
    root = write(repository(tmp_path / "root"), ["a.py", "a.log"])
    write(tmp_path, {"shared": "*.log\n"})
    (root / ".git/info/exclude").unlink(missing_ok=True)
    os.symlink(tmp_path / "shared", root / ".git/info/exclude")

    assert indexed(root) == ["a.py"]


def test_an_ignore_file_that_is_a_pipe_does_not_block(tmp_path: Path):
    write(tmp_path, ["a.py"])
    os.mkfifo(tmp_path / ".gitignore")
    os.mkfifo(tmp_path / ".codecompassignore")

    assert indexed(tmp_path) == ["a.py"]


def test_an_ignore_file_that_is_a_directory_is_a_directory(tmp_path: Path):
    write(tmp_path, [".gitignore/a.py", "b.py"])

    assert "b.py" in indexed(tmp_path)


def test_an_enormous_ignore_file_is_skipped_with_a_warning(tmp_path: Path):
    write(tmp_path, {".codecompassignore": "*.py\n" * (MAX_IGNORE_FILE_BYTES // 5 + 1), "a.py": ""})

    result = scan(str(tmp_path), ScanRules(max_file_bytes=10))

    assert paths(result) == ["a.py"]
    assert result.warnings == (f".codecompassignore was not used: larger than {MAX_IGNORE_FILE_BYTES} bytes",)


def test_ignore_files_one_in_the_other_have_one_bound_together(tmp_path: Path):
    globs = "".join(f"x{number}*y\n" for number in range(300))
    directories = [tmp_path.joinpath(*["d"] * depth) for depth in range(20)]
    directories[-1].mkdir(parents=True)
    for depth, directory in enumerate(directories):
        (directory / ".gitignore").write_text(globs + f"out{depth}\nin{depth}_*.py\n")
        (directory / f"out{depth}").write_text("")
        (directory / f"in{depth}_.py").write_text("")

    result = scan(str(tmp_path), ScanRules())

    names = {os.path.basename(file.path) for file in result.files}
    assert not any(name.startswith("out") for name in names)
    assert "in0_.py" not in names
    assert "in19_.py" in names
    assert any("too many" in warning for warning in result.warnings)


def test_all_ignore_files_have_one_bound_together(tmp_path: Path):
    content = "#" * MAX_IGNORE_FILE_BYTES
    for number in range(MAX_IGNORE_BYTES // MAX_IGNORE_FILE_BYTES + 3):
        write(tmp_path, {f"d{number:03}/.gitignore": content[:-5] + "\n*.x\n", f"d{number:03}/a.x": "", f"d{number:03}/b.py": ""})

    result = scan(str(tmp_path), ScanRules())

    assert len([file for file in result.files if file.path.endswith(".x")]) == 3
    assert any(f"larger than {MAX_IGNORE_BYTES} bytes" in warning for warning in result.warnings)

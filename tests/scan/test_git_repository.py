import os
from pathlib import Path

import pytest

from codecompass.scan.git_repository import GitCancelled, GitError, Head, find_repository, read_head, tracked_files

from .trees import NOBODY, git, repository, write


def commit_of(root: Path, name: str = "HEAD") -> str:
    return git(root, "rev-parse", name).decode().strip()


def tracked(root: Path) -> tuple[str, ...]:
    found = find_repository(str(root))
    assert found is not None
    return tracked_files(found, str(root))


def test_without_git_the_ref_is_live(tmp_path: Path):
    assert read_head(str(tmp_path)) == Head("live", None)


def test_the_ref_is_the_branch_and_the_commit_its_tip(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    git(tmp_path, "checkout", "--quiet", "-b", "feature/one")

    assert read_head(str(tmp_path)) == Head("feature/one", commit_of(tmp_path))


def test_the_commit_is_found_among_packed_refs(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    git(tmp_path, "branch", "in")
    git(tmp_path, "tag", "--annotate", "-m", "t", "x/main")
    git(tmp_path, "pack-refs", "--all")
    assert not (tmp_path / ".git/refs/heads/main").exists()

    assert read_head(str(tmp_path)) == Head("main", commit_of(tmp_path))


def test_a_packed_ref_is_not_mistaken_for_one_that_begins_alike(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    git(tmp_path, "pack-refs", "--all")
    git(tmp_path, "checkout", "--quiet", "--orphan", "mai")

    assert read_head(str(tmp_path)) == Head("mai", None)


def test_a_loose_ref_wins_over_a_packed_one(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    git(tmp_path, "pack-refs", "--all")
    git(tmp_path, "commit", "--quiet", "--allow-empty", "-m", "second")

    assert read_head(str(tmp_path)) == Head("main", commit_of(tmp_path))


def test_a_branch_without_commit_has_no_commit(tmp_path: Path):
    repository(tmp_path)

    assert read_head(str(tmp_path)) == Head("main", None)


def test_a_detached_head_is_named_by_its_commit(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    git(tmp_path, "checkout", "--quiet", "--detach")
    commit = commit_of(tmp_path)

    assert read_head(str(tmp_path)) == Head(commit[:12], commit)


def test_a_directory_of_a_repository_has_its_head(tmp_path: Path):
    repository(tmp_path, tracked=["a/b/c"])

    assert read_head(str(tmp_path / "a/b")) == Head("main", commit_of(tmp_path))


def test_a_linked_worktree_has_a_head_of_its_own(tmp_path: Path):
    main = repository(tmp_path / "main", tracked=["a"])
    git(main, "worktree", "add", "--quiet", "-b", "feature", "../feature")
    git(tmp_path / "feature", "commit", "--quiet", "--allow-empty", "-m", "second")

    assert read_head(str(tmp_path / "feature")) == Head("feature", commit_of(main, "feature"))
    git(main, "pack-refs", "--all")
    assert read_head(str(tmp_path / "feature")) == Head("feature", commit_of(main, "feature"))
    assert read_head(str(main)) == Head("main", commit_of(main))


def test_a_submodule_has_a_head_of_its_own(tmp_path: Path):
    library = repository(tmp_path / "library", tracked=["a"])
    root = repository(tmp_path / "root", tracked=["b"])
    git(root, "submodule", "--quiet", "add", str(library), "sub")

    assert read_head(str(root / "sub")) == Head("main", commit_of(library))


def test_a_branch_that_is_an_alias_is_followed(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    git(tmp_path, "symbolic-ref", "refs/heads/alias", "refs/heads/main")
    git(tmp_path, "symbolic-ref", "HEAD", "refs/heads/alias")

    assert read_head(str(tmp_path)) == Head("alias", commit_of(tmp_path))


def test_aliases_in_a_circle_have_no_commit(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    write(tmp_path, {".git/HEAD": "ref: refs/heads/x\n", ".git/refs/heads/x": "ref: refs/heads/x\n"})

    assert read_head(str(tmp_path)) == Head("x", None)


def test_git_is_started_where_files_are_not_enough(tmp_path: Path):
    """HEAD was once a symbolic link, and git still reads it."""
    repository(tmp_path, tracked=["a"])
    (tmp_path / ".git/HEAD").unlink()
    os.symlink("refs/heads/main", tmp_path / ".git/HEAD")

    assert read_head(str(tmp_path)) == Head("main", commit_of(tmp_path))


def test_no_process_is_started_for_an_ordinary_head(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    repository(tmp_path, tracked=["a"])
    expected = Head("main", commit_of(tmp_path))
    monkeypatch.setenv("PATH", "/nonexistent")

    assert read_head(str(tmp_path)) == expected


@pytest.mark.parametrize("head", ["", "nonsense\n", "ref: \n", "0123\n"])
def test_a_broken_head_is_treated_like_none(head: str, tmp_path: Path):
    write(repository(tmp_path), {".git/HEAD": head})

    assert read_head(str(tmp_path)) == Head("live", None)


def test_a_git_file_that_leads_nowhere_is_treated_like_none(tmp_path: Path):
    write(tmp_path, {".git": "gitdir: /nonexistent/place\n"})

    assert read_head(str(tmp_path)) == Head("live", None)


def test_an_empty_git_directory_is_no_repository(tmp_path: Path):
    (tmp_path / ".git").mkdir()

    assert find_repository(str(tmp_path)) is None


def test_tracked_paths_are_relative_to_the_directory_asked_for(tmp_path: Path):
    repository(tmp_path, tracked=["a/b.py", "a/c/d.py", "e.py"])

    assert tracked(tmp_path) == ("a/b.py", "a/c/d.py", "e.py")
    assert tracked(tmp_path / "a") == ("b.py", "c/d.py")


def test_tracked_names_come_unquoted(tmp_path: Path):
    names = ["new\nline", 'quo"te', "ünïcode", "\N{PILE OF POO}", "back\\slash", " blank"]
    repository(tmp_path, tracked=names)

    assert sorted(tracked(tmp_path)) == sorted(names)


def test_nothing_is_tracked_by_a_repository_without_files(tmp_path: Path):
    assert tracked(repository(tmp_path)) == ()


@pytest.mark.invariant("A repository of another user is read by git only if the user of this program trusts it")
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory away")
def test_a_repository_of_another_user_is_read_only_if_its_reader_trusts_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """What git calls `dubious ownership`: whoever owns a repository decides what its configuration says."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))  # the developer may have trusted every directory
    root = repository(tmp_path / "root", tracked=["a.py"])
    for path in [root, root / ".git"]:
        os.chown(path, NOBODY, NOBODY)

    with pytest.raises(GitError, match="dubious ownership"):
        tracked(root)

    (home / ".gitconfig").write_text(f"[safe]\n\tdirectory = {root}\n")
    assert tracked(root) == ("a.py",)


def test_the_git_of_a_surrounding_hook_is_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """In a hook, git sets GIT_DIR and GIT_INDEX_FILE for all child processes."""
    other = repository(tmp_path / "other", tracked=["other.py"])
    root = repository(tmp_path / "root", tracked=["a.py"])
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git/index"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))

    assert tracked(root) == ("a.py",)


@pytest.mark.invariant(of="test_reading_a_repository_leaves_it_unchanged")
def test_reading_a_repository_runs_nothing_that_it_configures(tmp_path: Path):
    repository(tmp_path, tracked=["a.py"])
    witness = tmp_path / "witness"
    hook = write(tmp_path, {"hook": f"#!/bin/sh\necho ran >> '{witness}'\n"}) / "hook"
    hook.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "pager.ls-files", "core.sshCommand", "credential.helper", "core.editor"):
        git(tmp_path, "config", key, str(hook))
    (tmp_path / ".git/hooks").mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "post-checkout"):
        (tmp_path / ".git/hooks" / name).write_bytes(hook.read_bytes())
        (tmp_path / ".git/hooks" / name).chmod(0o755)

    tracked(tmp_path)
    read_head(str(tmp_path))

    assert not witness.exists()


@pytest.mark.invariant("Reading a repository neither changes it nor runs what it configures")
def test_reading_a_repository_leaves_it_unchanged(tmp_path: Path):
    repository(tmp_path, tracked=["a.py"])
    os.utime(tmp_path / "a.py", ns=(1, 1))
    before = {path: path.read_bytes() for path in (tmp_path / ".git").rglob("*") if path.is_file()}

    tracked(tmp_path)
    read_head(str(tmp_path))

    assert {path: path.read_bytes() for path in (tmp_path / ".git").rglob("*") if path.is_file()} == before


def test_a_repository_is_not_mistaken_for_the_one_around_it(tmp_path: Path):
    repository(tmp_path, tracked=["inner/a.py"])
    write(tmp_path, {"inner/.git/HEAD": "nonsense"})

    with pytest.raises(GitError, match="not a git repository"):
        tracked(tmp_path / "inner")


def test_a_missing_git_is_an_error_that_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    repository(tmp_path)
    monkeypatch.setenv("PATH", "/nonexistent")

    with pytest.raises(GitError, match="could not be started"):
        tracked(tmp_path)


def test_a_damaged_index_is_an_error_that_says_so(tmp_path: Path):
    repository(tmp_path, tracked=["a.py"])
    (tmp_path / ".git/index").write_bytes(b"nonsense" * 20)

    with pytest.raises(GitError, match="ls-files failed with status 128"):
        tracked(tmp_path)


def git_that_hangs(programs: Path) -> Path:
    os.mkfifo(programs / "never")
    script = programs / "git"
    script.write_text(f"#!/bin/sh\necho $$ > '{programs}/pid'\nexec cat '{programs}/never'\n")
    script.chmod(0o755)
    return programs / "pid"


def is_written(pid_file: Path) -> bool:
    """Whether the file has the whole line."""
    return pid_file.exists() and pid_file.read_text().endswith("\n")


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_git_that_hangs_is_ended_at_its_deadline(tmp_path: Path, programs: Path):
    root = repository(tmp_path / "root")
    pid_file = git_that_hangs(programs)
    found = find_repository(str(root))
    assert found is not None

    # On a busy machine it may not have begun to hang by the first deadlines.
    for deadline in (0.3, 3.0, 30.0):
        with pytest.raises(GitError, match="took longer"):
            tracked_files(found, str(root), deadline_seconds=deadline)
        if is_written(pid_file):
            break

    assert not is_running(int(pid_file.read_text()))


def test_a_git_that_hangs_can_be_cancelled(tmp_path: Path, programs: Path):
    root = repository(tmp_path / "root")
    pid_file = git_that_hangs(programs)
    found = find_repository(str(root))
    assert found is not None

    with pytest.raises(GitCancelled):
        tracked_files(found, str(root), is_cancelled=lambda: is_written(pid_file))

    assert not is_running(int(pid_file.read_text()))

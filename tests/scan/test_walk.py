import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import PROGRESS_STEP_FILES, ScanCancelled, SkippedFile, is_below_any, scan

from .trees import git, indexed, paths, repository, skipped, without_privileges, write

needs_byte_names = pytest.mark.skipif(sys.platform == "darwin", reason="the file system takes only UTF-8 names")


@pytest.fixture(params=["tracked", "untracked"])
def is_tracked(request: pytest.FixtureRequest) -> bool:
    return request.param == "tracked"


def add_all(root: Path, *, is_tracked: bool) -> None:
    """Unusual entries are skipped whether tracked or not; the two take different code paths."""
    if is_tracked:
        git(root, "init", "--quiet")
        git(root, "add", "--force", "--all")


def test_a_file_comes_with_what_lstat_says(tmp_path: Path, is_tracked: bool):
    write(tmp_path, {"a.py": "12345\n"})
    add_all(tmp_path, is_tracked=is_tracked)

    (file,) = scan(str(tmp_path), ScanRules()).files

    status = os.lstat(tmp_path / "a.py")
    assert (file.path, file.size, file.mtime_ns) == ("a.py", 6, status.st_mtime_ns)
    assert (file.ctime_ns, file.inode) == (status.st_ctime_ns, status.st_ino)


def test_everything_is_sorted_by_path(tmp_path: Path):
    write(tmp_path, ["b/a", "b.a", "b-a", "a", "b/é", "b/z", "Z", "é"])
    write(tmp_path, [f"{name}/id_rsa" for name in ("y", "x", "x-y")])

    result = scan(str(tmp_path), ScanRules())

    assert paths(result) == ["Z", "a", "b-a", "b.a", "b/a", "b/z", "b/é", "é"]
    assert [file.path for file in result.skipped] == ["x-y/id_rsa", "x/id_rsa", "y/id_rsa"]
    assert result.directories == ("", "b", "x", "x-y", "y")


def test_two_scans_of_one_tree_are_equal(tmp_path: Path):
    repository(tmp_path, tracked=["a.py", "vendor/b.go"])
    write(tmp_path, [".env", "c/d/e.py", "build/f"])

    assert scan(str(tmp_path), ScanRules()) == scan(str(tmp_path), ScanRules())


def test_empty_files_are_indexed(tmp_path: Path, is_tracked: bool):
    write(tmp_path, {"__init__.py": ""})
    add_all(tmp_path, is_tracked=is_tracked)

    assert indexed(tmp_path) == ["__init__.py"]


def test_a_file_over_the_size_cap_is_too_large(tmp_path: Path, is_tracked: bool):
    write(tmp_path, {"at": "x" * 100, "over": "x" * 101})
    add_all(tmp_path, is_tracked=is_tracked)

    result = scan(str(tmp_path), ScanRules(max_file_bytes=100))

    assert paths(result) == ["at"]
    assert result.skipped == (SkippedFile("over", "too_large", 101),)


def test_links_are_not_followed_and_say_where_they_lead(tmp_path: Path, is_tracked: bool):
    outside = write(tmp_path / "outside", ["secret.py", "folder/x.py"])
    root = write(tmp_path / "root", ["real.py", "package/y.py"])
    os.symlink("real.py", root / "to_file")
    os.symlink("package", root / "to_directory")
    os.symlink(outside / "secret.py", root / "out_file")
    os.symlink("../outside/folder", root / "out_directory")
    os.symlink("nowhere", root / "broken")
    os.symlink(tmp_path / "root-but-longer", root / "sibling")
    add_all(root, is_tracked=is_tracked)

    assert indexed(root) == ["package/y.py", "real.py"]
    assert skipped(root) == {
        "to_file": "symlink",
        "to_directory": "symlink",
        "broken": "symlink",
        "out_file": "symlink_outside_root",
        "out_directory": "symlink_outside_root",
        "sibling": "symlink_outside_root",
    }


def test_loops_of_links_are_harmless(tmp_path: Path, is_tracked: bool):
    write(tmp_path, ["a/b.py"])
    os.symlink("..", tmp_path / "a/up")
    os.symlink("self", tmp_path / "self")
    os.symlink("two", tmp_path / "one")
    os.symlink("one", tmp_path / "two")
    add_all(tmp_path, is_tracked=is_tracked)

    assert indexed(tmp_path) == ["a/b.py"]
    assert skipped(tmp_path) == dict.fromkeys(["a/up", "self", "one", "two"], "symlink")


def test_a_root_that_is_a_link_is_walked(tmp_path: Path):
    root = repository(tmp_path / "real", tracked=[".flags", "a.py"])
    os.symlink("a.py", root / "b.py")
    os.symlink(root, tmp_path / "link")

    assert indexed(tmp_path / "link") == [".flags", "a.py"]
    assert skipped(tmp_path / "link") == {"b.py": "symlink"}


def test_special_files_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    write(tmp_path, ["a.py"])
    os.mkfifo(tmp_path / "fifo")
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")

        assert indexed(tmp_path) == ["a.py"]
        assert skipped(tmp_path) == {"fifo": "special_file", "socket": "special_file"}


def test_a_tracked_file_that_became_a_pipe_is_special(tmp_path: Path):
    repository(tmp_path, tracked=["a.py", "b.py"])
    (tmp_path / "a.py").unlink()
    os.mkfifo(tmp_path / "a.py")

    assert indexed(tmp_path) == ["b.py"]
    assert skipped(tmp_path) == {"a.py": "special_file"}


def test_a_tracked_file_that_became_a_directory_is_entered(tmp_path: Path):
    repository(tmp_path, tracked=["a"])
    (tmp_path / "a").unlink()
    write(tmp_path, ["a/b.py"])

    assert indexed(tmp_path) == ["a/b.py"]


def test_odd_names_are_names(tmp_path: Path, is_tracked: bool):
    names = ["new\nline.py", "tab\t.py", " ", "a b.py", "\N{PILE OF POO}.py", "quo'\"te", "-rf", "*", "back\\slash", "é"]
    write(tmp_path, [*names, "dir\n/a.py"])
    add_all(tmp_path, is_tracked=is_tracked)

    assert indexed(tmp_path) == sorted([*names, "dir\n/a.py"])


@needs_byte_names
def test_names_that_are_not_utf8_are_reported_in_a_printable_form(tmp_path: Path, is_tracked: bool):
    for name in (b"caf\xe9.py", b"ok.py", b"dir\xff/inside.py", b"\xc3\xa9-\xe9"):
        path = os.path.join(os.fsencode(tmp_path), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.close(os.open(path, os.O_CREAT))
    add_all(tmp_path, is_tracked=is_tracked)

    assert indexed(tmp_path) == ["ok.py"]
    assert skipped(tmp_path) == dict.fromkeys(["caf\\xe9.py", "dir\\xff", "é-\\xe9"], "path_not_utf8")


def test_an_unreadable_directory_is_reported_and_the_scan_goes_on(open_path: Path):
    write(open_path, ["a.py", "closed/b.py", "open/c.py"])
    (open_path / "closed").chmod(0)

    with without_privileges():
        result = scan(str(open_path), ScanRules())

    assert paths(result) == ["a.py", "open/c.py"]
    assert result.skipped == (SkippedFile("closed", "unreadable"),)


def test_files_whose_lstat_fails_are_unreadable(open_path: Path):
    write(open_path, ["a.py", "names_only/b.py"])
    (open_path / "names_only").chmod(0o444)

    with without_privileges():
        result = scan(str(open_path), ScanRules())

    assert paths(result) == ["a.py"]
    assert result.skipped == (SkippedFile("names_only/b.py", "unreadable"),)


def test_an_ignore_file_that_cannot_be_read_is_a_warning(open_path: Path):
    write(open_path, {".gitignore": "*.log\n", "a.py": ""})
    (open_path / ".gitignore").chmod(0)

    with without_privileges():
        result = scan(str(open_path), ScanRules())

    assert "a.py" in paths(result)
    assert result.warnings == (".gitignore was not read: Permission denied",)


@pytest.mark.parametrize("name", ["missing", "file"])
def test_a_root_that_cannot_be_listed_is_an_error(name: str, tmp_path: Path):
    """An empty result would make the whole index look deleted."""
    write(tmp_path, ["file"])

    with pytest.raises(OSError, match=name):
        scan(str(tmp_path / name), ScanRules())


def test_a_directory_that_vanishes_is_left_out_silently(tmp_path: Path):
    write(tmp_path, ["a.py", "going/b.py"])
    visits = []

    def vanish() -> bool:
        visits.append(1)
        if len(visits) == 2:  # the root is listed, the directory is not
            (tmp_path / "going/b.py").unlink()
            (tmp_path / "going").rmdir()
        return False

    result = scan(str(tmp_path), ScanRules(), is_cancelled=vanish)

    assert paths(result) == ["a.py"]
    assert result.skipped == ()
    assert result.directories == ("",)


def test_a_file_that_vanishes_after_it_was_listed_is_left_out_silently(tmp_path: Path, programs: Path):
    """git runs for a nested repository between listing and `lstat`: a fake git deletes a file just then."""
    root = tmp_path / "root"
    nested = repository(root / "nested", tracked=["kept.py", "tracked.py"])
    write(nested, ["untracked.py"])
    real_git = subprocess.run(["which", "git"], stdout=subprocess.PIPE, check=True, text=True).stdout.strip()
    script = programs / "git"
    script.write_text(f"#!/bin/sh\nrm '{nested}/tracked.py' '{nested}/untracked.py'\nexec '{real_git}' \"$@\"\n")
    script.chmod(0o755)

    result = scan(str(root), ScanRules())

    assert paths(result) == ["nested/kept.py"]
    assert result.skipped == ()


def test_a_deep_tree_does_not_exhaust_the_stack(deep_path: Path):
    """Tracked at every level, so that the untracked file at the bottom needs the exclusion of every directory above."""
    directory = str(repository(deep_path))
    for _ in range(1500):
        directory += "/d"
        os.mkdir(directory)
    deep = os.path.relpath(directory, deep_path)
    for name in ("tracked.py", "untracked.py"):
        os.close(os.open(f"{directory}/{name}", os.O_CREAT))
    git(deep_path, "add", f"{deep}/tracked.py")

    assert indexed(deep_path) == [f"{deep}/tracked.py", f"{deep}/untracked.py"]


def test_progress_counts_up_to_the_number_of_files(tmp_path: Path):
    for directory in ("a", "b", "c"):
        write(tmp_path, [f"{directory}/{number}" for number in range(PROGRESS_STEP_FILES)])
    reports: list[int] = []

    scan(str(tmp_path), ScanRules(), on_progress=reports.append)

    assert reports == [PROGRESS_STEP_FILES, 2 * PROGRESS_STEP_FILES, 3 * PROGRESS_STEP_FILES, 3 * PROGRESS_STEP_FILES]


def test_a_cancelled_scan_returns_nothing(tmp_path: Path):
    write(tmp_path, ["a/b.py", "c.py"])
    answers = iter([False, True])

    with pytest.raises(ScanCancelled):
        scan(str(tmp_path), ScanRules(), is_cancelled=lambda: next(answers))


def test_a_scan_is_cancelled_while_git_runs(tmp_path: Path, programs: Path):
    root = repository(tmp_path / "root")
    os.mkfifo(programs / "never")
    (programs / "git").write_text(f"#!/bin/sh\nexec cat '{programs}/never'\n")
    (programs / "git").chmod(0o755)

    with pytest.raises(ScanCancelled):
        scan(str(root), ScanRules(), is_cancelled=lambda: True)


def test_a_scan_loads_nothing_heavy():
    program = (
        "import sys, codecompass.scan.walk, codecompass.scan.explain, codecompass.scan.classify;"
        "print(sorted({'trio', 'tantivy', 'tree_sitter', 'sqlite3'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], stdout=subprocess.PIPE, check=True, text=True)

    assert done.stdout == "[]\n"


def test_a_path_below_one_of_many_directories_is_found_by_its_own_depth():
    directories = frozenset({"a", "b/c"})

    assert all(is_below_any(path, directories) for path in ("a/x", "a/b/c/d", "b/c/d", "b/c/d/e"))
    assert not any(is_below_any(path, directories) for path in ("a", "b", "b/c", "ab/x", "b/x", "x", "c/d"))
    assert not is_below_any("a/x", frozenset())

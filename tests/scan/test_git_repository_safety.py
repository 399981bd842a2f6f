"""FIFOs, devices, links and directories under the names of git's own files never block the program."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from codecompass.scan import git_config, rules
from codecompass.scan.git_repository import GitError, find_repository, read_head, repository_at, tracked_files
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan

pytestmark = [
    pytest.mark.invariant("Nothing in a repository, git's own files included, can make the program wait"),
    pytest.mark.usefixtures("git_never_waits"),
]

HANG_SECONDS = 120
"""For what the program itself would wait for."""


def repository(root: Path) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(root)], check=True)
    (root / "a.py").write_text("a = 1\n")
    subprocess.run(["git", "-C", str(root), "add", "."], check=True)
    return root


def put(kind: str, path: Path) -> None:
    """Puts something other than a regular file where one is expected."""
    if path.is_dir() and not path.is_symlink():
        path.rename(path.with_name("moved"))
    path.unlink(missing_ok=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "link to a fifo":
            os.mkfifo(path.parent / "a fifo")
            path.symlink_to("a fifo")
        case "endless device":
            path.symlink_to("/dev/zero")
        case "terminal":
            path.symlink_to("/dev/tty")
        case "loop":
            path.symlink_to(path.name)
        case "directory":
            path.mkdir()
        case "socket":
            os.symlink(path.parent, f"/tmp/s{os.getpid()}")
            try:
                with socket.socket(socket.AF_UNIX) as listener:
                    listener.bind(f"/tmp/s{os.getpid()}/{path.name}")
            finally:
                os.unlink(f"/tmp/s{os.getpid()}")


KINDS = ("fifo", "link to a fifo", "endless device", "terminal", "loop", "directory", "socket")
NAMES = (
    "HEAD", "index", "config", "config.worktree", "commondir", "packed-refs", "info/exclude", "objects/info/alternates",
    "refs/heads/main", "reftable/tables.list", "shallow", "sharedindex.0", "gitdir",
)  # fmt: skip


@pytest.mark.timeout(HANG_SECONDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NAMES)
def test_nothing_in_a_git_directory_is_waited_for(tmp_path, name, kind):
    for place in ("", "nested"):
        put(kind, repository(tmp_path / place) / ".git" / name)

    found = {file.path for file in scan(str(tmp_path), ScanRules()).files}

    assert found == {"a.py", "nested/a.py"}
    read_head(str(tmp_path))
    read_head(str(tmp_path / "nested"))


@pytest.mark.timeout(HANG_SECONDS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "name", [".git", ".gitignore", ".codecompassignore", ".gitattributes", ".gitmodules", "b.py", "CACHEDIR.TAG"]
)
def test_nothing_in_a_work_tree_is_waited_for(tmp_path, name, kind):
    repository(tmp_path)
    for place in ("sub", "sub/inner"):
        put(kind, tmp_path / place / name)
        (tmp_path / place / "a.py").write_text("")

    found = {file.path for file in scan(str(tmp_path), ScanRules()).files}

    # Any entry of this name marks a cache directory.
    assert found - {"sub/a.py", "sub/inner/a.py"} == {"a.py"}


@pytest.mark.timeout(HANG_SECONDS)
@pytest.mark.parametrize("written", ["fifo", "../fifo", '"../fifo"', "regular"])
def test_what_the_configuration_includes_is_not_waited_for(tmp_path, written):
    root = repository(tmp_path / "root")
    os.mkfifo(root / ".git" / "fifo")
    os.mkfifo(root / "fifo")
    (root / ".git" / "regular").write_text(f"[include]\n\tpath = {root}/fifo\n")
    with (root / ".git" / "config").open("a") as config:
        config.write(f"[include]\n\tpath = {written}\n")

    result = scan(str(root), ScanRules())

    assert [file.path for file in result.files] == ["a.py"]
    assert "is not a regular file" in result.warnings[0]


def test_an_ordinary_inclusion_and_a_socket_of_gits_own_are_no_hindrance(tmp_path):
    root = repository(tmp_path)
    (root / "more").write_text("[user]\n\tname = x\n")
    with (root / ".git" / "config").open("a") as config:
        config.write("[include]\n\tpath = ../more\n\tpath = ../missing\n")
    put("socket", root / ".git" / "fsmonitor--daemon.ipc")

    found = find_repository(str(root))

    assert found is not None
    assert tracked_files(found, str(root)) == ("a.py",)


def test_a_configuration_that_includes_without_end_is_refused(tmp_path):
    root = repository(tmp_path)
    for number in range(git_config.MAX_CONFIG_FILES + 5):
        (root / ".git" / f"c{number}").write_text(f"[include]\n\tpath = c{number + 1}\n")
    with (root / ".git" / "config").open("a") as config:
        config.write("[include]\n\tpath = c0\n")

    found = find_repository(str(root))

    assert found is not None
    with pytest.raises(GitError, match="includes more than"):
        tracked_files(found, str(root))


def test_files_of_hostile_size_are_not_given_to_git(tmp_path):
    """Sparse, so that they take no space; git would read all of them."""
    root = repository(tmp_path)
    os.truncate(root / ".git" / "config", 4 << 30)

    result = scan(str(root), ScanRules())

    assert [file.path for file in result.files] == ["a.py"]
    assert "is larger than 1 MiB" in result.warnings[0]


def test_packed_refs_of_any_size_are_read_in_bounded_memory(tmp_path):
    root = repository(tmp_path)
    packed = root / ".git" / "packed-refs"
    packed.write_bytes(b"x" * 1_000_000 + b" refs/heads/main\n" + b"a" * 40 + b" refs/heads/main\n")
    assert read_head(str(root)).ref == "main"
    packed.write_bytes(b"# packed\n" + b"a" * 40 + b" refs/heads/main\n")
    assert read_head(str(root)).commit == "a" * 40
    os.truncate(packed, 8 << 30)
    assert read_head(str(root)).ref == "main"


@pytest.mark.timeout(HANG_SECONDS)
@pytest.mark.parametrize("pointer", [".git", ".", "..", "/", "/dev/zero", "x\0y", "a/" * 2000, "../" * 1300, "\udcff", ""])
def test_a_git_file_that_points_anywhere_ends_the_search(tmp_path, pointer):
    (tmp_path / "sub").mkdir()
    (tmp_path / "a.py").write_text("")
    content = f"gitdir: {pointer}\n".encode("utf-8", "surrogateescape")
    for place in (tmp_path, tmp_path / "sub"):
        (place / ".git").write_bytes(content)

    assert "a.py" in {file.path for file in scan(str(tmp_path), ScanRules()).files}
    read_head(str(tmp_path))
    repository_at(str(tmp_path))


@pytest.mark.timeout(HANG_SECONDS)
@pytest.mark.parametrize("common", [".", "..", "commondir", "x\0y", "/dev/zero", "../" * 1300])
def test_a_common_directory_that_leads_in_circles_ends_the_search(tmp_path, common):
    root = repository(tmp_path)
    (tmp_path / "sub" / "x").mkdir(parents=True)
    (tmp_path / "sub" / ".git").write_text("gitdir: x\n")
    for place in (tmp_path / "sub" / "x", root / ".git"):
        (place / "commondir").write_text(common)

    assert "a.py" in {file.path for file in scan(str(tmp_path), ScanRules()).files}
    read_head(str(tmp_path / "sub"))


def test_git_is_asked_about_a_bounded_number_of_nested_repositories(tmp_path, monkeypatch):
    monkeypatch.setattr(rules, "MAX_NESTED_REPOSITORIES", 3)
    repository(tmp_path)
    for number in range(6):
        repository(tmp_path / f"n{number}")

    result = scan(str(tmp_path), ScanRules())

    assert len(result.repositories) == 4
    assert len(result.files) == 7
    assert any("too many nested repositories" in warning for warning in result.warnings)


def test_the_warnings_of_a_scan_are_bounded(tmp_path):
    for number in range(3 * rules.MAX_WARNINGS):
        (tmp_path / f"d{number}").mkdir()
        os.mkfifo(tmp_path / f"d{number}" / ".gitignore")

    warnings = scan(str(tmp_path), ScanRules()).warnings

    assert len(warnings) == rules.MAX_WARNINGS + 1
    assert warnings[-1] == "further warnings of this scan are left out"

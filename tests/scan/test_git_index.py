"""Blob ids from git's index are returned only for files that have that content."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from codecompass.identity import ObjectFormat, blob_id
from codecompass.scan.git_index import GitBlobs, parse_index, read_git_blobs
from codecompass.scan.rules import ScanRules
from codecompass.scan.walk import scan
from codecompass.store.manifest import blobs_of

pytestmark = pytest.mark.invariant("The blob that git's index names for a file is its content; otherwise none is reported")

FILES = {
    "a.txt": "one\n",
    "src/b.py": "two\n",
    "src/deep/er/c.py": "three\n" * 9,
    "src/deep/er/cd.py": "four\n",
    "names/ünï côdé.txt": "five\n",
    "names/" + "long" * 50 + ".txt": "six\n",
    "names/" + "long" * 50 + "er.txt": "seven\n",
}


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.invalid", "-c", "commit.gpgsign=false"]
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    done = subprocess.run(["git", *identity, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def make(root: Path, files: dict[str, str], *options: str) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", *options)
    write(root, files)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    settle(root)
    return root


def write(root: Path, files: dict[str, str]) -> None:
    for path, content in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(content.encode())


def settle(root: Path) -> None:
    """Makes git's index a second newer than the files in it."""
    index = root / ".git" / "index"
    later = max(path.lstat().st_ctime_ns for path in root.rglob("*")) + 10**9
    os.utime(index, ns=(later, later))


def known(root: Path) -> dict[str, bytes]:
    """Returns the blob ids of the files with known content."""
    found = scan(str(root), ScanRules())
    ids = blobs_of(found.files, read_git_blobs(str(root), found.repositories))
    return {path: each for path, each in ids.items() if each}


def true_ids(root: Path, form: ObjectFormat = "sha1") -> dict[str, bytes]:
    return {path: blob_id((root / path).read_bytes(), form) for path in FILES}


@pytest.mark.parametrize("version", [2, 3, 4])
def test_every_clean_file_is_known_in_every_version_of_the_index(tmp_path, version):
    root = make(tmp_path / "r", FILES)
    if version == 3:  # git writes it where an entry has extended flags
        write(root, {"later.txt": "x"})
        git(root, "add", "--intent-to-add", "later.txt")
    git(root, "update-index", "--index-version", str(version))
    settle(root)
    assert (root / ".git" / "index").read_bytes()[7] == version

    assert known(root) == true_ids(root)


def test_ids_of_a_sha256_repository_are_its_own(tmp_path):
    root = make(tmp_path / "r", FILES, "--object-format=sha256")

    assert known(root) == true_ids(root, "sha256")


def test_what_has_changed_since_or_may_have_is_unknown(tmp_path):
    root = make(tmp_path / "r", FILES)
    before = (root / "a.txt").stat()
    (root / "a.txt").write_bytes(b"ONE\n")
    os.utime(root / "a.txt", ns=(before.st_atime_ns, before.st_mtime_ns))
    assert known(root).keys() == FILES.keys() - {"a.txt"}, "the same size and time, but not the same change time"

    written = max(path.lstat().st_ctime_ns for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    os.utime(root / ".git" / "index", ns=(written, written))
    assert "a.txt" not in known(root), "written just before the index"


def test_what_git_is_told_not_to_look_at_is_unknown(tmp_path):
    root = make(tmp_path / "r", FILES)
    git(root, "update-index", "--assume-unchanged", "a.txt")
    git(root, "update-index", "--skip-worktree", "src/b.py")
    settle(root)

    assert known(root).keys() == FILES.keys() - {"a.txt", "src/b.py"}


def test_git_is_not_asked_about_attributes_where_a_pipe_would_make_it_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    root = make(tmp_path / "r", FILES)
    os.mkfifo(root / "src" / ".gitattributes")
    log, real = tmp_path / "asked", shutil.which("git")
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "git").write_text(f'#!/bin/sh\necho "$@" >> {log}\nexec {real} "$@"\n')
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")

    blobs = read_git_blobs(str(root))

    status = (root / "a.txt").stat()
    stamp = {"size": status.st_size, "mtime_ns": status.st_mtime_ns, "ctime_ns": status.st_ctime_ns, "inode": status.st_ino}
    assert blobs.known("a.txt", **stamp) == b""
    assert "config" in log.read_text()
    assert "check-attr" not in log.read_text()


@pytest.mark.parametrize("where", [".gitattributes", "src/.gitattributes", ".git/info/attributes"])
@pytest.mark.parametrize("attribute", ["filter=other", "working-tree-encoding=latin1"])
def test_a_file_that_a_filter_may_change_is_unknown(tmp_path, where, attribute):
    root = make(tmp_path / "r", FILES)
    write(root, {where: f"b.py {attribute}\n"})

    assert known(root).keys() - {where} == FILES.keys() - {"src/b.py"}


def test_a_conversion_of_line_ends_shows_in_the_size(tmp_path):
    root = make(tmp_path / "r", {**FILES, "crlf.txt": "a\r\nb\r\n", ".gitattributes": "*.txt text eol=lf\n"})

    ids = known(root)

    stored = {path: int(git(root, "cat-file", "-s", each.hex())) for path, each in ids.items()}
    assert {path for path, size in stored.items() if size != (root / path).stat().st_size} == {"crlf.txt"}
    assert all(ids[path] == each for path, each in true_ids(root).items())


def test_a_split_index_is_no_index_and_neither_is_a_damaged_one(tmp_path):
    root = make(tmp_path / "r", FILES)
    whole = (root / ".git" / "index").read_bytes()
    assert parse_index(whole, "sha1") is not None

    for damaged in (b"", whole[:-1], whole[:40], whole[:60] + b"x" + whole[61:], b"X" + whole[1:]):
        assert parse_index(damaged, "sha1") is None
    git(root, "update-index", "--split-index")
    settle(root)
    assert known(root) == {}


def test_a_part_of_a_repository_and_repositories_in_it_are_known_by_their_own_paths(tmp_path):
    root = make(tmp_path / "r", FILES)
    inner = make(root / "src" / "inner", {"i.py": "inner\n"})
    assert inner.is_dir()

    ids = known(root / "src")

    assert ids == {
        **{path.removeprefix("src/"): each for path, each in true_ids(root).items() if path.startswith("src/")},
        "inner/i.py": blob_id(b"inner\n", "sha1"),
    }


def test_without_git_nothing_is_known(tmp_path):
    write(tmp_path, FILES)

    assert known(tmp_path) == {}
    assert GitBlobs().known("a.txt", size=1, mtime_ns=1, ctime_ns=1, inode=1) == b""

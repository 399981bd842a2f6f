"""The wheel and the sdist: the same bytes for everybody, with what is needed and no more."""

import email
import hashlib
import importlib.metadata
import subprocess
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

import codecompass
from release.building import Built, build_reproducibly, require_same_bytes
from release.checksums import write_checksums
from release.source import Commit, ReleaseError, read_commit
from tests.conftest import tool

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
BUILD_GROUP = pytest.mark.xdist_group("release")


def _git(repository: Path, *arguments: str) -> str:
    command = [tool("git"), "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of this working tree that git would track, as a repository of its own with one commit."""
    copy = tmp_path_factory.mktemp("release") / "repository"
    if (ROOT / ".git").exists():
        names = _git(ROOT, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--", ".", ":!tests/testdata").split(
            "\0"
        )
    else:
        pytest.skip("the list of tracked files is git's")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            (copy / name).write_bytes((ROOT / name).read_bytes())
    _git(copy, "init", "--quiet")
    _git(copy, "add", "--all")
    _git(copy, "commit", "--quiet", "-m", "all", "--date=2026-01-02T03:04:05Z")
    return copy


@pytest.fixture(scope="module")
def commit(repository: Path) -> Commit:
    return read_commit(repository)


@pytest.fixture(scope="module")
def built(repository: Path, commit: Commit, tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build_reproducibly(repository, commit, tmp_path_factory.mktemp("dist"))


@BUILD_GROUP
def test_the_wheel_has_the_tracked_files_of_the_package_and_its_metadata_and_nothing_else(built: Built, repository: Path):
    wanted = set(_git(repository, "ls-files", "-z", "--", "codecompass").split("\0")) - {""}
    metadata = {
        f"codecompass-{codecompass.__version__}.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "entry_points.txt")
    }
    licence = f"codecompass-{codecompass.__version__}.dist-info/licenses/LICENSE"

    names = set(zipfile.ZipFile(built.wheel).namelist())

    assert names == wanted | metadata | {licence}


@BUILD_GROUP
@pytest.mark.parametrize(
    "needed",
    [
        "codecompass/py.typed",
        "codecompass/query/words/lexicon.bin",
        "codecompass/query/words/lexicon.license.txt",
        "codecompass/transport/ui/static/style.css",
        "codecompass/transport/ui/static/icon.svg",
        "codecompass/transport/ui/templates/base.html",
    ],
)
def test_the_wheel_has_what_is_read_at_run_time_besides_modules(built: Built, needed: str):
    assert needed in zipfile.ZipFile(built.wheel).namelist()


@BUILD_GROUP
def test_the_wheel_has_no_compiled_file_no_test_and_no_benchmark(built: Built):
    names = zipfile.ZipFile(built.wheel).namelist()

    assert {name.split("/")[0] for name in names} == {"codecompass", f"codecompass-{codecompass.__version__}.dist-info"}
    assert not [name for name in names if name.endswith(".pyc")]


@BUILD_GROUP
def test_the_sdist_has_what_make_test_needs_and_nothing_that_git_ignores(built: Built):
    top = f"codecompass-{codecompass.__version__}"
    with tarfile.open(built.sdist) as archive:
        names = {name.removeprefix(f"{top}/") for name in archive.getnames()}

    for needed in (
        "Makefile",
        "constraints.txt",
        "pyproject.toml",
        "LICENSE",
        "CHANGELOG.md",
        "tests/conftest.py",
        "release/notes.py",
    ):
        assert needed in names
    assert not [name for name in names if ".venv" in name or name.endswith(".pyc")]


@BUILD_GROUP
def test_files_in_the_wheel_have_the_time_of_the_commit_and_the_usual_mode(built: Built, commit: Commit):
    entries = zipfile.ZipFile(built.wheel).infolist()

    assert len({entry.date_time for entry in entries}) == 1
    assert {entry.external_attr >> 16 & 0o777 for entry in entries} == {0o644}
    with tarfile.open(built.sdist) as archive:
        assert {member.mtime for member in archive.getmembers()} == {commit.seconds}


@BUILD_GROUP
def test_the_program_its_metadata_and_the_wheel_have_one_version(built: Built):
    with zipfile.ZipFile(built.wheel) as archive:
        name = f"codecompass-{codecompass.__version__}.dist-info/METADATA"
        told = email.message_from_bytes(archive.read(name))

    assert told["Version"] == codecompass.__version__ == PROJECT["version"]
    assert importlib.metadata.version("codecompass") == codecompass.__version__
    assert told["License-Expression"] == "MIT"


def test_files_with_other_bytes_are_not_released(tmp_path: Path):
    for place, content in (("a", b"1"), ("b", b"2")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "x.whl").write_bytes(content)

    require_same_bytes(tmp_path / "a/x.whl", tmp_path / "a/x.whl", "here")
    with pytest.raises(ReleaseError, match=r"x\.whl is not reproducible"):
        require_same_bytes(tmp_path / "a/x.whl", tmp_path / "b/x.whl", "here")


def test_a_release_is_of_what_is_committed(repository: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    _git(tmp_path, "clone", "--quiet", str(repository), str(copy))
    (copy / "README.md").write_text("changed")
    (copy / "codecompass/untracked.py").write_text("")

    assert read_commit(copy).changed == ("README.md",)
    with pytest.raises(ReleaseError, match="git show"):
        read_commit(tmp_path)


def test_sha256sum_accepts_the_checksums(tmp_path: Path):
    for name in ("b.whl", "a.tar.gz"):
        (tmp_path / name).write_text(name)

    sums = write_checksums([tmp_path / "b.whl", tmp_path / "a.tar.gz"], tmp_path)

    assert sums.read_text().splitlines()[0] == f"{hashlib.sha256(b'a.tar.gz').hexdigest()}  a.tar.gz"
    done = subprocess.run([tool("sha256sum"), "--check", "--strict", sums.name], cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr

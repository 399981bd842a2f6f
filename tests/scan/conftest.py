import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from codecompass.scan import git_process


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A temporary directory that other users can access; pytest's own are accessible only to the owner."""
    directory = Path(tempfile.mkdtemp()).resolve()
    directory.chmod(0o755)
    yield directory
    for path in directory.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(directory)


@pytest.fixture
def deep_path(tmp_path: Path) -> Iterator[Path]:
    """A directory for trees too deep for `shutil.rmtree`, which pytest uses to clean up and which is recursive before 3.13."""
    directory = tmp_path / "deep"
    directory.mkdir()
    yield directory
    subprocess.run(["rm", "-rf", str(directory)], check=True)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory at the front of PATH, for fake programs."""
    directory = tmp_path / "programs"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory), prepend=":")
    return directory


@pytest.fixture
def git_never_waits(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fails a test in which a git command was ended at its deadline: something made git wait."""
    ended: list[str] = []

    class Noted(git_process.GitTimedOut):
        def __init__(self, message: str) -> None:
            ended.append(message)
            super().__init__(message)

    monkeypatch.setattr(git_process, "GitTimedOut", Noted)
    yield
    assert ended == []

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture
def open_path() -> Iterator[Path]:
    """A temporary directory that another user can reach; pytest's own are closed to all but the owner."""
    directory = Path(tempfile.mkdtemp()).resolve()
    directory.chmod(0o755)
    yield directory
    for path in directory.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
    shutil.rmtree(directory)


@pytest.fixture
def deep_path(tmp_path: Path) -> Iterator[Path]:
    """A directory for trees too deep for `shutil.rmtree`, with which pytest cleans up: it recurses until 3.13."""
    directory = tmp_path / "deep"
    directory.mkdir()
    yield directory
    subprocess.run(["rm", "-rf", str(directory)], check=True)


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory in front of PATH, for programs of the test's own."""
    directory = tmp_path / "programs"
    directory.mkdir()
    monkeypatch.setenv("PATH", str(directory), prepend=":")
    return directory

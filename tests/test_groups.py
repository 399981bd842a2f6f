"""Tests of one group run in one process: they mount, load the machine, or share nodes that are started once."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import SLOW_FOLDERS

MODULE = """
import os
import pathlib
import pytest

@pytest.mark.parametrize("number", range(10))
@pytest.mark.xdist_group("together")
def test_grouped(number):
    pathlib.Path(__file__).with_name(f"ran-in-{os.environ['PYTEST_XDIST_WORKER']}").touch()
"""


def test_every_folder_of_slow_tests_exists() -> None:
    """One that was renamed would run in `make test` without anybody noticing."""
    assert [name for name in SLOW_FOLDERS if not (Path(__file__).parent / name).is_dir()] == []


@pytest.mark.slow
def test_a_group_runs_in_one_process_though_there_are_several(tmp_path: Path) -> None:
    for name in ("test_one.py", "test_other.py"):
        (tmp_path / name).write_text(MODULE)
    (tmp_path / "pytest.ini").touch()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}

    # With its own base directory; otherwise it would remove those of other runs.
    options = ["-p", "no:cacheprovider", "--basetemp", str(tmp_path / "base"), "--numprocesses", "2", "--dist", "loadgroup"]
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options],
        cwd=tmp_path,
        env=environment,
        check=True,
        timeout=120,
        capture_output=True,
    )

    assert len(list(tmp_path.glob("ran-in-*"))) == 1

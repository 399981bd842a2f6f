"""Which Pythons a release is checked on."""

import subprocess
import sys
from pathlib import Path

import pytest

from release.interpreters import interpreters, supported_versions

ROOT = Path(__file__).parents[2]
MINE = f"{sys.version_info[0]}.{sys.version_info[1]}"


def _put(directory: Path, name: str, text: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    (directory / name).write_text(text)
    (directory / name).chmod(0o755)
    return directory / name


def _link(version: str) -> str:
    return f'#!/bin/sh\n# A {version}.\nexec {sys.executable} "$@"\n'


def test_the_versions_are_those_of_the_classifiers():
    assert supported_versions(ROOT / "pyproject.toml") == ("3.11", "3.12", "3.13", "3.14")


def test_an_interpreter_on_the_path_is_found_under_its_own_or_a_general_name(tmp_path: Path):
    _put(tmp_path, "python3", _link(MINE))

    assert interpreters((MINE, "3.99"), {"PATH": str(tmp_path)}) == {MINE: sys.executable}


def test_one_that_pyenv_has_installed_without_selecting_it_is_found(tmp_path: Path):
    """The names that pyenv puts on the PATH do not run then."""
    _put(tmp_path / "shims", f"python{MINE}", "#!/bin/sh\nexit 127\n")
    _put(tmp_path / f"versions/{MINE}.7/bin", f"python{MINE}", _link(MINE))

    found = interpreters((MINE,), {"PATH": str(tmp_path / "shims"), "PYENV_ROOT": str(tmp_path)})

    assert found == {MINE: sys.executable}


@pytest.mark.parametrize("text", ["#!/bin/sh\nexit 127\n", "#!/bin/sh\necho '[[3, 9], \"/x\"]'\n"])
def test_a_name_that_does_not_run_or_is_another_version_is_passed_over(tmp_path: Path, text: str):
    program = _put(tmp_path, f"python{MINE}", text)
    assert subprocess.run([program], check=False, capture_output=True).returncode in (0, 127)

    assert interpreters((MINE,), {"PATH": str(tmp_path), "HOME": str(tmp_path)}) == {}

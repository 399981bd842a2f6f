"""The workflow of continuous integration runs the commands of README.md on the systems and Pythons that we support."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from release.interpreters import supported_versions

ROOT = Path(__file__).parents[2]
# YAML 1.1 reads the word `on` as a truth value.
WORKFLOW: dict[Any, Any] = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text(encoding="utf-8"))
JOBS: dict[str, Any] = WORKFLOW["jobs"]
VERSIONS = supported_versions(ROOT / "pyproject.toml")
README = (ROOT / "README.md").read_text(encoding="utf-8")


def _runs(job: str) -> list[str]:
    return [step["run"] for step in JOBS[job]["steps"] if "run" in step]


def _matrix(job: str) -> dict[str, list[str]]:
    matrix: dict[str, list[str]] = JOBS[job]["strategy"]["matrix"]
    return matrix


def test_the_pythons_are_those_of_the_classifiers():
    assert tuple(_matrix("pythons")["python"]) == VERSIONS
    setup = next(step for step in JOBS["release"]["steps"] if "setup-python" in step.get("uses", ""))
    assert tuple(setup["with"]["python-version"].split()) == VERSIONS


def test_macos_has_the_oldest_and_the_newest_python():
    assert JOBS["macos"]["runs-on"].startswith("macos-")
    assert tuple(_matrix("macos")["python"]) == (VERSIONS[0], VERSIONS[-1])


def test_the_systems_are_two_of_debian_and_one_of_ubuntu_without_anything_but_what_the_readme_names():
    assert _matrix("systems")["image"] == ["debian:12", "debian:13", "ubuntu:24.04"]
    needed = next(run for run in _runs("systems") if "apt-get" in run).split("--no-install-recommends ")[1].split()
    assert needed == ["ca-certificates", "git", "make", "python3", "python3-venv"]
    assert "git, make and Python 3.11 or later (on Debian and Ubuntu also its package `python3-venv`)" in README


@pytest.mark.parametrize("job", ["systems", "pythons", "macos"])
def test_each_system_runs_the_two_commands_of_the_readme(job: str):
    commands = re.findall(r"^\$ (make \w+)(?: +#.*)?$", README.split("## Two commands")[1].split("##")[0], re.MULTILINE)

    assert commands == ["make demo", "make test"]
    assert [" ".join(run.split()[:2]) for run in _runs(job) if run.startswith("make ")] == commands


def test_what_is_run_exists():
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    runs = [run for job in JOBS for run in _runs(job)]

    assert {run.split()[1] for run in runs if run.startswith("make ")} <= targets
    assert ".ci/run" in runs
    assert (ROOT / ".ci/run").stat().st_mode & 0o111


@pytest.mark.parametrize("job", JOBS)
def test_no_job_runs_for_ever_or_may_write(job: str):
    assert 0 < JOBS[job]["timeout-minutes"] <= 180
    assert WORKFLOW["permissions"] == {"contents": "read"}
    assert "permissions" not in JOBS[job]


@pytest.mark.parametrize("job", JOBS)
def test_values_of_an_event_are_never_a_part_of_a_shell_command(job: str):
    """A branch may be named like a command. What is in a command comes from the lists of this file alone."""
    for run in _runs(job):
        assert set(re.findall(r"\$\{\{ *([\w.-]+) *\}\}", run)) <= {f"matrix.{name}" for name in ("image", "python")}

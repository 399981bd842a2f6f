"""A real repository and its index, and the older client, created once for all tests here."""

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.blackbox.truth import Question, questions
from tests.support.environments import OLDER_CLIENT, python_with
from tests.support.processes import ROOT
from tests.support.served import COMMAND, environment


class Place:
    """A directory for the data, with a repository in it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "project"


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Place:
    """CodeCompass's own source as a repository, indexed by the command."""
    place = Place(tmp_path_factory.mktemp("place").resolve())
    shutil.copytree(ROOT / "codecompass", place.root / "codecompass", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([COMMAND, "index", str(place.root)], env=environment(place.base), check=True, capture_output=True, timeout=120)
    return place


@pytest.fixture(scope="session")
def asked(place) -> list[Question]:
    """Questions about the repository, with checks of their answers."""
    return questions(place.root)


@pytest.fixture(scope="session")
def old_python() -> str:
    """The Python interpreter of an environment with the 1.x client."""
    return str(python_with(OLDER_CLIENT))

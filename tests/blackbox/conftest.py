"""A real repository and its index, and an older client, made once for all tests here."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import venv
from pathlib import Path

import platformdirs
import pytest

from tests.blackbox.truth import Question, questions
from tests.support.processes import ROOT
from tests.support.served import COMMAND, environment

OLD_CLIENT = "mcp==1.30.0"
"""The newest of the 1.x clients, which hosts of the handshake era are built on."""


class Place:
    """A directory for a home, with a repository beside it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.root = base / "project"


@pytest.fixture(scope="session")
def place(tmp_path_factory) -> Place:
    """The program's own source as a repository, indexed by the command."""
    place = Place(tmp_path_factory.mktemp("place").resolve())
    shutil.copytree(ROOT / "codecompass", place.root / "codecompass", ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run([COMMAND, "index", str(place.root)], env=environment(place.base), check=True, capture_output=True, timeout=120)
    return place


@pytest.fixture(scope="session")
def asked(place) -> list[Question]:
    """Questions about the repository whose answers are known."""
    return questions(place.root)


@pytest.fixture(scope="session")
def old_python(tmp_path_factory) -> str:
    """The Python of an environment that has the 1.x client; kept in the user's cache for the next run.

    Skips where it cannot be made, except in CI.
    """
    name = hashlib.sha256(f"{OLD_CLIENT} {sys.version}".encode()).hexdigest()[:16]
    cache = platformdirs.user_cache_path("codecompass-tests", ensure_exists=True)
    made = cache / name
    with (cache / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (made / ".ready").exists():
            shutil.rmtree(made, ignore_errors=True)
            venv.create(made, with_pip=True)
            install = [made / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", OLD_CLIENT]
            done = subprocess.run(install, capture_output=True, text=True, timeout=240, check=False)
            if done.returncode:
                if os.environ.get("CODECOMPASS_REQUIRE_TOOLS"):
                    pytest.fail(f"{OLD_CLIENT} is required here: {done.stderr}")
                pytest.skip(f"{OLD_CLIENT} cannot be installed: {done.stderr}")
            (made / ".ready").touch()
    return str(made / "bin" / "python")

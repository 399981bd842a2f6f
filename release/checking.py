"""Installs what was built into environments with nothing else in them, and uses it there."""

import json
import os
import shutil
import subprocess
import zipfile
from pathlib import Path

from release.building import Built
from release.source import ReleaseError

INSTALL_SECONDS = 900
COMMAND_SECONDS = 120
SAMPLE = "def greet_everybody():\n    return 'hello'\n"
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "release", "version": "1"}},
}


def make_environment(interpreter: str, place: Path) -> Path:
    """Makes a virtual environment with pip alone and returns its directory."""
    _run([interpreter, "-m", "venv", str(place)], INSTALL_SECONDS)
    return place


def install_wheel(environment: Path, wheel: Path, version: str) -> None:
    """Installs the wheel with its dependencies, as an index would give it: nothing in the environment names our directory."""
    requirement = f"codecompass=={version}"
    _pip(environment, "install", "--no-deps", "--no-index", "--find-links", str(wheel.parent), requirement)
    _pip(environment, "install", requirement)  # is there already, so only its dependencies are installed


def install_sdist(environment: Path, sdist: Path) -> None:
    """Builds the sdist as a user's pip does, and installs it with its dependencies."""
    _pip(environment, "install", str(sdist))


def check_environment(environment: Path, version: str, scratch: Path) -> None:
    """Uses the program that is installed: its version, a first index, a search, and the first message of a host.

    Raises ReleaseError for the first thing that is not right.
    """
    _pip(environment, "check")
    program = str(environment / "bin" / "codecompass")
    home, project = scratch / "home", scratch / "project"
    (project / ".git").mkdir(parents=True)
    (project / "greeting.py").write_text(SAMPLE, encoding="utf-8")
    variables = {"CODECOMPASS_HOME": str(home)}
    _require(_run([program, "--version"], COMMAND_SECONDS, variables), f"codecompass {version}")
    metadata = "import importlib.metadata; print(importlib.metadata.version('codecompass'))"
    _require(_run([str(environment / "bin" / "python"), "-c", metadata], COMMAND_SECONDS), version)
    _require(_run([program, "index"], COMMAND_SECONDS, variables, project), "1 file")
    _require(_run([program, "search", "greet everybody"], COMMAND_SECONDS, variables, project), "greeting.py:1")
    serve = [program, "serve-mcp", "--workspace", str(project)]
    require_first_answer(serve, version, variables)


def check_bundle(bundle: Path, version: str, scratch: Path) -> None:
    """Unpacks the bundle and sends its server the first message of a host, started as the manifest says, if uv is installed."""
    uv = shutil.which("uv")
    if uv is None:
        print(f"not started: {bundle.name}, because uv is not installed", flush=True)
        return
    place, project = scratch / "unpacked", scratch / "project"
    project.mkdir(parents=True)
    with zipfile.ZipFile(bundle) as archive:
        archive.extractall(place)
    launch = json.loads((place / "manifest.json").read_text(encoding="utf-8"))["server"]["mcp_config"]
    values = {"${__dirname}": str(place), "${user_config.project}": str(project)}
    command = [uv, *(values.get(word, word) for word in launch["args"])]
    variables = {"CODECOMPASS_HOME": str(scratch / "home")}
    require_first_answer(command, version, variables)
    print(f"checked {bundle.name} with uv", flush=True)


def require_first_answer(command: list[str], version: str, variables: dict[str, str]) -> None:
    """Raises ReleaseError unless the server of a command says that it is of this version."""
    answer = _run(command, INSTALL_SECONDS, variables, given=json.dumps(INITIALIZE) + "\n")
    _require(json.loads(answer)["result"]["serverInfo"]["version"], version)


def check_built(built: Built, version: str, interpreters: dict[str, str], scratch: Path) -> Path:
    """Checks the wheel on each interpreter, and the sdist on the first. Returns the environment of the first wheel."""
    environments = []
    for number, interpreter in interpreters.items():
        environment = make_environment(interpreter, scratch / f"wheel-{number}")
        install_wheel(environment, built.wheel, version)
        check_environment(environment, version, scratch / f"use-{number}")
        environments.append(environment)
        print(f"checked {built.wheel.name} on Python {number}", flush=True)
    number, interpreter = next(iter(interpreters.items()))
    from_sdist = make_environment(interpreter, scratch / "sdist")
    install_sdist(from_sdist, built.sdist)
    check_environment(from_sdist, version, scratch / "use-sdist")
    print(f"checked {built.sdist.name} on Python {number}", flush=True)
    return environments[0]


def _require(told: str, wanted: str) -> None:
    if wanted not in told:
        raise ReleaseError(f"expected {wanted!r} in {told.strip()!r}")


def _pip(environment: Path, *arguments: str) -> str:
    python = str(environment / "bin" / "python")
    return _run([python, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments], INSTALL_SECONDS)


def _run(
    command: list[str], seconds: int, variables: dict[str, str] | None = None, place: Path | None = None, given: str | None = None
) -> str:
    # A PYTHONPATH, or the virtual environment that this runs in, would make a missing dependency go unnoticed.
    inherited = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    done = subprocess.run(
        command,
        cwd=place,
        env=inherited | (variables or {}),
        input=given if given is not None else "",
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    if done.returncode:
        raise ReleaseError(f"{' '.join(command)}: exit {done.returncode}: {(done.stderr or done.stdout).strip()}")
    return done.stdout

"""The Pythons of this machine that the program supports, one of each version."""

import json
import os
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

PREFIX = "Programming Language :: Python :: "
PROBE = "import ensurepip, sys, json; print(json.dumps([list(sys.version_info[:2]), sys.executable]))"
PROBE_SECONDS = 30


def supported_versions(pyproject: Path) -> tuple[str, ...]:
    """Returns the versions that the classifiers of a project name, such as `3.11`, in their order."""
    classifiers = tomllib.loads(pyproject.read_text(encoding="utf-8"))["project"]["classifiers"]
    named = (each.removeprefix(PREFIX) for each in classifiers if each.startswith(PREFIX))
    return tuple(version for version in named if version.replace(".", "").isdigit() and "." in version)


def interpreters(versions: tuple[str, ...], environment: Mapping[str, str]) -> dict[str, str]:
    """Returns the path of an interpreter for each version that this machine has one of that makes virtual environments.

    Found on the PATH, else among those that pyenv has installed without selecting them.
    """
    found: dict[str, str] = {}
    for version in versions:
        for candidate in _candidates(version, environment):
            path = _runs(candidate, version)
            if path is not None:
                found[version] = path
                break
    return found


def _candidates(version: str, environment: Mapping[str, str]) -> list[str]:
    name = f"python{version}"
    root = Path(environment.get("PYENV_ROOT") or Path(environment.get("HOME", "/")) / ".pyenv")
    on_path = [shutil.which(each, path=environment.get("PATH", os.defpath)) for each in (name, "python3", "python")]
    unselected = sorted(root.glob(f"versions/{version}*/bin/{name}"), reverse=True)
    return [*(each for each in on_path if each), *map(str, unselected)]


def _runs(candidate: str, version: str) -> str | None:
    try:
        done = subprocess.run([candidate, "-c", PROBE], capture_output=True, timeout=PROBE_SECONDS, check=True)
    except (OSError, subprocess.SubprocessError):
        return None
    told, path = json.loads(done.stdout)
    return str(path) if ".".join(map(str, told)) == version else None

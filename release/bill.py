"""The software bill of materials (CycloneDX JSON): what an installation of the wheel consists of."""

import json
import re
import subprocess
import sys
import zipfile
from email import message_from_bytes
from pathlib import Path

from release.source import ReleaseError

SPECIFICATION = "1.6"
SECONDS = 300
TOOLS_OF_ENVIRONMENTS = ("pip", "setuptools")
"""What is in a new environment without being a part of the product."""


def write_bill(environment: Path, pyproject: Path, target: Path) -> None:
    """Writes what is installed in an environment, which loses its own pip by that. It is validated against its schema.

    The same environment gives the same bytes. Raises ReleaseError if the tool refuses.
    """
    python = str(environment / "bin" / "python")
    _run([sys.executable, "-m", "pip", "--python", python, "uninstall", "--quiet", "--yes", *TOOLS_OF_ENVIRONMENTS])
    options = ["--pyproject", str(pyproject), "--mc-type", "application", "--output-reproducible", "--validate"]
    output = ["--spec-version", SPECIFICATION, "--output-format", "JSON", "--output-file", str(target)]
    _run([sys.executable, "-m", "cyclonedx_py", "environment", *options, *output, python])


def require_complete(bill: Path, wheel: Path, version: str) -> None:
    """Raises ReleaseError if the bill is of another version, misses a direct dependency, or names a directory of this machine."""
    text = bill.read_text(encoding="utf-8")
    told = json.loads(text)
    product = told["metadata"]["component"]
    if (product["name"], product["version"]) != ("codecompass", version):
        raise ReleaseError(f"the bill of materials is of {product['name']} {product['version']}")
    listed = {_normalised(component["name"]) for component in told.get("components", ())}
    missing = sorted(direct_dependencies(wheel) - listed)
    if missing:
        raise ReleaseError(f"the bill of materials misses {', '.join(missing)}")
    if "file://" in text:
        raise ReleaseError("the bill of materials names a directory of this machine")


def direct_dependencies(wheel: Path) -> set[str]:
    """Returns the normalised names of what the wheel needs on every system, without extras."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        required = message_from_bytes(archive.read(name)).get_all("Requires-Dist", [])
    return {_normalised(re.split(r"[^A-Za-z0-9._-]", each, maxsplit=1)[0]) for each in required if ";" not in each}


def _normalised(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode:
        raise ReleaseError(f"{' '.join(command[1:4])}: {(done.stderr or done.stdout).strip()}")

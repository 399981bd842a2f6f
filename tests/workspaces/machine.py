"""A user's machine with projects, and the real server on it: `codecompass serve-mcp` with the official client.

Every server is a separate process. All data, settings and projects are below one directory.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import trio

from codecompass.identity import project_id
from codecompass.settings import MAX_TIMEOUT_MS
from codecompass.store.job_log import JobLog
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import Project, open_registry
from tests.support.commands import run_in_process
from tests.support.waiting import until

DEADLINE_SECONDS = 120
WAIT_SECONDS = 120
POLL_SECONDS = 0.02

PATIENT = {"CODECOMPASS_QUERY_FIRST_ANSWER_WAIT_MS": "600000", "CODECOMPASS_QUERY_FILES_ANSWER_AFTER_MS": "600000"}
"""Makes a server answer a first question from the index, however long a busy machine takes for it."""

PROGRAM = (sys.executable, "-m", "codecompass")


class Answer:
    """A tool's answer: `json` is its decoded text, `code` its error code, empty on success."""

    def __init__(self, result) -> None:
        assert len(result.content) == 1
        self.text: str = result.content[0].text
        self.json: dict[str, Any] = json.loads(self.text)
        self.code = self.json["error"]["code"] if result.is_error else ""
        assert bool(self.code) == ("error" in self.json)

    @property
    def metadata(self) -> dict[str, Any]:
        return self.json["metadata"]

    @property
    def message(self) -> str:
        return self.json["error"]["message"]

    @property
    def names(self) -> set[str]:
        return {hit["name"] for hit in self.json["results"] if "name" in hit}

    @property
    def paths(self) -> set[str]:
        return {hit["path"] for hit in self.json["results"]}


class Desk:
    """A client with its server."""

    def __init__(self, client, pid_file: Path, log: Path) -> None:
        self.client = client
        self.log = log
        self._pid_file = pid_file

    @property
    def pid(self) -> int:
        return int(self._pid_file.read_text())

    async def call(self, tool: str, **arguments) -> Answer:
        """Calls a tool; arguments may be of type Path."""
        given = {name: str(value) if isinstance(value, Path) else value for name, value in arguments.items()}
        with trio.fail_after(DEADLINE_SECONDS):
            return Answer(await self.client.call_tool(tool, given))

    async def find(self, name: str, **arguments) -> Answer:
        """Locates a symbol."""
        return await self.call("locate_symbol", name=name, **arguments)

    async def until(self, accept, tool: str, *, seconds: float = WAIT_SECONDS, **arguments) -> Answer:
        """Calls a tool until its answer is accepted. Polls, because the server is another process."""
        answer = None
        with trio.move_on_after(seconds):
            while True:
                answer = await self.call(tool, **arguments)
                if accept(answer):
                    return answer
                await trio.sleep(POLL_SECONDS)
        raise AssertionError(f"not within {seconds} s; last: {None if answer is None else answer.text[:2000]}")

    async def ready(self, name: str, **arguments) -> Answer:
        """Locates a symbol until the index that answers is complete."""
        return await self.until(
            lambda answer: not answer.code and answer.metadata["indexing_status"] == "ready",
            "locate_symbol",
            name=name,
            **arguments,
        )

    async def jobs(self, **arguments) -> list[dict[str, Any]]:
        """Returns the recent jobs, the last one first, once all have ended: an answer does not wait for the end of the job that
        published it."""
        answer = await self.until(
            lambda answer: not {"queued", "running"} & {job["status"] for job in answer.json["recent_jobs"]},
            "index_status",
            **arguments,
        )
        return answer.json["recent_jobs"]

    async def health(self) -> dict[str, Any]:
        return (await self.call("health_check")).json

    def stop(self) -> None:
        """Suspends the process until `go_on`."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        os.kill(self.pid, signal.SIGCONT)

    def kill(self) -> None:
        """Kills the process, as the system does when memory runs out."""
        os.kill(self.pid, signal.SIGKILL)


class Machine:
    """The data, settings and projects of a user, below one directory."""

    def __init__(self, base: Path) -> None:
        self.base = Path(os.path.realpath(base))
        self.home = HomeLayout(self.base / "data")
        self.user = self.base / "user"
        self.dev = self.base / "dev"
        self.user.mkdir()
        self.dev.mkdir()
        self._n_servers = 0
        self.program = PROGRAM
        path = {"PYTHONPATH": os.environ["PYTHONPATH"]} if "PYTHONPATH" in os.environ else {}
        self.environment = {
            **path,
            **{
                name: value
                for name, value in os.environ.items()
                if not name.startswith(("CODECOMPASS_", "WORKFLOW_", "CLAUDE_", "GIT_", "PYTHON"))
            },
            "CODECOMPASS_HOME": str(self.home.root),
            "CODECOMPASS_INDEX_WORKERS": "1",
            # A busy machine must not change an answer.
            "CODECOMPASS_QUERY_TIMEOUT_MS": str(MAX_TIMEOUT_MS),
            "CODECOMPASS_QUERY_FRESHNESS_WAIT_MS": "60000",
            "HOME": str(self.user),
            "XDG_CONFIG_HOME": str(self.user / "config"),
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_CONFIG_SYSTEM": os.devnull,
            "GIT_CEILING_DIRECTORIES": str(self.base),
        }

    # Projects.

    def project(
        self, name: str, files: Mapping[str, str] | None = None, *, below: Path | None = None, marker: bool = True
    ) -> Path:
        """Creates a project with one function that no other has, named after it."""
        root = (below or self.dev) / name
        own = {"src/main.py": f"def {word(root)}():\n    return 1\n"}
        for path, text in {**own, **(files or {})}.items():
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
        if marker:
            (root / "pyproject.toml").write_text("")
        return root

    def register(self, root: Path, *, alias: str | None = None, is_default: bool = False) -> Project:
        """Registers a project as `codecompass init` does."""
        with open_registry(self.home) as registry:
            return registry.adopt(registry.register(root).project_id, alias=alias, as_default=is_default)

    def projects(self) -> dict[Path, Project]:
        with open_registry(self.home) as registry:
            return {project.root: project for project in registry.projects()}

    def heavy(self, name: str, n_files: int = 30) -> Path:
        """Creates a project that takes some tenths of a second to index; with 100 files its text is searchable much earlier."""
        body = "\n\n".join(f"def part_{number}(value):\n    return value + {number}" for number in range(1000))
        return self.project(name, {f"lib/m{number:03}.py": body for number in range(n_files)})

    async def wait_job(self, root: Path) -> str:
        """Returns the id of the job running in a project, as soon as the registry shows it."""

        def running() -> str | None:
            with open_registry(self.home) as registry:
                job = JobLog(registry).active(project_id(root))
            return job.job_id if job is not None and job.status == "running" else None

        return await until(running, seconds=WAIT_SECONDS)

    def obstruct(self, root: Path) -> None:
        """Makes indexing of a project impossible, even for root."""
        layout = self.home.project(project_id(root))
        layout.root.parent.mkdir(parents=True, exist_ok=True)
        layout.root.write_text("a file where a directory has to be")

    def unblock(self, root: Path) -> None:
        self.home.project(project_id(root)).root.unlink()

    # The program.

    def run(self, *arguments: str | Path, cwd: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
        """Runs a command to completion, in this process."""
        done = run_in_process(arguments, {**self.environment, **variables}, cwd or self.user)
        return subprocess.CompletedProcess(list(map(str, arguments)), done.code, done.out, done.err)

    def index(self, root: Path, *options: str) -> None:
        done = self.run("index", *options, "--workspace", root)
        assert done.returncode == 0, done.stderr

    def start(
        self, *arguments: str | Path, cwd: Path | None = None, stderr: int = subprocess.DEVNULL, **variables: str
    ) -> subprocess.Popen[bytes]:
        """Starts a command without waiting for it. The caller ends it."""
        return subprocess.Popen(
            [*PROGRAM, *map(str, arguments)],
            cwd=cwd or self.user,
            env={**self.environment, **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=stderr,
        )

    @asynccontextmanager
    async def serve(
        self,
        *flags: str | Path,
        cwd: Path | None = None,
        roots: Sequence[str] | None = None,
        mode: str = "legacy",
        program: tuple[str, ...] = PROGRAM,
        **variables: str,
    ) -> AsyncIterator[Desk]:
        """Yields a client connected to a new server. `roots` are the URIs with which it answers `roots/list`."""
        from mcp import Client, StdioServerParameters, stdio_client
        from mcp.client import stdio
        from mcp.types import ListRootsResult, Root

        self._n_servers += 1
        pid_file = self.base / f"server-{self._n_servers}.pid"
        log = self.base / f"server-{self._n_servers}.log"
        command = ["serve-mcp", "--log-file", str(log), "--log-level", "info", *map(str, flags)]
        parameters = StdioServerParameters(
            command="/bin/sh",
            args=["-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), *program, *command],
            env={**self.environment, **variables},
            cwd=cwd or self.user,
        )

        async def name_roots(_context):
            return ListRootsResult(roots=[Root(uri=uri) for uri in roots or ()])

        callback = {} if roots is None else {"list_roots_callback": name_roots}
        with (
            (self.base / "stderr.txt").open("a") as errors,
            # The client kills a server that has not ended after two seconds, which a busy one may need for its last writes.
            mock.patch.object(stdio, "PROCESS_TERMINATION_TIMEOUT", DEADLINE_SECONDS),
        ):
            async with Client(stdio_client(parameters, errlog=errors), mode=mode, **callback) as client:
                yield Desk(client, pid_file, log)


def word(root: Path) -> str:
    """Returns the name of the function that only the project at `root` has."""
    return f"only_in_{root.name.replace('-', '_')}"

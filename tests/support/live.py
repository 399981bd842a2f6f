"""Runs the real command in a separate process with its own home directory, over HTTP or stdio."""

import os
import random
import socket
import subprocess
import sys
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from tests.support.commands import run_in_process
from tests.support.workspace import TestWorkspace

START_SECONDS = 60
"""Seconds; generous, for a busy machine."""

END_SECONDS = 60

PORTS = (11_000, 30_000)
PORT_ATTEMPTS = 100


def environment(home: Path, **variables: str) -> dict[str, str]:
    """Returns a process environment without the user's configuration."""
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("CODECOMPASS_", "WORKFLOW_", "CLAUDE_", "GIT_"))
    }
    return {
        **kept,
        "CODECOMPASS_HOME": str(home),
        "HOME": str(home),
        "XDG_CONFIG_HOME": str(home / "config"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **variables,
    }


def command(*arguments: str | Path, module: str = "codecompass") -> list[str]:
    """Returns the command line of `codecompass`, or of a module that runs it."""
    return [sys.executable, "-m", module, *map(str, arguments)]


def free_port() -> int:
    """Returns a port that is free now, below those that the system gives to connections and to servers that name none: such a
    one could be given to a test beside this one before it is used."""
    drawn = random.SystemRandom()
    for _ in range(PORT_ATTEMPTS):
        port = drawn.randrange(*PORTS)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


class Process:
    """A running command. `said` holds its last lines on stderr."""

    def __init__(self, process: trio.Process) -> None:
        self.process = process
        self.said: deque[str] = deque(maxlen=200)
        self.url = ""
        self._is_listening = trio.Event()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    async def read_stderr(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Drains stderr, and notes the URL on which a server listens."""
        task_status.started()
        begun = ""
        async for data in self.process.stderr:
            begun += data.decode(errors="replace")
            *lines, begun = begun.split("\n")
            for line in lines:
                self.said.append(line)
                if line.startswith("Listening on "):
                    self.url = line.split()[2].rstrip(".")
                    self._is_listening.set()
        self._is_listening.set()

    async def wait_listening(self) -> None:
        """Returns once connections are accepted."""
        with trio.fail_after(START_SECONDS):
            await self._is_listening.wait()
        assert self.url, self.said

    async def end(self) -> int:
        """Terminates the process, kills it after END_SECONDS, and returns its exit code."""
        if self.process.returncode is None:
            self.process.terminate()
            with trio.move_on_after(END_SECONDS):
                await self.process.wait()
        if self.process.returncode is None:
            self.process.kill()
        return await self.process.wait()

    async def kill(self) -> None:
        """Kills the process, as a crash would."""
        self.process.kill()
        await self.process.wait()


@asynccontextmanager
async def started(
    *arguments: str | Path, home: Path, cwd: Path | None = None, module: str = "codecompass", **variables: str
) -> AsyncIterator[Process]:
    """Yields a running `codecompass` with pipes; it has exited when the block is left."""
    process = await trio.lowlevel.open_process(
        command(*arguments, module=module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=cwd or home,
        env=environment(home, **variables),
    )
    running = Process(process)
    async with trio.open_nursery() as nursery:
        await nursery.start(running.read_stderr)
        try:
            yield running
        finally:
            with trio.CancelScope(shield=True):
                await running.end()
                nursery.cancel_scope.cancel()
                for pipe in (process.stdin, process.stdout, process.stderr):
                    await trio.aclose_forcefully(pipe)


@asynccontextmanager
async def http_server(
    *arguments: str | Path, home: Path, port: int = 0, cwd: Path | None = None, module: str = "codecompass", **variables: str
) -> AsyncIterator[Process]:
    """Yields a server that accepts connections."""
    options = ("serve-mcp", "--transport", "http", "--port", str(port), "--no-prewarm", *arguments)
    async with started(*options, home=home, cwd=cwd, module=module, **variables) as running:
        await running.wait_listening()
        yield running


def index(workspaces: Sequence[TestWorkspace]) -> None:
    """Indexes projects through the command."""
    for each in workspaces:
        done = run_in_process(["index", each.root, "--json"], environment(each.home), each.root)
        assert done.code == 0, done.err

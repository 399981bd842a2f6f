"""`codecompass serve-mcp --transport http` in a separate process, as users start it."""

import os
import re
import signal
import subprocess
import sys
from contextlib import asynccontextmanager

import trio
from msgspec import Struct

START_SECONDS = 60
STOP_SECONDS = 60


class Command(Struct):
    """A running server. `log` holds its output so far."""

    process: trio.Process | None = None
    url: str = ""
    port: int = 0
    log: str = ""
    status: int | None = None


@asynccontextmanager
async def http_command(home, *options, cwd=None, environment=None, ignored=(), ends=(0,)):
    """Yields a server over an empty store, on a free port. Once told to stop, it must exit with one of the statuses in `ends`.

    The server starts with the signals in `ignored` ignored.
    """
    command = Command()
    said, listening = trio.Event(), re.compile(r"Listening on (http://\S+:(\d+))\.")
    env = {**os.environ, "CODECOMPASS_HOME": str(home), "COLUMNS": "200", **(environment or {})}

    async with trio.open_nursery() as nursery:
        process = await trio.lowlevel.open_process(
            [sys.executable, "-m", "codecompass", "serve-mcp", "--transport", "http", "--port", "0", *map(str, options)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            cwd=str(cwd or home),
            env=env,
            preexec_fn=lambda: [signal.signal(each, signal.SIG_IGN) for each in ignored],
        )

        command.process = process

        async def read():
            async for data in process.stdout:
                command.log += data.decode(errors="replace")
                if (found := listening.search(command.log)) and not said.is_set():
                    command.url, command.port = found[1], int(found[2])
                    said.set()
            said.set()

        nursery.start_soon(read)
        try:
            with trio.fail_after(START_SECONDS):
                await said.wait()
                assert command.url, command.log
                # "Listening" is printed before the server accepts connections, but its socket exists and requests wait in it.
            yield command
        finally:
            with trio.CancelScope(shield=True):
                if process.returncode is None:
                    process.send_signal(signal.SIGTERM)
                with trio.move_on_after(STOP_SECONDS):
                    await process.wait()
                if process.returncode is None:
                    process.kill()
                command.status = await process.wait()
    assert command.status in ends, command.log

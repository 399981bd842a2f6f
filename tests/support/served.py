"""Runs `codecompass serve-mcp` as an editor does: the installed command in a separate process, with frames on its pipes."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import trio

from tests.support.waiting import FROM_THE_INDEX, until
from tests.transport.harness import Line

COMMAND = str(Path(sys.executable).parent / "codecompass")

PATIENCE = 60
"""Seconds to wait for an answer, on a machine that may be busy."""

END_SECONDS = 45
"""Seconds for an exit that should be quick: the server's own deadlines, with room for a busy machine. Less than the requests wait
that the tests leave in flight, so that a server that waits for them fails."""


def environment(base: Path, **variables: str) -> dict[str, str]:
    """Returns a user's environment, with home and data below `base`."""
    user = base / "user"
    user.mkdir(exist_ok=True)
    strange = ("CODECOMPASS_", "WORKFLOW_", "CLAUDE_", "GIT_", "PYTHON")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(strange)},
        **FROM_THE_INDEX,
        "CODECOMPASS_HOME": str(base / "data"),
        "HOME": str(user),
        "XDG_CONFIG_HOME": str(user / "config"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
        **variables,
    }


class Served(Line):
    """The client's end of a server process. Every frame is checked; unread ones at the end."""

    patience = PATIENCE

    def __init__(self, process: trio.Process, errors: Path):
        super().__init__()
        self.process = process
        self.cut_off = b""
        self._errors = errors

    @property
    def log(self) -> str:
        """The server's stderr so far."""
        return self._errors.read_text(errors="replace")

    def push(self, frame: bytes):
        """Sends a line."""
        self.feed(frame + b"\n")

    def feed(self, data: bytes):
        """Sends raw bytes."""
        super().push(data)

    async def progress(self, word: str) -> dict:
        """Returns the parameters of the next progress notification whose message contains `word`."""
        while True:
            params = (await self.until("notifications/progress"))["params"]
            if word in params["message"]:
                return params

    async def wait_exit(self) -> int:
        """Waits for the process to end; returns its exit code."""
        with trio.fail_after(END_SECONDS):
            return await self.process.wait()

    async def write(self):
        """Forwards sent data to the process."""
        try:
            async for data in self._from_client:
                await self.process.stdin.send_all(data)
        except trio.BrokenResourceError:
            return
        await self.process.stdin.aclose()

    async def read(self):
        """Forwards lines from the process."""
        buffer = bytearray()
        try:
            while data := await self.process.stdout.receive_some(65536):
                buffer += data
                *lines, rest = buffer.split(b"\n")
                buffer = bytearray(rest)
                for line in lines:
                    self._to_client.send_nowait(bytes(line))
        except trio.ClosedResourceError:
            pass  # the test has finished reading
        self.cut_off = bytes(buffer)
        self._to_client.close()


@asynccontextmanager
async def serving(
    base: Path,
    *options: str | Path,
    cwd: Path | None = None,
    command: tuple[str, ...] = (COMMAND,),
    stderr: int | None = None,
    **variables: str,
) -> AsyncIterator[Served]:
    """Yields a server with its data below `base`; closes its input after the block, and fails if it does not exit.

    `variables` are added to its environment. Its stderr goes to `log`, unless a descriptor is passed.
    """
    errors = base / "stderr"
    with errors.open("ab") as kept:
        process = await trio.lowlevel.open_process(
            [*command, "serve-mcp", *map(str, options)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=kept if stderr is None else stderr,
            cwd=cwd or base,
            env=environment(base, **variables),
        )
    served = Served(process, errors)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(served.write)
            nursery.start_soon(served.read)
            yield served
            served.hang_up()
            await served.wait_exit()
    except BaseException as error:
        error.add_note(f"the end of what the server wrote to stderr:\n{served.log[-3000:]}")
        raise
    finally:
        if process.returncode is None:
            process.kill()
    served.pending()
    assert served.cut_off == b"", "the last line is whole"


def processes_of(base: Path) -> list[str]:
    """Returns the command lines of all processes whose data is below `base`. Linux only; empty elsewhere."""
    wanted = f"CODECOMPASS_HOME={base / 'data'}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append((entry / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue
    return found


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes the files of a tree; returns its root."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def spied(base: Path, code: str) -> dict[str, str]:
    """Returns variables that install an audit hook in every Python process of a server: `seen(event, args)` in `code`."""
    spy = base / "spy"
    spy.mkdir(exist_ok=True)
    (spy / "sitecustomize.py").write_text(f"{code}\nimport sys\nsys.addaudithook(seen)\n")
    return {"PYTHONPATH": str(spy)}


def holding(base: Path) -> dict[str, str]:
    """Returns variables that make a worker block on opening `held.py`, after creating `base/reached`, until `base/go` exists."""
    code = f"""
import os, sys, time
def seen(event, args):
    if event == "open" and str(args[0]).rstrip("'").endswith("held.py") and "codecompass.worker" in sys.orig_argv:
        open("{base}/reached", "w").close()
        while not os.path.exists("{base}/go") and os.getppid() != 1:
            time.sleep(0.01)
"""
    return spied(base, code)


async def reached(base: Path) -> None:
    """Returns once a worker blocks on `held.py`."""
    await until(lambda: (base / "reached").exists(), seconds=PATIENCE)

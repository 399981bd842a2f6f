"""How hostile arguments delay other clients: `python -m bench.responsiveness REPOSITORY`.

A real server over HTTP gets one call after the other, each with one argument of a tool at its limit or far above it, in the worst
shapes for parsers. Meanwhile another client pings. Each call is abandoned after a while, as clients do. The report has the
longest ping of each argument, and the CPU time that the server used from 100 ms after the call was abandoned.
"""

import argparse
import http.client
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Self

from msgspec import Struct

from codecompass.protocol.arguments import ARGUMENTS
from codecompass.transport.tools.listing import TOOLS

SHAPES: Final = (
    "a.", "?", "**/", "(", "a/", "aB", "[", "{", '"', "\\", "\0", "a ", "a|", "\\w", "(a|b)*", "\ud83d", "\u4e2d", "\u0301",
)  # fmt: skip
LENGTHS: Final = (1.0, 4_000_000)
"""A share of the limit, or a number of characters."""

GIVEN_UP_SECONDS: Final = 0.3
NOTICED_SECONDS: Final = 0.1
WATCHED_SECONDS: Final = 0.4
PING_PAUSE_SECONDS: Final = 0.002
TICK_SECONDS: Final = 1 / os.sysconf("SC_CLK_TCK")


class Run(Struct, frozen=True, kw_only=True):
    """One call. Milliseconds; `cpu` is what was used from 100 ms after the call was abandoned."""

    tool: str
    argument: str
    shape: str
    length: int
    ping: float
    cpu: float
    answer: float | None


class Pinger:
    """Pings a server continuously over a separate connection, in a thread."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._longest = 0.0
        self._since = self._begun = time.perf_counter()
        self._is_over = False
        self._may_ping = threading.Event()
        self._may_ping.set()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_over = True
        self._thread.join()

    def begin(self) -> None:
        """Discards earlier pings, including one in flight."""
        self._longest = 0.0
        self._begun = time.perf_counter()

    def longest(self) -> float:
        """Returns the longest ping that began since `begin`, including one in flight, in milliseconds."""
        waiting = time.perf_counter() - self._since if self._since >= self._begun else 0.0
        return 1000 * max(self._longest, waiting)

    @contextmanager
    def resting(self) -> Iterator[None]:
        """Sends no pings in the block: their answers take CPU time too."""
        self._may_ping.clear()
        try:
            yield
        finally:
            self._may_ping.set()

    def _run(self) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=120)
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})
        while not self._is_over:
            self._since = time.perf_counter()
            connection.request("POST", "/", body, {"content-type": "application/json"})
            answer = connection.getresponse().read()
            if self._since >= self._begun:
                self._longest = max(self._longest, time.perf_counter() - self._since)
            if b'"result"' not in answer:
                raise SystemExit(f"no pong: {answer!r}")
            time.sleep(PING_PAUSE_SECONDS)
            self._may_ping.wait()
            self._since = time.perf_counter()


def measured(
    port: int, pid: int, pinger: Pinger, tool: str, arguments: Mapping[str, object]
) -> tuple[float, float, float | None]:
    """Makes one call; returns the longest ping, the CPU time after the end, and the time of the answer, if it came."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
    body = json.dumps(call).encode()
    pinger.begin()
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=GIVEN_UP_SECONDS)
    began = time.perf_counter()
    took = None
    try:
        connection.request("POST", "/", body, {"content-type": "application/json"})
        connection.getresponse().read()
        took = 1000 * (time.perf_counter() - began)
    except OSError:
        pass
    finally:
        connection.close()
    if took is not None:
        return pinger.longest(), 0.0, took
    ping = pinger.longest()
    with pinger.resting():
        time.sleep(NOTICED_SECONDS)
        before = cpu_seconds(pid)
        time.sleep(WATCHED_SECONDS)
        return ping, 1000 * (cpu_seconds(pid) - before), took


def cpu_seconds(pid: int) -> float:
    """Returns the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * TICK_SECONDS


@contextmanager
def server(root: Path, home: Path) -> Iterator[tuple[int, int]]:
    """Yields the port and the pid of a server with one indexed project."""
    environment = {**os.environ, "CODECOMPASS_HOME": str(home)}
    command = [sys.executable, "-m", "codecompass"]
    subprocess.run([*command, "index", str(root)], env=environment, check=True, capture_output=True)
    options = ["serve-mcp", "--transport", "http", "--port", "0", "--workspace", str(root)]
    process = subprocess.Popen([*command, *options], env=environment, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    rest = threading.Thread(target=process.stderr.read, daemon=True)
    try:
        line = next(each for each in process.stderr if each.startswith("Listening on "))
        rest.start()
        yield int(line.split()[2].rstrip(".").rpartition(":")[2]), process.pid
    finally:
        process.terminate()
        process.wait(30)
        if rest.ident is not None:
            rest.join()
        process.stderr.close()


def calls() -> Iterator[tuple[str, str, str, int]]:
    """Yields a tool, its argument, a shape and a length for each argument that is free text."""
    for tool in TOOLS:
        for name, schema in tool.arguments["properties"].items():
            if schema["type"] == "string" and "enum" not in schema:
                for shape in SHAPES:
                    for length in LENGTHS:
                        yield (
                            tool.name,
                            name,
                            shape,
                            int(length if length > 1 else ARGUMENTS[tool.name][name].max_length * length),
                        )


def runs(root: Path) -> Iterator[Run]:
    """Makes all calls, one after the other."""
    with tempfile.TemporaryDirectory() as place, server(root, Path(place) / "home") as (port, pid), Pinger(port) as pinger:
        required = {tool.name: tool.arguments.get("required", ()) for tool in TOOLS}
        for tool, name, shape, length in calls():
            value = (shape * (length // len(shape) + 1))[:length]
            extra = {"mode": "regex"} if shape in ("(a|b)*", "\\w", "a|") and tool == "search_code" else {}
            ping, cpu, took = measured(port, pid, pinger, tool, {**dict.fromkeys(required[tool], "main"), **extra, name: value})
            yield Run(tool=tool, argument=name, shape=shape, length=length, ping=ping, cpu=cpu, answer=took)


def main() -> None:
    parser = argparse.ArgumentParser(description="What hostile arguments take from others.")
    parser.add_argument("repository", type=Path)
    parser.add_argument("--worst", type=int, default=15, help="how many of the longest are told one by one")
    options = parser.parse_args()
    done = list(runs(options.repository.resolve()))
    print(
        f"{len(done)} calls; answered {sum(run.answer is not None for run in done)}, given up after {GIVEN_UP_SECONDS} s the rest"
    )
    for what in ("ping", "cpu"):
        ordered = sorted(done, key=lambda run: -getattr(run, what))
        figures = [getattr(run, what) for run in ordered]
        print(f"{what}: median {figures[len(figures) // 2]:.1f} ms, p95 {figures[len(figures) // 20]:.1f}, max {figures[0]:.1f}")
        for run in ordered[: options.worst]:
            took = "given up" if run.answer is None else f"{run.answer:.0f} ms"
            shown = f"{run.tool} {run.argument} {run.shape!r} x {run.length}"
            print(f"  {shown:64} ping {run.ping:7.1f}  cpu {run.cpu:6.0f}  {took}")


if __name__ == "__main__":
    main()

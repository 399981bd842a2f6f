"""How many answers a second a server gives to several clients at a time: `python -m bench.clients TREE`.

One server over HTTP with one indexed project. `--clients 1,2,4,8` clients ask at a time, each on its own connection and without
a pause, for `--seconds`; with `--against DIR`, a source tree of another version, a second server takes turns with it. Questions
are drawn from the index by a seed: words alone, and mixed with names, pieces of code, references and outlines. CPU time is that
of the server's process, and of its reader processes, for each answer. `--home DIR` keeps the index.
"""

import argparse
import http.client
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median
from typing import Final

import msgspec
from msgspec import Struct

from bench.corpus import SEED
from bench.figures import percentile
from bench.measure import descendants, memory_of, own_cpu_seconds_of
from bench.questions import questions
from bench.table import plain_table
from codecompass.identity import canonical_root, project_id
from codecompass.store.index import WorkspaceIndex
from codecompass.store.layout import HomeLayout
from codecompass.units import MIB, MILLISECONDS

Call = tuple[str, Mapping[str, object]]
"""The name of a tool and its arguments."""

QUESTIONS: Final = 120
"""Of each kind; clients ask them in different orders."""

DEADLINE_SECONDS: Final = 120.0


class Turn(Struct, frozen=True, kw_only=True):
    """What one server did for some seconds. CPU time in seconds, of the server's process and of all others that it started."""

    seconds: float
    waits: tuple[float, ...]
    """Seconds of each answer."""
    own_cpu: float
    reader_cpu: float
    rss: int
    """Resident bytes of all its processes at the end."""

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.waits) / self.seconds

    @property
    def cores(self) -> float:
        """How many cores it had: on a busy machine fewer than it could use."""
        return (self.own_cpu + self.reader_cpu) / self.seconds


class _Server(Struct, frozen=True):
    name: str
    port: int
    pid: int


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        prog="bench.clients", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tree", type=Path)
    parser.add_argument("--clients", default="1,2,4,8", help="numbers of clients, in this order (default 1,2,4,8)")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each turn (default 6)")
    parser.add_argument("--rounds", type=int, default=3, help="turns of each server (default 3)")
    parser.add_argument("--kinds", default="words,mixed")
    parser.add_argument("--against", type=Path, help="the source tree of another version, whose server takes turns")
    parser.add_argument("--home", type=Path, help="keep the index here")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="clients-") as directory:
        home = (options.home or Path(directory) / "home").absolute()
        root = canonical_root(options.tree)
        counts = [int(number) for number in options.clients.split(",")]
        sources = {"this": Path(__file__).parents[1]} | ({"other": options.against.absolute()} if options.against else {})
        _index(root, home, sources["this"])
        asked = {kind: calls for kind, calls in calls_about(root, home).items() if kind in options.kinds.split(",")}
        found = measured(root, home, sources, asked, counts, options.rounds, options.seconds)
        print(_table(found))
        print(f"load average at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 0


def measured(
    root: Path,
    home: Path,
    sources: Mapping[str, Path],
    asked: Mapping[str, Sequence[Call]],
    counts: Sequence[int],
    rounds: int,
    seconds: float,
) -> dict[tuple[str, int, str], list[Turn]]:
    """Returns the turns by kind of question, number of clients and name of the server, which take turns within each round."""
    found: dict[tuple[str, int, str], list[Turn]] = {}
    with ExitStack() as stack:
        servers = [stack.enter_context(_serving(name, root, home, source)) for name, source in sources.items()]
        for server in servers:
            # Until all of its processes have started and have the index open.
            _turn(server, [call for calls in asked.values() for call in calls[:10]], max(counts), 2 * seconds)
        for number in range(rounds):
            for kind, calls in asked.items():
                for n_clients in counts:
                    for server in servers if number % 2 == 0 else servers[::-1]:
                        turn = _turn(server, calls, n_clients, seconds)
                        found.setdefault((kind, n_clients, server.name), []).append(turn)
                        print(
                            f"{kind} {n_clients} {server.name}: {turn.rate:.1f} answers/s on {turn.cores:.2f} cores",
                            file=sys.stderr,
                        )
    return found


def calls_about(root: Path, home: Path) -> dict[str, list[Call]]:
    """Returns the questions of each kind, in an order drawn by the seed."""
    source = random.Random(SEED)
    identifier = project_id(root)
    index = WorkspaceIndex(HomeLayout(home).project(identifier), identifier)
    with index.snapshot() as snapshot:
        drawn = questions(snapshot, source, QUESTIONS)
        paths = [path for _, path in source.sample(snapshot.facts.paths(), QUESTIONS)]
    index.close()
    words: list[Call] = [("search_code", {"query": query}) for query in (*drawn.sentences, *drawn.phrases)]
    others: list[Call] = [
        *(("locate_symbol", {"name": name}) for name in drawn.names),
        *(("search_code", {"query": text, "mode": "literal"}) for text in drawn.literals),
        *(("find_references", {"symbol_name": name}) for name in drawn.names),
        *(("get_file_outline", {"path": path}) for path in paths),
    ]
    mixed = words[: len(words) // 2] + others
    for calls in (words, mixed):
        source.shuffle(calls)
    return {"words": words, "mixed": mixed}


def _turn(server: _Server, calls: Sequence[Call], n_clients: int, seconds: float) -> Turn:
    waits: list[float] = []
    cpu = _cpu(server.pid)
    began = time.monotonic()
    clients = [
        threading.Thread(target=_ask_until, args=(server.port, calls, number * len(calls) // n_clients, began + seconds, waits))
        for number in range(n_clients)
    ]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    took = time.monotonic() - began
    used = _cpu(server.pid)
    return Turn(
        seconds=took,
        waits=tuple(waits),
        own_cpu=used.get(server.pid, 0.0) - cpu.get(server.pid, 0.0),
        reader_cpu=sum(value - cpu.get(pid, 0.0) for pid, value in used.items() if pid != server.pid),
        rss=memory_of(server.pid).rss,
    )


def _ask_until(port: int, calls: Sequence[Call], first: int, ends: float, waits: list[float]) -> None:
    """Asks one question after the other, beginning with number `first`, until `ends`; adds how long each took to `waits`."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=DEADLINE_SECONDS)
    number = first
    while time.monotonic() < ends:
        tool, arguments = calls[number % len(calls)]
        number += 1
        message = {"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": {"name": tool, "arguments": arguments}}
        began = time.monotonic()
        connection.request("POST", "/", json.dumps(message), {"content-type": "application/json"})
        answer = connection.getresponse().read()
        waits.append(time.monotonic() - began)
        replied = msgspec.json.decode(answer, type=_Answer)
        if replied.error is not None or (replied.result is not None and replied.result.is_error):
            raise SystemExit(f"{tool} {arguments}: {answer[:500]!r}")
    connection.close()


class _Result(Struct, frozen=True, rename="camel"):
    is_error: bool = False


class _Answer(Struct, frozen=True):
    error: msgspec.Raw | None = None
    result: _Result | None = None


def _cpu(pid: int) -> dict[int, float]:
    return {each: own_cpu_seconds_of(each) for each in descendants(pid)}


def _index(root: Path, home: Path, source: Path) -> None:
    subprocess.run(
        [sys.executable, "-P", "-m", "codecompass", "index", str(root)],
        env=_environment(home, source),
        check=True,
        capture_output=True,
    )


@contextmanager
def _serving(name: str, root: Path, home: Path, source: Path) -> Iterator[_Server]:
    command = [sys.executable, "-P", "-m", "codecompass", "serve-mcp", "--transport", "http", "--port", "0"]
    with tempfile.TemporaryFile("w+") as errors:
        process = subprocess.Popen(
            [*command, "--workspace", str(root)], env=_environment(home, source), stdin=subprocess.DEVNULL, stderr=errors
        )
        try:
            yield _Server(name, _port(process, errors.fileno()), process.pid)
        finally:
            process.terminate()
            process.wait(DEADLINE_SECONDS)


def _port(process: "subprocess.Popen[bytes]", errors: int) -> int:
    """Returns the port that the server names on its stderr."""
    ends = time.monotonic() + DEADLINE_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        for line in os.pread(errors, 100_000, 0).decode("utf-8", "replace").splitlines():
            if line.startswith("Listening on "):
                return int(line.split()[2].rstrip(".").rpartition(":")[2])
        time.sleep(0.05)
    raise SystemExit(f"the server does not listen: {os.pread(errors, 2000, 0).decode('utf-8', 'replace')}")


def _environment(home: Path, source: Path) -> dict[str, str]:
    return {**os.environ, "CODECOMPASS_HOME": str(home), "PYTHONPATH": str(source)}


def _table(found: Mapping[tuple[str, int, str], Sequence[Turn]]) -> str:
    rows = []
    for (kind, n_clients, name), turns in found.items():
        other = found.get((kind, n_clients, "other"))
        waits = [wait for turn in turns for wait in turn.waits]
        count = len(waits)
        ratios = [ours.rate / its.rate for ours, its in zip(turns, other or (), strict=False)]
        rows.append(
            (
                kind,
                str(n_clients),
                name,
                f"{median(turn.rate for turn in turns):.1f}",
                f"{median(ratios):.2f}x" if ratios and name != "other" else "",
                f"{median(waits) / MILLISECONDS:.0f}",
                f"{percentile(waits, 0.95) / MILLISECONDS:.0f}",
                f"{median(turn.cores for turn in turns):.2f}",
                f"{sum(turn.own_cpu for turn in turns) / count / MILLISECONDS:.1f}",
                f"{sum(turn.reader_cpu for turn in turns) / count / MILLISECONDS:.1f}",
                f"{max(turn.rss for turn in turns) / MIB:.0f}",
            )
        )
    header = (
        "questions",
        "clients",
        "server",
        "answers/s",
        "ratio",
        "p50 ms",
        "p95 ms",
        "cores",
        "own CPU ms",
        "readers' CPU ms",
        "MB",
    )
    return plain_table(header, rows, "<><>>>>>>>>")


if __name__ == "__main__":
    sys.exit(main())

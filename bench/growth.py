"""Whether a server's memory grows with its requests: mixed ones about a copy of a repository that is edited now and then.

    python -m bench.growth TREE --transport stdio --requests 50000
    python -m bench.growth TREE --transport http --requests 50000 --connects 1000 --sessions 500

Requests are drawn by a seed from what the tree contains, and from what it does not: every tool, resources, prompts, completions
and faults. Figures are of the server's process, without its workers, at each tenth of the requests.
"""

import argparse
import http.client
import json
import random
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Protocol

import msgspec
from msgspec import Struct

from bench.client import Connection, ServerFailed, serving
from bench.edits import Edit, edit_files, editable, undo
from bench.responsiveness import server
from codecompass.units import KIB, MIB

N_SAMPLES: Final = 10
EDITED_FILES: Final = 5
SETTLE_SECONDS: Final = 2.0
"""Before the last figure after connections and sessions: the server notices closed connections in milliseconds."""

_DEFINED: Final = re.compile(r"\b(?:def|class|func|fn|function|struct|interface)\s+(\w+)")
_WORD: Final = re.compile(r"[A-Za-z_]{4,}")
_SOURCES: Final = frozenset({".py", ".go", ".ts", ".js", ".java", ".rs", ".c", ".h", ".cc", ".cpp", ".rb"})
_MAX_FILES: Final = 400


class Sample(Struct, frozen=True, kw_only=True):
    """A server's use of resources after `n_requests`. Bytes; `mapped` is the part of `resident` that is pages of files."""

    n_requests: int
    resident: int
    mapped: int
    threads: int
    handles: int


class Request(Struct, frozen=True):
    """A method of the protocol and its parameters."""

    method: str
    params: Mapping[str, object]


class Client(Protocol):
    """Sends requests; `request` returns the result or raises ServerFailed for an error of the protocol."""

    def request(self, request: Request) -> msgspec.Raw: ...


class Vocabulary:
    """What a tree contains, and requests about it from a seed."""

    def __init__(self, root: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self.paths = sorted(
            str(path.relative_to(root)) for path in root.rglob("*") if path.suffix in _SOURCES and ".git" not in path.parts
        )[:_MAX_FILES]
        texts = [(root / path).read_text(errors="replace") for path in self.paths]
        self.names = sorted({name for text in texts for name in _DEFINED.findall(text)})
        self.words = sorted({word for text in texts for word in _WORD.findall(text)})
        self.lines = sorted({line.strip() for text in texts for line in text.splitlines() if len(line.strip()) > 20})
        if not self.names:
            raise SystemExit(f"no definitions are known in {root}")

    def requests(self) -> Iterator[Request]:
        """Yields requests without end, the same for the same tree and seed."""
        while True:
            yield self._next()

    def _next(self) -> Request:
        rng = self._random
        name, path, line = rng.choice(self.names), rng.choice(self.paths), rng.choice(self.lines)[:200]
        words = " ".join(rng.sample(self.words, rng.randint(1, 5)))
        limit = rng.choice((1, 3, 10, 40))
        detail = rng.choice(("location", "signature", "context", "body"))
        strange = f"zq{rng.randrange(10**9)}x"
        calls: tuple[tuple[str, Mapping[str, object]], ...] = (
            ("search_code", {"query": words, "limit": limit, "detail_level": detail}),
            ("search_code", {"query": line, "limit": limit}),
            ("search_code", {"query": line[:40], "mode": "literal", "limit": limit, "detail_level": detail}),
            ("search_code", {"query": re.escape(name)[:30] + r"\w*", "mode": "regex", "limit": limit}),
            ("search_code", {"query": path.rpartition("/")[2], "mode": "files"}),
            ("search_code", {"query": f"{strange} {words}"}),
            ("search_code", {"query": words, "workspace": "*"}),
            ("locate_symbol", {"name": name, "limit": limit, "detail_level": detail}),
            ("locate_symbol", {"name": name[: max(2, len(name) - 2)]}),
            ("locate_symbol", {"name": strange}),
            ("locate_symbol", {"name": name, "workspace": "*"}),
            ("find_references", {"symbol_name": name}),
            ("get_call_graph", {"symbol_name": name}),
            ("get_symbol_hierarchy", {"symbol_name": name}),
            ("find_related_symbols", {"symbol_name": name}),
            ("get_file_outline", {"path": path}),
            ("get_file_outline", {"path": strange}),
            ("get_code_context", {"query": words, "max_tokens": 1_000}),
            ("list_refs", {}),
            ("diff_context", {}),
            ("index_status", {}),
            ("health_check", {}),
            ("search_code", {}),
            (strange, {}),
        )
        others: tuple[tuple[str, Mapping[str, object]], ...] = (
            ("tools/list", {}),
            ("resources/list", {}),
            ("resources/read", {"uri": f"codecompass://outline/{path}"}),
            ("prompts/list", {}),
            (
                "completion/complete",
                {
                    "ref": {"type": "ref/resource", "uri": "codecompass://outline/{path}"},
                    "argument": {"name": "path", "value": path[: rng.randrange(len(path))]},
                },
            ),
            (strange, {}),
            ("ping", {}),
        )
        if rng.random() < 0.05:
            return Request(*rng.choice(others))
        tool, arguments = rng.choice(calls)
        return Request("tools/call", {"name": tool, "arguments": arguments})


class PipeClient:
    """A client of a server on stdio."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def request(self, request: Request) -> msgspec.Raw:
        return self._connection.request(request.method, request.params).result


class HttpClient:
    """A client that posts each request to `/`, over one connection."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)

    def request(self, request: Request) -> msgspec.Raw:
        message = {"jsonrpc": "2.0", "id": 1, "method": request.method, "params": request.params}
        self._connection.request("POST", "/", json.dumps(message), {"content-type": "application/json"})
        answer = msgspec.json.decode(self._connection.getresponse().read(), type=_Answer)
        if not bytes(answer.result):
            raise ServerFailed("an error")
        return answer.result

    def close(self) -> None:
        self._connection.close()


class _Answer(Struct, frozen=True):
    result: msgspec.Raw = msgspec.Raw()


class _ToolResult(Struct, frozen=True, rename="camel"):
    is_error: bool = False


def sample(pid: int, n_requests: int) -> Sample:
    """Returns what a process uses now. Linux only."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    status = {name: value for name, _, value in (line.partition(":") for line in lines)}
    return Sample(
        n_requests=n_requests,
        resident=int(status["VmRSS"].split()[0]) * KIB,
        mapped=int(status["RssFile"].split()[0]) * KIB,
        threads=int(status["Threads"]),
        handles=len(list(Path(f"/proc/{pid}/fd").iterdir())),
    )


def grown(
    client: Client,
    pid: int,
    root: Path,
    *,
    n_requests: int,
    edit_every: int,
    seed: int = 1,
    n_samples: int = N_SAMPLES,
    on_sample: Callable[[Sample], None] = lambda _sample: None,
) -> tuple[list[Sample], Counter[str]]:
    """Sends requests one after the other; returns the samples, after each of `n_samples` equal parts, and counts the outcomes.

    Before each of `edit_every` requests some files get a function more, or lose it again.
    """
    source = Vocabulary(root, seed)
    files = editable(source.paths)[:EDITED_FILES]
    samples: list[Sample] = []
    outcomes: Counter[str] = Counter()
    edits: tuple[Edit, ...] = ()
    for number, request in zip(range(1, n_requests + 1), source.requests(), strict=False):
        if edit_every and number % edit_every == 0:
            undo(edits)
            edits = () if edits else edit_files(root, files, tag=number)
        try:
            is_error = msgspec.json.decode(client.request(request), type=_ToolResult).is_error
            outcomes["error of the tool" if is_error else "answered"] += 1
        except ServerFailed:
            outcomes["error of the protocol"] += 1
        if number % (n_requests // n_samples) == 0:
            samples.append(sample(pid, number))
            on_sample(samples[-1])
    undo(edits)
    return samples, outcomes


def connect(port: int, count: int) -> None:
    """Opens connections one after the other: some are closed at once, some after half of a request, some after a request."""
    for number in range(count):
        with socket.create_connection(("127.0.0.1", port), 10) as connection:
            if number % 3 == 1:
                connection.sendall(b"POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-le")
            elif number % 3 == 2:
                connection.sendall(b"GET /health HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n")
                connection.recv(KIB)


def open_sessions(port: int, count: int) -> None:
    """Opens sessions, asks something in each, and ends every second one; the others are left to the server."""
    for number in range(count):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
        message: dict[str, object] = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
        connection.request("POST", "/mcp", json.dumps(message), headers)
        answer = connection.getresponse()
        answer.read()
        headers |= {"mcp-session-id": answer.headers["mcp-session-id"], "mcp-protocol-version": "2025-11-25"}
        for message in (
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
        ):
            connection.request("POST", "/mcp", json.dumps(message), headers)
            connection.getresponse().read()
        if number % 2:
            connection.request("DELETE", "/mcp", headers=headers)
            connection.getresponse().read()
        connection.close()


@contextmanager
def asked(root: Path, home: Path, transport: str) -> Iterator[tuple[Client, int, int]]:
    """Yields a client of a server with the indexed tree, the server's pid and its port (0 on stdio)."""
    if transport == "http":
        with server(root, home) as (port, pid):
            client = HttpClient(port)
            try:
                yield client, pid, port
            finally:
                client.close()
    else:
        with serving(root, home) as connection:
            connection.initialize()
            connection.call("index_repo", {"wait_seconds": 50})
            yield PipeClient(connection), connection.pid, 0


class Teller:
    """Prints each sample, with its size compared with that at a fifth of the requests: 10,000 of 50,000."""

    def __init__(self, n_requests: int) -> None:
        self._base_at = n_requests / 5
        self._base: Sample | None = None

    def tell(self, sample: Sample) -> None:
        if self._base is None and sample.n_requests >= self._base_at:
            self._base = sample
        change = "" if self._base is None else f" ({100 * (sample.resident / self._base.resident - 1):+.1f} %)"
        print(
            f"{sample.n_requests:7} requests: {sample.resident / MIB:6.1f} MB resident{change}, "
            f"{sample.mapped / MIB:5.1f} of files, {sample.threads} threads, {sample.handles} descriptors",
            flush=True,
        )


def copied(tree: Path, place: Path) -> Path:
    """Returns a copy of a tree in which edits can be made, a git repository with one commit."""
    root = place / "tree"
    shutil.copytree(tree, root, symlinks=True, ignore=shutil.ignore_patterns(".git"))
    git = ["git", "-c", "user.name=bench", "-c", "user.email=bench@example.invalid", "-c", "commit.gpgsign=false"]
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *command], cwd=root, check=True, capture_output=True)
    return root


def main() -> None:
    parser = argparse.ArgumentParser(description="How a server's memory grows with its requests.")
    parser.add_argument("tree", type=Path)
    parser.add_argument("--transport", choices=("stdio", "http"), default="stdio")
    parser.add_argument("--requests", type=int, default=50_000)
    parser.add_argument("--edit-every", type=int, default=250)
    parser.add_argument("--connects", type=int, default=0, help="HTTP: connections to open afterwards")
    parser.add_argument("--sessions", type=int, default=0, help="HTTP: sessions to open afterwards")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--samples", type=int, default=N_SAMPLES)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        root = copied(options.tree.resolve(), Path(place))
        with asked(root, Path(place) / "home", options.transport) as (client, pid, port):
            began = time.monotonic()
            _, outcomes = grown(
                client,
                pid,
                root,
                n_requests=options.requests,
                edit_every=options.edit_every,
                seed=options.seed,
                n_samples=options.samples,
                on_sample=Teller(options.requests).tell,
            )
            seconds = time.monotonic() - began
            print(f"{options.transport}: {options.requests} requests in {seconds:.0f} s, {dict(outcomes)}", flush=True)
            for what, count, opened in (("connects", options.connects, connect), ("sessions", options.sessions, open_sessions)):
                if count and port:
                    before = sample(pid, 0)
                    opened(port, count)
                    time.sleep(SETTLE_SECONDS)
                    after = sample(pid, 0)
                    print(
                        f"{count} {what}: {(after.resident - before.resident) / MIB:+.1f} MB, "
                        f"{after.threads - before.threads:+} threads, {after.handles - before.handles:+} descriptors"
                    )


if __name__ == "__main__":
    sys.exit(main())

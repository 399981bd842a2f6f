"""Servers over HTTP for measurements, of an organisation or embedded, and clients that ask them.

`ask` decodes each answer; `ask_at_once` is a client of many connections in one thread that only counts answers, because clients
and servers share the processors here.
"""

import http.client
import os
import selectors
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

from bench.measure import python

START_SECONDS: Final = 60
REQUEST_SECONDS: Final = 60
ANSWERS: Final = (b"ambiguous_symbol", b"symbol_not_found")
"""Codes of errors that are answers to a question."""

READ_BYTES: Final = 1 << 16

SOURCE: Final = Path(__file__).parents[1]
"""The source tree that this file is of."""

JsonObject = dict[str, Any]

Call = tuple[str, Mapping[str, object]]
"""The name of a tool and its arguments."""


class QuestionFailed(Exception):
    """A question was answered with an error."""


class BenchServer:
    """`codecompass serve-mcp --transport http` in a separate process, on a local port."""

    def __init__(self, name: str, pid: int, port: int, home: Path, token: str = "") -> None:
        """`home` is its home directory."""
        self.name = name
        self.home = home
        self.pid = pid
        self.port = port
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=REQUEST_SECONDS)

    def ask(self, call: Call) -> JsonObject:
        """Calls a tool and returns its result, which may be that a name is unknown or means several things. Raises QuestionFailed
        for any other error."""
        self._connection.request("POST", "/", _body(call), self._headers)
        answer = self._connection.getresponse()
        said = answer.read()
        if answer.status != http.client.OK:
            raise QuestionFailed(said[:500].decode(errors="replace"))
        result: JsonObject = msgspec.json.decode(said).get("result", {})
        if not result or (result.get("isError") and not any(code in said for code in ANSWERS)):
            raise QuestionFailed(said[:500].decode(errors="replace"))
        return result

    def close(self) -> None:
        """Closes the connection of `ask`."""
        self._connection.close()

    def request(self, call: Call) -> bytes:
        """Returns the bytes of a whole request."""
        body = _body(call)
        lines = ["POST / HTTP/1.1", f"host: 127.0.0.1:{self.port}", f"content-length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in self._headers.items()]
        return "\r\n".join([*lines, "", ""]).encode() + body


class Load(Struct, frozen=True, kw_only=True):
    """What some clients got in some seconds."""

    seconds: float
    waits: tuple[float, ...]
    """Seconds of each answer."""
    n_errors: int

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.waits) / self.seconds


class _Client:
    """One connection, with one question under way."""

    def __init__(self, server: BenchServer, calls: Sequence[Call], first: int) -> None:
        self._requests = [server.request(call) for call in calls]
        self._next = first
        self.socket = socket.create_connection(("127.0.0.1", server.port), REQUEST_SECONDS)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sent_at = 0.0
        self._said = b""

    def send(self) -> None:
        """Asks the next question."""
        self._said = b""
        self.sent_at = time.monotonic()
        self.socket.sendall(self._requests[self._next % len(self._requests)])
        self._next += 1

    def read(self) -> bytes | None:
        """Returns the answer if it is here as a whole. Raises QuestionFailed if the connection was closed."""
        data = self.socket.recv(READ_BYTES)
        if not data:
            raise QuestionFailed("the server has closed a connection")
        self._said += data
        end = self._said.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = self._said[:end].lower()
        start = head.index(b"content-length:") + len(b"content-length:")
        n_body = int(head[start:].split(b"\r\n", 1)[0])
        return self._said if len(self._said) >= end + 4 + n_body else None


def ask_at_once(servers: Sequence[BenchServer], calls: Sequence[Call], n_clients: int, seconds: float) -> Load:
    """Asks with `n_clients` connections, which are dealt to `servers` in turn, each without a pause."""
    clients = [_Client(servers[number % len(servers)], calls, number * len(calls) // n_clients) for number in range(n_clients)]
    waits: list[float] = []
    n_errors = 0
    with selectors.DefaultSelector() as selector:
        for client in clients:
            selector.register(client.socket, selectors.EVENT_READ, client)
        began = time.monotonic()
        for client in clients:
            client.send()
        while (now := time.monotonic()) < began + seconds:
            for key, _ in selector.select(began + seconds - now):
                client = key.data
                said = client.read()
                if said is not None:
                    waits.append(time.monotonic() - client.sent_at)
                    n_errors += b" 200 " not in said[:20] or b'"isError":true' in said
                    client.send()
        took = time.monotonic() - began
    for client in clients:
        client.socket.close()
    return Load(seconds=took, waits=tuple(waits), n_errors=n_errors)


@contextmanager
def serving_organisation(
    urls: str,
    prefix: str,
    segments: Path,
    token: str,
    name: str = "organisation",
    source: Path = SOURCE,
    settings: Mapping[str, str] | None = None,
) -> Iterator[BenchServer]:
    """Starts a server over an organisation, new and without copies; it is stopped when the block ends. `source` is the source
    tree whose program it is, `settings` are more variables of its environment."""
    environment = {
        "CODECOMPASS_CLUSTER_URL": urls,
        "CODECOMPASS_CLUSTER_PREFIX": prefix,
        "CODECOMPASS_CLUSTER_SEGMENTS": str(segments),
        "CODECOMPASS_ACCESS_MAX_REQUESTS_PER_MINUTE": "0",
        "CODECOMPASS_ACCESS_MAX_CONCURRENT_REQUESTS": "0",
        **(settings or {}),
    }
    with tempfile.TemporaryDirectory(prefix="organisation-") as home:
        more = {**environment, "CODECOMPASS_HOME": home}
        options = ("--bind", "127.0.0.1", "--store", "opensearch")
        with (
            _started(source, options, more) as (pid, port),
            closing(BenchServer(name, pid, port, Path(home), token)) as server,
        ):
            yield server


@contextmanager
def serving_embedded(home: Path, root: Path) -> Iterator[BenchServer]:
    """Starts a server over the indexes of a home; it is stopped when the block ends."""
    with (
        _started(SOURCE, ("--workspace", str(root)), {"CODECOMPASS_HOME": str(home)}) as (pid, port),
        closing(BenchServer("embedded", pid, port, home)) as server,
    ):
        yield server


@contextmanager
def _started(source: Path, options: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[int, int]]:
    """Yields the process id and the port of a server."""
    command = python("-P", "-m", "codecompass", "serve-mcp", "--transport", "http", "--port", "0", *options)
    with tempfile.TemporaryFile("w+") as errors:
        own = {**os.environ, "PYTHONPATH": str(source), **environment}
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=errors, env=own)
        try:
            yield process.pid, _port(process, errors.fileno())
        finally:
            process.terminate()
            try:
                process.wait(REQUEST_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _port(process: "subprocess.Popen[bytes]", errors: int) -> int:
    """Returns the port that the server names on its stderr."""
    ends = time.monotonic() + START_SECONDS
    while time.monotonic() < ends and process.poll() is None:
        for line in os.pread(errors, 100_000, 0).decode("utf-8", "replace").splitlines():
            if line.startswith("Listening on "):
                return int(line.split()[2].rstrip(".").rpartition(":")[2])
        time.sleep(0.05)
    raise RuntimeError(f"the server does not listen: {os.pread(errors, 4000, 0).decode('utf-8', 'replace')}")


def _body(call: Call) -> bytes:
    tool, arguments = call
    params = {"name": tool, "arguments": arguments}
    return msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})

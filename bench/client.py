"""A client of `codecompass serve-mcp`, or of another server of MCP over pipes, that measures how long each answer took.

The server is a separate process, as an editor starts it: the real command, its frames on two pipes. Every wait ends after
DEADLINE_SECONDS; the error then includes the server's stderr.
"""

import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

import msgspec
from msgspec import Struct

from codecompass.units import KIB

DEADLINE_SECONDS: Final = 300.0

READ_BYTES: Final = 256 * KIB

PROTOCOL_VERSION: Final = "2025-11-25"


class ServerFailed(Exception):
    """The server exited, did not answer in time or returned an error; the message has its answer, or the end of its stderr."""


class Timed(Struct, frozen=True):
    """A raw answer, and the seconds from before the request was written until the answer was read."""

    seconds: float
    result: msgspec.Raw


class Said(Struct, frozen=True):
    """What a host passes on to the model, `content[0].text`, and the seconds as in `Timed`."""

    seconds: float
    text: str
    is_error: bool


class _Frame(Struct, frozen=True):
    id: int | None = None
    result: msgspec.Raw = msgspec.Raw()


class Connection:
    """A connection to a server, made by `serving`. Times are of `time.monotonic`."""

    def __init__(self, process: subprocess.Popen[bytes], errors: IO[bytes], started: float) -> None:
        self._process = process
        self._errors = errors
        self._buffer = bytearray()
        self._last_id = 0
        self._sent: dict[int, float] = {}
        self._answers: dict[int, Timed] = {}
        self.started = started

    @property
    def pid(self) -> int:
        """The server's process."""
        return self._process.pid

    def initialize(self) -> float:
        """Performs the handshake; returns the seconds from the start of the process until the answer was read."""
        information = {"name": "bench", "version": "1"}
        self.request("initialize", {"protocolVersion": PROTOCOL_VERSION, "capabilities": {}, "clientInfo": information})
        seconds = time.monotonic() - self.started
        self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return seconds

    def call(self, tool: str, arguments: Mapping[str, object] | None = None) -> Timed:
        """Calls a tool and waits; see `tool_answer`."""
        return self.tool_answer(self.send_call(tool, arguments))

    def send_call(self, tool: str, arguments: Mapping[str, object] | None = None) -> int:
        """Sends the call of a tool; returns the id for `tool_answer`."""
        return self.send("tools/call", {"name": tool, "arguments": dict(arguments or {})})

    def tool_answer(self, request_id: int) -> Timed:
        """Returns the tool's answer. Raises ServerFailed for an error, also one of the tool."""
        timed = self.wait(request_id)
        body = msgspec.json.decode(timed.result, type=_ToolResult)
        if body.is_error:
            raise ServerFailed(bytes(timed.result).decode()[:500])
        return Timed(timed.seconds, body.structured_content)

    def ask(self, tool: str, arguments: Mapping[str, object] | None = None) -> Said:
        """Calls a tool and returns the text that a model would read; an error of the tool is returned too."""
        timed = self.wait(self.send_call(tool, arguments))
        body = msgspec.json.decode(timed.result, type=_ToolResult)
        return Said(timed.seconds, body.content[0].text if body.content else "", body.is_error)

    def request(self, method: str, params: Mapping[str, object] | None = None) -> Timed:
        """Sends a request and waits for its answer; ignores the server's other messages."""
        return self.wait(self.send(method, params))

    def send(self, method: str, params: Mapping[str, object] | None = None) -> int:
        """Sends a request; returns the id to wait for."""
        self._last_id += 1
        message = {"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": dict(params or {})}
        self._sent[self._last_id] = time.monotonic()
        self._write(message)
        return self._last_id

    def wait(self, request_id: int) -> Timed:
        """Returns the answer to a sent request; keeps others that arrive first. Raises ServerFailed for an error."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while request_id not in self._answers:
            line = self._line(deadline)
            ended = time.monotonic()
            frame = msgspec.json.decode(line, type=_Frame)
            if frame.id is None or frame.id not in self._sent:
                continue
            if not bytes(frame.result):
                raise ServerFailed(line.decode()[:500])
            self._answers[frame.id] = Timed(ended - self._sent.pop(frame.id), frame.result)
        return self._answers.pop(request_id)

    def is_answered(self, request_id: int) -> bool:
        """Whether the answer was read while waiting for another one."""
        return request_id in self._answers

    def end(self) -> float:
        """Closes the server's input; returns the seconds until its process ended. Safe to call again (0.0)."""
        if self._process.returncode is not None:
            return 0.0
        assert self._process.stdin is not None
        began = time.monotonic()
        self._process.stdin.close()
        try:
            self._process.wait(DEADLINE_SECONDS)
        except subprocess.TimeoutExpired:
            raise self._failure("does not end") from None
        return time.monotonic() - began

    def _write(self, message: Mapping[str, object]) -> None:
        assert self._process.stdin is not None
        try:
            os.write(self._process.stdin.fileno(), msgspec.json.encode(message) + b"\n")
        except BrokenPipeError:
            raise self._failure("has ended") from None

    def _line(self, deadline: float) -> bytes:
        assert self._process.stdout is not None
        descriptor = self._process.stdout.fileno()
        while (end := self._buffer.find(b"\n")) < 0:
            if not select.select([descriptor], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise self._failure("does not answer")
            data = os.read(descriptor, READ_BYTES)
            if not data:
                raise self._failure("has ended")
            self._buffer += data
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _failure(self, what: str) -> ServerFailed:
        self._errors.seek(0)
        return ServerFailed(f"the server {what}; its stderr: {self._errors.read()[-2000:].decode('utf-8', 'replace')}")


class _Content(Struct, frozen=True):
    text: str = ""


class _ToolResult(Struct, frozen=True, rename="camel"):
    content: tuple[_Content, ...] = ()
    structured_content: msgspec.Raw = msgspec.Raw(b"{}")
    is_error: bool = False


@contextmanager
def serving(root: Path, home: Path, *options: str, interpreter: str = sys.executable) -> Iterator[Connection]:
    """Starts a server for `root` with its store in `home`, without a handshake; its process is gone when the block ends.

    `interpreter` is a Python in whose environment a codecompass is installed.
    """
    environment = {"CODECOMPASS_HOME": str(home), "CODECOMPASS_LOG_LEVEL": "error"}
    command = [interpreter, "-P", "-m", "codecompass", "serve-mcp", "--workspace", str(root), *options]
    with connected(command, environment) as connection:
        yield connection


@contextmanager
def connected(command: Sequence[str], environment: Mapping[str, str]) -> Iterator[Connection]:
    """Starts any server that speaks MCP over its pipes, as `serving` does. `environment` is added to ours."""
    with tempfile.TemporaryFile() as errors:
        started = time.monotonic()
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env={**os.environ, **environment}
        )
        connection = Connection(process, errors, started)
        try:
            yield connection
            connection.end()
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
            for pipe in (process.stdin, process.stdout):
                if pipe is not None and not pipe.closed:
                    pipe.close()

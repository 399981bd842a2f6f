"""Standard input and output as a connection, with real pipes and files; nothing but frames reaches them."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from codecompass.transport.mcp.core import SessionLimits
from codecompass.transport.stdio import Pipes, open_stream, serve_stdio
from tests.support.processes import ROOT, run_python
from tests.transport.harness import PATIENCE, Line
from tests.transport.sample_tools import sample_core

F_SETPIPE_SZ = 1031
PAGE = 4096


class PipeLine(Line):
    """The client's end of a pair of pipes."""

    def __init__(self, to_server, from_server):
        super().__init__()
        self.to_server, self.from_server = to_server, from_server
        self.n_frames = 0

    def feed(self, data: bytes):
        """Sends raw bytes."""
        os.write(self.to_server, data)

    def push(self, frame: bytes):
        self.feed(frame + b"\n")

    def hang_up(self):
        if self.to_server >= 0:
            os.close(self.to_server)
            self.to_server = -1

    def look_away(self):
        """Closes the reading end, as a client that stopped reading would."""
        os.close(self.from_server)
        self.from_server = -1

    async def read(self):
        """Receives frames from the server until its output ends; runs only if the client reads."""
        async with open_stream(self.from_server) as stream:
            buffer = bytearray()
            while data := await stream.receive_some():
                buffer += data
                *lines, rest = buffer.split(b"\n")
                buffer = bytearray(rest)
                for line in lines:
                    self._to_client.send_nowait(bytes(line))
        assert not buffer


@asynccontextmanager
async def piped(core, *, reads=True):
    """Yields a PipeLine to a server that is served until the block ends; each pipe holds one page."""
    server_in, client_out = os.pipe()
    client_in, server_out = os.pipe()
    line = PipeLine(client_out, client_in)

    def count():
        line.n_frames += 1

    async def serve():
        line.end = await serve_stdio(core, Pipes(input=server_in, output=server_out), after_frame=count)
        line.ended.set()
        os.close(server_out)

    try:
        if sys.platform == "linux":
            for descriptor in (client_out, server_out):
                fcntl.fcntl(descriptor, F_SETPIPE_SZ, PAGE)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(serve)
            if reads:
                nursery.start_soon(line.read)
            yield line
            line.hang_up()
            with trio.fail_after(line.patience):
                await line.ended.wait()
    finally:
        for descriptor in (server_in, line.from_server):
            if descriptor >= 0:
                os.close(descriptor)


async def fill(line) -> int:
    """Sends requests until the pipe is full; returns how many were sent."""
    os.set_blocking(line.to_server, False)
    n_taken = 0
    while True:
        try:
            line.feed(json.dumps({"jsonrpc": "2.0", "id": f"{n_taken:0>500}", "method": "ping"}).encode() + b"\n")
        except BlockingIOError:
            return n_taken
        n_taken += 1
        await trio.testing.wait_all_tasks_blocked(0.005)


async def test_a_request_is_answered_with_one_line(core):
    async with piped(core) as line:
        assert await line.result("ping") == {}

    assert line.end == "end_of_input"
    assert line.n_frames == 1


async def test_a_request_can_come_byte_by_byte(core):
    async with piped(core) as line:
        line.judge.sent({"id": 1, "method": "ping"})
        for byte in b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n':
            line.feed(bytes([byte]))
            await trio.lowlevel.checkpoint()

        assert (await line.next())["result"] == {}


async def test_many_requests_in_one_piece_are_answered_in_order(core):
    async with piped(core) as line:
        requests = [{"jsonrpc": "2.0", "id": n, "method": "ping"} for n in range(30)]
        for request in requests:
            line.judge.sent(request)
        line.feed(b"".join(json.dumps(request).encode() + b"\n" for request in requests))

        assert [(await line.next())["id"] for _ in requests] == list(range(30))


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"garbage\n", -32700),
        (b"\xff\xfe\x00{\n", -32700),
        (b'{"jsonrpc":"2.0","id":1,"method":"\xc3\x28"}\n', -32700),
        (b'{"jsonrpc":"2.0","id":1,"met\n', -32700),
        (b'{"a":' * 800 + b"\n", -32700),
        (b"[]\n", -32600),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]\n', -32600),
        (b"null\n", -32600),
        (b'{"jsonrpc":"1.0","id":99,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}\n', -32600),
        (b'{"jsonrpc":"2.0","id":[1],"method":"ping"}\n', -32600),
    ],
)
async def test_a_line_that_is_no_message_is_answered_and_survived(data, code, core):
    async with piped(core) as line:
        line.feed(data)
        refusal = await line.next()

        assert refusal["error"]["code"] == code
        assert refusal["error"]["data"]["code"] == "invalid_input"
        assert await line.result("ping") == {}


async def test_a_line_that_is_too_long_is_answered_before_its_end_and_survived():
    core, _tools = sample_core(SessionLimits(frame_bytes=1000))
    async with piped(core) as line:
        line.feed(b"x" * 2000)
        refusal = await line.next()
        line.feed(b"x" * 1000 + b"\n")

        assert refusal["error"]["data"]["code"] == "invalid_input"
        assert await line.result("ping") == {}


@pytest.mark.parametrize("blank", [b"\n", b"\r\n", b"   \n\t\n"])
async def test_a_blank_line_is_passed_over(blank, core):
    async with piped(core) as line:
        line.feed(blank)

        assert await line.result("ping") == {}
    assert line.n_frames == 1


async def test_a_last_request_without_an_end_of_line_is_answered(core):
    async with piped(core) as line:
        line.judge.sent({"id": 7, "method": "ping"})
        line.feed(b'{"jsonrpc":"2.0","id":7,"method":"ping"}')
        line.hang_up()

        assert (await line.next())["id"] == 7


async def test_the_end_of_input_cancels_what_does_not_end():
    core, tools = sample_core(SessionLimits(grace_seconds=0.05))
    async with piped(core) as line:
        line.ask("tools/call", {"name": "hold"})
        while not tools.n_holding:
            await trio.lowlevel.checkpoint()

    assert line.end == "end_of_input"
    assert tools.n_holding == 0


@pytest.mark.skipif(sys.platform != "linux", reason="the size of a pipe is known on Linux")
async def test_a_client_that_does_not_read_is_read_no_more_and_then_given_up():
    """The server holds a bounded number of frames in each direction: the queue, a page in the pipe, and one in progress."""
    core, tools = sample_core(SessionLimits(queued_frames=4, write_seconds=0.3))
    async with piped(core, reads=False) as line:
        line.ask("tools/call", {"name": "hold"})
        n_taken = await fill(line)
        with trio.fail_after(line.patience):
            await line.ended.wait()

        assert line.end == "client_gone"
        assert n_taken < 250
        assert tools.n_holding == 0


async def test_a_stop_does_not_wait_for_a_client_that_does_not_read():
    core, tools = sample_core(SessionLimits(queued_frames=4, write_seconds=1000, grace_seconds=0.1))
    async with piped(core, reads=False) as line:
        line.ask("tools/call", {"name": "hold"})
        await fill(line)
        core.stop()
        with trio.fail_after(line.patience):
            await line.ended.wait()

        assert line.end == "stopped"
        assert tools.n_holding == 0


async def test_a_client_that_has_closed_its_end_ends_the_connection(core, tools):
    async with piped(core, reads=False) as line:
        line.ask("tools/call", {"name": "hold"})
        line.look_away()
        line.ask("ping")
        with trio.fail_after(line.patience):
            await line.ended.wait()

        assert line.end == "client_gone"
        assert tools.n_holding == 0


async def test_requests_in_a_file_are_answered_into_a_file(tmp_path, core):
    """As in `codecompass serve-mcp < requests > answers`: a file is always readable, and cannot be polled."""
    requests = tmp_path / "requests"
    requests.write_bytes(b"".join(json.dumps({"jsonrpc": "2.0", "id": n, "method": "ping"}).encode() + b"\n" for n in range(50)))
    with requests.open("rb") as source, (tmp_path / "answers").open("wb") as sink, trio.fail_after(PATIENCE):
        end = await serve_stdio(core, Pipes(input=source.fileno(), output=sink.fileno()))

    answers = [json.loads(line) for line in (tmp_path / "answers").read_bytes().splitlines()]
    assert end == "end_of_input"
    assert [answer["id"] for answer in answers] == list(range(50))


async def test_a_terminal_is_served_and_left_as_it_was(core):
    ours, theirs = os.openpty()
    answered = trio.Event()
    try:
        async with trio.open_nursery() as nursery:

            async def serve():
                await serve_stdio(core, Pipes(input=theirs, output=theirs), after_frame=answered.set)
                nursery.cancel_scope.cancel()

            nursery.start_soon(serve)
            os.write(ours, b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
            with trio.fail_after(PATIENCE):
                await answered.wait()
            assert os.get_blocking(theirs)
            os.write(ours, b"\x04")
            nursery.cancel_scope.deadline = trio.current_time() + PATIENCE
        assert b'"result":{}' in os.read(ours, 1000)
    finally:
        os.close(ours)
        os.close(theirs)


async def test_descriptors_are_blocking_again_and_open_afterwards():
    source, sink = os.pipe()
    try:
        async with open_stream(source):
            assert not os.get_blocking(source)

        assert os.get_blocking(source)
        os.write(sink, b"x")
        assert os.read(source, 1) == b"x"
    finally:
        os.close(source)
        os.close(sink)


TAKING = """
import ctypes, os, subprocess, sys
from codecompass.transport.stdio import take_standard_streams
libc = ctypes.CDLL(None)
print("before")
with take_standard_streams() as pipes:
    os.write(pipes.output, b"frame one\\n")
    print("by print")
    os.write(1, b"by the descriptor\\n")
    os.write(sys.stdout.fileno(), b"by the number of stdout\\n")
    libc.printf(b"by a library, late\\n")
    libc.puts(b"by a library, later")
    subprocess.run([sys.executable, "-c", "import sys; print('by a child:', repr(sys.stdin.read()))"], close_fds=False)
    assert not os.get_inheritable(pipes.input) and not os.get_inheritable(pipes.output)
    assert os.read(0, 10) == b""
    os.write(pipes.output, b"frame two, after " + os.read(pipes.input, 100) + b"\\n")
    sys.stdout.write("not flushed")
print("at the end")
print("error", file=sys.stderr)
"""


def test_what_anything_prints_goes_to_stderr():
    done = subprocess.run([sys.executable, "-c", TAKING], input=b"input", capture_output=True, timeout=60, check=False, cwd=ROOT)

    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout == b"before\nframe one\nframe two, after input\n"
    for words in (
        "by print",
        "by the descriptor",
        "by the number of stdout",
        "by a library, late",
        "by a library, later",
        "by a child: ''",
        "not flushed",
        "at the end",
        "error",
    ):
        assert words in done.stderr.decode()


def test_nothing_but_frames_is_written_where_both_outputs_are_one_pipe():
    """A host that reads `2>&1` would take a line of the log for a frame."""
    done = subprocess.run(
        [sys.executable, "-c", TAKING],
        input=b"input",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
        cwd=ROOT,
    )

    assert done.stdout == b"before\nframe one\nframe two, after input\nerror\n"


def test_an_exception_is_told_on_stderr_which_is_put_back():
    done = run_python(
        "import os\n"
        "from codecompass.transport.stdio import take_standard_streams\n"
        "with take_standard_streams() as pipes:\n"
        "    print('buffered')\n"
        "    raise ZeroDivisionError('a defect')\n"
    )

    assert done.stdout == ""
    assert "buffered" in done.stderr
    assert "ZeroDivisionError: a defect" in done.stderr


def test_a_crash_of_the_interpreter_writes_nothing_to_the_client():
    done = run_python(
        "import ctypes, faulthandler\n"
        "from codecompass.transport.stdio import take_standard_streams\n"
        "faulthandler.enable()\n"
        "with take_standard_streams() as pipes:\n"
        "    print('never flushed')\n"
        "    ctypes.string_at(0)\n"
    )

    assert done.returncode == -signal.SIGSEGV
    assert done.stdout == ""
    assert "Segmentation fault" in done.stderr

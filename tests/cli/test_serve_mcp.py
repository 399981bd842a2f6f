"""`serve-mcp` over stdio, in a separate process: its output on each stream, what it survives, and how it ends."""

import json
import os
import pty
import select
import signal
import socket
import stat
import subprocess
import sys

import pytest

from codecompass.settings import LogLevel
from codecompass.transport.tools.listing import GROUPS
from tests.support.sample import SAMPLE
from tests.support.served import END_SECONDS, PATIENCE, holding, processes_of, reached, serving, spied, write_tree
from tests.support.waiting import until
from tests.transport.harness import modern

PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'
PONG = b'{"jsonrpc":"2.0","id":1,"result":{}}\n'

NOISE = """
import ctypes, os, subprocess
libc = ctypes.CDLL(None)
begun = set()
def seen(event, args):
    place = "worker" if event == "open" and str(args[0]).rstrip("'").endswith("noisy.py") else ""
    place = place or ("server" if event == "sqlite3.connect" else "")
    if place and place not in begun:
        begun.add(place)
        print(f"NOISE printed in the {place}", flush=True)
        os.write(1, f"NOISE written in the {place}\\n".encode())
        libc.puts(f"NOISE of C in the {place}".encode())
        libc.fflush(None)
        subprocess.run(["echo", f"NOISE of a child of the {place}"])
"""

CRASH = """
import ctypes, os, sys
def seen(event, args):
    if event == "sqlite3.connect":
        print("buffered, and never flushed")
        os.write(1, b"written before the crash\\n")
        {crash}
"""


@pytest.fixture
def root(tmp_path):
    """A small project that is not registered."""
    return write_tree(tmp_path / "shop", SAMPLE)


@pytest.fixture
def held(tmp_path):
    """A project whose index job blocks until the file `go` exists."""
    return write_tree(tmp_path / "slow", {"held.py": "def held(): pass\n", "other.py": "def other(): pass\n"})


async def start_held_job(line, base, **arguments):
    """Starts a job that does not end, waits until it is running, and returns the id of the request that follows it."""
    id_ = line.ask("tools/call", {"name": "index_repo", "arguments": arguments, "_meta": {"progressToken": "p"}})
    await line.progress("Parsing")
    await reached(base)
    return id_


async def healthy(line, condition):
    """Polls `health_check` until an answer meets the condition, and returns it: the server does not report when it is ready."""

    async def health():
        said = (await line.tool("health_check"))["structuredContent"]
        return said if condition(said) else None

    return await until(health, seconds=PATIENCE)


# Output


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_it_shakes_hands_in_each_revision(tmp_path, revision):
    async with serving(tmp_path) as line:
        result = await line.initialize(revision)

    assert result["protocolVersion"] == revision
    assert line.process.returncode == 0
    assert line.log == ""


async def test_it_is_discovered_without_a_handshake(tmp_path):
    async with serving(tmp_path) as line:
        result = await line.result("server/discover", modern())

    assert "2026-07-28" in result["supportedVersions"]


async def test_it_answers_before_it_opens_anything_and_tells_what_cannot_be_opened(tmp_path, root):
    """The data directory is a file here: a server that opened it first would end before the handshake."""
    (tmp_path / "data").write_text("no directory")
    async with serving(tmp_path, "--workspace", root) as line:
        await line.initialize()
        tools = (await line.result("tools/list"))["tools"]
        answer = await line.tool("search_code", {"query": "order"})

    assert len(tools) == 12
    assert answer["isError"]
    assert json.loads(answer["content"][0]["text"])["error"]["code"] == "permission_denied"
    assert line.process.returncode == 0


async def test_lines_that_are_no_messages_are_answered_and_survived(tmp_path, root):
    async with serving(tmp_path, "--workspace", root) as line:
        await line.initialize()
        codes = []
        for data in (b"garbage\n", b"\xff\xfe{}\n", b'{"jsonrpc":"2.0","id":"', b"\n", b"[]\n", b"x" * 5_000_000 + b"\n"):
            line.feed(data)
            if data.endswith(b"\n"):
                codes.append((await line.next())["error"]["code"])
        line.feed(b"\n  \n\r\n")

        assert await line.result("ping") == {}
        assert (await line.tool("index_repo", {"wait_seconds": 50}))["structuredContent"]["status"] == "published"
    assert codes == [-32700, -32700, -32700, -32600, -32600]


async def test_options_choose_what_is_listed(tmp_path):
    async with serving(tmp_path, "--tools", "core") as line:
        names = {tool["name"] for tool in (await line.result("tools/list"))["tools"]}

    assert names == set(GROUPS["core"])
    assert "diff_context" in names


async def test_port_and_address_are_passed_over_on_stdio(tmp_path):
    async with serving(tmp_path, "--port", "1", "--bind", "192.0.2.1") as line:
        assert await line.result("ping") == {}


# Nothing but frames


@pytest.mark.slow
@pytest.mark.parametrize("level", LogLevel.__args__)
async def test_stdout_has_frames_alone_whatever_is_printed_and_logged(tmp_path, root, level):
    """The client validates every line as a frame."""
    write_tree(root, {"noisy.py": "def noisy(): pass\n"})
    async with serving(tmp_path, "--workspace", root, "--log-level", level, **spied(tmp_path, NOISE)) as line:
        await line.initialize()
        line.push(b"garbage")
        assert "error" in await line.next()
        await line.tool("index_repo", {"wait_seconds": 50}, _meta={"progressToken": 1})
        assert (await line.tool("locate_symbol", {"name": "noisy"}))["structuredContent"]["results"]
        assert (await line.tool("search_code", {"query": "x", "limit": "y"}))["isError"]

    for place in ("server", "worker"):
        for noise in ("printed in", "written in", "of C in", "of a child of"):
            assert f"NOISE {noise} the {place}" in line.log
    assert ('"event": "request"' in line.log) == (level in ("debug", "info"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("crash", "code"),
    [
        ('raise BaseException("worse than a defect")', 1),
        ("sys.exit(3)", 1),
        ("raise KeyboardInterrupt", 130),
        ("os._exit(4)", 4),
        ("os.abort()", -signal.SIGABRT),
        ("ctypes.string_at(0)", -signal.SIGSEGV),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
    ],
)
async def test_stdout_has_frames_alone_however_it_crashes(tmp_path, root, crash, code):
    spy = spied(tmp_path, CRASH.format(crash=crash).replace("import ctypes,", "import signal, ctypes,"))
    async with serving(tmp_path, "--workspace", root, "--log-level", "debug", **spy) as line:
        await line.initialize()
        line.ask("tools/call", {"name": "index_repo", "arguments": {"wait_seconds": 50}})
        await line.wait_exit()

    assert line.process.returncode == code
    assert "written before the crash" in line.log
    assert {message["id"] for message in line.seen} <= {1, 2}
    await until(lambda: processes_of(tmp_path) == [], "the end of the processes of a server that was killed")


async def test_a_defect_in_background_work_does_not_end_it(tmp_path, root):
    spy = spied(tmp_path, CRASH.format(crash='raise ZeroDivisionError("a defect")'))
    async with serving(tmp_path, "--workspace", root, **spy) as line:
        await line.initialize()
        refused = await line.tool("index_repo", {"wait_seconds": 50})
        assert refused["isError"]
        assert json.loads(refused["content"][0]["text"])["error"]["code"] == "internal_error"
        assert await line.result("ping") == {}

    assert line.process.returncode == 0
    assert "background_work_failed" in line.log
    assert "ZeroDivisionError: a defect" in line.log


@pytest.mark.slow
async def test_a_worker_that_crashes_costs_its_file_alone(tmp_path, root):
    write_tree(root, {"noisy.py": "def noisy(): pass\n"})
    code = CRASH.format(crash="os.abort()").replace(
        'event == "sqlite3.connect"', 'event == "open" and "noisy.py" in str(args[0])'
    )
    async with serving(tmp_path, "--workspace", root, **spied(tmp_path, code)) as line:
        await line.initialize()
        answer = (await line.tool("index_repo", {"wait_seconds": 50}))["structuredContent"]

        assert answer["status"] == "published"
        assert (await line.tool("locate_symbol", {"name": "total_price"}))["structuredContent"]["results"]
    assert "written before the crash" in line.log


# The log


async def test_a_log_file_takes_the_place_of_stderr_and_is_added_to(tmp_path, root):
    log = tmp_path / "log" / "server.log"
    log.parent.mkdir()
    for _ in range(2):
        spy = spied(tmp_path, NOISE)
        async with serving(tmp_path, "--workspace", root, "--log-file", log, "--log-level", "info", **spy) as line:
            await line.initialize()
            await line.tool("health_check")

    lines = log.read_text().splitlines()
    events = [json.loads(each)["event"] for each in lines if each.startswith("{")]
    assert line.log == ""
    assert events.count("connection_ended") == 2
    assert sum("NOISE printed in the server" in each for each in lines) == 2
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


async def test_a_log_file_tells_of_a_crash(tmp_path, root):
    log = tmp_path / "server.log"
    spy = spied(tmp_path, CRASH.format(crash='raise BaseException("worse than a defect")'))
    async with serving(tmp_path, "-vv", "--workspace", root, "--log-file", log, **spy) as line:
        await line.initialize()
        await line.wait_exit()

    assert line.process.returncode == 1
    assert "written before the crash" in log.read_text()
    assert "worse than a defect" in line.log


async def test_a_stderr_that_nobody_reads_does_not_stop_it(tmp_path, root):
    """Hosts that do not read stderr let the pipe fill up."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    try:
        while True:
            os.write(write, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(write, True)
    try:
        async with serving(tmp_path, "--workspace", root, "--log-level", "debug", stderr=write) as line:
            await line.initialize()
            assert (await line.tool("index_repo", {"wait_seconds": 50}))["structuredContent"]["status"] == "published"
    finally:
        os.close(read)
        os.close(write)


# Options


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--transport", "carrier-pigeon"], "not one of 'stdio', 'http'"),
        (["--log-level", "loud"], "'debug', 'info', 'warning', 'error'"),
        (["--port", "many"], "not a valid integer"),
        (["--port", "99999"], "65535"),
        (["--tools", "nope"], "no tool 'nope'"),
        (["--tools", "nope"], "search_code"),
        (["--auto-workspace"], "--allowed-root is required when --auto-workspace is enabled"),
        (["--auto-workspace", "--allowed-root", "/nonexistent"], "/nonexistent is not a directory"),
        (["--workspace", "/nonexistent"], "/nonexistent is not a directory"),
        (["--max-auto-workspaces", "-1"], "max_auto_workspaces"),
        (["--warmset-capacity", "-1"], "warmset_capacity"),
        (["--log-file", "."], "is a directory"),
        (["--no-such-option"], "--no-such-option"),
        (["extra"], "extra"),
    ],
)
def test_wrong_options_are_told_before_anything_is_started(cli, program, options, words):
    done = program("serve-mcp", *options)

    assert done.code == 2
    assert done.raw == b""
    assert words in done.err
    assert "Traceback" not in done.err
    assert not cli.home.exists()


def test_a_log_file_that_cannot_be_written_is_told(cli, program):
    done = program("serve-mcp", "--log-file", cli.base / "missing" / "server.log")

    assert done.code == 1
    assert done.raw == b""
    assert "--log-file" in done.err
    assert "cannot be written" in done.err


def test_an_input_that_is_empty_is_no_failure(program):
    done = program("serve-mcp")

    assert (done.code, done.raw, done.err) == (0, b"", "")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_stream_that_is_missing_is_no_failure(cli, program, closed):
    """The first file that is opened must not get its descriptor."""
    script = f'exec "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", script, "sh", *program.command(["serve-mcp", "--log-level", "debug"])],
        cwd=cli.cwd,
        env=cli.environment,
        input=PING,
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stdout in (b"", PONG)
    assert (done.stdout == PONG) == (closed == "2>&-")
    assert b"Traceback" not in done.stderr


def test_a_pair_of_sockets_is_as_good_as_pipes(cli, program):
    """Some hosts connect by a socket, the same one for input and output."""
    ours, theirs = socket.socketpair()
    with ours:
        ours.settimeout(PATIENCE)
        with theirs:
            process = subprocess.Popen(
                program.command(["serve-mcp"]), cwd=cli.cwd, env=cli.environment, stdin=theirs, stdout=theirs
            )
        ours.send(PING)
        answer = ours.recv(1000)
        ours.shutdown(socket.SHUT_WR)

        assert process.wait(END_SECONDS) == 0
        assert answer == PONG
        assert ours.recv(1000) == b""


def test_people_are_told_what_it_waits_for(cli, program):
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        program.command(["serve-mcp"]),
        cwd=cli.cwd,
        env=cli.environment,
        stdin=theirs,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    os.close(theirs)
    try:
        assert process.stderr.readline().startswith(b"This speaks the Model Context Protocol")
        os.write(ours, b"\x04")
        out, _ = process.communicate(timeout=END_SECONDS)
    finally:
        os.close(ours)
        process.kill()
        process.wait()

    assert (process.returncode, out) == (0, b"")


# Prewarming


async def test_recent_projects_are_made_ready_at_the_start(cli, program, root):
    assert program("index", cwd=root).code == 0
    async with serving(cli.base, "--log-level", "info") as line:
        await line.initialize()
        health = await healthy(line, lambda health: health["prewarm_status"] == "complete")

    assert health["projects"][0]["residency"] == "live"
    assert health["workspace_warmset"]["members"] == [str(root)]


async def test_nothing_is_made_ready_where_that_is_not_wanted(cli, program, root):
    assert program("index", cwd=root).code == 0
    async with serving(cli.base, "--no-prewarm") as line:
        await line.initialize()
        health = await healthy(line, lambda health: health["projects"])

        assert health["prewarm_status"] == "skipped"
        assert health["projects"][0]["residency"] == "on_disk"
        assert health["workspace_warmset"]["enabled"] is False
        assert (await line.tool("locate_symbol", {"workspace": str(root), "name": "Order"}))["structuredContent"]["results"]


# The end


async def test_the_end_of_input_ends_a_job_and_all_processes(tmp_path, held, cli):
    async with serving(tmp_path, "--workspace", held, **holding(tmp_path)) as line:
        await line.initialize(notifications={})
        await start_held_job(line, tmp_path)
        assert sys.platform != "linux" or len(processes_of(tmp_path)) > 1

    assert line.process.returncode == 0
    assert processes_of(tmp_path) == []
    jobs = cli("status", "--json", cwd=held).json["recent_jobs"]
    assert [job["status"] for job in jobs] in (["cancelled"], ["interrupted"])


async def test_the_end_of_input_with_a_request_in_flight_ends_it_too(tmp_path, held):
    async with serving(tmp_path, "--workspace", held, **holding(tmp_path)) as line:
        await line.initialize(notifications={})
        await start_held_job(line, tmp_path, wait_seconds=50)

    assert line.process.returncode == 0
    assert processes_of(tmp_path) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_lets_what_is_in_flight_end(tmp_path, held, number):
    async with serving(tmp_path, "--workspace", held, **holding(tmp_path)) as line:
        await line.initialize(notifications={})
        id_ = await start_held_job(line, tmp_path, wait_seconds=50)
        (tmp_path / "go").touch()
        await line.progress("Finalizing")
        line.process.send_signal(number)
        answer = await line.answer(id_)
        await line.wait_exit()

    assert answer["result"]["structuredContent"]["status"] == "published"
    assert line.process.returncode == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_does_not_wait_for_what_does_not_end(tmp_path, held, number):
    async with serving(tmp_path, "--workspace", held, **holding(tmp_path)) as line:
        await line.initialize(notifications={})
        await start_held_job(line, tmp_path, wait_seconds=50)
        line.process.send_signal(number)
        await line.wait_exit()

    assert line.process.returncode == 0
    assert processes_of(tmp_path) == []


async def test_a_second_signal_ends_at_once(tmp_path, held):
    async with serving(tmp_path, "--workspace", held, **holding(tmp_path)) as line:
        await line.initialize(notifications={})
        await start_held_job(line, tmp_path, wait_seconds=50)
        for _ in range(2):
            line.process.send_signal(signal.SIGTERM)
        await line.wait_exit()

    # The second signal kills it by the default action, unless both came so close together that the system merged them.
    assert line.process.returncode in (0, -signal.SIGTERM), line.log


def test_a_signal_ends_it_for_a_client_that_does_not_read(cli, program):
    process = subprocess.Popen(
        program.command(["serve-mcp"]), cwd=cli.cwd, env=cli.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    os.set_blocking(process.stdin.fileno(), False)
    ping = json.dumps({"jsonrpc": "2.0", "id": "x" * 1000, "method": "ping"}).encode() + b"\n"
    try:
        first = process.stdin.raw.write(ping)
        assert first == len(ping)
        assert process.stdout.readline()
        n_taken = 0
        # Until both pipes and the queues between them are full and the server reads no more.
        while _is_writable(process.stdin):
            n_taken += process.stdin.raw.write(ping) or 0
        assert n_taken < 4_000_000
        process.send_signal(signal.SIGTERM)
        assert process.wait(END_SECONDS) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
        try:
            process.stdin.close()
        except BrokenPipeError:
            pass


def _is_writable(pipe) -> bool:
    return bool(select.select([], [pipe], [], 0.5)[1])


async def test_a_client_that_dies_leaves_nothing_behind(tmp_path, held):
    """Neither end of input nor a signal arrives: the pipe of the answers is closed."""
    async with serving(tmp_path, "--workspace", held, **holding(tmp_path)) as line:
        await line.initialize(notifications={})
        await start_held_job(line, tmp_path)
        await line.process.stdout.aclose()
        line.ask("ping")
        await line.wait_exit()

    assert line.process.returncode == 0
    assert processes_of(tmp_path) == []

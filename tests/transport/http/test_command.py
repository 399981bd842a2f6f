"""`codecompass serve-mcp --transport http` in a separate process."""

import json
import signal
import socket
import subprocess
import sys

import pytest
import trio

from tests.conftest import tool
from tests.support.waiting import until
from tests.transport.http.client import ask, call, connect
from tests.transport.http.command import http_command

DEADLINE_SECONDS = 60
"""By when a signal has ended the server, whatever its clients do."""

SOURCE = "def validate_token(token):\n    return token\n"


def _is_listening(port):
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", port)) == 0


@pytest.fixture
def project(tmp_path):
    """A small project."""
    directory = tmp_path / "backend"
    directory.mkdir()
    (directory / "auth.py").write_text(SOURCE)
    return directory


@pytest.fixture
def home(tmp_path):
    """An empty store."""
    directory = tmp_path / "home"
    directory.mkdir()
    return directory


def command(*options, home):
    return subprocess.run(
        [sys.executable, "-m", "codecompass", "serve-mcp", "--transport", "http", *map(str, options)],
        capture_output=True,
        text=True,
        timeout=60,
        stdin=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin", "HOME": str(home), "CODECOMPASS_HOME": str(home)},
        cwd=home,
        check=False,
    )


def curl(*arguments):
    done = subprocess.run([tool("curl"), "--silent", "--max-time", "60", *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


async def test_curl_is_answered_as_the_contract_shows_it(home, project):
    request = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "locate_symbol", "arguments": {"name": "validate_token", "workspace": str(project)}},
    }
    async with http_command(home, "--workspace", project) as server:
        health = await trio.to_thread.run_sync(curl, f"{server.url}/health")
        await ask(server.port, "POST", "/", call("index_repo", {"wait_seconds": 50}))
        typed = await trio.to_thread.run_sync(
            curl, "-X", "POST", f"{server.url}/", "-H", "Content-Type: application/json", "-d", json.dumps(request)
        )
        untyped = await trio.to_thread.run_sync(curl, f"{server.url}/", "-H", "Content-Type:", "-d", json.dumps(request))
        listed = await trio.to_thread.run_sync(
            curl, f"{server.url}/", "-H", "Content-Type:", "-d", '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
        )

    assert health["status"] in ("ready", "warming")
    assert (typed["jsonrpc"], typed["id"]) == ("2.0", 1)
    hit = json.loads(typed["result"]["content"][0]["text"])["results"][0]
    assert (hit["path"], hit["line_start"]) == ("auth.py", 1)
    assert json.loads(untyped["result"]["content"][0]["text"])["results"][0] == hit
    assert len(listed["result"]["tools"]) == 12


def test_a_port_in_use_is_said_in_one_line(home):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        done = command("--port", port, home=home)

    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr == f"error: Port {port} is already in use. Choose a different port with --port.\n"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--bind", "no.such.name.invalid"), "no.such.name.invalid"),
        (("--port", "70000"), "65535"),
        (("--auto-workspace",), "--allowed-root"),
    ],
)
def test_options_that_make_no_sense_are_refused_before_anything_starts(home, options, said):
    done = command(*options, home=home)

    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


async def test_hosts_and_origins_are_what_the_options_allow(home):
    async with http_command(home, "--allowed-host", "code.example", "--allowed-origin", "https://app.example") as server:
        statuses = [
            (await ask(server.port, "GET", "/health", **headers)).status
            for headers in (
                {},
                {"host": "code.example"},
                {"host": "evil.example"},
                {"origin": "https://app.example"},
                {"origin": "https://evil.example"},
            )
        ]

    assert statuses == [200, 200, 421, 200, 403]


async def test_an_address_beyond_this_machine_is_warned_of_on_stderr(home):
    async with http_command(home, "--bind", "0.0.0.0") as server:
        assert (await ask(server.port, "GET", "/health")).status == 200

    assert "reachable_from_other_machines" in server.log
    assert "SSH tunnel" in server.log


@pytest.mark.slow
async def test_a_signal_ends_it_within_its_deadline_although_clients_do_not_read(home, project):
    for n in range(50):
        (project / f"module_{n}.py").write_text(SOURCE * 200)
    async with http_command(home, "--workspace", project) as server:
        assert (await ask(server.port, "POST", "/", call("index_repo", {"wait_seconds": 50}))).status == 200
        async with connect(server.port, receive_bytes=4096) as stalled, connect(server.port) as half:
            await half.stream.send_all(b"POST / HTTP/1.1\r\nhost:")
            await stalled.send("GET", "/mcp", accept="text/event-stream")
            await stalled.head()
            path = (await stalled.text()).split(b"data: ")[1].decode()
            for n in range(20):
                body = call("search_code", {"query": "validate_token", "limit": 100, "detail_level": "context"}, id_=n)
                await ask(server.port, "POST", path, body, content_type="application/json")
            server.process.send_signal(signal.SIGTERM)
            with trio.fail_after(DEADLINE_SECONDS):
                await server.process.wait()


async def test_a_second_signal_ends_it_at_once(home):
    async with http_command(home, ends=(0, -signal.SIGINT)) as server, connect(server.port) as client:
        assert (await ask(server.port, "GET", "/health")).status == 200
        await client.stream.send_all(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9\r\n\r\n{")
        server.process.send_signal(signal.SIGINT)
        await until(lambda: not _is_listening(server.port), "the first signal closes the door")
        server.process.send_signal(signal.SIGINT)
        with trio.fail_after(DEADLINE_SECONDS):
            await server.process.wait()


async def test_a_server_that_was_started_with_nohup_outlives_its_terminal(home):
    async with http_command(home, ignored=(signal.SIGHUP,)) as server:
        assert (await ask(server.port, "GET", "/health")).status == 200
        server.process.send_signal(signal.SIGHUP)
        assert (await ask(server.port, "GET", "/health")).status == 200


async def test_one_that_was_not_ends_with_its_terminal(home):
    async with http_command(home) as server:
        assert (await ask(server.port, "GET", "/health")).status == 200
        server.process.send_signal(signal.SIGHUP)
        with trio.fail_after(DEADLINE_SECONDS):
            assert await server.process.wait() == 0

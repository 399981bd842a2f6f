"""The balancer as configured in `deploy/`, with real servers behind it."""

import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from tests.deploy.deployment import DEPLOY
from tests.support.live import Process, free_port, http_server
from tests.support.waiting import until

PATIENCE_SECONDS = 60
HAPROXY = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")

pytestmark = pytest.mark.skipif(HAPROXY is None, reason="haproxy is not on this machine")


@asynccontextmanager
async def _balancer(servers: list[Process], directory: Path) -> AsyncIterator[tuple[int, int]]:
    """Yields the balancer's two ports: for agents, and for its health check."""
    agents, alive = free_port(), free_port()
    text = (DEPLOY / "haproxy.cfg").read_text()
    lines = "\n".join(f"    server server-{each.port} 127.0.0.1:{each.port} check" for each in servers)
    for pattern, instead in (
        (r"^    bind :8080$", f"    bind 127.0.0.1:{agents}"),
        (r"^    bind 127\.0\.0\.1:8081$", f"    bind 127.0.0.1:{alive}"),
        # Docker resolves the servers' names, so they are replaced by addresses.
        (r"^    server-template .*$", lines),
    ):
        text, n_replaced = re.subn(pattern, instead, text, flags=re.MULTILINE)
        assert n_replaced == 1
    file = directory / "haproxy.cfg"
    file.write_text(text)
    log = (directory / "log").open("wb")
    process = await trio.lowlevel.open_process([HAPROXY, "-db", "-f", str(file)], stdout=log, stderr=subprocess.STDOUT)
    try:

        async def are_up():
            return {(await _ask(alive, "/alive"))[0], (await _ask(agents, "/health"))[0]} == {200} and all(
                [b'{route="/health",status="200"}' in (await _ask(each.port, "/metrics"))[1] for each in servers]
            )

        # The balancer listens immediately; it uses a server once that has answered a check.
        await until(are_up, "a balancer that asks each server", seconds=PATIENCE_SECONDS)
        yield agents, alive
    finally:
        process.kill()
        with trio.CancelScope(shield=True):
            await process.wait()
        log.close()


async def _ask(port: int, path: str, body: bytes = b"", host: str = "code.example.com") -> tuple[int, bytes]:
    """Returns status and body; 0 if nothing listens."""
    method = "POST" if body else "GET"
    head = f"{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n" if body else "\r\n"
    try:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
    except OSError:
        return 0, b""
    answer = bytearray()
    async with stream:
        with trio.fail_after(PATIENCE_SECONDS):
            await stream.send_all(head.encode() + body)
            async for piece in stream:
                answer += piece
    status, _, content = bytes(answer).partition(b"\r\n\r\n")
    return int(status.split()[1]), content


QUESTION = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'


@asynccontextmanager
async def _servers(base: Path) -> AsyncIterator[list[Process]]:
    homes = [base / "one", base / "two"]
    for home in homes:
        home.mkdir()
    # In the containers, servers listen on all interfaces and accept any Host. Here they listen on loopback.
    allowed = ("--allowed-host", "code.example.com")
    async with http_server(*allowed, home=homes[0]) as first, http_server(*allowed, home=homes[1]) as second:
        yield [first, second]


async def test_every_server_is_asked(tmp_path: Path):
    async with _servers(tmp_path) as servers, _balancer(servers, tmp_path) as (agents, _):
        answers = [await _ask(agents, "/", QUESTION) for _ in range(6)]
        counts = [(await _ask(each.port, "/metrics"))[1].decode() for each in servers]

    assert [status for status, _ in answers] == [200] * 6
    assert all(b'"tools"' in body for _, body in answers)
    asked = [
        re.findall(r'^codecompass_http_responses_total{route="/",status="200"} (\d+)$', each, re.MULTILINE) for each in counts
    ]
    numbers = [int(number) for [number] in asked]
    assert sum(numbers) == 6
    assert min(numbers) > 0


async def test_a_server_that_is_killed_costs_no_question(tmp_path: Path):
    async with _servers(tmp_path) as servers, _balancer(servers, tmp_path) as (agents, _):
        await servers[0].kill()

        answers = [(await _ask(agents, "/", QUESTION))[0] for _ in range(10)]

    assert answers == [200] * 10


async def test_without_servers_the_balancer_says_so_and_lives(tmp_path: Path):
    async with _servers(tmp_path) as servers, _balancer(servers, tmp_path) as (agents, alive):
        for each in servers:
            await each.kill()

        status, _ = await _ask(agents, "/", QUESTION)

        assert status == 503
        assert (await _ask(alive, "/alive"))[0] == 200
        assert (await _ask(alive, "/"))[0] == 403


async def test_metrics_are_asked_of_each_server(tmp_path: Path):
    async with _servers(tmp_path) as servers, _balancer(servers, tmp_path) as (agents, _):
        assert (await _ask(agents, "/metrics"))[0] == 404
        assert (await _ask(agents, "/metrics/"))[0] == 404
        assert [(await _ask(each.port, "/metrics"))[0] for each in servers] == [200, 200]

"""A port that answers for the metrics alone."""

from contextlib import asynccontextmanager
from functools import partial

import pytest
import trio

from codecompass.transport.http.metrics_port import serve_metrics
from codecompass.transport.http.server import open_sockets
from tests.transport.http.client import UPGRADE, ask, connect


@asynccontextmanager
async def serving_metrics(page):
    sockets, stop = open_sockets("127.0.0.1", 0), trio.Event()
    port = sockets[0].getsockname()[1]
    async with trio.open_nursery() as nursery:
        await nursery.start(partial(serve_metrics, sockets, page, stop.wait))
        yield port
        stop.set()


async def test_each_scrape_is_answered_with_the_figures_of_that_moment():
    counted = iter((b"a 1\n", b"a 2\n"))
    async with serving_metrics(lambda: next(counted)) as port:
        answers = [await ask(port, "GET", "/metrics") for _ in range(2)]

    assert [each.body for each in answers] == [b"a 1\n", b"a 2\n"]
    assert {each.headers["content-type"] for each in answers} == {"text/plain; version=0.0.4; charset=utf-8"}


@pytest.mark.parametrize(
    ("method", "path", "headers", "status"),
    [
        ("GET", "/", {}, 404),
        ("GET", "/ui", {}, 404),
        ("GET", "/ws", {}, 404),
        ("POST", "/mcp", {"content_type": "application/json"}, 404),
        ("POST", "/metrics", {}, 405),
        ("GET", "/metrics", {"host": "evil.example"}, 421),
        ("GET", "/metrics", {"origin": "https://evil.example"}, 403),
    ],
)
async def test_nothing_else_is_answered(method, path, headers, status):
    async with serving_metrics(lambda: b"secret 1\n") as port:
        answer = await ask(port, method, path, **headers)

    assert answer.status == status
    assert b"secret" not in answer.body


async def test_there_is_no_websocket():
    async with serving_metrics(lambda: b"") as port, connect(port) as client:
        await client.send("GET", "/ws", **UPGRADE)

        assert (await client.head()).status == 404

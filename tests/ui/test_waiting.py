"""A page that waits for its colours: nobody else waits, and the server ends when told to."""

import os
import select
import signal
import sys
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from urllib.parse import urlencode

import h11
import pytest
import trio

from codecompass.transport.ui import code_lines
from tests.support.faults import workers
from tests.support.live import http_server, index
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace
from tests.transport.http.client import ask
from tests.ui.pages import page_server

CODE = "def total(cart):\n    return sum(cart)\n"


@asynccontextmanager
async def waiting_page(top):
    """Yields a browser, an event that is set once the page of a file is answered, and the answers. No worker is free."""
    root = top / "shop"
    root.mkdir()
    (root / "cart.py").write_text(CODE)
    async with page_server(top / "home") as browser, trio.open_nursery() as nursery:
        project = await browser.index(root)
        tokens = browser.serving.server.page_workers._tokens
        answered = trio.Event()
        answers = []

        async def open_page():
            with suppress(h11.RemoteProtocolError):  # the server may end meanwhile
                answers.append(await browser.get("/ui/file", project=project, path="cart.py"))
            answered.set()

        async with trio.open_nursery() as holding:
            for number in range(int(tokens.total_tokens)):
                await tokens.acquire_on_behalf_of(number)
            holding.start_soon(open_page)
            await until(lambda: tokens.statistics().tasks_waiting == 1, "a page that waits for a worker")
            yield browser, answered, answers
            for number in range(int(tokens.total_tokens)):
                tokens.release_on_behalf_of(number)
        nursery.cancel_scope.cancel()


@pytest.mark.invariant(of="tests/worker/test_highlighting.py")
async def test_health_and_questions_are_answered_while_a_page_waits_for_its_colours(tmp_path):
    async with waiting_page(tmp_path) as (browser, answered, answers):
        health, other = await browser.get("/health"), await browser.get("/ui/projects")
        was_answered = answered.is_set()

    assert (health.status, other.status, was_answered) == (200, 200, False)
    assert '<i class="k">return</i>' in answers[0].body.decode()


@pytest.mark.slow
async def test_a_page_that_gets_no_worker_is_shown_without_colours(tmp_path, monkeypatch):
    monkeypatch.setattr(code_lines, "WAIT_SECONDS", 1)
    async with waiting_page(tmp_path) as (_browser, answered, answers):
        await answered.wait()

    assert "return sum(cart)" in answers[0].body.decode()


@pytest.mark.invariant(of="tests/worker/test_highlighting.py")
async def test_a_server_that_is_told_to_stop_does_not_wait_for_the_colours_of_a_page(tmp_path):
    async with waiting_page(tmp_path) as (browser, _answered, _answers):
        pool = browser.serving.server.page_workers
        browser.serving.server.core.stop()
        await until(lambda: pool._tokens.statistics().tasks_waiting == 0, "the end of the waiting page")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="finds processes in /proc")
async def test_a_server_that_is_terminated_while_it_highlights_leaves_no_process(tmp_path):
    """The processes that highlight stand still, as one does that is within a single token of a lexer."""
    project = TestWorkspace(tmp_path / "shop", tmp_path / "home")
    project.write({"cart.py": CODE})
    index([project])
    async with http_server(home=project.home) as server, trio.open_nursery() as nursery:
        pages = {"project": project.project_id, "path": "cart.py"}

        async def coloured():
            """Returns a page with colours: one that is asked for before their process has started may have none."""
            answer = await ask(server.port, "GET", f"/ui/file?{urlencode(pages)}")
            return answer if b'<i class="k">return</i>' in answer.body else None

        first = await until(coloured)
        highlighting = workers(server.process.pid)
        for pid in highlighting:
            os.kill(pid, signal.SIGSTOP)

        async def open_page():
            with suppress(h11.RemoteProtocolError, OSError):  # the server ends meanwhile
                await ask(server.port, "GET", f"/ui/file?{urlencode(pages)}")

        for _ in range(len(highlighting)):
            nursery.start_soon(open_page)
        await until(lambda: all(has_input(pid) for pid in highlighting), "a page that waits for its colours")
        tree = [server.process.pid, *highlighting, *workers(server.process.pid)]
        ended = await server.end()

    assert '<i class="k">return</i>' in first.body.decode()
    assert ended == 0
    assert highlighting
    assert not any(map(exists, tree))


def exists(pid):
    return Path(f"/proc/{pid}").exists()


def has_input(pid):
    """Whether something was sent to a process that it has not read."""
    with open(f"/proc/{pid}/fd/0", "rb") as end:
        return bool(select.select([end], [], [], 0)[0])

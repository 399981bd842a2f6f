"""A page that waits for its colours: nobody else waits, and the server ends when told to."""

from contextlib import asynccontextmanager, suppress

import h11
import pytest
import trio

from tests.support.waiting import until
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


async def test_health_and_questions_are_answered_while_a_page_waits_for_its_colours(tmp_path):
    async with waiting_page(tmp_path) as (browser, answered, answers):
        health, other = await browser.get("/health"), await browser.get("/ui/projects")
        was_answered = answered.is_set()

    assert (health.status, other.status, was_answered) == (200, 200, False)
    assert '<i class="k">return</i>' in answers[0].body.decode()


@pytest.mark.slow
async def test_a_page_that_gets_no_worker_is_shown_without_colours(tmp_path):
    async with waiting_page(tmp_path) as (_browser, answered, answers):
        await answered.wait()

    assert "return sum(cart)" in answers[0].body.decode()


async def test_a_server_that_is_told_to_stop_does_not_wait_for_the_colours_of_a_page(tmp_path):
    async with waiting_page(tmp_path) as (browser, _answered, _answers):
        pool = browser.serving.server.page_workers
        browser.serving.server.core.stop()
        await until(lambda: pool._tokens.statistics().tasks_waiting == 0, "the end of the waiting page")

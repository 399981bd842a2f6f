"""The page costs nothing if it is not used."""

import gc
import subprocess
import sys
from contextlib import ExitStack

import pytest

from codecompass.errors import InvalidInput, error_body
from codecompass.protocol.metadata import bare_metadata
from codecompass.protocol.replies import ErrorReply
from codecompass.transport.call_records import MAX_ARGUMENTS, MAX_CALLS, MAX_CLIENTS, ActivityLog
from codecompass.transport.ui.access_checks import MAX_REQUESTS, PageDoor
from tests.support.serving import SETTINGS, open_serving
from tests.support.waiting import until
from tests.ui.pages import page_server

OF_THE_PAGE = (
    "jinja2",
    "pygments",
    "markdown_it",
    "markupsafe",
    "codecompass.transport.ui.site",
    "codecompass.transport.ui.rendering",
)

WITHOUT_THE_PAGE = """
import sys
import codecompass.transport.server, codecompass.transport.http.service, codecompass.cli.serving
from codecompass.transport.tools.listing import TOOLS
print(*sys.modules)
"""


@pytest.mark.invariant(of="test_a_project_outside_of_the_allowed_roots_is_never_shown")
def test_nothing_of_the_page_is_loaded_by_a_server_that_nobody_looks_at():
    loaded = subprocess.run([sys.executable, "-c", WITHOUT_THE_PAGE], capture_output=True, text=True, check=True).stdout.split()

    assert "codecompass.transport.ui.access_checks" in loaded
    assert not set(OF_THE_PAGE) & set(loaded)


async def test_the_page_is_made_for_the_first_request_that_comes_through_the_door(tmp_path):
    async with page_server(tmp_path / "home") as browser:
        door = _door(browser)
        await browser.get("/health")
        await browser.get("/ui", {"sec_fetch_site": "cross-site"})
        before = door._site
        await browser.get("/ui")

        assert before is None
        assert door._site is not None


async def test_requests_to_the_page_are_bounded_and_others_do_not_notice(tmp_path):
    async with page_server(tmp_path / "home") as browser:
        await browser.get("/ui")
        capacity = _door(browser)._capacity
        # The request before is counted a little longer than it runs.
        await until(lambda: capacity._n_requests == 0)
        with ExitStack() as others:
            for _ in range(MAX_REQUESTS):
                others.enter_context(capacity.taken())
            refused, health = await browser.get("/ui"), await browser.get("/health")
        answered = await browser.get("/ui")

    assert (refused.status, refused.headers["retry-after"], health.status) == (503, "1", 200)
    assert answered.status == 200


def _door(browser):
    return next(each for each in gc.get_objects() if isinstance(each, PageDoor) and each._server is browser.serving.server)


async def test_a_server_over_stdio_keeps_no_activity(tmp_path):
    async with open_serving(tmp_path / "home", settings=SETTINGS) as serving:
        assert serving.server.activity is None


def test_activity_is_bounded_whatever_clients_send():
    reply = ErrorReply(error=error_body(InvalidInput("no")), metadata=bare_metadata())
    log = ActivityLog()
    for number in range(MAX_CLIENTS + 30):
        arguments = {f"key{n}" * 100: "\U0001f600" * 100_000 for n in range(20)}
        log.note(f"client {number}" * 50, "http", "search_code", {**arguments, "n": 10**4_000, "l": ["x"] * 9}, reply, 0.1, 5)
    for _ in range(MAX_CALLS * 3):
        log.note("busy", "http", "search_code", {"query": "x"}, reply, 0.1, 5)

    clients = log.clients()
    assert len(clients) == MAX_CLIENTS
    assert clients[0].name == "busy"
    assert len(clients[0].calls) == MAX_CALLS
    assert all(len(call.arguments) <= MAX_ARGUMENTS for client in clients for call in client.calls)

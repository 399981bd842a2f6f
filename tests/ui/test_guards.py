"""Who may see the page: no other site, host name or origin; and the security headers of every answer."""

import pytest

from codecompass.transport.http.limits import HEADER_LENGTHS
from codecompass.transport.ui.access_checks import POLICY
from tests.transport.http.client import connect
from tests.ui.pages import PAGE_SETTINGS, page_server

PAGES = ("/ui", "/ui/results", "/ui/projects", "/ui/activity", "/ui/nothing", "/ui/file", "/ui/static/x/keys.js")


@pytest.fixture
async def browser(tmp_path):
    async with page_server(tmp_path / "home") as found:
        yield found


@pytest.mark.parametrize("page", PAGES)
async def test_every_answer_is_for_this_origin_alone(browser, page):
    answer = await browser.get(page)

    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert answer.headers["cross-origin-opener-policy"] == "same-origin"
    assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert "unsafe" not in POLICY
    assert POLICY.startswith("default-src 'none'")


@pytest.mark.invariant("Another site can neither read the page nor call anything through it, not even by DNS rebinding")
@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense", ""])
@pytest.mark.parametrize("page", [*PAGES, "/ui/events"])
async def test_what_another_site_asks_for_is_refused(browser, page, site):
    answer = await browser.get(page, {"sec_fetch_site": site})

    assert answer.status == 403
    assert b"another site" in answer.body


@pytest.mark.parametrize("site", ["same-origin", "none", None])
async def test_the_page_itself_and_a_typed_address_are_let_in(browser, site):
    assert (await browser.get("/ui", {"sec_fetch_site": site})).status == 200


@pytest.mark.parametrize("origin", ["http://localhost:1", "http://127.0.0.1:1", "https://example.org", "null"])
async def test_no_other_origin_is_answered_even_one_of_this_machine(browser, origin):
    """The tools accept calls from other pages on this machine; the page, whose code needs no JSON request, does not."""
    read = await browser.get("/ui", {"origin": origin})
    sent = await browser.post("/ui/act", headers={"origin": origin}, project="x", action="update")

    assert (read.status, sent.status) == (403, 403)


async def test_an_origin_that_the_user_has_allowed_for_the_tools_cannot_read_the_page(tmp_path):
    from msgspec.structs import replace

    from codecompass.settings import ServerSettings

    allowed = "https://app.example"
    settings = replace(PAGE_SETTINGS, server=ServerSettings(transport="http", prewarm=False, allowed_origins=(allowed,)))
    async with page_server(tmp_path / "home", settings=settings) as browser:
        read = await browser.get("/ui", {"origin": allowed})
        async with connect(browser.port) as client:
            preflight = await client.request("OPTIONS", "/ui", origin=allowed, access_control_request_method="POST")
        of_tools = await browser.get("/health", {"origin": allowed})

    assert (read.status, preflight.status, of_tools.status) == (403, 403, 200)
    for answer in (read, preflight):
        assert not [name for name in answer.headers if name.startswith("access-control-")]
    assert of_tools.headers["access-control-allow-origin"] == allowed


@pytest.mark.invariant(of="test_what_another_site_asks_for_is_refused")
@pytest.mark.parametrize("host", ["evil.example", "evil.example:9100", "localhost.evil.example", "127.0.0.1.evil.example"])
async def test_a_name_that_somebody_else_leads_here_is_refused_also_where_all_machines_may_connect(tmp_path, host):
    """A page can rebind its own domain to this machine, and then has the same origin."""
    async with page_server(tmp_path / "home", bind="0.0.0.0") as browser:
        own = await browser.get("/ui")
        rebound = await browser.get("/ui", {"host": host})

    assert (own.status, rebound.status) == (200, 421)


async def test_what_changes_something_is_no_get_and_needs_the_origin_of_the_page(browser):
    assert (await browser.get("/ui/act", project="x", action="rebuild")).status == 405
    assert (await browser.post("/ui/act", headers={"origin": None}, project="x", action="update")).status == 403
    assert (await browser.post("/ui/act", headers={"sec_fetch_site": "same-site"}, project="x")).status == 403
    assert (await browser.post("/ui/act", headers={"content_type": "text/plain"}, project="x")).status == 415
    # A request from the page itself passes, and fails only because the project does not exist.
    assert (await browser.post("/ui/act", project="x", action="update")).status == 400


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "HEAD", "PATCH"])
async def test_other_methods_are_refused(browser, method):
    async with connect(browser.port) as client:
        await client.send(method, "/ui")
        assert (await client.head()).status == 405


async def test_headers_and_parameters_have_bounds(browser):
    long = "a" * (HEADER_LENGTHS["sec-fetch-site"] + 1)

    assert (await browser.get("/ui", {"sec_fetch_site": long})).status == 431
    assert (await browser.get("/ui", project="a" * 51)).status == 400
    assert (await browser.get("/ui/file", line="many", path="a", project="a")).status in (400, 404)
    assert (await browser.post("/ui/act", project="x" * 30_000)).status == 413

"""The page of an organisation's server without an engine: which requests it takes, where it redirects to, how people sign in."""

import base64
import json
import subprocess
import sys
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from structlog.testing import capture_logs

from codecompass.cluster.engine import calls
from codecompass.cluster.page.own_requests import PageAddress, page_address, safe_target, with_lines
from codecompass.cluster.page.permalinks import mark_of
from codecompass.cluster.page.sessions import Attempt, Cookies, attempt_of, new_attempt
from codecompass.errors import InvalidInput
from codecompass.settings import AccessSettings
from codecompass.transport.ui.access_checks import HEADERS
from tests.cluster.identity_provider import identity_provider
from tests.cluster.organisation import serving_library
from tests.cluster.page_client import HOST, NAVIGATION, ORIGIN, PageBrowser
from tests.cluster.test_library_server import closed_port, settings_at

PAGE = {"page_url": ORIGIN}
PARTS = ("/ui/results", "/ui/facets", "/ui/complete", "/ui/card", "/ui/refs", "/ui/uses")
PAGES = (
    "/ui",
    "/ui/",
    "/ui/file",
    "/ui/raw",
    "/ui/tree",
    "/ui/goto",
    "/ui/symbol",
    "/ui/projects",
    "/ui/project",
    "/ui/permalink",
)
FETCH = {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Mode": "cors", "Sec-Fetch-Dest": "empty"}


@pytest.fixture
async def away(tmp_path, monkeypatch):
    """A browser at a server whose engine is away, without a provider."""
    monkeypatch.setattr(calls, "LOOKUP_SECONDS", 2.0)
    with closed_port() as port:
        async with serving_library(settings_at(port, **PAGE), tmp_path / "cache", n_ready=0) as served:
            yield PageBrowser(served.port)


# The address.


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://code.example.com", PageAddress("https://code.example.com", "code.example.com", True)),
        ("https://Code.Example.com:443/", PageAddress("https://code.example.com", "code.example.com", True)),
        ("https://code.example.com:8443", PageAddress("https://code.example.com:8443", "code.example.com:8443", True)),
        ("http://localhost:8080", PageAddress("http://localhost:8080", "localhost:8080", False)),
        ("http://[::1]:80", PageAddress("http://[::1]", "[::1]", False)),
        ("", None),
    ],
)
def test_the_page_has_one_address(url, expected):
    assert page_address(AccessSettings(page_url=url)) == expected


@pytest.mark.parametrize(
    "url", ["http://code.example.com", "code.example.com", "https://a/b", "https://a?b", "https://u@a", "ftp://a"]
)
def test_an_address_that_is_not_safe_or_has_a_path_is_refused(url):
    with pytest.raises(InvalidInput, match=r"access\.page_url"):
        page_address(AccessSettings(page_url=url))


async def test_there_is_no_page_unless_its_address_is_set(tmp_path):
    with closed_port() as port:
        async with serving_library(settings_at(port), tmp_path / "cache", n_ready=0) as served:
            answers = [await PageBrowser(served.port).get(path, {"Host": "127.0.0.1"}) for path in ("/ui", "/ui/sign-in")]

    assert [each.status for each in answers] == [404, 404]


def test_a_server_loads_nothing_of_the_page_before_somebody_opens_it():
    code = "import sys, codecompass.cluster.serving.http_routes; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()

    assert "codecompass.cluster.page.door" in loaded
    assert {"jinja2", "pygments", "markupsafe", "codecompass.cluster.page.site"}.isdisjoint(loaded)


# Where a browser is sent.


@pytest.mark.parametrize("to", ["/ui", "/ui?q=a+b&project=%2A", "/ui/file?project=a&path=b%2Fc&line=3", "/ui/tree?path="])
def test_an_address_within_the_page_is_kept(to):
    assert safe_target(to) == to


@pytest.mark.parametrize(
    "to",
    [
        *(
            "https://evil.example",
            "//evil.example",
            "/\\evil.example",
            "\\\\evil.example",
            "/ui\\..\\..//evil",
            "/uix",
            "javascript:1",
        ),
        *(
            "/ui/../mcp",
            "/ui//evil.example",
            "/ui/..//evil.example",
            "/ui\n//evil",
            "/ui\t",
            "/ui?q=\r\nset-cookie: a=b",
            "/ui#L1",
        ),
        *("/ui/sign-out", "/ui/sign-in/begin?to=%2Fui", "/metrics", "", "/", "ui", "/ui?q=ä", "/ui?q=" + "a" * 2_000),
    ],
)
def test_any_other_address_is_the_search(to):
    assert safe_target(to) == "/ui"


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("/ui/file?project=a&line=6", "#L6"),
        ("/ui/file?line=6&last=8", "#L6-L8"),
        ("/ui/file?line=6&last=6", "#L6"),
        ("/ui/file?line=6x&last=8", ""),
        ("/ui/file?project=a", ""),
        ("/ui/tree?line=6", ""),
        ("/ui?q=line=6", ""),
    ],
)
def test_who_has_signed_in_is_led_to_the_lines(to, expected):
    assert with_lines(to) == to + expected


@given(st.text())
@example("/ui/x")
def test_whatever_is_asked_for_leads_into_the_page(text):
    found = urlsplit(safe_target(text))

    assert (found.scheme, found.netloc) == ("", "")
    assert found.path == "/ui" or found.path.startswith("/ui/")


@pytest.mark.parametrize("path", PAGES)
async def test_nobody_is_sent_to_sign_in_and_back_whatever_is_asked_for(away, path):
    hidden, none = [await away.get(f"{path}?project={name}&path=src%2Fa.py&line=3") for name in ("hidden", "nobody")]

    assert hidden.status == none.status == 303
    assert hidden.location.replace("hidden", "nobody") == none.location
    back = parse_qs(urlsplit(hidden.location).query)["to"]
    assert back == [f"{path}?project=hidden&path=src%2Fa.py&line=3"]
    assert urlsplit(hidden.location)[:3] == ("", "", "/ui/sign-in")
    assert hidden.body == ""


@pytest.mark.parametrize("path", PARTS)
async def test_a_script_of_the_page_is_told_that_nobody_is_signed_in(away, path):
    answer = await away.get(f"{path}?q=x", FETCH)

    assert answer.status == 401
    assert "You are signed out. Sign in again." in answer.body


async def test_every_answer_has_the_headers_of_the_page_and_is_not_stored(away):
    answers = [await away.get(path) for path in (*PAGES, *PARTS, "/ui/sign-in", "/ui/sign-in/done", "/ui/nothing")]
    sign_in = await away.html("/ui/sign-in")
    static = await away.get(next(link for link in sign_in.links if link.startswith("/ui/static/")))
    other_host = await away.get("/ui", {"Host": "127.0.0.1"})
    answers += [sign_in, other_host, await away.post("/ui/sign-in", token="x")]

    for answer in (*answers, static):
        assert set(HEADERS) <= set(answer.headers)
        assert not [name for name, _ in answer.headers if name.startswith("access-control-")]
    assert {each.header("cache-control") for each in answers} == {"no-store"}
    assert static.header("cache-control").startswith("private")
    assert (static.status, other_host.status) == (200, 421)


# Other sites.


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense", ""])
async def test_a_link_of_another_site_is_followed_and_nothing_else_of_it_answered(away, site):
    link = {**NAVIGATION, "Sec-Fetch-Site": site}
    followed = await away.get("/ui/file?project=a", link)
    others = [
        await away.get("/ui/file?project=a", {**link, **changed})
        for changed in (
            {"Sec-Fetch-Mode": "cors"},
            {"Sec-Fetch-Mode": "no-cors"},
            {"Sec-Fetch-Dest": "iframe"},
            {"Sec-Fetch-Dest": "image"},
        )
    ]
    others += [await away.post(path, link, token="x") for path in ("/ui/sign-in", "/ui/sign-out")]
    others.append(await away.get("/ui/sign-in/begin", link))

    assert followed.status == 303
    assert {each.status for each in others} == {403}


@pytest.mark.parametrize(
    "origin", ["http://code.example.com", "https://evil.example", "null", f"{ORIGIN}.evil.example", "http://localhost"]
)
async def test_no_form_of_another_origin_signs_anybody_in_or_out(away, origin):
    for path in ("/ui/sign-in", "/ui/sign-out"):
        assert (await away.post(path, {"Origin": origin}, token="x")).status == 403
    assert (await away.get("/ui/sign-in", {**NAVIGATION, "Origin": origin})).status == 403


async def test_a_form_without_an_origin_is_refused(away):
    answer = await away._send("POST", "/ui/sign-out", b"", {"Content-Type": "application/x-www-form-urlencoded"})

    assert answer.status == 403
    assert answer.set_cookies == []


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", f"{HOST}:8443", f"{HOST}.evil.example"])
async def test_under_another_name_there_is_no_page(away, host):
    answer = await away.get("/ui", {**NAVIGATION, "Host": host})

    assert answer.status == 421


async def test_a_get_changes_nothing(away):
    assert (await away.get("/ui/sign-out")).status == 405
    assert (await away.post("/ui/projects")).status == 405


# Signing in.


def test_what_the_provider_sends_back_belongs_to_one_attempt():
    one, other = new_attempt("/ui/tree?project=a"), new_attempt("//evil.example")
    request = one.request("https://code.example.com/ui/sign-in/done")

    assert attempt_of(one.cookie) == one
    assert other.to == "/ui"
    assert one.is_answered_by(request.state)
    assert not one.is_answered_by(other.request("x").state)
    assert not one.is_answered_by("")
    assert len({one.secret, request.state, request.nonce, request.verifier, request.challenge}) == 5
    assert 43 <= len(request.verifier) <= 128


@pytest.mark.parametrize("cookie", ["", ".", "short.L3Vp", "a" * 43, "a" * 43 + ".%%%", "a" * 43 + ".ä"])
def test_a_cookie_that_is_no_attempt_is_none(cookie):
    found = attempt_of(cookie)

    assert found is None or found == Attempt("a" * 43, "/ui")


def test_a_target_in_a_forged_cookie_leads_nowhere_else():
    encoded = base64.urlsafe_b64encode(b"https://evil.example").decode()

    assert attempt_of("a" * 43 + "." + encoded).to == "/ui"


def test_cookies_are_for_this_host_alone_wherever_there_is_tls():
    secure, local = (Cookies(PageAddress("x", "x", is_secure)) for is_secure in (True, False))

    assert secure.header("s", "v", 60) == ("set-cookie", "__Host-s=v; Path=/; Max-Age=60; HttpOnly; SameSite=Lax; Secure")
    assert local.header("s", "v", 60) == ("set-cookie", "s=v; Path=/; Max-Age=60; HttpOnly; SameSite=Lax")


async def test_the_provider_is_asked_with_state_nonce_and_a_challenge(tmp_path):
    with closed_port() as port, identity_provider() as provider:
        access = {**PAGE, "oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with serving_library(settings_at(port, **access), tmp_path / "cache", n_ready=0) as served:
            browser = PageBrowser(served.port)
            page = await browser.html("/ui/sign-in", to="/ui/tree?project=a")
            begun = await browser.get(page.link(f"Sign in at 127.0.0.1:{provider.port}"))

    asked = parse_qs(urlsplit(begun.location).query)
    [cookie] = begun.set_cookies
    attempt = attempt_of(cookie.partition("=")[2].partition(";")[0])
    request = attempt.request(f"{ORIGIN}/ui/sign-in/done")
    assert begun.location.startswith(f"{provider.issuer}/authorize?kc=1&")
    assert asked["redirect_uri"] == [request.redirect_uri]
    assert (asked["state"], asked["nonce"]) == ([request.state], [request.nonce])
    assert (asked["code_challenge"], asked["code_challenge_method"]) == ([request.challenge], ["S256"])
    assert attempt.secret not in begun.location
    assert request.verifier not in begun.location
    assert attempt.to == "/ui/tree?project=a"
    assert cookie.endswith("Path=/; Max-Age=600; HttpOnly; SameSite=Lax; Secure")


@pytest.mark.parametrize(
    ("sends_back", "claims", "message"),
    [
        ({"state": "forged"}, {}, "not begun in this browser"),
        ({"state": ""}, {}, "not begun in this browser"),
        ({"code": ""}, {}, "has sent no code"),
        ({"code": "guessed"}, {}, "has expired or was used"),
        ({"iss": "https://evil.example"}, {}, "Another identity provider"),
        ({"code": "", "error": "access_denied"}, {}, "has not let you in"),
        ({}, {"nonce": "another"}, "answers another sign-in"),
        ({}, {"nonce": None}, "answers another sign-in"),
        ({}, {"aud": "another"}, "another client"),
        ({}, {"exp": 1}, "has expired"),
    ],
)
async def test_what_comes_back_from_the_provider_is_checked(tmp_path, sends_back, claims, message):
    """The engine is away: a session would be the next step, and its answer is another one."""
    with closed_port() as port, identity_provider(sends_back=sends_back, claims=claims) as provider, capture_logs() as logs:
        access = {**PAGE, "oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with serving_library(settings_at(port, **access), tmp_path / "cache", n_ready=0) as served:
            browser = PageBrowser(served.port)
            answer = await browser.sign_in()

    assert answer.status in (403, 503)
    assert message in answer.body
    assert "Sign in" in answer.body
    assert "__Host-codecompass-session" not in browser.cookies
    said = json.dumps(logs, default=str)
    assert not [code for code in provider.codes if code in said]


async def test_a_code_that_another_browser_got_is_of_no_use(tmp_path):
    with closed_port() as port, identity_provider() as provider:
        access = {**PAGE, "oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with serving_library(settings_at(port, **access), tmp_path / "cache", n_ready=0) as served:
            mine, others = PageBrowser(served.port), PageBrowser(served.port)
            begun = await mine.get("/ui/sign-in/begin")
            await others.get("/ui/sign-in/begin")
            back = provider.authorize({key: value[0] for key, value in parse_qs(urlsplit(begun.location).query).items()})
            answer = await others.get(back.removeprefix(ORIGIN))
            without = await PageBrowser(served.port).get(back.removeprefix(ORIGIN))

    assert [each.status for each in (answer, without)] == [403, 403]
    assert len(provider.codes) == 1, "the code was not redeemed"


@pytest.mark.parametrize(
    "metadata",
    [
        {"authorization_endpoint": ""},
        {"authorization_endpoint": "http://evil.example/a"},
        {"authorization_endpoint": "https://a\nb"},
    ],
)
async def test_a_provider_that_cannot_be_used_is_named_as_such(tmp_path, metadata):
    with closed_port() as port, identity_provider(metadata=metadata) as provider:
        access = {**PAGE, "oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with serving_library(settings_at(port, **access), tmp_path / "cache", n_ready=0) as served:
            answer = await PageBrowser(served.port).get("/ui/sign-in/begin")

    assert answer.status == 503
    assert "cannot be used" in answer.body


async def test_while_the_engine_is_away_people_are_told_so(away):
    answer = await away.get("/ui", {**NAVIGATION, "Cookie": "__Host-codecompass-session=ccs_x"})
    signed = await away.post("/ui/sign-in", token="cct_x")

    assert (answer.status, signed.status) == (503, 503)
    assert "The search engine does not answer" in answer.body
    assert signed.set_cookies == []


async def test_with_a_provider_nobody_signs_in_with_a_token(tmp_path):
    with closed_port() as port, identity_provider() as provider:
        access = {**PAGE, "oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with serving_library(settings_at(port, **access), tmp_path / "cache", n_ready=0) as served:
            browser = PageBrowser(served.port)
            page, sent = await browser.html("/ui/sign-in"), await browser.post("/ui/sign-in", token="cct_x")

    assert 'name="token"' not in page.body
    assert sent.status == 403


# Permanent addresses.


def test_the_mark_of_a_line_does_not_depend_on_its_indentation():
    assert mark_of("    return 1") == mark_of("\treturn 1 ") != mark_of("return 2")
    assert len(mark_of("\ud800")) == 6

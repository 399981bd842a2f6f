"""The page of an organisation's servers over a real engine: people sign in, search, read and link, at two servers in turn."""

import json
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
import trio
from msgspec.structs import replace
from structlog.testing import capture_logs

from codecompass.cluster.access.tokens import MAX_SESSIONS, AccessToken, token_id
from codecompass.cluster.engine.documents import Documents
from tests.cluster.identity_provider import identity_provider
from tests.cluster.organisation import files_of, serving_library
from tests.cluster.page_client import COOKIE, NAVIGATION, ORIGIN, PageBrowser
from tests.transport.http.client import ask, call
from tests.ui.shop import HOSTILE_CODE, HOSTILE_NAME

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]


@asynccontextmanager
async def servers(house, tmp_path, n=1, **access):
    """Yields `n` servers of one page."""
    settings = house.settings(page_url=ORIGIN, **access)
    if n == 1:
        async with serving_library(settings, tmp_path / "one") as served:
            yield (served,)
        return
    async with serving_library(settings, tmp_path / "one") as one, serving_library(settings, tmp_path / "two") as two:
        yield one, two


def forget_tokens(*served) -> None:
    """As after the seconds for which a token is cached."""
    for each in served:
        each.server.authenticator._known.clear()
        each.server.authenticator._unknown.clear()


async def with_token(house, served, groups=("red",), name="anna") -> PageBrowser:
    """Returns a browser that is signed in with a new token."""
    browser = PageBrowser(*(each.port for each in served))
    answer = await browser.post("/ui/sign-in", token=house.tokens.add(name, list(groups)))
    assert (answer.status, answer.location) == (303, "/ui")
    return browser


def sessions_of(house, name: str) -> list[AccessToken]:
    return [each.token for each in house.tokens.listed() if each.token.name == name and each.token.is_session]


# Signing in.


async def test_a_permalink_leads_through_the_provider_to_its_lines_whichever_server_is_asked(house, tmp_path):
    alpha = await house.publish("alpha", files_of("alpha"), groups=["web"])
    link = f"/ui/file?project={alpha.repo_id}&path=src%2Falpha_engine.py&ref={alpha.default_head.commit}&line=8"
    with identity_provider() as provider, capture_logs() as logs:
        access = {"oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with servers(house, tmp_path, n=2, **access) as served:
            browser = PageBrowser(*(each.port for each in served))
            asked = await browser.follow(await browser.get(link))
            begun = await browser.get(asked.link(f"Sign in at 127.0.0.1:{provider.port}"))
            shown = await browser.follow(begun)
            again = [await browser.get(link) for _ in served]

    assert browser.visited[-1] == f"{link}#L8"
    assert shown.status == 200
    assert "turn_alpha" in shown.body
    assert 'id="L8"' in shown.body
    assert [each.status for each in again] == [200, 200]
    assert list(browser.cookies) == [COOKIE], "the cookie of the attempt is gone"
    said = json.dumps(logs, default=str) + " ".join(browser.visited[:1] + browser.visited[-1:])
    session = browser.cookies[COOKIE]
    assert session not in said
    assert session not in json.dumps([each.id for each in house.tokens.listed()])
    assert {each["viewer"] for each in logs if each["event"] in ("audit", "page_session_begun")} == {"ada"}
    [stored] = sessions_of(house, "ada")
    assert (stored.groups, stored.scope, stored.login) == (("Team_Backend", "web"), ("page",), "ada")
    assert 11.9 * 3600 < stored.expires_at - stored.created_at <= 12 * 3600


async def test_a_session_is_a_new_one_and_in_a_cookie_of_this_host(house, tmp_path):
    async with servers(house, tmp_path) as served:
        browser = PageBrowser(served[0].port)
        browser.cookies[COOKIE] = "ccs_chosen_by_somebody_else"
        token = house.tokens.add("anna", ["red"])
        answer = await browser.post("/ui/sign-in", token=f" {token} ", to="/ui/projects?q=a")

    [cookie, attempt] = answer.set_cookies
    assert answer.location == "/ui/projects?q=a"
    assert cookie == f"{COOKIE}={browser.cookies[COOKIE]}; Path=/; Max-Age=43200; HttpOnly; SameSite=Lax; Secure"
    assert browser.cookies[COOKIE].startswith("ccs_")
    assert browser.cookies[COOKIE] != "ccs_chosen_by_somebody_else"
    assert "Max-Age=0" in attempt
    assert token not in str(answer)


async def test_a_wrong_token_signs_nobody_in(house, tmp_path):
    scrape = house.tokens.add("prometheus", [], scope=["metrics"])
    house.tokens.add("frida", ["red"])
    async with servers(house, tmp_path) as served:
        browser = await with_token(house, served)
        session = browser.cookies.pop(COOKIE)
        answers = [await browser.post("/ui/sign-in", token=text) for text in ("cct_wrong", "", " ", scrape, session)]

    assert [each.status for each in answers] == [401] * 5
    assert {each.body for each in answers} == {answers[0].body}
    assert browser.cookies == {}


async def test_neither_a_token_nor_a_session_is_taken_for_the_other(house, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    token = house.tokens.add("ben", ["red"])
    async with servers(house, tmp_path) as served:
        browser = await with_token(house, served)
        session = browser.cookies[COOKIE]
        question = call("locate_symbol", {"name": "turn_alpha", "workspace": "alpha"})
        as_bearer = await ask(served[0].port, "POST", "/", question, authorization=f"Bearer {session}")
        metrics = await ask(served[0].port, "GET", "/metrics", authorization=f"Bearer {session}")
        by_cookie = await ask(served[0].port, "POST", "/", question, cookie=f"{COOKIE}={session}", host="code.example.com")
        answers = []
        for value in (token, token_id(session), session + "x", f"{session}; {COOKIE}={session}", ""):
            browser.cookies[COOKIE] = value
            answers.append(await browser.get("/ui/projects"))

    assert (as_bearer.status, metrics.status, by_cookie.status) == (403, 403, 401)
    assert "alpha" not in as_bearer.body.decode()
    assert [each.status for each in answers] == [303] * 5


# The end of a session.


async def test_who_signs_out_is_signed_out_at_every_server(house, tmp_path):
    async with servers(house, tmp_path, n=2) as served:
        browser = await with_token(house, served)
        other = await with_token(house, served, name="ben")
        kept = dict(browser.cookies)
        assert [(await browser.get("/ui/projects")).status for _ in served] == [200, 200]
        out = await browser.post("/ui/sign-out")
        assert (out.location, browser.cookies) == ("/ui/sign-in", {})
        browser.cookies = kept
        forget_tokens(*served)
        after = [await browser.get("/ui/projects") for _ in served]
        others = await other.get("/ui/projects")

    assert [each.status for each in after] == [303, 303]
    assert others.status == 200
    assert sessions_of(house, "anna") == []


async def test_an_expired_session_leads_to_signing_in_and_back(house, tmp_path):
    alpha = await house.publish("alpha", files_of("alpha"), groups=["red"])
    async with servers(house, tmp_path) as served:
        browser = await with_token(house, served)
        id_ = token_id(browser.cookies[COOKIE])
        document = house.engine.get(house.engine.names.access, id_)
        expired = replace(house.tokens.find(id_), expires_at=1.0)
        house.engine.put(house.engine.names.access, id_, msgspec.json.encode(expired), expected=document)
        forget_tokens(*served)
        answer = await browser.get(f"/ui/tree?project={alpha.repo_id}")
        hidden = await browser.get("/ui/tree?project=0123456789abcdef")
        part = await browser.get("/ui/results?q=turn_alpha", {"Sec-Fetch-Site": "same-origin", "Sec-Fetch-Dest": "empty"})

    assert answer.status == hidden.status == part.status - 98 == 303
    assert parse_qs(urlsplit(answer.location).query)["to"] == [f"/ui/tree?project={alpha.repo_id}"]
    assert answer.location.replace(alpha.repo_id, "0123456789abcdef") == hidden.location
    assert "alpha" not in part.body.replace("turn_alpha", "")


async def test_a_session_with_a_token_has_its_groups_and_ends_with_it(house, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    await house.publish("beta", files_of("beta"), groups=["blue"])
    async with servers(house, tmp_path) as served:
        browser = await with_token(house, served)
        seen = [await browser.html("/ui/projects")]
        [known] = [each for each in house.tokens.listed() if each.token.name == "anna" and not each.token.is_session]
        tokens = Documents(house.engine, house.engine.names.access, AccessToken, "token")
        tokens.update(known.id, lambda token: replace(token, groups=("blue",)))
        forget_tokens(*served)
        seen.append(await browser.html("/ui/projects"))
        house.tokens.revoke(known.id)
        forget_tokens(*served)
        after = await browser.get("/ui/projects")

    assert [("team-alpha" in each.body, "team-beta" in each.body) for each in seen] == [(True, False), (False, True)]
    assert after.status == 303


async def test_a_member_who_was_removed_sees_nothing_more(house, tmp_path):
    """Removed from the group at the provider: the next session has no such group. Their session itself is revoked by name."""
    alpha = await house.publish("alpha", files_of("alpha"), groups=["web"])
    with identity_provider() as provider:
        access = {"oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with servers(house, tmp_path, **access) as served:
            browser = PageBrowser(served[0].port)
            before = await browser.sign_in()
            assert "team-alpha" in (await browser.html("/ui/projects")).body
            provider.claims = {"groups": ["Team_Backend"]}
            assert len(house.tokens.revoke("ada")) == 1
            forget_tokens(*served)
            revoked = await browser.get("/ui/projects")
            await browser.sign_in()
            after = await browser.html("/ui/projects")
            there = await browser.get(f"/ui/tree?project={alpha.repo_id}")
            never = await browser.get("/ui/tree?project=0123456789abcdef")

    assert (before.status, revoked.status) == (200, 303)
    assert "No repository is open to you here." in after.body
    assert there.status == never.status == 404
    assert there.body == never.body


async def test_a_repository_that_leaves_a_group_is_gone_from_the_page(house, tmp_path):
    alpha = await house.publish("alpha", files_of("alpha"), groups=["red"])
    async with servers(house, tmp_path) as served:
        browser = await with_token(house, served)
        address = f"/ui/file?project={alpha.repo_id}&path=README.md"
        before = await browser.get(address)
        house.repositories.update(alpha.repo_id, lambda old: replace(old, groups=()))
        house.engine.refresh(house.engine.names.repositories)
        served[0].server.libraries._listed_until = float("-inf")
        after = await browser.get(address)

    assert (before.status, after.status) == (200, 404)


async def test_the_sessions_of_one_name_are_bounded_and_the_oldest_ends(house, tmp_path):
    async with servers(house, tmp_path) as served:
        first = await with_token(house, served)
        for _ in range(MAX_SESSIONS):
            last = await with_token(house, served)
        forget_tokens(*served)
        answers = [await browser.get("/ui/projects") for browser in (first, last)]

    assert [each.status for each in answers] == [303, 200]
    assert len(sessions_of(house, "anna")) == MAX_SESSIONS


async def test_if_the_provider_goes_away_sessions_and_tokens_go_on_and_the_page_says_so(house, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["web"])
    token = house.tokens.add("anna", ["web"])
    with identity_provider() as provider:
        access = {"oidc_issuer": provider.issuer, "oidc_client_id": "codecompass"}
        async with servers(house, tmp_path, **access) as served:
            browser, late = PageBrowser(served[0].port), PageBrowser(served[0].port)
            await browser.sign_in()
            provider.is_broken = True
            begun = await late.get("/ui/sign-in/begin")
            still = await browser.html("/ui?q=turn_alpha")
            question = call("locate_symbol", {"name": "turn_alpha", "workspace": "alpha"})
            by_token = await ask(served[0].port, "POST", "/", question, authorization=f"Bearer {token}")

    assert begun.status == 503
    assert "The identity provider does not answer" in begun.body
    assert "tokens that exist go on" in begun.body
    assert "alpha_engine.py" in still.body
    assert by_token.said()["results"][0]["name"] == "turn_alpha"


async def test_whom_the_proxy_names_is_signed_in(house, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    await house.publish("beta", files_of("beta"), groups=["blue"])
    access = {"trusted_proxies": ("127.0.0.1/32",), "user_header": "X-User", "groups_header": "X-Groups"}
    async with servers(house, tmp_path, **access) as served:
        browser = PageBrowser(served[0].port, headers={"X-User": "ben", "X-Groups": "blue"})
        page = await browser.html("/ui/projects")
        two = await browser.get("/ui/projects", {**NAVIGATION, "X-User": "ben, root"})
        anonymous = PageBrowser(served[0].port)
        nobody = await anonymous.get("/ui/projects")
        by_token = await with_token(house, served)
        beside = await by_token.html("/ui/projects")

    assert "team-beta" in page.body
    assert "team-alpha" not in page.body
    assert ">ben<" in page.body
    assert "Sign out" not in page.body
    assert (two.status, nobody.status) == (401, 303)
    assert "team-alpha" in beside.body


# What people see.


async def test_people_search_one_repository_a_group_or_all(house, tmp_path):
    for name, groups in {"alpha": ["red"], "beta": ["red", "blue"], "gamma": ["blue"], "delta": ["green"]}.items():
        await house.publish(name, files_of(name), groups=groups)
    async with servers(house, tmp_path) as served:
        browser = await with_token(house, served, groups=("red", "blue"))
        form = await browser.html("/ui")
        alpha = house.published["alpha"].repo_id
        found = {
            name: (await browser.html("/ui", q="common_helper", project=name)).body
            for name in ("*", "", "group:red", "group:blue", "group:green", alpha, "alpha", "repo")
        }
        by_filter = await browser.html("/ui", q="repo:gamma common_helper")

    seen = {
        name: {each for each in ("alpha", "beta", "gamma", "delta") if f"src/{each}_engine.py" in body}
        for name, body in found.items()
    }
    assert seen == {
        "*": {"alpha", "beta", "gamma"},
        "": {"alpha", "beta", "gamma"},
        "group:red": {"alpha", "beta"},
        "group:blue": {"beta", "gamma"},
        "group:green": set(),
        alpha: {"alpha"},
        "alpha": {"alpha"},
        "repo": set(),
    }
    assert "There is no such repository here." in found["group:green"]
    assert [each for each in ("all repositories", "group red", "group blue", "group green") if each in form.body] == [
        *("all repositories", "group red", "group blue")
    ]
    assert "src/gamma_engine.py" in by_filter.body
    assert "src/alpha_engine.py" not in by_filter.body


async def test_people_read_files_at_a_ref_and_follow_names(house, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    alpha = await house.publish("alpha", {"src/next.py": "def edition():\n    return 2\n"}, groups=["red"], ref="release/2")
    project, head = alpha.repo_id, alpha.heads["release/2"]
    async with servers(house, tmp_path) as served:
        browser = await with_token(house, served)
        listed = await browser.html("/ui/projects", q="ALPH")
        about = await browser.html("/ui/project", project=project, path="README.md")
        tree = await browser.html("/ui/tree", project=project)
        there = await browser.html("/ui/tree", project=project, ref="release/2")
        at_commit = await browser.html("/ui/file", project=project, path="src/next.py", ref=head.commit)
        refs = await browser.html("/ui/refs", project=project, q="rel")
        missing = await browser.get("/ui/file", project=project, path="src/next.py")
        goto = await browser.get("/ui/goto", project=project, name="common_helper", path="src/alpha_engine.py", line=8)
        definition = await browser.html("/ui/symbol", project=project, name="common_helper")
        card = await browser.html("/ui/card", project=project, name="common_helper", path="src/alpha_engine.py")
        uses = await browser.html("/ui/uses", project=project, path="src/alpha_engine.py", first=1, last=20)
        raw = await browser.get("/ui/raw", project=project, path="README.md")
        rendered = await browser.html("/ui/file", project=project, path="README.md", view="rendered")
        completed = await browser.html("/ui/complete", q="repo:al", project="*")
        at_ref = {"project": project, "ref": "release/2"}
        again = await browser.get("/ui/goto", name="edition", path="src/next.py", line=1, **at_ref)
        used = await browser.follow(again)
        not_here = [await browser.get(page, project=project, path="README.md") for page in ("/ui/blame", "/ui/history")]
        events = await browser.get("/ui/events")

    assert "team-alpha/alpha" in listed.body
    assert ("release/2" in about.body, "is indexed" in about.body) == (True, True)
    assert ("README.md" in tree.body, "next.py" in tree.body) == (True, False)
    assert "src/" in there.body
    assert "edition" in at_commit.body
    assert f'value="{head.commit}"' in at_commit.body
    assert "release/2" in refs.body
    assert missing.status == 404
    assert urlsplit(goto.location).path == "/ui/file"
    assert "Uses" in definition.body
    assert "turn_alpha" in definition.body
    assert "common_helper" in card.body
    assert "2 use" not in uses.body
    assert "1 use" in uses.body
    assert raw.body == files_of("alpha")["README.md"]
    assert raw.header("content-type") == "text/plain; charset=utf-8"
    assert "<h1" in rendered.body
    assert "repo:alpha" in completed.body
    assert urlsplit(again.location).path == "/ui/symbol"
    assert parse_qs(urlsplit(again.location).query)["ref"] == ["release/2"]
    assert used.status == 200, "only that branch has the definition"
    assert "Nobody uses it" in used.body
    assert any("path=src%2Fnext.py" in each and "ref=release%2F2" in each for each in used.links)
    assert [each.status for each in (*not_here, events)] == [404] * 3
    for page in (listed, about, tree, at_commit, definition):
        for gone in (
            "vscode:",
            "Working tree",
            "on this machine",
            "Projects",
            "codecompass index",
            "/ui/act",
        ):
            assert gone not in page.body, gone
        assert "Sign out" in page.body


async def test_a_permalink_leads_to_the_same_lines_after_the_commit_is_gone(house, tmp_path):
    before = "".join(f"line_{n} = {n}\n" for n in range(1, 31))
    alpha = await house.publish("alpha", {"a.py": before, "gone.py": before}, groups=["red"])
    commit = alpha.default_head.commit
    async with servers(house, tmp_path, n=2) as served:
        browser = await with_token(house, served)

        async def permalink(**fields):
            return (await browser.get("/ui/permalink", project=alpha.repo_id, **fields)).location

        links = [
            await permalink(path="a.py", line=10, last=12),
            await permalink(path="a.py", line=20),
            await permalink(path="gone.py", line=3),
        ]
        whole = await permalink(path="a.py")
        at_first = [await browser.html(link) for link in links]
        (house.directory / "trees" / "alpha-main" / "gone.py").unlink()
        await house.publish("alpha", {"a.py": "new = 1\n" * 5 + before.replace("line_20", "other")}, groups=["red"])
        later = [await browser.get(link) for link in links]
        shown = [await browser.follow(answer) for answer in later[:2]]
        without_lines = await browser.follow(await browser.get(whole))
        unknown = await browser.get("/ui/file", project=alpha.repo_id, path="a.py", ref="no-such-branch")

    assert all(f"ref={commit}" in link and link.startswith("/ui/file?") for link in (*links, whole))
    assert [link.partition("#")[2] for link in links] == ["L10-L12", "L20", "L3"]
    assert all("not indexed any more" not in each.body for each in at_first)
    assert [each.status for each in later] == [303, 303, 404]
    assert later[0].location.endswith("#L15-L17")
    assert later[1].location.endswith("#L20")
    assert "with the same line" in shown[0].body
    assert "the line has changed or is gone" in shown[1].body
    assert commit[:12] in without_lines.body
    assert "No indexed file has this path" in later[2].body
    assert "no-such-branch&#39; is not indexed here" in unknown.body


async def test_nothing_that_repositories_contain_becomes_markup(house, tmp_path):
    ref = "x/<img/src=x/onerror=hit()>'\"&"
    files = {
        HOSTILE_NAME: HOSTILE_CODE,
        "README.md": f"# <script>hit()</script>\n\n[x](javascript:hit()) {HOSTILE_CODE}\n",
        "a&b'\".py": HOSTILE_CODE,
    }
    alpha = await house.publish("alpha", files, groups=["red"])
    await house.publish("alpha", files, groups=["red"], ref=ref)
    project = alpha.repo_id
    async with servers(house, tmp_path) as served:
        browser = await with_token(house, served, name="<b onclick=hit()>anna</b>")
        asked = [
            ("/ui", {"q": "hostile <script>hit()</script>"}),
            ("/ui", {"q": 'file:"><img src=x onerror=hit()>', "project": "group:<b>"}),
            ("/ui/projects", {"q": "<script>hit()</script>"}),
            ("/ui/project", {"project": project, "path": HOSTILE_NAME}),
            ("/ui/tree", {"project": project}),
            ("/ui/tree", {"project": project, "ref": ref}),
            ("/ui/file", {"project": project, "path": HOSTILE_NAME, "was": "<script>hit()</script>", "found": "same"}),
            ("/ui/file", {"project": project, "path": HOSTILE_NAME, "ref": ref, "line": "3"}),
            ("/ui/file", {"project": project, "path": "README.md", "view": "rendered"}),
            ("/ui/symbol", {"project": project, "name": "hostile"}),
            ("/ui/symbol", {"project": project, "name": "<script>hit()</script>"}),
            ("/ui/refs", {"project": project, "q": "x/"}),
            ("/ui/card", {"project": project, "name": "hostile", "path": HOSTILE_NAME}),
            ("/ui/complete", {"q": "file:img", "project": project}),
            ("/ui/tree", {"project": "<script>hit()</script>"}),
            ("/ui/nothing<script>hit()</script>", {}),
            ("/ui/sign-in", {"to": '/ui?q="><script>hit()</script>'}),
        ]
        answers = [await browser.get(path, **fields) for path, fields in asked]
        raw = await browser.get("/ui/raw", project=project, path=HOSTILE_NAME)

    for (path, fields), answer in zip(asked, answers, strict=True):
        for bad in ("<script>hit", "<img src=x", "<img/src", "<svg onload", "<b onclick", 'onerror="hit', 'href="javascript'):
            assert bad not in answer.body, (path, fields, bad)
    assert "&lt;script&gt;hit()" in answers[0].body
    assert raw.header("content-type").startswith("text/plain")
    assert ("x-content-type-options", "nosniff") in raw.headers


async def test_the_list_of_repositories_has_pages(house, tmp_path, monkeypatch):
    from codecompass.cluster.page import site

    monkeypatch.setattr(site, "LISTED", 2)
    for name in ("alpha", "beta", "gamma"):
        await trio.to_thread.run_sync(
            lambda name=name: house.repositories.add(f"https://git.example.org/t/{name}", groups=("red",))
        )
    house.engine.refresh(house.engine.names.repositories)
    async with servers(house, tmp_path) as served:
        browser = await with_token(house, served)
        first = await browser.html("/ui/projects")
        second = await browser.html(first.link("Next"))
        found = await browser.html("/ui/projects", q="gamm")
        unindexed = await browser.get("/ui/tree", project="gamma")

    assert [("t/alpha" in each.body, "t/beta" in each.body, "t/gamma" in each.body) for each in (first, second, found)] == [
        (True, True, False),
        (False, False, True),
        (False, False, True),
    ]
    assert "not indexed yet" in first.body
    assert "No worker has indexed this repository yet." in unindexed.body

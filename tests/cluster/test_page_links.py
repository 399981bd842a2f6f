"""The page of an organisation's server over repositories whose history is published: comparisons, and where its links lead."""

import re
from collections import deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from html import unescape
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest

from codecompass.cluster.repositories.documents import Repositories
from codecompass.cluster.repositories.repository import Repository
from tests.cluster.organisation import Organisation, ServedLibrary, files_of, serving_library
from tests.cluster.page_client import ORIGIN, PageAnswer, PageBrowser
from tests.cluster.test_comparisons import History, publish
from tests.cluster.working import LIMITS

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300)]

README = (
    "# Shop\n\n[Notes](docs/notes.md), [code](shop), [prices](shop/prices.py), [elsewhere](https://example.org/x), [top](#shop)\n"
)
MOST_PAGES = 2_000
FILLED_IN = ("/ui/goto", "/ui/sign-out")
"""Forms that ask for something."""

PLACES = ("line", "last", "first", "q", "search")
"""Fields of a file's address that choose what is shown of it, not whether there is anything."""


@pytest.fixture
def history(tmp_path) -> History:
    made = History(tmp_path / "remotes")
    made.commit({"README.md": README})
    made.push()
    return made


async def published(house: Organisation, history: History, **options: object) -> Repository:
    """Publishes the remote with its history as `shop/api` of the group `red`, by a worker."""
    repositories = Repositories(house.engine, LIMITS.protocols)
    return await publish(house.engine, repositories, history, house.directory / "worker", **options)


@asynccontextmanager
async def signed_in(house: Organisation, tmp_path, *groups: str) -> AsyncIterator[tuple[PageBrowser, ServedLibrary]]:
    """Yields a browser of somebody in these groups, and its server."""
    async with serving_library(house.settings(page_url=ORIGIN), tmp_path / "cache") as served:
        browser = PageBrowser(served.port)
        answer = await browser.post("/ui/sign-in", token=house.tokens.add("anna", list(groups)))
        assert answer.status == 303
        yield browser, served


def trouble(body: str) -> str:
    """Returns what a page says that went wrong; empty if nothing did."""
    found = re.search(r'<div class="trouble".*?</div>', body, re.DOTALL)
    return "" if found is None else unescape(re.sub("<[^>]+>", " ", found[0]))


def kind_of(link: str) -> str:
    """Returns the same text for addresses that differ in what is shown of the same file alone."""
    parts = urlsplit(link)
    fields = parse_qsl(parts.query)
    is_file = parts.path in ("/ui/file", "/ui/permalink", "/ui/goto")
    return f"{parts.path}?{urlencode(sorted(each for each in fields if not is_file or each[0] not in PLACES))}"


def addresses_in(body: str) -> list[str]:
    """Returns where links, forms without their empty fields, and what scripts load lead."""
    found = re.findall(r' (?:href|data-refs|data-results|data-facets|data-complete)="([^"]+)"', body)
    for action, form in re.findall(r'<form class="(?!revision)[^>]* action="([^"]+)"[^>]*>(.*?)</form>', body, re.DOTALL):
        hidden = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', form)
        if action not in FILLED_IN:
            found.append(f"{action}?{urlencode([(name, unescape(value)) for name, value in hidden])}")
    return [unescape(each) for each in found]


async def crawled(browser: PageBrowser, begin: Sequence[str]) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
    """Follows all links. Returns each kind of link with an example, and those that lead to no page: link, where it is, why."""
    waiting = deque((link, "") for link in begin)
    seen: dict[str, str] = {}
    broken: list[tuple[str, str, str]] = []
    while waiting:
        link, where = waiting.popleft()
        kind = kind_of(link.partition("#")[0])
        if kind in seen:
            continue
        seen[kind] = link
        assert len(seen) <= MOST_PAGES
        answer = await browser.follow(await browser.get(link.partition("#")[0]))
        said = trouble(answer.body)
        if answer.status != 200 or said:
            broken.append((link, where, f"{answer.status} {said}"))
        if not link.startswith(("/ui/static/", "/ui/raw")):
            waiting.extend((each, link) for each in addresses_in(answer.body) if each.startswith("/ui"))
    return seen, broken


async def test_every_link_of_the_page_leads_to_a_page(house, history, tmp_path):
    api = await published(house, history)
    alpha = await house.publish("alpha", files_of("alpha"), groups=["red"])
    await house.publish("alpha", files_of("alpha") | {"a b/c&d.py": "def odd():\n    pass\n"}, groups=["red"], ref="release/2")
    await house.publish("beta", files_of("beta"), groups=["blue"])
    begin = [
        *("/ui", "/ui/projects", "/ui?q=total", "/ui?q=common_helper&why=1", "/ui?q=type:commit+change", "/ui?q=type:diff+total"),
        f"/ui/diff?project={api.repo_id}&base={history.commits[0]}",
        f"/ui/diff?project={api.repo_id}&head=main~3",
    ]

    async with signed_in(house, tmp_path, "red") as (browser, _):
        seen, broken = await crawled(browser, begin)

    # No history of alpha is published, which is known only when it is asked for.
    without = [each for each in broken if f"project={alpha.repo_id}" in each[0] and each[2].startswith("200")]
    assert {urlsplit(link).path for link, _, _ in without} == {"/ui", "/ui/diff"}
    assert all("not published here" in said for _, _, said in without)
    assert [each for each in broken if each not in without] == []
    assert {urlsplit(each).path for each in seen} >= {
        *("/ui", "/ui/file", "/ui/permalink", "/ui/raw", "/ui/symbol", "/ui/diff", "/ui/tree", "/ui/project", "/ui/projects"),
    }
    assert not any("beta" in each for each in seen)


async def test_what_commits_and_branches_changed_is_shown_with_links_to_what_is_indexed(house, history, tmp_path):
    api = await published(house, history)
    first, changed, *_ = history.commits
    async with signed_in(house, tmp_path, "red") as (browser, _):

        async def shown(**fields: str) -> PageAnswer:
            return await browser.html("/ui/diff", project=api.repo_id, **fields)

        newest, whole = await shown(), await shown(base=first)
        earlier, of_file = await shown(head=changed), await shown(base=first, head="main", path="shop/prices.py")
        commits = await browser.html("/ui", project=api.repo_id, q="type:commit file:^shop/prices.py$")
        lines = await browser.html("/ui", project=api.repo_id, q="type:diff RATE")
        file = await browser.html("/ui/file", project=api.repo_id, path="shop/prices.py")
        about = await browser.html("/ui/project", project=api.repo_id)

    assert {fields["path"] for path, fields in links_of(newest) if path == "/ui/file"} == {"README.md"}
    assert "the newest commit" in newest.body
    assert "working tree" not in newest.body
    leads = {fields.get("path", fields.get("q", "")) for _, fields in links_of(whole) if "line" not in fields}
    assert {"shop/prices.py", "shop/baskets.py", "file:^raw.bin$"} <= leads
    assert "shop/old.py" in whole.body
    assert not any("old.py" in each for each in leads), "it is not in the newest commit"
    assert ("/ui", {"project": api.repo_id, "q": "file:^shop/prices.py$"}) in links_of(earlier)
    assert not any(path == "/ui/file" for path, _ in links_of(earlier)), "no index has this commit"
    head = {"ref": history.head, "project": api.repo_id, "path": "shop/prices.py"}
    assert any(path == "/ui/file" and fields.items() >= head.items() for path, fields in links_of(of_file))
    assert "baskets.py" not in of_file.body
    assert ("/ui/diff", {"project": api.repo_id, "head": changed}) in links_of(commits)
    assert ("/ui/diff", {"project": api.repo_id, "head": changed, "path": "shop/prices.py"}) in links_of(lines)
    assert urlsplit(file.link("History")).query.endswith("file%3A%5Eshop%2Fprices.py%24")
    assert file.link("What has changed") == f"/ui/diff?project={api.repo_id}&path=shop%2Fprices.py"
    assert about.link("What has changed") == f"/ui/diff?project={api.repo_id}"


async def test_what_cannot_be_compared_is_said_with_what_can(house, history, tmp_path):
    history.git("checkout", "-q", "-b", "release/2", "main~1")
    history.commit({"shop/release.py": "VERSION = 2\n"})
    history.git("checkout", "-q", "main")
    history.push("release/2")
    api = await published(house, history, refs=("main", "release/2"), generations=2)
    alpha = await house.publish("alpha", files_of("alpha"), groups=["red"])
    asked = [{"base": history.commits[0]}, {"base": "v9"}, {"head": "release/2"}, {"base": "release/2", "head": "main"}]
    async with signed_in(house, tmp_path, "red") as (browser, _):
        refused = [await browser.html("/ui/diff", project=api.repo_id, **each) for each in asked]
        live = await browser.html("/ui/diff", project=api.repo_id, head="live")
        without = await browser.html("/ui/diff", project=alpha.repo_id)
        never = await browser.get("/ui/diff", project="0123456789abcdef", base="main")
        within = await browser.html("/ui/diff", project=api.repo_id, base="main~1", head=history.head)

    for each in refused:
        assert "The published history has no such commit" in trouble(each.body)
        assert f"to {history.head[:12]}" in trouble(each.body), "what can be compared"
        assert 'name="base"' in each.body, "it can be asked again"
    assert "there is no working tree here" in trouble(live.body)
    assert "not published here" in trouble(without.body)
    assert never.status == 404
    assert "There is no such repository here for you" in trouble(never.body)
    assert trouble(within.body) == ""


async def test_a_file_that_only_a_branch_has_does_not_lead_to_the_newest_commit(house, tmp_path):
    await house.publish("alpha", files_of("alpha"), groups=["red"])
    alpha = await house.publish("alpha", files_of("alpha") | {"next.py": "NEXT = 1\n"}, groups=["red"], ref="release/2")
    async with signed_in(house, tmp_path, "red") as (browser, _):
        alone = await browser.html("/ui/file", project=alpha.repo_id, path="next.py", ref="release/2")
        both = await browser.html("/ui/file", project=alpha.repo_id, path="README.md", ref="release/2")

    assert (">Newest</a>" in alone.body, ">Newest</a>" in both.body) == (False, True)


def links_of(page: PageAnswer) -> list[tuple[str, dict[str, str]]]:
    """Returns the path and the fields of each link."""
    return [(parts.path, dict(parse_qsl(parts.query))) for parts in map(urlsplit, page.links)]

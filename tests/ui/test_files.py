"""Files on the page: directories, the text alone, commits, and what git knows about lines."""

import re

import pytest

from codecompass.protocol.requests import MAX_LINES_READ
from codecompass.transport.ui.project_pages import _lasting
from tests.support.workspace import TestWorkspace
from tests.ui.pages import links, parsed
from tests.ui.shop import FILES, write


@pytest.fixture
def shop(tmp_path):
    workspace = TestWorkspace(tmp_path / "shop", tmp_path / "unused", git=True)
    workspace.write(FILES)
    workspace.commit("begin")
    workspace.write({"shop/prices.py": FILES["shop/prices.py"].replace("19}", "20}")})
    workspace.commit("raise <the> rate")
    return workspace


async def test_a_directory_shows_what_is_in_it_and_leads_to_its_files(browser, project):
    root = await browser.html("/ui/tree", project=project)
    inner = await browser.html("/ui/tree", project=project, path="shop")
    missing = await browser.get("/ui/tree", project=project, path="nothing")

    names = re.findall(r'data-row href="([^"]+)">([^<]+)<', root)
    assert [name for _, name in names] == ["shop/", "tests/", "README.md"]
    assert f"/ui/tree?project={project}&path=shop" in links(root)
    assert f"/ui/file?project={project}&path=shop%2Fcart.py" in links(inner)
    assert (missing.status, b"nothing" in missing.body) == (404, True)


async def test_a_file_leads_to_the_directories_above_it(browser, project):
    html = await browser.html("/ui/file", project=project, path="shop/cart.py")

    above = [link for link in links(html) if link.startswith("/ui/tree")]
    assert above == [f"/ui/tree?project={project}", f"/ui/tree?project={project}&path=shop"]


async def test_the_text_alone_is_whole_and_never_markup(browser, tmp_path):
    text = "".join(f"line {number} <b>\n" for number in range(2 * MAX_LINES_READ + 7))
    project = await browser.index(write(tmp_path / "long", {"long.html": text, "empty.txt": ""}))

    answer = await browser.get("/ui/raw", project=project, path="long.html")

    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.body.decode() == text
    assert (await browser.get("/ui/raw", project=project, path="missing")).status == 404


async def test_a_file_is_shown_as_a_commit_has_it_and_its_permanent_address_names_the_commit(browser, shop, project):
    head, first = shop.git("rev-parse", "HEAD").strip(), shop.git("rev-parse", "HEAD~1").strip()

    now = await browser.html("/ui/file", project=project, path="shop/prices.py", line="3")
    before = await browser.html("/ui/file", project=project, path="shop/prices.py", ref="HEAD~1")
    raw = await browser.get("/ui/raw", project=project, path="shop/prices.py", ref="HEAD~1")

    def permanent(html):
        return re.search(r'href="([^"]+)" data-permalink', html)[1].replace("&amp;", "&")

    assert permanent(now) == f"/ui/file?project={project}&path=shop%2Fprices.py&ref={head}&line=3#L3"
    assert permanent(before) == f"/ui/file?project={project}&path=shop%2Fprices.py&ref={first}"
    assert '"other": 20' in parsed(now).text
    assert '"other": 19' in parsed(before).text
    assert b'"other": 19' in raw.body


async def test_branches_and_tags_are_offered_where_a_file_or_a_directory_is_shown(browser, shop):
    shop.git("tag", "v1", "HEAD~1")
    shop.git("branch", "feature/tax")
    project = await browser.index(shop.root)

    offered = await browser.html("/ui/refs", project=project)
    narrowed = await browser.html("/ui/refs", project=project, q="TAX")
    too_long = await browser.html("/ui/refs", project=project, q="x" * 1_000)
    before = await browser.html("/ui/file", project=project, path="shop/prices.py", ref="v1")
    directory = await browser.html("/ui/tree", project=project, path="shop", ref="v1")

    names = re.findall(r'<option value="([^"]+)">', offered)
    assert {"v1", "feature/tax", "main"} <= set(names)
    assert re.findall(r'<option value="([^"]+)">', narrowed) == ["feature/tax"]
    assert "<option" not in too_long
    for page in (before, directory):
        assert re.search(r'<input name="ref" value="v1" list="refs"', page)


@pytest.mark.parametrize(
    ("typed", "anchor"), [("10", "#L10"), ("L3-L5", "#L3-L5"), ("3-5", "#L3-L5"), (":7", "#L7"), ("5-3", "#L5")]
)
async def test_lines_can_be_gone_to_without_scripts(browser, typed, anchor, project):
    answer = await browser.get("/ui/goto", project=project, path="shop/cart.py", name=typed)

    assert answer.status == 303
    assert answer.headers["location"].endswith(anchor)


async def test_words_of_the_search_are_marked_in_the_file_that_is_opened_from_it(browser, project):
    results = await browser.html("/ui/results", project=project, q="cart lang:py")
    html = await browser.html("/ui/file", project=project, path="shop/cart.py", q="cart")

    opened = re.findall(r'data-row href="([^"#]+)', results)
    assert opened
    assert all(link.endswith("q=cart") for link in opened)
    assert "<b>Cart</b>" in html


async def test_blame_shows_the_commit_of_each_line_and_history_those_that_changed_them(browser, project):
    blamed = await browser.html("/ui/blame", project=project, path="shop/prices.py")
    two = await browser.html("/ui/blame", project=project, path="shop/prices.py", first="3", last="4")
    whole = await browser.html("/ui/history", project=project, path="shop/prices.py")
    lines = await browser.html("/ui/history", project=project, path="shop/prices.py", first="6", last="8")

    assert re.findall(r'data-row href="[^"]+">([^<]+)<', blamed) == ["begin", "raise &lt;the&gt; rate", "begin"]
    assert "Lines 3 to 4" in parsed(two).text
    assert re.findall(r'data-row href="[^"]+">([^<]+)<', whole) == ["raise &lt;the&gt; rate", "begin"]
    assert re.findall(r'data-row href="[^"]+">([^<]+)<', lines) == ["begin"]
    assert re.search(r'<time datetime="\d{4}-\d\d-\d\dT[^"]+" title="[^"]+">[^<]+ ago</time>|just now', whole)


async def test_what_git_cannot_answer_is_said_and_what_is_left_out_stays_so(browser, shop):
    shop.write({"new.py": "x = 1\n", "plain/.keep": ""})
    project = await browser.index(shop.root)

    for page in ("/ui/blame", "/ui/history"):
        uncommitted = await browser.get(page, project=project, path="new.py", first="1")
        left_out = await browser.get(page, project=project, path="logo.png")
        behind = await browser.get(page, project=project, path="shop/cart.py", first="900", last="901")
        assert b"may not be committed yet" in uncommitted.body
        assert left_out.status == 404
        assert b"may not be committed yet" in behind.body


async def test_a_project_without_git_has_neither_blame_nor_permanent_addresses(browser, tmp_path):
    project = await browser.index(write(tmp_path / "plain", {"a.py": "x = 1\n"}))

    html = await browser.html("/ui/file", project=project, path="a.py")
    blamed = await browser.get("/ui/blame", project=project, path="a.py")

    assert not [link for link in links(html) if "/ui/blame" in link or "ref=" in link]
    assert 'name="ref"' not in html
    assert b"in no git repository" in blamed.body


async def test_a_project_within_a_repository_is_asked_about_by_its_own_paths(browser, shop):
    project = await browser.index(shop.root / "shop")

    html = await browser.html("/ui/blame", project=project, path="prices.py", first="3", last="3")

    assert "raise &lt;the&gt; rate" in html


def test_a_part_of_the_page_is_not_sent_again_because_time_passes():
    early, late = (f'<p>6 files · indexed <time datetime="x" title="x">{said}</time></p>' for said in ("just now", "7 years ago"))

    assert _lasting(early) == _lasting(late)
    assert _lasting(early) != _lasting(early.replace("6 files", "7 files"))
    assert _lasting(early) != _lasting(early.replace('"x"', '"y"'))


async def test_times_are_relative_with_the_exact_one_on_hover(browser, project):
    html = await browser.html("/ui/project", project=project)

    found = re.findall(r'<time datetime="(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)" title="([^"]+)">([^<]+)</time>', html)
    assert len(found) >= 2
    assert all(exact == title and (said.endswith("ago") or said == "just now") for exact, title, said in found)

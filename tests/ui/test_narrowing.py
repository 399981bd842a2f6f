"""The query language on the page: filters as chips, counts to narrow by, completion, projects named in the text."""

import re
from urllib.parse import parse_qs, urlsplit

import pytest
from msgspec.structs import replace

from codecompass.settings import QuerySettings
from codecompass.store.layout import make_private_directory
from codecompass.store.lock import writer_lock
from tests.support.routing import Client
from tests.support.waiting import until
from tests.support.workspace import TestWorkspace
from tests.ui.pages import PAGE_SETTINGS, links, page_server, parsed
from tests.ui.shop import write


def hits(html):
    found = re.findall(r'data-row href="/ui/file\?project=\w+&amp;path=([^&]+)&amp;line=', html)
    return [path.replace("%2F", "/") for path in found]


def queries(html):
    """Returns the text of each link that leads to another query."""
    return [parse_qs(urlsplit(link).query).get("q", [""])[0] for link in links(html) if urlsplit(link).path == "/ui"]


@pytest.mark.invariant(of="tests/query/test_query_language.py")
async def test_the_text_means_on_the_page_what_it_means_as_arguments_of_the_tool(browser, project):
    asked = await browser.serving.call("search_code", query="cart", path="!*test*", language="python", project_id=project)

    html = await browser.html("/ui/results", project=project, q="cart lang:py -file:test")

    assert hits(html) == [hit["path"] for hit in asked["results"]]
    assert "tests/test_cart.py" not in hits(html)


async def test_each_filter_is_a_chip_that_leads_to_the_query_without_it(browser, project):
    html = await browser.html("/ui/results", project=project, q="cart lang:py -file:test")

    chips = html[html.index('class="chips"') : html.index("</ul>")]
    assert queries(chips) == ["cart -file:test", "cart lang:py"]
    assert [" ".join(each.split()) for each in re.findall(r"</span>([^<]+)<span", chips)] == ["lang:py", "-file:test"]
    assert 'class="chips"' not in await browser.html("/ui/results", project=project, q="cart")


async def test_a_phrase_a_pattern_and_case_say_how_they_are_read(browser, project):
    phrase = await browser.html("/ui/results", project=project, q='"The ARTICLES of one"')
    exact = await browser.html("/ui/results", project=project, q='case:yes "The ARTICLES of one"')
    pattern = await browser.html("/ui/results", project=project, q="/def +total/")
    invalid = await browser.html("/ui/results", project=project, q="/def (/")

    assert (hits(phrase), hits(exact), hits(pattern)) == (["shop/cart.py"], [], ["shop/cart.py"])
    assert "<b>The articles of one</b>" in phrase
    assert "read as the phrase, in any case" in parsed(phrase).text
    assert "read as the text as written, case counts" in parsed(exact).text
    assert 'role="alert"' in invalid


async def test_sym_leads_to_the_definition_and_filters_alone_list_files(browser, project):
    symbol = await browser.html("/ui/results", project=project, q="sym:Cart.total")
    listed = await browser.html("/ui/results", project=project, q="file:^shop/ -file:__init__")

    assert hits(symbol)[0] == "shop/cart.py"
    assert "Cart.total" in parsed(symbol).text
    assert sorted(hits(listed)) == ["shop/cart.py", "shop/checkout.py", "shop/prices.py"]


async def test_repo_means_another_project_or_all_that_have_it_in_their_name(browser, shop, tmp_path):
    first = await browser.index(shop.root)
    await browser.index(write(tmp_path / "bakery-one", {"oven.py": "def discounted_bread(cents):\n    return cents\n"}))
    await browser.index(write(tmp_path / "bakery-two", {"stove.py": "def discounted_cake(cents):\n    return cents\n"}))

    one = await browser.html("/ui/results", project=first, q="discounted repo:bakery-one")
    both = await browser.html("/ui/results", project=first, q="discounted repo:bakery")
    everywhere = await browser.html("/ui/results", project=first, q="discounted repo:*")
    nowhere = await browser.html("/ui/results", project=first, q="discounted repo:nothing")

    assert hits(one) == ["oven.py"]
    assert "in bakery-one" in parsed(one).text
    assert sorted(hits(both)) == ["oven.py", "stove.py"]
    assert {"oven.py", "stove.py", "shop/prices.py"} <= set(hits(everywhere))
    assert "no project here has nothing in its name" in parsed(nowhere).text


async def test_hits_are_counted_by_language_directory_and_kind_and_each_count_narrows_to_it(browser, project):
    html = await browser.html("/ui/facets", project=project, q="cart")

    counted = re.findall(r'class="value">([^<]+)</span> <span class="muted">(\d+)<', html)
    assert {"python", "shop/", "tests/", "class"} <= {name for name, _ in counted}
    narrowed = queries(html)
    assert {"cart lang:python", "cart file:^shop/", "cart kind:class"} <= set(narrowed)
    for name, text in (("shop/", "cart file:^shop/"), ("tests/", "cart file:^tests/")):
        found = hits(await browser.html("/ui/results", project=project, q=text, limit="100"))
        assert found
        assert all(path.startswith(name) for path in found)


async def test_a_directory_within_the_one_that_is_asked_for_replaces_it(browser, tmp_path):
    root = write(tmp_path / "deep", {"src/a/x.py": "def cart(): pass\n", "src/b/y.py": "def cart(): pass\n"})
    project = await browser.index(root)

    html = await browser.html("/ui/facets", project=project, q="cart file:^src/")

    assert {"cart file:^src/a/", "cart file:^src/b/"} <= set(queries(html))


async def test_a_search_that_cannot_be_answered_is_not_counted(browser, project):
    for q in ("", "/(/", "x repo:nothing"):
        assert "<section>" not in await browser.html("/ui/facets", project=project, q=q)


async def test_values_are_completed_from_what_is_indexed(browser, project):
    async def offered(q):
        html = await browser.html("/ui/complete", project=project, q=q)
        return re.findall(r"<code>([^<]+)</code>", html)

    assert await offered("cart lang:py") == ["lang:python"]
    assert "file:shop/prices.py" in await offered("file:price")
    assert any(each.endswith("Cart") for each in await offered("sym:Cart"))
    assert await offered("repo:sh") == ["repo:shop"]
    assert await offered("kind:cla") == ["kind:class"]
    assert await offered("words") == []
    assert (await offered(""))[:2] == ["lang:", "file:"]


async def test_what_is_completed_is_escaped(browser, project):
    html = await browser.html("/ui/complete", project=project, q='"><script>hit()</script> lang:py')

    assert "<script>" not in html


async def test_a_first_visit_is_answered_from_files_and_asked_again_until_the_index_is_there(tmp_path, shop):
    """The index stays away because another process holds the writer lock."""
    home = tmp_path / "home"
    layout = TestWorkspace(shop.root, home).layout
    make_private_directory(layout.root)
    settings = replace(PAGE_SETTINGS, query=QuerySettings(files_answer_after_ms=100))
    async with page_server(home, settings=settings) as browser:
        with writer_lock(layout, "another process"):
            await browser.serving.call("search_code", Client(transport="stdio"), query="voucher", workspace=shop.root)
            await browser.wait_known(1)
            project = browser.serving.server.moment().known.projects[0].project.project_id
            early = await browser.html("/ui/results", project=project, q="voucher")
        late = ""

        async def is_complete():
            nonlocal late
            late = await browser.html("/ui/results", project=project, q="voucher")
            return "data-passing" not in late

        await until(is_complete)

    assert "shop/cart.py" in hits(early)
    assert "data-passing" in early
    assert "shop/cart.py" in hits(late)


async def test_a_search_of_commits_lists_them_with_links_to_the_file_at_that_commit(browser, shop, project):
    shop.write({"shop/prices.py": "def with_tax(cents):\n    return cents * 2\n"})
    shop.commit("Simpler <b>taxes</b>")
    commit = shop.git("rev-parse", "HEAD").strip()

    html = await browser.html("/ui/results", project=project, q='type:diff "return cents *" file:prices')
    nothing = await browser.html("/ui/results", project=project, q="type:commit absent")
    whole = await browser.html("/ui", project=project, q="type:commit taxes")

    assert "Simpler &lt;b&gt;taxes&lt;/b&gt;" in html
    asked = [parse_qs(urlsplit(each).query) for each in links(html) if f"ref={commit}" in each]
    assert [(each["path"], each["line"], each["ref"]) for each in asked] == [
        (["shop/prices.py"], ["8"], [f"{commit}~1"]),
        (["shop/prices.py"], ["2"], [commit]),
    ]
    pages = [await browser.html("/ui/file", **{name: value[0] for name, value in each.items()}) for each in asked]
    assert ["return cents * (100" in parsed(page).text for page in pages] == [True, False]
    assert "return cents * 2" in parsed(pages[1]).text
    assert "No commit found" in nothing
    assert "read as a search of commits" in parsed(whole).text
    assert "<h2>Language" not in whole

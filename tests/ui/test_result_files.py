"""From a file that was opened from a search to the other files of its result, by links that need no script."""

import re

import pytest

from codecompass.transport.ui.search_form import MORE_HITS
from tests.ui.pages import links, parsed
from tests.ui.shop import write


def opened_from(results):
    """Returns the addresses to which the hits of a page lead, in order."""
    return [link.replace("&amp;", "&").partition("#")[0] for link in re.findall(r'class="row" data-row href="([^"]+)"', results)]


def beside(html):
    """Returns the addresses of the previous and the next file; None where there is none."""
    found = {name: link.replace("&amp;", "&") for name, link in re.findall(r'data-file="(\w+)" href="([^"]+)"', html)}
    return found.get("before"), found.get("behind")


def place(address):
    """Returns the project, the path and the line of an address."""
    return re.search(r"project=(\w+)&path=([^&]+)&line=(\d+)", address).groups()


async def walked(browser, address):
    """Returns the places of all files that follow, beginning with the one at this address."""
    seen = [place(address)]
    while (behind := beside((await browser.get(address)).body.decode())[1]) and len(seen) <= MORE_HITS:
        address = behind.partition("#")[0]
        seen.append(place(address))
    return seen, address


@pytest.mark.parametrize(
    "search",
    [
        {"q": "cart"},
        {"q": "cart lang:python"},
        {"q": "cart", "path": "shop/**"},
        {"q": "total", "mode": "literal"},
        {"q": r"def \w+\(", "mode": "regex"},
        {"q": "sym:Cart"},
        {"q": "*.py", "mode": "files"},
    ],
)
async def test_files_are_gone_through_in_the_order_of_the_result(browser, search, project):
    results = await browser.html("/ui/results", project=project, limit=str(MORE_HITS), **search)
    first_of = {}
    for address in opened_from(results):
        first_of.setdefault(place(address)[1], address)
    expected = [place(address) for address in first_of.values()]

    forward, last = await walked(browser, next(iter(first_of.values())))
    before = beside((await browser.get(last)).body.decode())[0]

    assert forward == expected
    assert before is None if len(expected) == 1 else place(before) == expected[-2]


async def test_the_first_file_has_none_before_it_and_says_where_it_stands(browser, project):
    first = opened_from(await browser.html("/ui/results", project=project, q="cart"))[0]

    html = (await browser.get(first)).body.decode()

    assert beside(html)[0] is None
    assert re.search(r"file 1 of \d", parsed(html).text)
    assert f"/ui?project={project}&q=cart" in links(html)


async def test_files_of_all_projects_are_gone_through(browser, shop, tmp_path):
    first = await browser.index(shop.root)
    second = await browser.index(write(tmp_path / "bakery", {"oven.py": "def discounted_bread(cents):\n    return cents\n"}))
    results = await browser.html("/ui/results", project="*", q="discounted")

    forward, _ = await walked(browser, opened_from(results)[0])

    assert {project for project, _, _ in forward} == {first, second}


async def test_no_more_files_are_offered_than_the_page_of_the_search_can_list(browser, tmp_path):
    files = {f"m{number}.py": "needle = 1\n" for number in range(MORE_HITS + 20)}
    project = await browser.index(write(tmp_path / "many", files))
    results = await browser.html("/ui/results", project=project, q="needle")

    html = (await browser.get(opened_from(results)[0])).body.decode()

    assert f"file 1 of {MORE_HITS} with the best hits" in parsed(html).text


async def test_what_a_literal_search_looks_for_is_marked_too(browser, project):
    results = await browser.html("/ui/results", project=project, q="RATES", mode="literal")

    html = (await browser.get(opened_from(results)[0])).body.decode()

    assert "<b>RATES</b>" in html.partition('class="code whole')[2]


@pytest.mark.parametrize(
    "written",
    ["", "q=", "&&&", "%", "q=cart&project=nothing", "q=cart&limit=5", "q=" + "x" * 1_400, "q=repo:nothing+cart", "a=b&" * 300],
)
async def test_a_file_is_shown_whatever_search_its_address_names(browser, written, project):
    html = await browser.html("/ui/file", project=project, path="shop/prices.py", search=written)

    assert "def with_tax" in parsed(html).text


async def test_a_file_that_is_not_in_the_result_leads_back_to_the_search_alone(browser, project):
    html = await browser.html("/ui/file", project=project, path="README.md", search=f"project={project}&q=sym:EmptyCart")

    assert beside(html) == (None, None)
    assert f"/ui?project={project}&q=sym%3AEmptyCart" in links(html)


async def test_a_query_that_is_too_long_for_an_address_leads_to_files_all_the_same(browser, project):
    results = await browser.html("/ui/results", project=project, q="cart " * 200)

    assert opened_from(results)
    assert "search=" not in results

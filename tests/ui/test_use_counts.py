"""The uses beside the definitions of a file: the part of the page that a script asks for."""

import re

import pytest

from tests.ui.pages import links, parsed
from tests.ui.shop import FILES, write


async def test_each_count_leads_to_a_page_that_counts_the_same(browser, project):
    html = await browser.html("/ui/uses", project=project, path="shop/cart.py", first="1", last="100")

    shown = re.findall(r'data-of="(\d+)" href="([^"]+)" title="([^"]+)" aria-label="\3">([\d,]+) uses?</a>', html)
    assert len(shown) >= 5
    for line, link, label, count in shown:
        page = parsed((await browser.get(link.replace("&amp;", "&"))).body.decode()).text
        assert re.search(rf"\bUses {count}\b", page), (line, label)
    names = [label.split(" of ")[1].split(",")[0] for _, _, label, _ in shown]
    assert [name for name in names if name in ("Item", "Cart", "add", "total")] == ["Item", "Cart", "add", "total"]


async def test_only_the_lines_that_are_asked_for_are_counted(browser, project):
    html = await browser.html("/ui/uses", project=project, path="shop/prices.py", first="6", last="8")
    none = await browser.html("/ui/uses", project=project, path="shop/prices.py", first="7", last="8")

    assert re.findall(r'data-of="(\d+)"', html) == ["6"]
    assert links(none) == []


async def test_a_file_has_room_for_counts_where_they_can_be_known(browser, project):
    code = await browser.html("/ui/file", project=project, path="shop/cart.py")
    before = await browser.html("/ui/file", project=project, path="shop/cart.py", ref="HEAD")
    text = await browser.html("/ui/file", project=project, path="README.md")

    assert 'class="code whole counted" data-counts="/ui/uses?' in code
    assert "counts.js" in code
    assert "data-counts" not in before + text


@pytest.mark.parametrize(
    "parameters", [{"path": "missing.py"}, {"path": "../shop.py"}, {}, {"path": "shop/cart.py", "first": "x"}]
)
async def test_what_is_not_there_is_not_counted(browser, parameters, project):
    answer = await browser.get("/ui/uses", project=project, **parameters)

    assert answer.status in (400, 404)


async def test_a_name_of_a_repository_is_escaped(browser, tmp_path):
    root = write(tmp_path / "odd", {"a <b>.py": FILES["shop/prices.py"]})
    project = await browser.index(root)

    html = await browser.html("/ui/uses", project=project, path="a <b>.py", first="1", last="50")

    assert {tag for tag, _ in parsed(html).elements} == {"a"}

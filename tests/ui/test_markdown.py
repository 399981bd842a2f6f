"""Markdown rendered: what becomes of it, where its links lead, and that no document can do harm, whatever its shape."""

import re

import pytest

from codecompass.actors.worker_pool import open_worker_pool
from codecompass.transport.ui.rendered_markdown import (
    MAX_CHARACTERS,
    NO_WORKER,
    TOO_LARGE,
    TOO_LONG,
    TOO_SLOW,
    DocumentPlace,
    MarkdownRenderer,
    html_of,
)
from codecompass.worker.messages import Piece
from tests.support.workspace import TestWorkspace
from tests.ui.pages import links, parsed
from tests.ui.shop import FILES

pytestmark = pytest.mark.invariant(
    "Markdown is parsed in the same worker processes within the same time, else its source is shown; the HTML is made of "
    "elements that the server knows, and links lead to sites or into the project"
)

PLACE = DocumentPlace("shop", "docs/guide/start.md")

DOCUMENT = """# Shop & <b>more</b>

A *cart* with **prices**, `tax < 1` and ~~nothing~~.

- one
- two
  1. inner

> quoted

```python
return "<i>"
```

| name | cents |
|------|------:|
| pen  | 200   |

---
Last.
"""

SLOW = ("[" * 99 + "\n") * 1_900

OWN_TAGS = {
    *("h2", "h3", "h4", "h5", "h6", "p", "ul", "ol", "li", "blockquote", "pre", "table", "thead", "tbody", "tr", "th", "td"),
    *("hr", "br", "strong", "em", "del", "code", "a", "span"),
}

SHAPES = {
    "nested quotes": "> " * 50_000 + "x",
    "nested lists": "- " * 50_000 + "x",
    "nested emphasis": "*a **b " * 20_000,
    "backticks": " ".join("`" * number for number in range(1, 400)),
    "broken tables": "|a|\n|-|\n" + "|" * 50_000,
    "wide table": "|a" * 500 + "|\n" + "|-" * 500 + "|\n" + "|b|\n" * 500,
    "pictures within pictures": "![" * 150 + "x" + "](y)" * 150,
    "links within pictures within links": "[![[![a](b)](c)](d)](e)",
    "references": "".join(f"[a{number}]: <x>\n" for number in range(3_000)) + "[a1] [a2]",
    "markup": "<script>hit()</script>\n\n<img src=x onerror=hit()>\n\n</article></main>\n\n&lt;b&gt; &#60;script&#62;",
    "control characters": "a\0b\x0c\x1bc\u2028d\u202ee\ufeff \udce9",
    "metadata without an end": "---\ntitle: x\n",
    "metadata alone": "---\ntitle: <b>\n---",
    "nothing": "",
    "empty heading": "#\n\n##\n",
    "carriage returns": "# a\r\rb\r\nc\r",
}


async def html_of_text(text, place=PLACE):
    async with open_worker_pool(1) as pool:
        return await MarkdownRenderer(pool).render(text, place)


async def targets_of(*written, place=PLACE):
    """Returns where links with these targets lead, None for those that are text."""
    text = "".join(f"[x{number}](<{each}>)\n\n" for number, each in enumerate(written))
    found = (await html_of_text(text, place)).html
    assert found is not None
    paragraphs = str(found).split("<p")[1:]
    return [links(f"<p{paragraph}")[0] if "<a " in paragraph else None for paragraph in paragraphs]


async def test_a_document_becomes_elements_with_the_numbers_of_its_lines():
    found = str((await html_of_text(DOCUMENT)).html)

    for part in (
        '<h2 id="L1"><span id="s-shop--bmoreb"></span>Shop &amp; &lt;b&gt;more&lt;/b&gt;</h2>',
        '<p id="L3">A <em>cart</em> with <strong>prices</strong>, <code class="inline">tax &lt; 1</code>',
        '<ul id="L5"><li>one</li><li id="L6">two<ol id="L7"><li>inner</li></ol></li></ul>',
        '<blockquote id="L9"><p>quoted</p></blockquote>',
        '<pre id="L11">return &#34;&lt;i&gt;&#34;\n</pre>',
        '<td class="right">200</td>',
        '<hr id="L19">',
    ):
        assert part in found


async def test_headings_of_one_name_are_told_apart():
    found = str((await html_of_text("# Use it\n\n## Use it\n\n# `Use` *it*!\n")).html)

    assert re.findall(r'<span id="([^"]+)">', found) == ["s-use-it", "s-use-it-1", "s-use-it-2"]


async def test_metadata_at_the_beginning_is_shown_as_text_and_moves_no_line():
    found = str((await html_of_text("---\ntitle: <x>\n---\n# Begin\n")).html)

    assert found == '<pre id="L1">title: &lt;x&gt;</pre><h2 id="L4"><span id="s-begin"></span>Begin</h2>'


async def test_links_lead_to_sites_and_into_the_project_and_nowhere_else():
    assert await targets_of("https://example.org/a?b=c&d", "http://example.org", "mailto:a@example.org") == [
        "https://example.org/a?b=c&d",
        "http://example.org",
        "mailto:a@example.org",
    ]
    assert await targets_of(
        "other.md#How it works", "../api.md", "/README.md", "#How it works", "#L7", "a%20b.py", "a.py?raw=1"
    ) == [
        "/ui/file?project=shop&path=docs%2Fguide%2Fother.md&view=rendered#s-how-it-works",
        "/ui/file?project=shop&path=docs%2Fapi.md&view=rendered",
        "/ui/file?project=shop&path=README.md&view=rendered",
        "#s-how-it-works",
        "#L7",
        "/ui/file?project=shop&path=docs%2Fguide%2Fa+b.py",
        "/ui/file?project=shop&path=docs%2Fguide%2Fa.py",
    ]
    assert await targets_of("../../src/a.py#L10-L20", "../../src/a.py#L5", "../../src/", "../..") == [
        "/ui/file?project=shop&path=src%2Fa.py&line=10#L10-L20",
        "/ui/file?project=shop&path=src%2Fa.py&line=5#L5",
        "/ui/tree?project=shop&path=src",
        "/ui/tree?project=shop",
    ]


@pytest.mark.parametrize(
    "written",
    [
        *(
            "javascript:hit()",
            "JavaScript:hit()",
            "java\tscript:hit()",
            "javascript&colon;hit()",
            "vbscript:x",
            "file:///etc/passwd",
        ),
        *(
            "data:text/html,x",
            "//example.org/x",
            "///example.org",
            "ftp://example.org",
            "http:",
            "https:relative",
            "vscode://file/x",
        ),
        *("../../../etc/passwd", "../../..", "..%2F..%2F..%2Fetc", "\\\\example.org\\x", "\x01javascript:hit()"),
    ],
)
async def test_a_link_that_leads_elsewhere_is_text(written):
    found = str((await html_of_text(f"[x](<{written}>)")).html)

    assert all(link.startswith("/ui/file?project=shop&path=") and ".." not in link for link in links(found))


async def test_links_stay_at_the_commit_that_is_shown():
    place = DocumentPlace("shop", "README.md", "v1")

    assert await targets_of("a.py", "b.md", "docs/", place=place) == [
        "/ui/file?project=shop&path=a.py&ref=v1",
        "/ui/file?project=shop&path=b.md&ref=v1&view=rendered",
        "/ui/tree?project=shop&path=docs&ref=v1",
    ]


async def test_no_picture_is_loaded_and_its_description_leads_to_it():
    found = str(
        (
            await html_of_text("![a <b>](https://example.org/x.png) [![ok](badge.svg)](https://example.org) ![](img/a%20b.png)")
        ).html
    )

    page = parsed(found)
    assert {tag for tag, _ in page.elements} == {"p", "span", "a"}
    assert links(found) == ["https://example.org/x.png", "https://example.org"]
    assert page.text == "Picture: a <b> Picture: ok Picture: a b.png"


@pytest.mark.parametrize("name", SHAPES)
async def test_whatever_a_document_has_in_it_only_our_elements_come_out_and_all_of_them_end(name):
    found = await html_of_text(SHAPES[name])

    if found.html is None:
        assert found.why_not in (TOO_SLOW, TOO_LARGE)
        return
    page = parsed(str(found.html))
    assert {tag for tag, _ in page.elements} <= OWN_TAGS
    assert {key for _, attributes in page.elements for key in attributes} <= {"id", "href", "rel", "class", "start"}
    assert all(re.match(r"L\d+$|s-", attributes["id"]) for _, attributes in page.elements if "id" in attributes)
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(set(ids)) == len(ids)
    for tag in OWN_TAGS - {"hr", "br"}:
        assert len(re.findall(f"<{tag}[ >]", str(found.html))) == str(found.html).count(f"</{tag}>")


def test_what_a_worker_says_becomes_only_elements_that_are_known_and_that_end():
    pieces = [
        Piece("script"),
        Piece("", "<x>"),
        Piece("/script"),
        Piece("/quote"),
        Piece("quote"),
        Piece("numbers", '1" onload="'),
        Piece("cell", '"'),
    ]

    assert html_of(pieces, PLACE) == "&lt;x&gt;<blockquote><ol><td></td></ol></blockquote>"


async def test_a_document_that_takes_too_long_ends_the_worker_once_and_the_next_one_is_rendered():
    async with open_worker_pool(1) as pool:
        renderer = MarkdownRenderer(pool)
        first, again, other = [await renderer.render(text, PLACE) for text in (SLOW, SLOW, "*a*")]

        assert (first.html, first.why_not) == (again.html, again.why_not) == (None, TOO_SLOW)
        assert other.html == '<p id="L1"><em>a</em></p>'
        assert pool.killed_count == 1


async def test_a_document_that_would_become_far_larger_is_not_rendered():
    text = f"[a]: https://example.org/{'x' * 1_000}\n\n" + "[a] " * 40_000

    assert (await html_of_text(text)).why_not == TOO_LARGE
    assert (await html_of_text("x" * (MAX_CHARACTERS + 1))).why_not == TOO_LONG


async def test_a_document_is_shown_without_a_process_that_could_render_it(monkeypatch):
    monkeypatch.setattr("sys.executable", "/nonexistent/python")

    assert (await html_of_text("# x")).why_not == NO_WORKER


@pytest.fixture
def shop(tmp_path):
    workspace = TestWorkspace(tmp_path / "shop", tmp_path / "unused", git=True)
    workspace.write({**FILES, "README.md": "# Old\n"})
    workspace.commit("begin")
    workspace.write({"README.md": "# Shop\n\n[cart](shop/cart.py) [code](shop)\n\n## Use\n", "slow.md": SLOW})
    workspace.commit("more")
    return workspace


async def test_a_document_is_offered_rendered_beside_its_source(browser, project):
    source = await browser.html("/ui/file", project=project, path="README.md", q="cart", line="3")
    address = re.search(r'href="([^"]+)"[^>]*>Rendered<', source)[1].replace("&amp;", "&").partition("#")[0]
    rendered = (await browser.get(address)).body.decode()
    code = await browser.html("/ui/file", project=project, path="shop/cart.py", view="rendered")

    assert "[<b>cart</b>](shop/<b>cart</b>.py)" in source
    assert '<h2 id="L1"><span id="s-shop"></span>Shop</h2>' in rendered
    assert f"/ui/file?project={project}&path=shop%2Fcart.py" in links(rendered)
    assert f"/ui/file?project={project}&path=README.md&line=3&q=cart#L3" in links(rendered)
    assert 'aria-current="page">Rendered' in rendered
    assert 'aria-current="page">Source' in source
    assert 'class="rendered"' not in source + code
    assert "Rendered" not in code


async def test_a_document_is_rendered_as_a_commit_has_it_and_permanent_addresses_stay_rendered(browser, shop, project):
    first = shop.git("rev-parse", "HEAD~1").strip()

    before = await browser.html("/ui/file", project=project, path="README.md", ref="HEAD~1", view="rendered")

    assert "Old</h2>" in before
    permanent = re.search(r'href="([^"]+)" data-permalink', before)[1].replace("&amp;", "&")
    assert permanent == f"/ui/file?project={project}&path=README.md&ref={first}&view=rendered"
    assert '<input type="hidden" name="view" value="rendered">' in before


async def test_a_document_that_cannot_be_rendered_is_shown_as_source_with_the_reason(browser, project):
    html = await browser.html("/ui/file", project=project, path="slow.md", view="rendered")

    assert TOO_SLOW in html
    assert '<div class="l" id="L1">' in html


async def test_a_directory_that_is_opened_as_a_file_is_shown_as_a_directory(browser, project):
    answer = await browser.get("/ui/file", project=project, path="shop")
    missing = await browser.get("/ui/file", project=project, path="nothing")

    assert (answer.status, answer.headers["location"]) == (303, f"/ui/tree?project={project}&path=shop")
    assert missing.status == 404

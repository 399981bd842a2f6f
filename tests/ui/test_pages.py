"""The page without scripts: search, files, definitions, diffs, projects, activity, on a real server and index."""

import random
import re
from urllib.parse import urlencode

import pytest
import trio
from msgspec.structs import replace

from codecompass.settings import ServerSettings
from codecompass.transport.ui.fields import LENGTHS
from tests.support.waiting import until
from tests.transport.http.client import JSON, ask, call, connect, message
from tests.ui.pages import PAGE_SETTINGS, links, page_server, parsed
from tests.ui.shop import FILES, HOSTILE_CODE, HOSTILE_NAME, hostile_files, write


async def test_a_search_shows_places_code_definitions_and_freshness(browser, project):
    html = await browser.html("/ui", project=project, q="what does the customer pay")

    page = parsed(html)
    assert "shop/cart.py" in page.text
    assert "Cart.total" in page.text
    assert "fresh" in page.text
    assert any(link.startswith("/ui/file?") and "shop%2Fcart.py" in link and "#L" in link for link in links(html))
    assert [value["value"] for tag, value in page.elements if value.get("name") == "q"] == ["what does the customer pay"]


async def test_the_hits_of_the_page_are_those_of_the_tool_in_its_order(browser, project):
    asked = await browser.serving.call("search_code", query="voucher discount", project_id=project)

    html = await browser.html("/ui/results", project=project, q="voucher discount")

    shown = re.findall(r'data-row href="/ui/file\?project=\w+&amp;path=([^&]+)&amp;line=', html)
    assert [path.replace("%2F", "/") for path in shown] == [hit["path"] for hit in asked["results"]]


async def test_the_part_that_changes_while_one_types_is_the_same_as_in_the_whole_page(browser, project):
    whole = await browser.html("/ui", project=project, q="discounted")
    part = await browser.html("/ui/results", project=project, q="discounted")

    assert part.strip() in whole
    assert "<html" not in part


async def test_why_a_hit_stands_where_it_stands_and_why_a_file_is_not_there(browser, project):
    html = await browser.html("/ui", project=project, q="place order", why="1", why_not="README.md")

    text = parsed(html).text
    assert "words, by how rare they are (BM25)" in text
    assert "README.md" in text
    assert "has none of what was asked for" in text or "rank" in text


async def test_the_modes_and_filters_of_the_form_reach_the_search(browser, project):
    literal = parsed(await browser.html("/ui", project=project, q='RATES["other"]', mode="literal")).text
    files = parsed(await browser.html("/ui", project=project, q="*.md", mode="files")).text
    filtered = parsed(await browser.html("/ui", project=project, q="cart", path="tests/**")).text

    assert "shop/prices.py" in literal
    assert "README.md" in files
    assert "shop/cart.py" not in filtered
    assert "tests/test_cart.py" in filtered


async def test_all_projects_are_searched_at_once_and_each_hit_leads_into_its_own(browser, shop, tmp_path):
    other = write(tmp_path / "bakery", {"oven.py": "def discounted_bread(cents):\n    return cents\n"})
    first, second = await browser.index(shop.root), await browser.index(other)
    asked = await browser.serving.call("search_code", query="discounted", workspace="*")

    html = await browser.html("/ui", project="*", q="discounted")

    shown = re.findall(r'data-row href="/ui/file\?project=(\w+)&amp;path=([^&]+)&amp;line=', html)
    ids = {"shop": first, "bakery": second}
    assert [(project, path.replace("%2F", "/")) for project, path in shown] == [
        (ids[hit["project"]], hit["path"]) for hit in asked["results"]
    ]
    assert {project for project, _ in shown} == {first, second}
    assert "in 2 projects" in parsed(html).text
    assert '<option value="*" selected>all projects</option>' in html


async def test_a_project_that_is_not_live_answers_a_search_of_all(tmp_path, shop):
    async with page_server(tmp_path / "home") as before:
        await before.index(shop.root)
        await before.index(write(tmp_path / "bakery", {"oven.py": "def discounted_bread(cents):\n    return cents\n"}))

    async with page_server(tmp_path / "home") as browser:
        await browser.wait_known(2)
        html = await browser.html("/ui", project="*", q="discounted")
        live = browser.serving.server.supervisor.observe()

    assert live == ()
    assert "oven.py" in html
    assert "shop/prices.py" in html
    assert "def discounted_bread(cents):" in parsed(html).text


async def test_a_file_has_numbered_lines_its_outline_and_links_to_editors(browser, shop, project):
    html = await browser.html("/ui/file", project=project, path="shop/cart.py", line="28")

    page = parsed(html)
    numbers = [attributes["id"] for _tag, attributes in page.elements if (attributes.get("id") or "").startswith("L")]
    assert numbers == [f"L{number}" for number in range(1, FILES["shop/cart.py"].count("\n") + 1)]
    assert "class Cart" in page.text
    root = shop.root
    for link in (
        f"vscode://file{root}/shop/cart.py:28",
        f"cursor://file{root}/shop/cart.py:28",
        f"zed://file{root}/shop/cart.py:28",
        f"idea://open?file={root}/shop/cart.py&line=28",
    ):
        assert link in links(html)
    outline = html[html.index('class="outline"') : html.index('aria-label="Code"')]
    assert re.findall(r"</span> (\w+)</a>", outline) == [
        "Item",
        "name",
        "cents",
        "count",
        "category",
        "Cart",
        "items",
        "percent_off",
        "add",
        "total",
    ]


async def test_a_long_file_is_shown_in_parts(browser, tmp_path):
    root = write(
        tmp_path / "long",
        {"long.py": "".join(f"def f_{n}(value):\n    if value:\n        return {n}\n    return 0\n\n" for n in range(500))},
    )
    project = await browser.index(root)

    first = await browser.html("/ui/file", project=project, path="long.py")
    middle = await browser.html("/ui/file", project=project, path="long.py", line="1500")
    last = await browser.html("/ui/file", project=project, path="long.py", line="99999")

    assert ('id="L1"' in first, 'id="L800"' in first, 'id="L801"' in first) == (True, True, False)
    assert ('id="L800"' in middle, 'id="L801"' in middle, 'id="L1600"' in middle) == (False, True, True)
    assert 'id="L2500"' in last
    assert any("line=801" in link for link in links(first))
    assert any("line=1" in link for link in links(middle))
    assert max(len(each) for each in (first, middle, last)) < 130_000


async def test_a_name_leads_to_its_definition_and_from_there_to_its_uses(browser, project):
    there = await browser.get("/ui/goto", project=project, name="with_tax", path="shop/cart.py", line="34")
    again = await browser.get("/ui/goto", project=project, name="with_tax", path="shop/prices.py", line="6")
    uses = parsed((await browser.get(again.headers["location"])).body.decode()).text

    assert (there.status, again.status) == (303, 303)
    assert "path=shop%2Fprices.py" in there.headers["location"]
    assert there.headers["location"].endswith("#L6")
    assert again.headers["location"].startswith("/ui/symbol?")
    assert "shop.prices.with_tax" in uses
    assert "gross = sum(with_tax(item.cents" in uses
    assert "Cart.total" in uses
    assert "place_order" in uses  # calls a function that calls it


async def test_a_name_that_several_definitions_have_is_left_to_the_person(browser, tmp_path):
    root = write(tmp_path / "twice", {"a.py": "def same(): pass\n", "b.py": "def same(): pass\n"})
    project = await browser.index(root)

    html = await browser.html("/ui/symbol", project=project, name="same")

    assert "Choose one" in html
    assert {"a.py", "b.py"} <= set(re.findall(r"[ab]\.py", html))


async def test_a_definition_has_its_uses_in_all_projects(browser, tmp_path):
    library = await browser.index(write(tmp_path / "library", {"library/__init__.py": "def settle():\n    pass\n"}))
    user = await browser.index(write(tmp_path / "till", {"till.py": "from library import settle\n\nsettle()\n"}))

    here = await browser.html("/ui/symbol", project=library, name="settle")
    everywhere = await browser.html("/ui/symbol", project=library, name="settle", view="everywhere")

    assert "till.py" not in here
    assert [link for link in links(here) if "view=everywhere" in link]
    assert f"/ui/file?project={user}&path=till.py&line=3" in [link.partition("#")[0] for link in links(everywhere)]


async def test_what_has_changed_since_a_commit_is_shown_by_definitions(browser, shop, project):
    shop.write({"shop/prices.py": FILES["shop/prices.py"].replace("19}", "20}")})

    html = await browser.html("/ui/diff", project=project, base="main")

    text = parsed(html).text
    assert "RATES" in text
    assert 'removed: RATES = {"books": 7, "other": 19}' in text
    assert 'added: RATES = {"books": 7, "other": 20}' in text


async def test_a_project_says_what_was_left_out_and_why(browser, project):
    text = parsed(await browser.html("/ui/project", project=project, path="logo.png")).text

    assert "binary" in text
    assert "there is a NUL byte near its beginning" in text
    assert re.search(r"logo\.png\s+is skipped", text)
    assert "published" in text


async def test_an_edit_is_in_the_next_answer_of_the_page(browser, shop, project):
    shop.write({"shop/new.py": "def brand_new_name():\n    pass\n"})

    html = await browser.html("/ui", project=project, q="brand_new_name")

    assert "shop/new.py" in html


async def test_a_button_orders_a_job_and_leads_back(browser, project):
    before = browser.serving.server.supervisor.find(project).generation

    answer = await browser.post("/ui/act", project=project, action="rebuild")

    assert (answer.status, answer.headers["location"]) == (303, "/ui/projects")
    await until(lambda: browser.serving.server.supervisor.find(project).generation > before, seconds=60)


@pytest.mark.invariant("No content of a repository or a query becomes markup of the page")
async def test_no_markup_of_a_repository_or_a_query_becomes_markup(browser, tmp_path):
    root = write(tmp_path / "hostile", hostile_files())
    project = await browser.index(root)
    query = '"><script>hit()</script><img src=x onerror=hit()>'
    pages = [
        await browser.html("/ui", project=project, q="hostile", why="1", why_not=query),
        await browser.html("/ui", project=project, q=query, path="<script>*", kind="fn"),
        await browser.html("/ui", project=project, q="hit()", mode="literal"),
        await browser.html("/ui/file", project=project, path=HOSTILE_NAME),
        await browser.html("/ui/symbol", project=project, name="hostile"),
        await browser.html("/ui/tree", project=project),
        await browser.html("/ui/facets", project=project, q="hostile"),
        await browser.html("/ui/complete", project=project, q="file:img"),
        await browser.html("/ui/symbol", project=project, name=query),
        await browser.html("/ui/project", project=project, path=query),
        (await browser.get("/ui/file", project=project, path=query)).body.decode(),
        (await browser.get("/ui", project="x", q=query)).body.decode(),
    ]

    for html in pages:
        page = parsed(html)
        assert [tag for tag, _ in page.elements if tag in ("svg", "img", "iframe", "style", "base", "object")] == []
        assert all(attributes.get("src", "").startswith("/ui/static/") for tag, attributes in page.elements if tag == "script")
        assert not [name for _tag, attributes in page.elements for name in attributes if name.startswith("on")]
        assert not [link for link in links(html) if link.lower().startswith(("javascript:", "data:"))]
    assert HOSTILE_CODE.split("\n")[4].strip() in parsed(pages[3]).text
    assert "{{ 7 * 7 }}" in parsed(pages[3]).text


PIECES = (
    *(
        "a",
        "cart",
        "shop/cart.py",
        "..",
        "/",
        "//",
        "\\",
        "%",
        "+",
        "&",
        "=",
        "#L3",
        "?",
        ":",
        ":3",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\0",
        "*",
        "!**",
    ),
    *(
        "é",
        "\u2028",
        "\ufffd",
        "\udce9",
        "\U0001f600",
        "<b>",
        '"',
        "'",
        "{{",
        "(",
        "[",
        "\\d+",
        "0",
        "-1",
        "9" * 30,
        "1e9",
        "x" * 3_000,
    ),
    *("auto", "literal", "regex", "files", "fn", "py", "HEAD", "HEAD~1", "main", "--help", "-x", "@{u}", "rebuild", "cancel"),
)


@pytest.mark.slow
async def test_whatever_is_asked_the_page_answers_and_never_with_a_defect(browser, project):
    seeded = random.Random(29)
    pages = (
        "",
        "/results",
        "/file",
        "/goto",
        "/symbol",
        "/diff",
        "/projects",
        "/project",
        "/activity",
        "/static/x",
        "/y",
        "/facets",
        "/complete",
    )
    pages += ("/raw", "/tree", "/blame", "/history")
    fields = tuple(LENGTHS)
    async with connect(browser.port) as client:
        for _ in range(400):
            asked = {name: "".join(seeded.choices(PIECES, k=seeded.randint(1, 3))) for name in seeded.sample(fields, 4)}
            if seeded.random() < 0.8:
                asked["project"] = seeded.choice((project, project, "*"))
            path = f"/ui{seeded.choice(pages)}?{urlencode(asked, errors='surrogatepass')}"

            answer = await client.request("GET", path)

            assert answer.status in (200, 303, 400, 404), (path, answer.body[-2_000:])
            if answer.status == 303:
                assert answer.headers["location"].startswith("/ui/")
            elif answer.headers["content-type"].startswith("text/html") and "/complete?" not in path and "/facets?" not in path:
                assert answer.body.decode().rstrip().endswith((">", "</ol>"))


@pytest.mark.invariant(
    "The page shows no project outside the allowed roots, and nothing of it is loaded before somebody opens it"
)
async def test_a_project_outside_of_the_allowed_roots_is_never_shown(tmp_path, shop):
    """It was registered, and its index built, by an earlier server without allowed roots."""
    secret = write(tmp_path / "elsewhere" / "secret", {"vault.py": "def the_combination(): return 4711\n"})
    async with page_server(tmp_path / "home") as before:
        hidden = await before.index(secret)
        await before.index(shop.root)

    # A project registered by a question does not become the default, which would count as an allowed root.
    async with page_server(tmp_path / "home", allowed_roots=[shop.root]) as browser:
        project = await browser.index(shop.root)
        for path, parameters in (
            ("/ui", {"q": "the_combination", "project": hidden}),
            ("/ui/results", {"q": "the_combination", "project": hidden}),
            ("/ui", {"q": "the_combination", "project": project}),
            ("/ui", {"q": "the_combination", "project": "*"}),
            ("/ui/file", {"path": "vault.py", "project": hidden}),
            ("/ui/file", {"path": str(secret / "vault.py"), "project": project}),
            ("/ui/file", {"path": "../elsewhere/secret/vault.py", "project": project}),
            ("/ui/symbol", {"name": "the_combination", "project": hidden}),
            ("/ui/goto", {"name": "the_combination", "project": hidden}),
            ("/ui/diff", {"project": hidden}),
            ("/ui/results", {"q": "the_combination repo:secret", "project": project}),
            ("/ui/facets", {"q": "the_combination repo:*", "project": project}),
            ("/ui/complete", {"q": "repo:s", "project": project}),
            ("/ui/raw", {"path": "vault.py", "project": hidden}),
            ("/ui/tree", {"project": hidden}),
            ("/ui/blame", {"path": "vault.py", "project": hidden}),
            ("/ui/history", {"path": "vault.py", "project": hidden}),
            ("/ui/project", {"project": hidden}),
            ("/ui/projects", {}),
            ("/ui/activity", {}),
        ):
            answer = await browser.get(path, **parameters)
            assert b"4711" not in answer.body, path
            # What the user typed is repeated in the answer.
            typed = str(parameters.get("path", "-")).encode()
            assert str(secret).encode() not in answer.body.replace(typed, b""), path
            assert hidden.encode() not in answer.body, path
        acted = await browser.post("/ui/act", project=hidden, action="rebuild")
        stream = await _first_event(browser.port)

    assert acted.status == 400
    assert hidden.encode() not in stream
    assert project.encode() in stream


async def _first_event(port):
    async with connect(port) as client:
        await client.send("GET", "/ui/events")
        assert (await client.head()).status == 200
        while True:
            text = await client.text()
            if text.startswith(b"event: projects"):
                return text


async def test_the_stream_tells_of_a_job_and_ends_with_the_server(tmp_path, shop):
    async with page_server(tmp_path / "home") as browser:
        project = await browser.index(shop.root)
        async with connect(browser.port) as client:
            await client.send("GET", "/ui/events")
            head = await client.head()
            assert head.headers["content-type"] == "text/event-stream"
            seen = b""
            while f"live-{project}".encode() not in seen:
                seen += await client.text()
            shop.write({"shop/more.py": "def more(): pass\n"})
            await browser.post("/ui/act", project=project, action="update")
            while b"6 files" not in seen and b"7 files" not in seen and b"8 files" not in seen:
                seen += await client.text()
            browser.serving.server.core.stop()

            with trio.fail_after(60):
                await client.rest()


async def test_streams_are_bounded_and_one_that_is_closed_makes_room(browser):
    from codecompass.transport.ui.project_pages import MAX_STREAMS

    async with trio.open_nursery() as nursery:

        async def hold(task_status):
            async with connect(browser.port) as client:
                await client.send("GET", "/ui/events")
                assert (await client.head()).status == 200
                task_status.started()
                await trio.sleep_forever()

        for _ in range(MAX_STREAMS):
            await nursery.start(hold)
        refused = await browser.get("/ui/events")
        nursery.cancel_scope.cancel()

    assert refused.status == 503
    assert refused.headers["retry-after"]

    async def is_open_again():
        return await _status_of_stream(browser.port) == 200

    await until(is_open_again)


async def _status_of_stream(port):
    async with connect(port) as client:
        await client.send("GET", "/ui/events")
        return (await client.head()).status


async def test_activity_shows_what_a_client_has_asked_and_how_it_was_answered(browser, project):
    async with connect(browser.port) as client:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": {"name": "<b>agent</b>", "version": "1"},
        }
        opened = await client.request("POST", "/mcp", message("initialize", params), **JSON)
        session = {**JSON, "mcp_session_id": opened.headers["mcp-session-id"]}
        asked = call("search_code", {"query": "voucher", "project_id": project})
        answered = await client.request("POST", "/mcp", asked, **session)
        await client.request("POST", "/mcp", call("locate_symbol", {"name": "Cart", "workspace": "*"}), **session)
        await client.request("POST", "/mcp", call("locate_symbol", {"name": "x" * 900, "project_id": "none"}), **session)
    length = len(answered.json()["result"]["content"][0]["text"])

    html = await browser.html("/ui/activity")

    text = parsed(html).text
    assert "<b>agent</b> over http" in text
    assert "search_code" in text
    assert "query='voucher'" in text
    assert f"{length:,} characters · fresh · shop" in text
    assert "project_not_found" in text
    assert "name='Cart' workspace='*'" in text
    assert "x" * 300 not in text
    # The page's own questions are not a client's activity.
    assert text.count("search_code") == 1


async def test_the_tool_that_reads_files_is_not_listed_where_they_are_local_but_answers(browser, shop):
    await browser.index(shop.root)

    listed = await ask(browser.port, "POST", "/", message("tools/list"))
    called = await ask(browser.port, "POST", "/", call("read_file", {"path": "shop/cart.py", "workspace": str(shop.root)}))

    assert b"read_file" not in listed.body
    assert b"class Cart" in called.body


async def test_activity_is_not_kept_where_it_is_switched_off(tmp_path, shop):
    settings = replace(PAGE_SETTINGS, server=ServerSettings(transport="http", prewarm=False, activity=False))
    async with page_server(tmp_path / "home", settings=settings) as browser:
        await ask(browser.port, "POST", "/", call("health_check"))
        text = parsed(await browser.html("/ui/activity")).text

        assert browser.serving.server.activity is None
    assert "Calls are not kept" in text


async def test_all_of_a_page_weighs_less_than_150_kilobytes(browser, project):
    for path, parameters in (
        ("/ui", {"q": "cart", "project": project, "why": "1"}),
        ("/ui/file", {"path": "shop/cart.py", "project": project}),
        ("/ui/symbol", {"name": "Cart", "project": project}),
        ("/ui/projects", {}),
    ):
        html = await browser.html(path, **parameters)
        parts = set(re.findall(r'(?:src|href)="(/ui/static/[^"]+)"', html))
        sizes = [len((await browser.get(part)).body) for part in parts]

        assert len(parts) >= 3
        assert len(html.encode()) + sum(sizes) < 150_000


async def test_scripts_and_styles_are_kept_by_the_browser_and_others_are_not_there(browser):
    html = await browser.html("/ui")
    (script, *_), digest = re.findall(r'src="(/ui/static/[^"]+\.js)"', html), html.split("/ui/static/")[1].split("/")[0]

    there = await browser.get(script)

    assert there.headers["content-type"] == "text/javascript; charset=utf-8"
    assert "immutable" in there.headers["cache-control"]
    for path in ("../../door.py", "..%2f..%2fdoor.py", "%2e%2e/rendering.py", "", "style.css/x"):
        assert (await browser.get(f"/ui/static/{digest}/{path}")).status == 404
    assert (await browser.get("/ui/static/000000000000/style.css")).status == 404


async def test_a_card_names_the_definitions_of_exactly_that_name_those_of_the_file_first(browser, tmp_path):
    files = {f"m{number}.py": f'def shared(x{number}: int = 0, text: str = "<b>"):\n    pass\n' for number in range(5)}
    project = await browser.index(write(tmp_path / "cards", {**files, "one.py": "class Alone:\n    pass\n"}))

    here = await browser.html("/ui/card", project=project, name="shared", path="m3.py")
    elsewhere = await browser.html("/ui/card", project=project, name="shared", path="one.py")
    similar = await browser.html("/ui/card", project=project, name="share", path="one.py")

    assert re.findall(r"m\d\.py:1", here) == ["m3.py:1"]
    assert "x3: int = 0" in here
    assert "<b>" not in here
    assert len(re.findall(r"m\d\.py:1", elsewhere)) == 3
    assert "and 2 more" in elsewhere
    assert not similar.strip()

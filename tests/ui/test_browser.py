"""The page in a real browser: what people do with it, with the mouse, the keyboard alone, on a phone, in both colour schemes,
without scripts; accessibility; and that neither hostile content nor another site can abuse it.
"""

import os
import random
import re
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.served import holding
from tests.support.workspace import TestWorkspace
from tests.ui.browsing import CHROMIUM, browser_tools, codecompass, other_site, server_process
from tests.ui.shop import FILES, HOSTILE_NAME, hostile_files, write

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser"), pytest.mark.filterwarnings("default")]

PATIENCE_MS = 60_000
"""Generous, for a busy machine: a page may come only after a first answer, which alone may take half a minute."""

LAUNCH_MS = 120_000
PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
UPDATES_PICTURES = bool(os.environ.get("CODECOMPASS_UPDATE_PICTURES"))
MAX_PICTURE_BYTES = 150_000

WIDE = {"width": 1100, "height": 720}
PHONE = {"width": 360, "height": 740}

WATCH_FOR_HITS = "window.hits = []; window.hit = (...seen) => window.hits.push(seen); window.alert = window.hit;"


@pytest.fixture(scope="module")
def chromium():
    api = browser_tools()
    with api.sync_playwright() as playwright:
        # Tests run in containers whose kernel does not permit the sandbox; the pages are ours.
        arguments = ["--no-sandbox", "--disable-dev-shm-usage"]
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=arguments, timeout=LAUNCH_MS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A git repository with uncommitted changes."""
    workspace = TestWorkspace(tmp_path_factory.mktemp("projects") / "shop", Path("/nonexistent"), git=True)
    workspace.write(FILES)
    workspace.commit("begin")
    workspace.write({"shop/prices.py": FILES["shop/prices.py"].replace("19}", "20}").replace("rounded down", "never rounded up")})
    return workspace


@pytest.fixture(scope="module")
def gate(tmp_path_factory):
    """A directory: while it has no file `go`, a job of `large` stays in `held.py`."""
    directory = tmp_path_factory.mktemp("gate")
    (directory / "go").touch()
    return directory


@pytest.fixture(scope="module")
def server(tmp_path_factory, shop, gate):
    home = tmp_path_factory.mktemp("home")
    hostile = write(tmp_path_factory.mktemp("projects2") / "<b>hostile", hostile_files())
    large = tmp_path_factory.mktemp("projects3") / "large"
    modules = {f"part{n % 50}/module_{n}.py": f"def function_{n}(value):\n    return value + {n}\n" * 30 for n in range(1_500)}
    write(large, {"held.py": "HELD = 1\n", **modules})
    for root in (shop.root, hostile, large):
        codecompass(home, "index", str(root))
    with server_process(home, environment=holding(gate)) as found:
        yield found


@pytest.fixture
def opened(chromium, server):
    """Yields `opened(path, **context)`, which opens a page in the browser. Fails at the end if a script failed or was blocked."""
    contexts, complaints = [], []

    def open_page(path="/ui", *, scheme="light", size=WIDE, expects_errors=False, **options):
        context = chromium.new_context(viewport=size, color_scheme=scheme, base_url=server.url, **options)
        context.set_default_timeout(PATIENCE_MS)
        context.add_init_script(WATCH_FOR_HITS)
        contexts.append(context)
        page = context.new_page()
        if not expects_errors:
            page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto(path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(scope="module")
def projects(chromium, server):
    """Project ids by name."""
    page = chromium.new_page(base_url=server.url)
    page.set_default_timeout(PATIENCE_MS)
    page.goto("/ui")
    options = page.locator("select[name=project] option").all()
    found = {option.inner_text(): option.get_attribute("value") for option in options}
    page.close()
    assert {"shop", "b-hostile", "large"} <= set(found)
    return found


def search(page, text):
    """Types a query and waits for its answer."""
    page.locator("#q").fill("")
    page.locator("#q").press_sequentially(text)
    page.wait_for_function("text => document.getElementById('results').dataset.answers === text", arg=text)


def go_back(page, query):
    """Goes back to an entry of the history, and waits for the answer to its query: the address changes before both."""
    page.go_back()
    page.wait_for_selector(f"#results[data-answers={query}][aria-busy=false]")
    return page.locator("#q").input_value()


def pause_clock(page):
    """Stops the time of a page, so that a slow machine makes no pause in typing."""
    page.clock.install()
    page.clock.pause_at(time.time() + 3600)


def open_hit(page, element):
    """Opens the first hit, and waits for an element of its page that the server has only if its search was answered in time."""
    page.locator(".hit a.row").first.click()
    page.wait_for_url("**/ui/file?**")
    has_element(page, element)


def has_element(page, element, attempts=20):
    """Loads a page again until it has an element that a busy server leaves out rather than wait for it."""
    page.wait_for_load_state()
    for _ in range(attempts):
        if page.locator(element).count():
            return
        page.reload()
    pytest.fail(f"{page.url} never had {element}")


def path_of(page):
    return re.sub(r"^http://[^/]+", "", page.url)


def test_search_open_follow_a_name_to_its_definition_and_to_its_uses(opened, projects):
    page = opened(f"/ui?project={projects['shop']}")

    search(page, "what a customer pays")
    page.locator(".hit", has_text="Cart.total").first.locator("a.row").click()
    # Loaded, so that its scripts await the click.
    page.wait_for_url("**/ui/file?**cart.py**")
    line = page.locator(".l", has_text="gross = sum(with_tax(")
    box = line.locator("code").bounding_box()
    # The name is preceded by eight blanks and `gross = sum(`: 20 characters of equal width.
    width = page.evaluate("""() => {
        const canvas = document.createElement("canvas").getContext("2d");
        canvas.font = getComputedStyle(document.querySelector(".code code")).font;
        return canvas.measureText("x").width;
    }""")
    page.mouse.click(box["x"] + 22.5 * width, box["y"] + box["height"] / 2)
    page.wait_for_url("**/ui/file?**prices.py**")
    there = path_of(page)
    definition = page.locator(".l", has_text="def with_tax(").locator("code")
    definition.locator(".f").click()
    page.wait_for_url("**/ui/symbol?**")
    uses = page.url
    page.go_back()
    page.locator("#L8 > span").click()
    page.wait_for_selector("#L8.here")
    assert page.url.endswith("#L8")
    assert page.locator("[data-editor]").first.get_attribute("href").endswith("shop/prices.py:8")
    page.goto(uses)

    assert there.endswith("#L6")
    assert "gross = sum(with_tax(" in page.locator("main").inner_text()
    assert "place_order" in page.locator(".tree").first.inner_text()
    page.locator(".uses a[data-row]").first.click()
    page.wait_for_url("**/ui/file?**")


def test_everything_can_be_done_by_keys_alone(opened, projects):
    page = opened(f"/ui/projects?project={projects['shop']}")
    keys = page.keyboard

    keys.press("?")
    page.wait_for_selector("dialog[open]")
    keys.press("Escape")
    page.wait_for_selector("dialog[open]", state="detached")
    # What the server sends when the page opens replaces what may have the focus.
    page.wait_for_selector("[data-live=yes]")
    for _ in range(8):
        if page.evaluate("document.activeElement.textContent") == "shop":
            break
        keys.press("j")
    keys.press("Enter")
    page.wait_for_url("**/ui/project?**")
    keys.press("/")
    keys.type("place_order")
    keys.press("Enter")
    page.wait_for_url("**/ui?**q=place_order**")
    page.locator(".hit a.row", has_text="shop/checkout.py").first.wait_for()
    keys.press("/")
    keys.press("ArrowDown")
    first = page.evaluate("document.activeElement.textContent")
    keys.press("j")
    second = page.evaluate("document.activeElement.textContent")
    keys.press("k")
    keys.press("Enter")
    page.wait_for_url("**/ui/file?**checkout.py**")
    keys.press("o")
    in_outline = page.evaluate("document.activeElement.closest('.outline') !== null")
    keys.press("g")
    keys.type("Cart")
    keys.press("Enter")
    page.wait_for_url("**/ui/file?**cart.py**")
    keys.press("Escape")
    page.wait_for_url("**/ui/file?**checkout.py**")

    assert first.startswith("shop/checkout.py")
    assert second != first
    assert in_outline


def test_a_search_that_meets_an_index_that_is_being_built_is_repeated_by_itself(opened, projects):
    page = opened(f"/ui?project={projects['shop']}")
    answers = []

    def answer(route):
        answers.append(route.request.url)
        if len(answers) == 1:
            route.fulfill(body="<div data-passing>being built</div>", content_type="text/html; charset=utf-8")
        else:
            route.continue_()

    page.route(re.compile(r"/ui/results\?"), answer)
    page.locator("#q").fill("discounted")
    page.locator(".hit", has_text="shop/prices.py").first.wait_for()

    assert len(answers) == 2
    assert answers[0] == answers[1]


def test_a_job_is_watched_while_it_runs_and_can_be_cancelled(opened, projects, gate):
    page = opened("/ui/projects")
    large = page.locator(".project", has=page.locator("h2 a", has_text=re.compile("^large$")))

    (gate / "go").unlink()
    order(page, large, "Build anew")
    large.locator("progress").wait_for()
    order(page, large, "Cancel")
    (gate / "go").touch()
    large.locator("progress").wait_for(state="detached")
    before = page.url
    page.goto(f"/ui/project?project={projects['large']}")

    assert before.endswith("/ui/projects")
    assert "cancelled" in page.locator("main").inner_text()


def order(page, project, action):
    """Presses a button of a project, and returns once the server has done it and the page has come that it leads back to."""
    with page.expect_navigation(url="**/ui/projects"):
        project.get_by_role("button", name=action).click()
    page.wait_for_selector("[data-live=yes]")


def test_a_search_of_a_project_that_is_being_indexed_shows_how_far_that_is(opened, projects, gate):
    page = opened("/ui/projects")
    large = page.locator(".project", has=page.locator("h2 a", has_text=re.compile("^large$")))

    (gate / "go").unlink()
    try:
        order(page, large, "Build anew")
        large.locator("progress").wait_for()
        page.goto(f"/ui?project={projects['large']}")
        page.locator("#results progress").wait_for()
        said = page.locator("#results .job").inner_text()
        page.goto("/ui/projects")
        order(page, large, "Cancel")
    finally:
        (gate / "go").touch()
    large.locator("progress").wait_for(state="detached")

    assert re.search(r"large is being indexed: \d+ %", said)


def test_an_edit_shows_up_on_a_page_that_is_only_looked_at(opened, projects, shop):
    page = opened(f"/ui?project={projects['shop']}&q=cart")  # makes the project live, and watched
    page.goto("/ui/projects")
    page.wait_for_selector("[data-live=yes]")
    figures = page.locator(f"#live-{projects['shop']} .figures")
    n_files = int(re.match(r"(\d+) files", figures.inner_text())[1])

    shop.write({"shop/late.py": "def late(): pass\n"})

    try:
        page.wait_for_function(
            "([id, text]) => document.querySelector(`#${CSS.escape(id)} .figures`).textContent.startsWith(text)",
            arg=[f"live-{projects['shop']}", f"{n_files + 1} files"],
        )
    finally:
        (shop.root / "shop/late.py").unlink()


def test_back_and_forward_go_through_queries_and_not_through_single_keys(opened, projects):
    page = opened(f"/ui?project={projects['shop']}")

    pause_clock(page)
    for text in ("discounted", "voucher", "place_order"):
        search(page, text)
        page.keyboard.press("Enter")
    seen = [go_back(page, query) for query in ("voucher", "discounted")]
    page.go_forward()
    page.wait_for_selector("#results[data-answers=voucher][aria-busy=false]")

    assert seen == ["voucher", "discounted"]
    assert page.locator("#q").input_value() == "voucher"
    assert "q=voucher" in page.url


def test_a_pause_of_two_seconds_makes_an_entry_too(opened, projects):
    page = opened(f"/ui?project={projects['shop']}")
    page.clock.install()
    page.reload()
    for text in ("discounted", "voucher"):
        page.locator("#q").fill(text)
        page.clock.run_for(100)
        page.wait_for_selector(f"#results[data-answers={text}][aria-busy=false]")
        page.clock.run_for(2_000)
    page.locator("#q").fill("vou")
    page.clock.run_for(100)
    page.wait_for_selector("#results[data-answers=vou][aria-busy=false]")

    seen = [go_back(page, query) for query in ("voucher", "discounted")]

    assert seen == ["voucher", "discounted"]


def test_the_last_queries_and_the_filters_are_offered_and_chosen_by_keys(opened, projects):
    page = opened(f"/ui?project={projects['shop']}")
    for number in range(12):
        page.locator("#q").fill(f"cart {number}")
        page.keyboard.press("Enter")
    page.goto("/ui")
    offered = page.locator("#completions li")
    page.wait_for_selector("#q:focus")  # which it gets with the first frame
    page.keyboard.press("ArrowDown")
    offered.first.wait_for()
    recent = [text for text in offered.all_inner_texts() if text.startswith("cart")]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.wait_for_selector("#results[data-answers='cart 11'][aria-busy=false]")
    page.locator("#q").fill("cart lang:py")
    offered.filter(has_text="lang:python").wait_for()
    page.keyboard.press("Tab")

    assert recent == [f"cart {number}" for number in range(11, 1, -1)]
    assert page.locator("#q").input_value() == "cart lang:python "
    assert page.locator("#completions").is_hidden()
    page.locator(".chips a", has_text="lang:python").wait_for()


def test_a_chip_is_removed_and_a_count_narrows_by_keys(opened, projects):
    page = opened(f"/ui?project={projects['shop']}&q=cart+lang:python")

    page.locator("#facets a", has_text="tests/").focus()
    page.keyboard.press("Enter")
    page.locator(".chips a", has_text="file:^tests/").wait_for()
    narrowed = page.locator("#q").input_value()
    only = page.locator(".hit .path").all_inner_texts()
    page.locator(".chips a", has_text="lang:python").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.querySelectorAll('.chips a').length === 1")
    page.go_back()
    page.wait_for_function("() => document.querySelectorAll('.chips a').length === 2")

    assert narrowed == "cart lang:python file:^tests/"
    assert set(only) == {"tests/test_cart.py"}
    assert page.locator("#q").input_value() == narrowed


def lit(page, last):
    """The lines that are lit, once the line `last` is: the address changes before the event that lights them."""
    page.wait_for_selector(f"#{last}.here")
    return page.eval_on_selector_all(".l.here", "lines => lines.map((line) => line.id)")


def test_a_click_and_one_with_shift_choose_lines_to_which_links_lead(opened, projects):
    page = opened(f"/ui/file?project={projects['shop']}&path=shop/cart.py")

    page.locator("#L9 > span").click()
    one = lit(page, "L9")
    page.locator("#L12 > span").click(modifiers=["Shift"])
    page.wait_for_url("**#L9-L12")
    several = lit(page, "L12")
    links = {name: page.get_by_role("link", name=name, exact=True).get_attribute("href") for name in ("Permalink", "Blame")}
    page.reload()
    again = lit(page, "L12")
    page.get_by_role("link", name="Blame", exact=True).click()
    page.wait_for_url("**/ui/blame?**")

    assert one == ["L9"]
    assert several == again == ["L9", "L10", "L11", "L12"]
    assert re.search(r"ref=[0-9a-f]{40}&line=9#L9-L12$", links["Permalink"])
    assert "first=9&last=12" in links["Blame"]
    assert "Lines 9 to 12" in page.locator("main").inner_text()


def test_lines_and_hits_are_reached_by_keys_alone(opened, projects):
    page = opened(f"/ui?project={projects['shop']}&q=cart")
    keys = page.keyboard

    page.locator(".hit a.row", has_text="shop/cart.py").first.focus()
    keys.press("Enter")
    page.wait_for_url("**/ui/file?**cart.py**")
    found = []
    for key in ("n", "N", "n"):
        keys.press(key)
        found.append(page.locator("b.now").evaluate("hit => hit.closest('.l').id + ':' + hit.textContent.toLowerCase()"))
    keys.press("w")
    is_off = page.evaluate("document.documentElement.classList.contains('nowrap')")
    keys.press("w")
    keys.press("g")
    keys.type("20-24")
    keys.press("Enter")
    page.wait_for_url("**#L20-L24")
    chosen = lit(page, "L24")
    keys.press("y")
    page.wait_for_url(re.compile(r"ref=[0-9a-f]{40}&.*#L20-L24$"))

    assert all(each.endswith(":cart") for each in found)
    assert found[0] == found[2] != found[1]
    assert is_off
    assert chosen == [f"L{number}" for number in range(20, 25)]


def test_the_last_hit_of_a_file_leads_to_the_next_file_and_back_by_keys(opened, projects):
    page = opened(f"/ui?project={projects['shop']}&q=cart")
    paths = list(dict.fromkeys(page.locator(".hit a.row .path").all_inner_texts()))
    keys = page.keyboard
    open_hit(page, "[data-file=behind]")
    first = page.locator(".result").inner_text()
    for _ in range(page.locator(".whole b").count() + 1):
        keys.press("n")
        if page.locator("[data-file=before]").count():
            break
    page.wait_for_url(f"**{paths[1].rpartition('/')[2]}**")
    has_element(page, "[data-file=before]")
    second = page.locator("h1").inner_text()
    for _ in range(page.locator(".whole b").count() + 1):
        if not page.locator("[data-file=before]").count():
            break
        keys.press("N")
    page.wait_for_url(f"**{paths[0].rpartition('/')[2]}**")

    assert "file 1 of" in first
    assert second.endswith(paths[1].rpartition("/")[2])


def test_the_uses_of_each_definition_stand_beside_it_and_move_nothing(opened, projects):
    page = opened("/ui")
    held = []
    page.route("**/ui/uses?**", lambda route: held.append(route))
    page.goto(f"/ui/file?project={projects['shop']}&path=shop/prices.py")
    line = page.locator("#L6 code")
    line.wait_for()
    before = line.bounding_box()
    while not held:
        page.wait_for_timeout(20)
    held[0].continue_()
    count = page.locator("#L6 .n")
    count.wait_for()

    assert line.bounding_box() == before
    assert re.fullmatch(r"\d+ uses?", count.inner_text())
    count.click()
    page.wait_for_url("**/ui/symbol?**")
    assert "with_tax" in page.locator("h1").inner_text()


def test_a_document_is_read_rendered_and_lines_lead_to_its_blocks(opened, projects):
    page = opened(f"/ui/file?project={projects['shop']}&path=README.md&line=3#L3", java_script_enabled=False)
    page.get_by_role("link", name="Rendered").click()
    page.wait_for_url("**view=rendered**")
    heading = page.locator(".rendered h2").inner_text()
    scripted = opened(f"/ui/file?project={projects['shop']}&path=README.md&view=rendered#L4")

    assert heading == "Shop"
    assert scripted.locator(".rendered .here").inner_text() == "A cart, prices with tax, and a checkout."


def test_the_outline_follows_what_is_read_and_a_path_is_copied(opened, projects):
    page = opened(
        f"/ui/file?project={projects['large']}&path=part0/module_0.py", permissions=["clipboard-read", "clipboard-write"]
    )

    page.evaluate("document.getElementById('L40').scrollIntoView()")
    # The first entry is current until the page has heard of the scrolling.
    page.wait_for_function("() => Number(document.querySelector('.outline a[aria-current]')?.dataset.line) > 20")
    page.evaluate("scrollTo(0, 0)")
    page.wait_for_function("() => document.querySelector('.outline a[aria-current]')?.dataset.line === '1'")
    page.get_by_role("button", name="Copy path").click()
    page.get_by_role("button", name="Copied").wait_for()

    assert page.evaluate("navigator.clipboard.readText()") == "part0/module_0.py"


def test_a_card_says_what_the_name_under_the_pointer_is(opened, projects):
    page = opened(f"/ui/file?project={projects['shop']}&path=shop/prices.py")
    card = page.get_by_role("tooltip")

    page.locator(".l", has_text="def with_tax(").locator("code .f").hover()
    card.wait_for()
    text = card.inner_text()
    page.mouse.move(2, 2)
    card.wait_for(state="hidden")

    assert "with_tax(" in text
    assert re.search(r"shop/prices\.py:\d+$", text.strip())


def test_a_branch_is_chosen_from_those_that_contain_what_is_typed(opened, projects):
    page = opened(f"/ui/file?project={projects['shop']}&path=shop/cart.py")
    field = page.get_by_label("Branch, tag or commit")
    field.fill("mai")
    page.locator("#refs option[value=main]").wait_for(state="attached")
    field.fill("main")
    field.press("Enter")
    page.wait_for_url(re.compile(r"[?&]ref=main"))

    assert page.get_by_label("Branch, tag or commit").input_value() == "main"
    assert page.get_by_role("link", name="Working tree").is_visible()


def test_a_relative_time_goes_on_while_a_page_is_open(opened, projects):
    page = opened("/ui/projects")
    page.clock.install()
    page.reload()
    # What the server sends when the page opens is in the server's time, and replaces what the page shows.
    page.locator("[data-live]").wait_for()
    page.clock.fast_forward("03:00:00")

    page.locator("time").first.get_by_text("3 hours ago", exact=True).wait_for()


def pages_of(projects):
    shop = projects["shop"]
    return {
        "search": f"/ui?project={shop}&q=price+discount&why=1&why_not=README.md",
        "plain": "/ui?project=*&q=discounted",
        "empty": f"/ui?project={shop}",
        "filters": f"/ui?project={shop}&q=cart+lang:python+-file:tests",
        "nothing": f"/ui?project={shop}&q=qqqqqqxyz&mode=literal",
        "file": f"/ui/file?project={shop}&path=shop/cart.py",
        "line": f"/ui/file?project={shop}&path=shop/cart.py&line=31#L31",
        "range": f"/ui/file?project={shop}&path=shop/cart.py&q=cart&line=20#L20-L24",
        "rendered": f"/ui/file?project={shop}&path=README.md&view=rendered#L3",
        "result": f"/ui/file?project={shop}&path=shop/cart.py&search=project%3D{shop}%26q%3Dcart&q=cart",
        "tree": f"/ui/tree?project={shop}",
        "blame": f"/ui/blame?project={shop}&path=shop/prices.py",
        "history": f"/ui/history?project={shop}&path=shop/prices.py",
        "symbol": f"/ui/symbol?project={shop}&name=with_tax",
        "diff": f"/ui/diff?project={shop}&base=main",
        "projects": "/ui/projects",
        "project": f"/ui/project?project={shop}&path=logo.png",
        "activity": "/ui/activity",
        "trouble": f"/ui/file?project={shop}&path=missing.py",
    }


@pytest.mark.timeout(900)  # the checks of twenty pages take ten seconds where nothing else runs
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_everybody_can_use_every_page(opened, projects, scheme, size):
    """axe finds no violation of names, roles, heading order or contrast, in both schemes and at both widths."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright")

    found = {}
    for name, path in pages_of(projects).items():
        page = opened(path, scheme=scheme, size=size, expects_errors=name == "trouble", bypass_csp=True)
        page.wait_for_load_state()
        response = axe.Axe().run(page).response
        assert {"color-contrast", "document-title"} <= {each["id"] for each in response["passes"]}
        violations = response["violations"]
        if violations:
            found[name] = [(each["id"], [node["html"][:200] for node in each["nodes"][:3]]) for each in violations]

    assert found == {}


def test_every_page_fits_a_phone(opened, projects):
    wide = {}
    for name, path in pages_of(projects).items():
        page = opened(path, size=PHONE, expects_errors=name == "trouble")
        if page.evaluate("document.documentElement.scrollWidth") > PHONE["width"]:
            wide[name] = page.evaluate(
                "[...document.querySelectorAll('*')].filter(e => e.getBoundingClientRect().right > 361)"
                ".map(e => e.outerHTML.slice(0, 120))"
            )[:5]

    assert wide == {}


def test_both_colour_schemes_are_there(opened):
    def brightness(scheme):
        page = opened("/ui", scheme=scheme)
        colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
        return sum(map(int, re.findall(r"\d+", colour)[:3])) / 3

    assert brightness("light") > 200
    assert brightness("dark") < 60


def test_search_and_view_work_without_scripts(opened, projects):
    page = opened("/ui", java_script_enabled=False)

    page.locator("select[name=project]").select_option(projects["shop"])
    page.locator("#q").fill("place order")
    page.get_by_role("button", name="Search").click()
    page.locator(".hit", has_text="place_order").first.locator("a.row").click()
    page.locator("[data-goto]").fill("EmptyCart")
    page.get_by_role("button", name="Go").click()

    assert "class EmptyCart" in page.locator(".code").first.inner_text()


@pytest.mark.invariant(of="test_no_markup_of_a_repository_or_a_query_becomes_markup")
def test_hostile_content_never_becomes_markup(opened, projects):
    project = projects["b-hostile"]
    seeded = random.Random(17)
    pieces = [
        "<script>hit()</script>",
        "<img src=x onerror=hit()>",
        "<svg/onload=hit()>",
        '"',
        "'",
        ">",
        "</",
        "hit()",
        "&lt;",
        "hostile",
    ]
    pieces += [
        "javascript:hit()",
        "{{7*7}}",
        "${hit()}",
        "`",
        "\u2028",
        "-->",
        "<!--",
        "]]>",
        "\\",
        "%3Cscript%3E",
        "<b",
        "onclick=hit() ",
    ]

    page = opened(f"/ui?project={project}&q=hostile&why=1", expects_errors=True)
    for _ in range(40):
        query = "".join(seeded.choice(pieces) for _ in range(seeded.randint(1, 5)))
        page.locator("#q").fill(query)
        page.wait_for_function(
            "text => document.getElementById('results').dataset.answers === text",
            arg=query,
        )
        assert page.locator("#results :is(script, img, svg, iframe, object, style, link)").count() == 0, query
        assert page.evaluate("window.hits") == [], query
    for path in (
        f"/ui/file?project={project}&path={HOSTILE_NAME.replace(' ', '%20')}",
        f"/ui/symbol?project={project}&name=hostile",
        f"/ui/project?project={project}&path=<script>hit()</script>",
        f"/ui/diff?project={project}&base=<img src=x onerror=hit()>",
        "/ui/nothing/<script>hit()</script>",
        "/ui/projects",
        "/ui/activity",
    ):
        page.goto(path)
        assert page.locator("main :is(script, img, svg, iframe, object, style, link)").count() == 0, path
        assert page.evaluate("window.hits") == [], path
    page.goto(f"/ui/file?project={project}&path={HOSTILE_NAME.replace(' ', '%20')}")

    assert "<script>hit()</script>" in page.locator(".code.whole").inner_text()


def test_a_script_that_got_into_a_page_all_the_same_would_not_run(opened):
    """The content security policy is a second line of defence after escaping."""
    page = opened("/ui", expects_errors=True)

    page.evaluate("""() => {
        document.body.insertAdjacentHTML("beforeend", "<img src=x onerror='hit()'><a href='javascript:hit()' id=bad>x</a>");
        const script = document.createElement("script");
        script.textContent = "hit()";
        document.body.append(script);
        document.getElementById("bad").click();
    }""")
    page.wait_for_timeout(200)

    assert page.evaluate("window.hits") == []


ATTACK = """<!doctype html><title>attack</title><body><script>
const at = "{url}", read = [];
const attempts = [
  fetch(at + "/ui/projects").then((a) => a.text()).then((t) => read.push(["fetch", t])),
  fetch(at + "/ui/projects", {{mode: "no-cors"}}).then((a) => a.text()).then((t) => t && read.push(["no-cors", t])),
  fetch(at + "/ui/act", {{method: "POST", mode: "no-cors", body: new URLSearchParams({form})}}),
  fetch(at + "/ui/act", {{method: "POST", credentials: "include", body: new URLSearchParams({form})}}),
  new Promise((done) => {{
    const source = new EventSource(at + "/ui/events");
    source.addEventListener("projects", (e) => {{ read.push(["events", e.data]); done(); }});
    source.onerror = () => {{ source.close(); done(); }};
  }}),
  new Promise((done) => {{
    const frame = document.createElement("iframe");
    frame.src = at + "/ui/projects";
    frame.onload = () => {{ try {{ read.push(["frame", frame.contentDocument.body.innerHTML]); }} catch {{}} done(); }};
    document.body.append(frame);
  }}),
  new Promise((done) => {{
    const script = document.createElement("script");
    script.src = at + "/ui/projects";
    script.onload = () => {{ read.push(["script", "loaded"]); done(); }};
    script.onerror = done;
    document.body.append(script);
  }}),
];
Promise.allSettled(attempts).then(() => {{
  const form = document.createElement("form");
  form.method = "post"; form.action = at + "/ui/act"; form.target = "sent";
  for (const [name, value] of Object.entries({form})) {{
    const field = document.createElement("input"); field.name = name; field.value = value; form.append(field);
  }}
  const frame = document.createElement("iframe"); frame.name = "sent"; document.body.append(frame, form);
  frame.onload = () => {{ window.told = read; }};
  form.submit();
}});
</script>"""


@pytest.mark.parametrize("is_slow", [False, True], ids=["it_answers", "it_takes_long"])
def test_one_search_runs_at_a_time_and_the_last_key_is_searched_for_when(opened, projects, is_slow):
    page = opened(f"/ui?project={projects['shop']}")
    page.clock.install()
    page.clock.pause_at(time.time() + 3600)
    asked, held = [], []
    page.on("request", lambda request: asked.append(request.url) if "/ui/results?" in request.url else None)
    page.route(re.compile(r"/ui/results\?.*q=c(&|$)"), lambda route: held.append(route))

    with page.expect_request(re.compile(r"/ui/results\?")):
        page.locator("#q").press_sequentially("cart")
    while not held:
        page.wait_for_timeout(20)
    if is_slow:
        page.clock.run_for(1000)
    else:
        held[0].continue_()
    page.locator("#results[data-answers=cart]").wait_for()
    if is_slow:
        held[0].fulfill(body="late", content_type="text/html")
    assert [parse_qs(urlsplit(url).query)["q"] for url in asked] == [["c"], ["cart"]]
    assert "shop/cart.py" in page.locator("#results").inner_text()
    assert "q=cart" in page.url


@pytest.mark.invariant(of="test_what_another_site_asks_for_is_refused")
def test_a_page_of_another_site_can_neither_read_nor_call_anything(opened, chromium, server, projects):
    project = projects["shop"]
    own = opened(f"/ui/project?project={project}")
    jobs = own.locator("table").last.locator("tr")
    before = jobs.count()
    form = f'{{project: "{project}", action: "rebuild"}}'
    with other_site({"/": ATTACK.format(url=server.url, form=form)}) as site:
        context = chromium.new_context()
        attacker = context.new_page()
        attacker.goto(site + "/")
        attacker.wait_for_function("window.told !== undefined", timeout=PATIENCE_MS)
        told = attacker.evaluate("window.told")
        # A link from there is refused too, because it would start searches that nobody wants.
        attacker.evaluate("url => { location.href = url }", f"{server.url}/ui?project={project}&q=cart")
        attacker.wait_for_url(f"{server.url}/**")
        followed = attacker.locator("body").inner_text()
        context.close()
    own.reload()

    assert [(how, what) for how, what in told if how != "frame" or "shop" in what] == []
    assert "another site" in followed
    assert jobs.count() == before > 1


@pytest.mark.parametrize(
    ("name", "of", "scheme", "size"),
    [
        ("search", "search", "light", WIDE),
        ("file-dark", "result", "dark", WIDE),
        ("symbol", "symbol", "light", WIDE),
        ("phone", "plain", "light", PHONE),
    ],
)
def test_pictures_of_the_documentation(opened, projects, tmp_path, name, of, scheme, size):
    """CODECOMPASS_UPDATE_PICTURES=1 renews the pictures; the documentation must use them."""
    page = opened(pages_of(projects)[of], scheme=scheme, size=size)
    page.wait_for_load_state()
    made = (PICTURES if UPDATES_PICTURES else tmp_path) / f"ui-{name}.png"
    made.parent.mkdir(exist_ok=True)

    page.screenshot(path=str(made), animations="disabled", caret="hide")

    assert 5_000 < made.stat().st_size < MAX_PICTURE_BYTES
    assert f"pictures/ui-{name}.png" in (PICTURES.parent / "ui.md").read_text()
    assert (PICTURES / f"ui-{name}.png").stat().st_size < MAX_PICTURE_BYTES

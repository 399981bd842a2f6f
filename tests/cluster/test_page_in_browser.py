"""The page of an organisation's server in a real browser: signing in at a provider, searching, reading and linking, with the
policy for scripts, forms and frames that browsers enforce."""

import os
import re
from pathlib import Path

import pytest
import trio

from codecompass.cluster.access.tokens import token_id
from tests.cluster.identity_provider import identity_provider
from tests.cluster.nodes import free_ports
from tests.cluster.organisation import serving_library
from tests.ui.browsing import CHROMIUM, browser_tools, other_site
from tests.ui.shop import FILES, hostile_files

pytestmark = [
    *(pytest.mark.cluster, pytest.mark.browser, pytest.mark.timeout(300), pytest.mark.filterwarnings("default")),
]

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "ui-organisation.png"
MAX_PICTURE_BYTES = 150_000
PATIENCE_MS = 60_000


def read_as_a_person(address: str, project: str, link: str) -> dict[str, object]:
    """Does what a person does; returns what they saw."""
    seen: dict[str, object] = {}
    with browser_tools().sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"], timeout=PATIENCE_MS
        )
        page = browser.new_page(viewport={"width": 1100, "height": 560})
        page.set_default_timeout(PATIENCE_MS)
        troubles: list[str] = []
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.add_init_script("window.hit = () => { document.title = 'HIT' }")

        with other_site({"/": f'<a href="{address}{link}">look</a><iframe src="{address}/ui"></iframe>'}) as other:
            page.goto(other)
            page.click("text=look")
        page.click("text=Sign in at")
        page.wait_for_selector(".l.here")
        seen["first lines"] = [line.get_attribute("id") for line in page.query_selector_all(".l.here")]
        seen["cookie for scripts"] = page.evaluate("document.cookie")
        seen["cookies"] = [
            (each["name"], each["httpOnly"], each["sameSite"], each["value"])
            for each in page.context.cookies()
            if "sess" in each["name"]
        ]
        troubles.clear()

        page.goto(f"{address}/ui")
        page.fill("#q", "discount")
        page.wait_for_selector("#results[data-answers=discount][aria-busy=false] .hit")
        seen["hits"] = [each.inner_text() for each in page.query_selector_all("#results .hit h2")]
        page.click("#results .hit a.row")
        page.wait_for_selector(".whole")
        page.goto(f"{address}/ui/file?project={project}&path=shop/cart.py")
        page.click("#L10 > span")
        page.click("#L12 > span", modifiers=["Shift"])
        page.wait_for_selector("#L12.here")
        page.keyboard.press("y")
        page.wait_for_url(re.compile("mark="))
        page.wait_for_selector(".l.here")
        seen["permalink"] = page.url.removeprefix(address)
        if os.environ.get("CODECOMPASS_UPDATE_PICTURES"):
            page.screenshot(path=str(PICTURE))
        page.fill("[data-goto]", "with_tax")
        page.press("[data-goto]", "Enter")
        page.wait_for_url(re.compile("prices"))
        seen["definition"] = page.url.removeprefix(address)
        for hostile in ("/ui?q=hostile", "/ui/projects"):
            page.goto(f"{address}{hostile}")
            page.wait_for_timeout(0)
            seen[hostile] = page.title()
        page.click("text=Sign out")
        page.wait_for_selector("text=Sign in at")
        page.goto(f"{address}{link}")
        seen["signed out"] = page.title()
        seen["troubles"] = troubles
        browser.close()
    return seen


async def test_a_person_signs_in_searches_reads_links_and_signs_out(house, tmp_path):
    browser_tools()
    shop = await house.publish("shop", FILES, groups=["web"])
    await house.publish("evil", hostile_files(), groups=["web"])
    port = free_ports(1)[0]
    address = f"http://127.0.0.1:{port}"
    with identity_provider() as provider:
        settings = house.settings(page_url=address, oidc_issuer=provider.issuer, oidc_client_id="codecompass")
        async with serving_library(settings, tmp_path / "cache", port=port):
            link = f"/ui/file?project={shop.repo_id}&path=shop/prices.py&line=6&last=8#L6-L8"
            seen = await trio.to_thread.run_sync(read_as_a_person, address, shop.repo_id, link)

    [(name, is_hidden, same_site, value)] = seen["cookies"]
    assert seen["first lines"] == ["L6", "L7", "L8"]
    assert (seen["cookie for scripts"], name, is_hidden, same_site) == ("", "codecompass-session", True, "Lax")
    assert house.tokens.find(token_id(value)) is None, "who has signed out has no session"
    assert any("shop/prices.py" in each for each in seen["hits"])
    assert f"ref={shop.default_head.commit}&line=10&last=12&mark=" in seen["permalink"]
    assert seen["permalink"].endswith("#L10-L12")
    assert "path=shop%2Fprices.py" in seen["definition"]
    assert [seen[each] for each in ("/ui?q=hostile", "/ui/projects")] == ["hostile · CodeCompass", "Repositories · CodeCompass"]
    assert seen["signed out"] == "Sign in · CodeCompass"
    assert seen["troubles"] == []
    assert PICTURE.stat().st_size <= MAX_PICTURE_BYTES

"""The event loop of a server calls nothing that may wait for a disk, a lock, git or a name server."""

import sys
from collections.abc import Mapping
from typing import Final

import pytest
import trio
from msgspec.structs import replace

from codecompass.transport.tools.listing import TOOLS
from tests.contract.test_cost_of_shapes import ORDINARY, PAGES
from tests.support.loop_calls import CallWatch
from tests.support.sample import SAMPLE
from tests.support.workspace import TestWorkspace
from tests.transport.http.client import ask, connect, message, modern, modern_headers
from tests.ui.pages import PAGE_SETTINGS, page_server

ALLOWED: Final[Mapping[str, str]] = {
    "memory.py:resident_bytes": "reads /proc, which is memory",
    "transport/server.py:watcher_limit": "reads /proc, before the first request",
    "store/filesystem.py:mounts": "reads /proc, after a call that gave no sign for 250 ms",
    "actors/watching/mounts.py:_read": "reads /proc, when something was mounted or unmounted",
    "store/mapped_files.py:__init__": "once, before the first request",
}
"""Calls on the event loop by place, each with the reason for which it may be there."""


ONE_LIVE: Final = replace(PAGE_SETTINGS, server=replace(PAGE_SETTINGS.server, max_live_workspaces=1))
"""Workspaces are retired, and read without their actors."""


@pytest.fixture
def watch():
    return CallWatch()


@pytest.fixture
def projects(tmp_path):
    made = [TestWorkspace(tmp_path / name, tmp_path / "home", git=True) for name in ("shop", "store")]
    for each in made:
        each.write(SAMPLE)
        each.commit("first")
    return made


@pytest.mark.invariant("The event loop of a server calls nothing that may wait for a disk, a lock, git or a name server")
@pytest.mark.slow
async def test_a_server_waits_for_no_disk_lock_git_or_name_server_on_its_event_loop(tmp_path, projects, watch):
    """Each call counts, however fast it was here: on another disk it may take a second, in which nobody else is served."""
    shop, store = projects
    trio.lowlevel.add_instrument(watch)
    try:
        async with page_server(tmp_path / "home", settings=ONE_LIVE) as browser:
            serving = browser.serving
            await serving.answer("search_code", workspace=shop.root, query="validate", timeout_ms=60_000)
            project = await browser.index(shop.root)
            for tool in TOOLS:
                await serving.answer(tool.name, workspace=shop.root, **_required(tool))
            await _edit_and_commit(shop, serving)
            await browser.index(store.root)
            await _ask_all(serving)
            for page, parameters in PAGES.items():
                await browser.get(page, project=project, **{each: ORDINARY[each] for each in parameters if each in ORDINARY})
            async with connect(browser.port) as client:
                await client.send("GET", "/ui/events")
                await client.head()
                while not (await client.text()).startswith(b"event: projects"):
                    pass
            for page in ("/health", "/metrics", "/ui"):
                await browser.get(page)
            await ask(browser.port, "POST", "/mcp", message("tools/list", modern()), **modern_headers("tools/list"))
    finally:
        trio.lowlevel.remove_instrument(watch)
        sys.setprofile(None)  # no step ends for a watch that has been removed

    assert any(call.place == "memory.py:resident_bytes" for call in watch.found), "the watch sees nothing"
    if found := "\n".join(watch.report(without=ALLOWED)):
        pytest.fail(found)


def _required(tool):
    return {name: "main.py" if name == "path" else "main" for name in tool.arguments.get("required", ())}


async def _edit_and_commit(workspace, serving):
    workspace.write({"added.py": "def added_later():\n    pass\n"})
    await serving.call("search_code", workspace=workspace.root, query="added_later", freshness_policy="strict")
    workspace.commit("second")
    await serving.call("search_code", workspace=workspace.root, query="validate", ref="HEAD~1")
    await serving.call("diff_context", workspace=workspace.root, base="HEAD~1", head="HEAD")
    await serving.call("sync_repo", workspace=workspace.root, force=True, wait_seconds=50)


async def _ask_all(serving):
    for mode in ("auto", "literal", "regex"):
        await serving.call("search_code", workspace="*", query="validate", mode=mode)
    await serving.call("locate_symbol", workspace="*", name="validate")
    await serving.call("find_references", workspace="*", symbol_name="validate")

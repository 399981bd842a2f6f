"""Upgrades beside questions: over the bridge, and while the index of an old home is rebuilt."""

import json
from contextlib import asynccontextmanager

import msgspec
import pytest
import trio

from codecompass.store.epochs import compatibility
from codecompass.store.layout import HomeLayout
from codecompass.store.registry import open_registry
from tests.cli.conftest import SHOP, write
from tests.support.live import http_server, started
from tests.support.old_homes import all_homes, unpack
from tests.support.serving import SETTINGS, open_serving
from tests.support.wire import pipe_client
from tests.support.workspace import TestWorkspace

pytestmark = pytest.mark.invariant(of="tests/workspaces/test_upgrades.py")

ADDED = {f"stock/part_{number:03}.py": f"def part_{number:03}():\n    return {number}\n" for number in range(400)}
"""Files that the old index does not know, so that a rebuild takes longer than some questions."""


@pytest.fixture
def root(tmp_path):
    """The project's tree; its home is beside it."""
    shop = TestWorkspace(tmp_path / "shop", tmp_path / "data", git=True)
    write(shop.root, SHOP)
    return shop.root


@pytest.fixture
def home(root):
    return root.parent / "data"


@asynccontextmanager
async def bridged(home, root):
    """Yields a session through a bridge to a server with this home."""
    async with (
        http_server(home=home) as server,
        started("serve-mcp", "--connect", server.url, home=home, cwd=root) as bridge,
        pipe_client(bridge) as client,
    ):
        await client.initialize()
        yield client


@pytest.mark.slow
@pytest.mark.parametrize("name", all_homes())
async def test_the_first_question_through_the_bridge_is_answered(home, root, name):
    unpack(name, home, root)

    async with bridged(home, root) as client:
        answer = await client.call("tools/call", {"name": "locate_symbol", "arguments": {"name": "total_price"}})

    assert not answer["result"].get("isError"), answer
    [found] = json.loads(answer["result"]["content"][0]["text"])["results"]
    assert (found["name"], found["path"]) == ("total_price", "shop/cart.py")


QUESTIONS = (
    ("locate_symbol", {"name": "total_price"}, "shop/cart.py"),
    ("locate_symbol", {"name": "part_123"}, "stock/part_123.py"),
    ("search_code", {"query": "rounding happens here"}, "shop/cart.py"),
    ("search_code", {"query": "part_399", "mode": "literal"}, "stock/part_399.py"),
    ("find_references", {"name": "Cart"}, "tests/test_cart.py"),
    ("get_file_outline", {"path": "shop/money.py"}, "__init__"),
)
"""Tools, arguments, and what the answer must name."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [all_homes()[0], "4-5-3", "6-7-4", all_homes()[-1]])
async def test_every_answer_is_right_while_an_old_home_is_taken_up_and_rebuilt(home, root, name):
    """Each question is asked again and again from before the rebuild until after it."""
    unpack(name, home, root)
    write(root, ADDED)
    query = msgspec.structs.replace(SETTINGS.query, files_answer_after_ms=0)
    settings = msgspec.structs.replace(SETTINGS, query=query)
    with open_registry(HomeLayout(home)) as registry:
        [project] = registry.projects()
    layout = HomeLayout(home).project(project.project_id)
    n_answered = dict.fromkeys(range(len(QUESTIONS)), 0)

    async with open_serving(home, settings=settings) as serving:

        async def ask(number):
            tool, arguments, expected = QUESTIONS[number]
            reply = await serving.call(tool, workspace=root, **arguments)
            assert f'"{expected}"' in json.dumps(reply), (arguments, reply)
            n_answered[number] += 1

        async def ask_again(number):
            while compatibility(layout).status != "compatible":
                await ask(number)
            await ask(number)

        with trio.fail_after(120):
            async with trio.open_nursery() as nursery:
                for number in n_answered:
                    nursery.start_soon(ask_again, number)
        await serving.wait_watched(project.project_id)  # an answer does not wait for the end of the job that published it
        jobs = (await serving.call("index_status", workspace=root))["recent_jobs"]

    assert min(n_answered.values()) >= 2
    assert {job["status"] for job in jobs} == {"published"}

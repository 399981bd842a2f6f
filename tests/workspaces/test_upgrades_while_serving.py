"""Upgrades beside questions: over the bridge, while the index of an old home is rebuilt, and with two versions of the program at once."""

import json
from collections.abc import Iterator
from contextlib import asynccontextmanager

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

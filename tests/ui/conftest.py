"""A project and a server with the page, for tests without a real browser."""

import pytest

from tests.support.workspace import TestWorkspace
from tests.ui.pages import page_server
from tests.ui.shop import FILES


@pytest.fixture
def shop(tmp_path):
    """A git repository with a commit."""
    workspace = TestWorkspace(tmp_path / "shop", tmp_path / "unused", git=True)
    workspace.write(FILES)
    workspace.commit("begin")
    return workspace


@pytest.fixture
async def browser(tmp_path, shop):
    async with page_server(tmp_path / "home") as found:
        yield found


@pytest.fixture
async def project(browser, shop):
    """The project of `shop`, indexed."""
    return await browser.index(shop.root)

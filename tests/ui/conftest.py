"""A project and a server with the page, for tests without a real browser."""

import pytest

from codecompass.transport.ui import code_lines, rendered_markdown, result_files
from tests.support.workspace import TestWorkspace
from tests.ui.pages import page_server
from tests.ui.shop import FILES

PATIENCE_SECONDS = 60


@pytest.fixture(autouse=True)
def patience(monkeypatch):
    """A page waits for colours, rendered documents and the search that led to it, however busy the machine is."""
    for module in (code_lines, rendered_markdown):
        monkeypatch.setattr(module, "WAIT_SECONDS", PATIENCE_SECONDS)
    monkeypatch.setattr(result_files, "ANSWER_SECONDS", PATIENCE_SECONDS)


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

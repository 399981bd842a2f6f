"""No argument costs much because of its shape: each text argument of every tool, and each parameter of every page, at its maximum
length. `tests/cli/test_cost_of_shapes.py` has the commands."""

from collections.abc import Mapping
from typing import Final
from urllib.parse import quote

import pytest

from codecompass.protocol import requests
from codecompass.protocol.arguments import ARGUMENTS
from codecompass.transport.tools.listing import TOOLS
from tests.contract.test_bounds import with_required
from tests.support.sample import SAMPLE
from tests.support.serving import open_serving
from tests.support.text_shapes import SHAPES, expensive
from tests.ui.pages import page_server

pytestmark = pytest.mark.invariant(
    "No argument of a tool, parameter of a page or value of a command costs much because of its shape, at any allowed length"
)

MAX_ADDRESS: Final = 14_000
"""Characters of an encoded parameter that fit into the head of a request."""


TEXTS: Final = [
    (tool.name, name)
    for tool in TOOLS
    for name, schema in tool.arguments["properties"].items()
    if schema["type"] == "string" and "enum" not in schema
]

PAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "/ui": ("q", "mode", "path", "kind", "language", "why_not", "project"),
    "/ui/results": ("q", "path"),
    "/ui/facets": ("q",),
    "/ui/complete": ("q",),
    "/ui/file": ("path", "line", "ref", "q"),
    "/ui/raw": ("path", "ref"),
    "/ui/tree": ("path", "ref"),
    "/ui/blame": ("path", "ref"),
    "/ui/history": ("path", "first"),
    "/ui/goto": ("name", "path", "line"),
    "/ui/symbol": ("name", "path", "view"),
    "/ui/diff": ("base", "head", "path"),
    "/ui/project": ("project",),
}
"""The pages of one project, with their parameters."""

ORDINARY: Final = {"q": "main", "path": "main.py", "name": "main"}


@pytest.fixture(scope="module")
def home(indexed_home):
    return indexed_home("shapes", SAMPLE)


def _variants(tool: str, name: str) -> list[dict[str, str]]:
    if (tool, name) == ("search_code", "query"):
        return [{"mode": mode} for mode in requests.SEARCH_MODES]
    if (tool, name) == ("get_code_context", "query"):
        return [{"strategy": "breadth"}, {"strategy": "depth"}]
    if (tool, name) == ("find_references", "symbol_name"):
        return [{"relation": relation} for relation in ("uses", "subtypes", "callers", "impact")]
    return [{}]


CALLS: Final = [(tool, name, variant) for tool, name in TEXTS for variant in _variants(tool, name)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("tool", "name", "variant"), CALLS, ids=["-".join((tool, name, *each.values())) for tool, name, each in CALLS]
)
async def test_no_shape_of_an_argument_costs_more_than_another(home, tool, name, variant):
    texts = {shape: make(ARGUMENTS[tool][name].max_length) for shape, make in SHAPES.items()}
    async with open_serving(home) as serving:
        found = await expensive(lambda text: serving.answer(tool, **{**with_required(tool, name, text), **variant}), texts)

    assert not found


@pytest.mark.slow
@pytest.mark.parametrize(("page", "parameter"), [(page, each) for page, parameters in PAGES.items() for each in parameters])
async def test_no_shape_of_a_parameter_costs_a_page_more_than_another(tmp_path, page, parameter):
    root = tmp_path / "shop"
    root.mkdir()
    for path, text in SAMPLE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    texts = {shape: _fitting(make(MAX_ADDRESS)) for shape, make in SHAPES.items()}
    async with page_server(tmp_path / "home") as browser:
        project = await browser.index(root)
        found = await expensive(lambda text: browser.get(page, **{"project": project, **ORDINARY, parameter: text}), texts)

    assert not found


def _fitting(text: str) -> str:
    while len(quote(text)) > MAX_ADDRESS:
        text = text[: len(text) * 3 // 4]
    return text

"""Names altered as agents misremember them, as queries to both tools."""

from random import Random

import pytest

from bench.quality.misremembered_names import CHANGES, ask, unique_symbols
from tests.support.workspace import TestWorkspace

FILES = {
    "shop/cart.py": "class ShoppingCart:\n    def total_price(self):\n        return 1\n",
    "shop/tax.py": "def rate_of_country(name):\n    return 0.19\n",
    "tests/test_cart.py": "def test_everything():\n    pass\n",
    "web/cart.js": "function renderCart(cart) {\n  return cart;\n}\n",
}


@pytest.fixture
async def workspace(tmp_path):
    built = TestWorkspace(tmp_path / "project", tmp_path / "home")
    built.write(FILES)
    await built.sync()
    return built


async def test_every_change_of_a_name_leads_back_to_it(workspace):
    with workspace.index.snapshot() as snapshot:
        rows = unique_symbols(snapshot, Random(1), 10)
        asked = list(ask(snapshot, rows, Random(1)))

    assert {row.path for row in rows} == {"shop/cart.py", "shop/tax.py", "web/cart.js"}
    assert {change for change, _, _ in asked} == set(CHANGES) - {"frame, Go", "frame, Java, Kotlin, Scala"}
    assert [entry for entry in asked if entry[0] != "frame, path:line:column" and entry[2] != (True, True)] == []

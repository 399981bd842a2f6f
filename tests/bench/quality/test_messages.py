"""Messages as queries, alone and with the text that surrounds them on a screen."""

import pytest

from bench.quality.data import Hit
from bench.quality.messages import VARIANTS, Place, Row, ask, rank_of
from tests.support.workspace import TestWorkspace

FILES = {
    "shop/cart.py": 'def pay(cart):\n    raise ValueError("the cart holds nothing that could be paid")\n',
    "shop/tax.py": 'def rate(country):\n    raise ValueError(f"no tax rate is known for {country}")\n',
}
ROW = Row(
    repo="shop",
    language="python",
    query="the cart holds nothing that could be paid",
    category="verbatim",
    relevant=(Place("shop/cart.py", 2, 2),),
)


@pytest.fixture
async def workspace(tmp_path):
    built = TestWorkspace(tmp_path / "project", tmp_path / "home")
    built.write(FILES)
    await built.sync()
    return built


async def test_a_message_is_found_in_every_variant(workspace):
    with workspace.index.snapshot() as snapshot:
        ranks = {
            name: rank_of(ROW, ask(snapshot, "shop", variant(ROW)).results, is_within=True) for name, variant in VARIANTS.items()
        }

    assert set(ranks.values()) == {1}


def test_a_hit_counts_where_it_holds_the_line_and_is_no_longer_than_it_may_be():
    hits = [
        Hit(path="shop/tax.py", line_start=1, line_end=2),
        Hit(path="shop/cart.py", line_start=1, line_end=200),
        Hit(path="shop/cart.py", line_start=1, line_end=2),
    ]

    assert rank_of(ROW, hits, is_within=True) == 3
    assert rank_of(ROW, hits[:2], is_within=True) is None

"""The demonstration chooses its questions from the repository itself, and works on any."""

from bench.demo import choose
from tests.support.workspace import TestWorkspace

CART = '''\
class ShoppingCart:
    """Holds what a customer wants to buy."""

    def total_price(self):
        return 0

    def add(self, item): ...
    def drop(self, item): ...
'''
ORDERS = '''\
from cart import ShoppingCart


def refund(order):
    """Returns the money for every item that came back damaged."""
    return ShoppingCart().total_price()


def _private(order):
    """Keeps what nobody outside of this module may ever see."""
'''


async def test_it_asks_for_what_the_code_speaks_of_and_what_a_comment_says(workspace: TestWorkspace):
    workspace.write({"cart.py": CART, "orders.py": ORDERS, "tests/test_cart.py": "class CartTestCase:\n    pass\n" * 3})
    await workspace.sync()

    with workspace.index.snapshot() as snapshot:
        asked = choose(snapshot)

    assert asked.name == "ShoppingCart"
    assert asked.sentence == "money for every item that came back damaged"
    assert asked.outlined == "cart.py"


async def test_a_repository_without_definitions_is_asked_nothing(workspace: TestWorkspace):
    workspace.write({"README.md": "# Notes\n"})
    await workspace.sync()

    with workspace.index.snapshot() as snapshot:
        asked = choose(snapshot)

    assert (asked.name, asked.sentence, asked.outlined) == ("", "", "")

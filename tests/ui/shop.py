"""A small repository for tests of the page and for the pictures in its documentation."""

from pathlib import Path

FILES = {
    "shop/__init__.py": "",
    "shop/prices.py": '''"""Prices in cents, and what is taken off them."""

RATES = {"books": 7, "other": 19}


def with_tax(cents: int, category: str = "other") -> int:
    """Returns a price with its tax, rounded down."""
    return cents * (100 + RATES.get(category, RATES["other"])) // 100


def discounted(cents: int, percent: int) -> int:
    """Returns a price after a discount of 0 to 100 percent."""
    if not 0 <= percent <= 100:
        raise ValueError(f"a discount of {percent} percent")
    return cents - cents * percent // 100
''',
    "shop/cart.py": '''"""What a customer is about to buy."""

from dataclasses import dataclass, field

from shop.prices import discounted, with_tax


@dataclass
class Item:
    """One article, so many times."""

    name: str
    cents: int
    count: int = 1
    category: str = "other"


@dataclass
class Cart:
    """The articles of one customer, and the voucher that counts for all of them."""

    items: list[Item] = field(default_factory=list)
    percent_off: int = 0

    def add(self, item: Item) -> None:
        """Puts an article into the cart."""
        self.items.append(item)

    def total(self) -> int:
        """Returns what the customer pays, tax included and the voucher taken off."""
        gross = sum(with_tax(item.cents, item.category) * item.count for item in self.items)
        return discounted(gross, self.percent_off)
''',
    "shop/checkout.py": '''"""From a cart to an order."""

from shop.cart import Cart


class EmptyCart(Exception):
    """Nothing is in the cart, so nothing can be ordered."""


def place_order(cart: Cart, address: str) -> dict[str, object]:
    """Returns the order for a cart. Raises EmptyCart."""
    if not cart.items:
        raise EmptyCart(address)
    return {"address": address, "cents": cart.total(), "articles": [item.name for item in cart.items]}
''',
    "tests/test_cart.py": """from shop.cart import Cart, Item
from shop.checkout import place_order


def test_a_voucher_counts_for_all_articles():
    cart = Cart(percent_off=10)
    cart.add(Item("atlas", 1000, category="books"))

    assert cart.total() == 963


def test_an_order_names_its_articles():
    cart = Cart()
    cart.add(Item("pen", 200))

    assert place_order(cart, "Main Street 1")["articles"] == ["pen"]
""",
    "README.md": "# Shop\n\nA cart, prices with tax, and a checkout.\n",
    "logo.png": "\0\0\0",
}

HOSTILE_NAME = "<img src=x onerror=hit()>.py"
HOSTILE_CODE = '''"""</code></pre><script>hit()</script>"""


def hostile(value="<svg onload=hit()>"):
    # "><script>hit()</script> &lt;b&gt; {{ 7 * 7 }} {% raw %}
    return value + '</script><img src=x onerror="hit()">'
'''


def write(root: Path, files: dict[str, str] = FILES) -> Path:
    """Writes the files of a repository."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def hostile_files() -> dict[str, str]:
    """Returns files whose names and contents are markup that calls `hit` wherever they are not escaped."""
    return {HOSTILE_NAME: HOSTILE_CODE, "quote'\"&.py": "def quoted():\n    return hostile()\n"}

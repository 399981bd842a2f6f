"""A small project in three languages, for which every tool has results."""

from collections.abc import Mapping

SAMPLE: Mapping[str, str] = {
    "src/shop/__init__.py": "",
    "src/shop/orders.py": '''"""Orders of the shop."""

from shop.prices import total_price

MAX_ITEMS = 100


class OrderError(Exception):
    """Raised for an order that cannot be taken."""


class Order:
    """What a customer wants."""

    def __init__(self, items):
        self.items = items

    def validate(self):
        """Checks the number of items."""
        if len(self.items) > MAX_ITEMS:
            raise OrderError("too many items in one order")

    def price(self):
        return total_price(self.items)
''',
    "src/shop/prices.py": '''"""Prices."""


def total_price(items):
    """Adds up the prices of all items."""
    return sum(item.price for item in items)


def validate(price):
    return price >= 0
''',
    "src/auth.rs": """use std::collections::HashMap;

pub struct Claims {
    pub subject: String,
}

impl Claims {
    pub fn validate_token(&self, key: &str) -> bool {
        !key.is_empty()
    }
}
""",
    "README.md": "# Shop\n\nTakes orders and validates tokens.\n",
    "broken.bin": "\0\0\0",
}

"""Related code for the definition at a place: what it uses, its users and its tests."""

import pytest

from codecompass.query.context import surroundings
from codecompass.query.options import no_deadline
from codecompass.query.search_hits import definition_place

MONEY = "class Money:\n    pass\n\n\ndef get(it):\n    return it\n"
LEDGER = """\
from billing.money import Money


def settle(invoice):
    return store.book_entry(Money(invoice.get(1)))
"""
ENTRIES = "class Entries:\n    def book_entry(self, it):\n        return it\n\n    def get(self):\n        return 1\n"
CLOSE = "from billing.ledger import settle\n\n\ndef close_year(them):\n    return [settle(each) for each in them]\n"
TEST = "from billing.ledger import settle\n\n\ndef test_nothing_is_lost():\n    assert settle(1)\n"
FILES = {
    "billing/money.py": MONEY,
    "billing/ledger.py": LEDGER,
    "billing/entries.py": ENTRIES,
    "billing/close.py": CLOSE,
    "tests/test_ledger.py": TEST,
}


@pytest.fixture
def belonging(index_of):
    def named(name):
        snapshot = index_of(FILES)
        row = next(row for row in snapshot.facts.symbols_named(name, 9) if row.name == name)
        return [found.name for found, _ in surroundings(snapshot, [definition_place(row, 1.0)], no_deadline)]

    return named


def test_what_it_uses_comes_first_then_its_users_then_its_tests(belonging):
    assert belonging("settle") == ["Money", "book_entry", "close_year", "test_nothing_is_lost"]


def test_a_common_word_on_something_unknown_is_no_definition(belonging):
    assert "get" not in belonging("settle")


def test_a_place_without_neighbours_has_none(belonging):
    assert belonging("test_nothing_is_lost") == ["settle"]

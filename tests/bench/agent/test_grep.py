"""The scripted agent runs the commands that agents run, reads what they would read, and opens the same places."""

import pytest

from bench.agent import grep
from bench.agent.tasks import Span, Task
from tests.conftest import tool


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "cart.py").write_text("def checkout():\n    raise Empty('the cart is empty, add at least', 1, 'item')\n")
    (tmp_path / "app.py").write_text("# the cart\ncheckout()\nrecheckout()\n")
    (tmp_path / "notes.md").write_text("the cart: empty, checkout, item, add\n")
    return tmp_path


def find(tree, name, query):
    task = Task(id="t", set=name, repo="shop", category="", query=query, relevant=(Span("cart.py", 1, 1),))
    found = grep.find(tool("rg"), tree, task)
    return [(place.path, place.line_start) for place in found.places], found


def test_a_message_is_looked_for_as_it_stands_and_costs_one_call(tree):
    places, found = find(tree, "messages", "the cart is empty")

    assert places == [("cart.py", 2)]
    assert found.calls == 1
    assert found.text == "cart.py:2:    raise Empty('the cart is empty, add at least', 1, 'item')\n"


@pytest.mark.parametrize(
    ("message", "calls"), [("the cart is empty, add at least 17 'items'", 2), ("cart now empty, 7 lacking items", 3)]
)
def test_a_message_that_stands_nowhere_is_looked_for_in_parts(tree, message, calls):
    _, found = find(tree, "messages", message)

    assert found.calls == calls


def test_lines_that_look_like_a_definition_are_looked_at_first(tree):
    places, found = find(tree, "nav", "checkout")

    assert places == [("cart.py", 1), ("app.py", 2), ("notes.md", 1)]
    assert found.calls == 1


def test_a_sentence_leads_to_the_code_with_most_of_its_words(tree):
    places, found = find(tree, "commits", "Add an item to the empty cart")

    assert places == [("cart.py", 2)]
    assert found.calls == 5
    assert found.text.startswith("cart.py\nnotes.md\n")


def test_a_sentence_of_words_that_stand_nowhere_finds_nothing(tree):
    places, _ = find(tree, "commits", "Frobnicate quux")

    assert places == []


def test_a_name_is_a_whole_word(tree):
    found = grep.find_name(tool("rg"), tree, "recheckout")

    assert [(place.path, place.lines) for place in found.places] == [("app.py", (3,))]


def test_no_more_is_read_than_a_tool_shows():
    many = [f"a.py:{line}:x" for line in range(1, 500)]
    long = ["a" * 20_000, "b" * 20_000, "c"]

    assert grep.head(many) == many[: grep.HEAD_LINES]
    assert [len(row) for row in grep.head(long)] == [20_000, grep.HEAD_CHARACTERS - 20_001]


@pytest.mark.parametrize(
    ("message", "run"),
    [("no such user 'bob' in the group of 3", "in the group of"), ("all of it", "all of it"), ("1 2 3", "")],
)
def test_what_looks_filled_in_is_not_looked_for(message, run):
    assert grep.plain_run(message) == run

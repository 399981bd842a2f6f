"""A review comment leads to what it speaks of: the helper to use instead, what the quoted lines use, and its own place last."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.words.review_comment import review_comment

FILES = {
    "shop/prices.py": "from shop.money import rounded_amount\n\n\ndef total(items):\n    whole = 0\n    for item in items:\n"
    "        whole += item.price\n    return round(whole, 2)\n",
    "shop/money.py": "def rounded_amount(value):\n    return round(value, 2)\n\n\n"
    "def as_cents(value):\n    return int(value * 100)\n",
    "shop/sums.py": "def sum_of_prices(items):\n    return sum(item.price for item in items)\n",
    "shop/mail.py": "def send_letter(letter):\n    return letter\n",
    "tests/test_mail.py": "from shop.mail import send_letter\n\n\ndef test_sent():\n    assert send_letter(1) == 1\n",
    "other/money.py": "def as_cents(value):\n    return value\n",
    "tests/test_prices.py": "from shop.prices import total\n\n\ndef test_total():\n    assert total([]) == 0\n",
}
HUNK = "@@ -4,5 +4,5 @@ def total(items):\n     whole = 0\n     for item in items:\n+        whole += as_cents(item.price)"

COMMENTS = {
    "a line with the place": "shop/prices.py:8\n\nThis should use `rounded_amount` like everywhere else.",
    "the place below": "Please use `rounded_amount` here.\n\n`shop/prices.py` line 8",
    "one line": "shop/prices.py:8: nit: this could use `rounded_amount`",
    "a hunk": f"shop/prices.py\n```diff\n{HUNK}\n```\n\nWhy not `rounded_amount`?",
    "a suggestion": "shop/prices.py\nThe amount is not rounded.\n```suggestion\n    return rounded_amount(whole)\n```",
    "a whole diff": f"diff --git a/shop/prices.py b/shop/prices.py\n--- a/shop/prices.py\n+++ b/shop/prices.py\n{HUNK}\n"
    "\nCan we use `rounded_amount` here?",
}
NO_COMMENTS = [
    "shop/prices.py:8",
    "shop/prices.py",
    "how are prices summed up",
    "shop/prices.py:8: error: name 'whole' is not defined",
    'File "shop/prices.py", line 8, in total\nTypeError: unsupported operand',
    f"diff --git a/shop/prices.py b/shop/prices.py\n{HUNK}",
    "This should use `rounded_amount` here",
    "shop/prices.py and shop/sums.py should say the same here",
]


@pytest.fixture(scope="session")
def shop_of_prices(index_of):
    return index_of(FILES)


@pytest.fixture
def ask(shop_of_prices, state):
    return lambda query, **arguments: search_code(shop_of_prices, SearchCode(query=query, **arguments), state)


@pytest.mark.parametrize("form", COMMENTS)
def test_a_comment_leads_to_the_helper_that_it_names_and_to_its_own_place_last(ask, form):
    results = ask(COMMENTS[form]).results

    assert (results[0].path, results[0].name) == ("shop/money.py", "rounded_amount")
    assert [each.path for each in results].count("shop/prices.py") == 1
    assert (results[-1].path, results[-1].name) == ("shop/prices.py", "" if form == "a suggestion" else "total")


@pytest.mark.parametrize("text", NO_COMMENTS)
def test_other_texts_are_no_comments(text):
    assert review_comment(text) is None


def test_the_line_of_a_hunk_is_its_last_one():
    comment = review_comment(COMMENTS["a hunk"])

    assert comment is not None
    assert (comment.path, comment.line) == ("shop/prices.py", 6)
    assert comment.said == ("rounded_amount",)
    assert comment.quoted[:2] == ("whole", "as_cents")


def test_a_test_of_the_commented_place_comes_before_the_place(ask):
    results = ask("shop/mail.py:1\n\nThe amount should not be rounded twice.", limit=6).results

    assert [each.path for each in results][-2:] == ["tests/test_mail.py", "shop/mail.py"]


def test_of_namesakes_that_a_quoted_line_uses_the_one_in_an_imported_file_is_meant(ask):
    results = ask(f"shop/prices.py\n```diff\n{HUNK}\n```\n\nThis changes the unit of the result.").results
    paths = [each.path for each in results if each.name == "as_cents"]

    assert paths[0] == "shop/money.py"


def test_words_of_a_comment_find_the_sibling_which_does_it_right(ask):
    assert "shop/sums.py" in [each.path for each in ask("shop/prices.py:7\nWe already sum the prices of items elsewhere").results]


def test_a_comment_asked_for_a_file_leads_out_of_it(ask):
    reply = ask("Can we use `rounded_amount` here?", path="shop/prices.py")

    assert reply.notice == "as a review comment on shop/prices.py: what it speaks of, its own place last"
    assert reply.results[0].path == "shop/money.py"
    assert reply.results[-1].path == "shop/prices.py"


def test_a_question_about_a_file_stays_in_it(ask):
    results = ask("where is the whole price returned", path="shop/prices.py").results

    assert {each.path for each in results} == {"shop/prices.py"}


def test_the_next_page_of_a_comment_has_what_follows(ask):
    query = "shop/prices.py:7\n\nThis should use `rounded_amount`, or sum the prices of items."
    first = ask(query, limit=2)
    following = ask(query, limit=2, offset=first.next_offset)

    assert [each.path for each in first.results] == ["shop/money.py", "shop/prices.py"]
    assert first.next_offset == 1
    assert "shop/sums.py" in [each.path for each in following.results]
    assert "shop/prices.py" not in [each.path for each in following.results]

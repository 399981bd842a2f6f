"""Long pasted texts: what each part of them says, and that it leads to the place that they are about."""

import pytest

from codecompass.protocol.requests import SearchCode
from codecompass.query import search_code
from codecompass.query.words.long_question import long_question, parts_of

ISSUE = """\
Tokens of a `Ledger` are counted twice after a refund

### Description

<!-- Please search for duplicates first. -->
When an order is refunded, `Ledger.apply_refund` adds the tokens of the order again, see https://example.org/orders/4711.
It happens in billing/ledger.py only.

```python
import gadget
gadget.main(widget_count=3)
```

### Output

INTERNALERROR>   File "/home/me/venv/app.py", line 3, in main
INTERNALERROR>     run_everything()
INTERNALERROR>   File "/home/me/billing/ledger.py", line 9, in apply_refund
ValueError: balance of the ledger is negative

- [x] I have read the rules

### Environment

Machine: Frobnicator 12
"""


def places(text):
    found = {}
    for part in parts_of(text):
        found.setdefault(part.place, []).append(part.text.strip())
    return found


def test_each_line_has_the_place_that_its_structure_gives_it():
    found = places(ISSUE)

    assert found["title"] == ["Tokens of a `Ledger` are counted twice after a refund"]
    assert found["quoted"] == ["Ledger.apply_refund"]
    assert found["error"] == ["ValueError: balance of the ledger is negative"]
    assert "gadget.main(widget_count= )" in found["code"]
    assert any("run_everything" in text for text in found["frame"])
    assert [text for text in found["prose"] if text.startswith("It happens")]


def test_what_surrounds_a_text_counts_nothing():
    words = {word.text for word in long_question(ISSUE).words}

    assert words.isdisjoint({"duplicates", "rules", "frobnicator", "environment", "description", "4711", "example"})


def test_a_word_counts_by_the_best_place_that_it_has():
    weights = {word.text: word.weight for word in long_question(ISSUE).words}

    assert weights["refund"] == 1.0
    assert weights["refund"] > weights["balance"] > weights["happens"] > weights["run"]
    assert weights["run"] > weights["gadget"]


def test_names_in_code_are_not_those_that_the_text_is_about():
    question = long_question(ISSUE)

    assert "Ledger.apply_refund" in question.names
    assert not [name for name in question.names if "gadget" in name or "widget" in name]
    assert "billing/ledger.py" in question.paths


def test_a_called_word_and_a_word_in_backticks_are_names():
    text = f"Combined queries should fail on distinct()\n{'It is not checked at all by anybody so far, see `union`. ' * 4}"

    assert {"distinct", "union"} <= set(long_question(text).names)


@pytest.mark.parametrize(
    "text",
    [
        "where are tokens validated",
        "Tokens are counted twice after a refund\nof an order",
        "one line with very many words " * 20,
        'Traceback (most recent call last):\n  File "/a/b.py", line 3, in f\n    x = g()\n' * 6,
    ],
)
def test_short_texts_single_lines_and_bare_traces_are_read_as_before(text):
    assert long_question(text) is None


FILES = {
    "billing/ledger.py": """\
class Ledger:
    def open(self):
        return 1

    def apply_refund(self, order):
        self.balance += order.tokens
        self.check()

    def check(self):
        if self.balance < 0:
            raise ValueError("balance is negative")
""",
    "billing/helpers.py": """\
def run_everything(order):
    # import main order description output machine error python
    return order.tokens
""",
    "docs/orders.md": "# Orders\n\nWhen an order is refunded, tokens of the order are counted twice in the ledger.\n",
}


def test_a_long_text_leads_to_the_function_that_its_parts_agree_on(index_of, state):
    reply = search_code(index_of(FILES), SearchCode(query=ISSUE), state)

    assert (reply.results[0].path, reply.results[0].name) == ("billing/ledger.py", "apply_refund")
    assert reply.query_intent == "natural_language"


def test_a_frame_in_the_file_that_the_text_is_about_comes_before_one_in_a_helper(index_of, state):
    text = ISSUE.replace(
        "ValueError:", 'INTERNALERROR>   File "/home/me/billing/helpers.py", line 1, in run_everything\nValueError:'
    )
    reply = search_code(index_of(FILES), SearchCode(query=text), state)

    assert [result.path for result in reply.results][:1] == ["billing/ledger.py"]


@pytest.mark.parametrize(
    "piece", ["a", "a.", "a/", " ", "{ ", "= ", "`", "<!--", "1.", "(", "a b ", "\\", "@a", "-> 1 in f(", "\n- "]
)
def test_long_texts_of_any_kind_are_read_to_an_end(piece):
    prose = "and prose that has quite enough words to be read as a part of a long text, here"
    text = f"A title about many things\n{prose}\n{(piece * 16000)[:16000]}x"

    assert long_question(text).title == "A title about many things"

"""How much of a question another text has word for word."""

import pytest

from codecompass.query.merging import sample_evidence
from codecompass.query.messages.quotation import Quotation

ERROR = "Command 'deploy' does not support the flag --force"


@pytest.mark.parametrize(
    "text",
    [
        "raise UsageError(\"Command 'deploy' does not support the flag --force\")",
        "COMMAND DEPLOY DOES NOT SUPPORT THE FLAG FORCE",
        "does not support the flag force;  command\n deploy does",
    ],
)
def test_a_text_with_all_pairs_of_adjacent_words_has_all_of_it(text):
    assert Quotation(ERROR).share_in(text) == 1.0


def test_a_template_has_what_is_between_its_values():
    share = Quotation(ERROR).share_in('f"Command {name!r} does not support the flag {flag}"')

    assert 0.4 < share < 0.8


def test_the_same_words_in_another_order_are_no_quotation():
    assert Quotation(ERROR).share_in("force, flag, support, deploy, command, not does") == 0.0


def test_words_like_the_count_less():
    of_names = Quotation("open the file of users").share_in("open the door")
    of_others = Quotation("open the file of users").share_in("the file")
    both = Quotation("parser failed on the way").share_in("parser failed")

    assert of_names == of_others < both


def test_what_a_logger_added_does_not_count():
    assert Quotation(f"2026-11-25 10:00:00 ERROR: {ERROR}").share_in(ERROR.lower()) == 1.0


@pytest.mark.parametrize("text", ["", "a", "two words", "\ufffd"])
def test_few_words_are_adjacent_by_chance(text):
    assert Quotation(text).share_in("two words a") == 0.0


def test_a_sample_says_how_much_of_the_question_is_quoted(index_of):
    snapshot = index_of({"cli.py": f"def run():\n    fail({ERROR!r})\n", "other.py": "deploy = flag, force, command, support\n"})

    assert sample_evidence(snapshot, ERROR).quoted == 1.0
    assert sample_evidence(snapshot, "support command, force the flag").quoted < 0.5

"""What is offered while a query is typed."""

import pytest

from codecompass.query.query_completion import MAX_COMPLETIONS, completions

VALUES = {"lang": ("python", "javascript", "json"), "repo": ("api", "my web"), "file": ("src/a.py",), "sym": ("Cart",)}


def offered(text):
    return [each.shown for each in completions(text, VALUES)]


def test_an_empty_text_is_offered_the_filters_and_a_minus_those_that_leave_out():
    of_code = ["lang:", "file:", "-file:", "kind:", "repo:", "case:", "sym:"]
    assert offered("") == [*of_code, "type:", "author:", "since:", "until:", "before:"]
    assert offered("words -") == ["-file:"]
    assert offered("words -fi") == ["-file:"]


@pytest.mark.parametrize("text", ["words", "words ", "la", "std::lang", "colour:r", '"lang:', "a\nb"])
def test_text_that_is_no_filter_is_offered_nothing(text):
    assert offered(text) == []


def test_values_that_begin_so_come_before_those_that_have_it_elsewhere():
    assert offered("x lang:j") == ["lang:javascript", "lang:json"]
    assert offered("lang:on") == ["lang:python", "lang:json"]
    assert offered("kind:cl") == ["kind:class"]
    assert offered("case:") == ["case:yes", "case:no"]
    assert offered("x type:") == ["type:commit", "type:diff"]


def test_the_rest_of_the_text_stays_and_a_value_with_a_blank_is_quoted():
    [found] = completions("words repo:my", VALUES)

    assert (found.text, found.shown) == ('words repo:"my web" ', 'repo:"my web"')
    assert offered('words repo:"my w') == ['repo:"my web"']
    assert offered("-file:a") == ["-file:src/a.py"]


def test_what_is_complete_is_not_offered_again_and_never_too_much_is():
    assert offered("lang:python") == []
    assert len(offered("kind:")) == MAX_COMPLETIONS

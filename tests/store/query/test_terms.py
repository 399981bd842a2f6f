"""What a match implies about the tokens of a text. A wrong implication loses matches, so it is tested against matches."""

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from codecompass.store.query.terms import literal_terms, regex_terms
from codecompass.store.text import TermPattern, index_tokens


def holds(text, term):
    pattern = ("" if not term.is_start_open else ".*") + re.escape(term.token) + ("" if not term.is_end_open else ".*")
    return any(re.fullmatch(pattern, token) for token in index_tokens(text)) or any(
        len(run) >= 40 for run in re.findall(r"[^\W_]+", text)
    )


@pytest.mark.parametrize(
    ("literal", "terms"),
    [
        (" foo(bar)", {("foo", False, False), ("bar", False, False)}),
        ("getUser", {("getuser", True, True)}),
        ("(getUser", {("getuser", False, True)}),
        ("a.b", set()),
        ("foo.bar(", {("bar", False, False)}),
        ("éfoo(", {("foo", True, False)}),
        ("::", set()),
    ],
)
def test_terms_of_a_literal(literal, terms):
    assert {(term.token, term.is_start_open, term.is_end_open) for term in literal_terms(literal)} == terms


@pytest.mark.parametrize(
    ("pattern", "terms"),
    [
        (r"^package main$", {("package", False, False), ("main", False, False)}),
        (r"func \(c \*Context\) [A-Z]\w+", {("c", False, False), ("context", False, False)}),
        (r"\bNewScheduler\(", {("newscheduler", True, False)}),
        (r"foo|bar", set()),
        (r"(foo|bar)baz", {("baz", True, True)}),
        (r"colou?r", {("colo", True, True)}),
        (r"ab*c", set()),
        (r"abcd+ef", {("abcd", True, True)}),
        (r"[abc]+", set()),
        (r"(?i)Hello World\.", {("world", False, False)}),
        (r"\x41bcdef", set()),
        (r"\Qa.b\E", set()),
        (r"foo{2,3}bar", {("bar", True, True)}),
        (r"[[:alpha:]]foo", set()),
    ],
)
def test_terms_of_a_pattern(pattern, terms):
    assert {(term.token, term.is_start_open, term.is_end_open) for term in regex_terms(pattern)} == terms


texts = st.text(alphabet="abcAB12_ .(é\n", max_size=30)


@given(texts, st.integers(0, 30), st.integers(1, 12))
def test_every_text_with_a_literal_holds_the_literals_terms(text, start, length):
    literal = text[start : start + length]
    assume(literal)

    assert all(holds(text, term) for term in literal_terms(literal))


atoms = st.sampled_from(
    ["a", "b", "ab", "abc", "_", " ", r"\.", ".", r"\w", r"\b", "^", "$", "[ab]", "(ab|c)", "(?:a)", "é", "1", r"\("]
)
pieces = st.tuples(atoms, st.sampled_from(["", "", "", "?", "*", "+", "{1,2}", "{2}", "+?"])).map("".join)


@given(st.lists(pieces, min_size=1, max_size=6).map("".join), texts)
def test_every_line_that_a_pattern_matches_holds_the_patterns_terms(pattern, text):
    assume(not re.search(r"[\^$b][?*+{]", pattern))

    for line in text.split("\n"):
        if re.search(pattern, line):
            assert all(holds(line, term) for term in regex_terms(pattern))


def test_terms_are_plain_values():
    assert literal_terms("(x)") == (TermPattern("x"),)

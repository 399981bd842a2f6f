"""What a match implies about the tokens of a text. A wrong implication would lose matches, so it is tested on matches."""

import re

import pytest
import re2
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from codecompass.languages.words import ASCII_MARK, ODD_WORD_MARK, WordSplitter
from codecompass.query.words.regex_terms import regex_terms, text_terms
from codecompass.store.odd_words import odd_words_of
from codecompass.store.schema import index_tokens
from codecompass.store.text_queries import Narrowing, TermPattern


def tokens_of(text):
    words = WordSplitter().words_of_text(text)
    return {"body": index_tokens(text), "parts": index_tokens(words.parts), "names": words.names.lower().split()}


MARKS = {"body": "", "parts": "", "names": "=", "calls": "("}


def has(tokens, term, is_by_ascii):
    between = "[a-z0-9]*" if term.field in ("body", "parts") else "[a-z0-9_]*"
    pattern = (".*" if term.is_start_open else "") + between.join(term.pieces) + (".*" if term.is_end_open else "")
    mark = re.escape(MARKS[term.field])
    if any(re.fullmatch(mark + pattern, token) for token in tokens[term.field.replace("calls", "names")]):
        return True
    return (
        is_by_ascii
        and term.field != "parts"
        and any(re.fullmatch(ASCII_MARK + mark + pattern, token) for token in tokens["names"])
    )


def has_odd(text, narrowing):
    return narrowing.pieces is None or odd_words_of([(1, text)]).keys_with(narrowing.pieces) == [1]


def is_candidate(text, narrowing):
    """Returns the index's decision, computed from the same tokens without an index."""
    tokens = tokens_of(text)
    return (
        narrowing.is_everything
        or (ODD_WORD_MARK in tokens["names"] and has_odd(text, narrowing))
        or any(
            all(any(has(tokens, term, narrowing.is_by_ascii) for term in need) for need in needs)
            for needs in narrowing.alternatives
        )
    )


def shown(narrowing):
    """Returns each alternative's needs as text: the field's first letter, the pieces, `*` at an open end."""
    if narrowing.is_everything:
        return None
    return {
        frozenset(
            "|".join(
                f"{term.field[0]}:{'*' * term.is_start_open}{'-'.join(term.pieces)}{'*' * term.is_end_open}" for term in need
            )
            for need in needs
        )
        for needs in narrowing.alternatives
    }


@pytest.mark.parametrize(
    ("literal", "needs"),
    [
        (" foo[bar]", {"b:foo", "b:bar"}),
        (" foo(bar)", {"c:foo", "b:foo", "b:bar"}),
        ("foo (", {"c:*foo"}),
        ("getuser", {"b:*getuser*"}),
        ("(getuser", {"b:getuser*"}),
        ("get_user", {"n:*get_user*", "b:user*"}),
        (" get_user)", {"n:get_user", "b:get", "b:user"}),
        ("getUserName", {"p:user", "p:name*", "b:*getusername*"}),
        ("User", {"p:user*|b:user*"}),
        (" getUser", {"b:getuser*"}),
        ("éfoo.", {"b:*foo"}),
        ("foo.é", {"b:*foo"}),
    ],
)
def test_terms_of_a_literal(literal, needs):
    assert shown(text_terms(literal)) == {frozenset(needs)}


@pytest.mark.parametrize("literal", ["a.b", "::", "ab", "", "é"])
def test_what_narrows_nothing(literal):
    assert text_terms(literal) == Narrowing()


@pytest.mark.parametrize(
    ("pattern", "alternatives"),
    [
        (r"^package main$", [{"b:package", "b:main"}]),
        (r"func \(c \*Context\) [A-Z]\w+", [{"c:*func", "b:c", "b:context"}]),
        (r"\bNewScheduler\s*\(", [{"c:newscheduler", "b:newscheduler"}]),
        (r"\bnew_scheduler\b", [{"n:new_scheduler", "b:new", "b:scheduler"}]),
        (r"foo|bar", [{"b:*foo*"}, {"b:*bar*"}]),
        (r"\b(foo|bar)baz\b", [{"b:foobaz"}, {"b:barbaz"}]),
        (r"colou?r", [{"b:*colour*"}, {"b:*color*"}]),
        (r"\bget\w*user\b", [{"b:get-user|n:get-user", "b:get*"}]),
        (r"get\w+\(", [{"c:*get-"}]),
        (r"[abc]+", None),
        (r"(?i)Hello World\.", [{"b:world", "b:*hello"}]),
        (r"foo|x", None),
        (r"foo\s*bar", [{"b:*foo*", "b:*bar*"}]),
    ],
)
def test_terms_of_a_pattern(pattern, alternatives):
    found = shown(regex_terms(pattern))

    assert found == (None if alternatives is None else {frozenset(needs) for needs in alternatives})


def test_a_word_that_is_too_long_for_the_index_leaves_those_that_have_one():
    narrowing = text_terms("a" * 200)

    assert narrowing == Narrowing(is_everything=False, may_be_one_long_word=True)
    assert is_candidate("x" + "a" * 200, narrowing)


texts = st.text(alphabet="abcABs12_ .((é→ſK\t\n", max_size=40)


@settings(max_examples=500)
@given(texts, st.integers(0, 40), st.integers(1, 14))
@example("a_b\t  (", 0, 6)
@example("éAb→c_a(", 1, 2)
def test_every_text_with_a_literal_is_a_candidate(text, start, length):
    literal = text[start : start + length]
    assume(literal)

    assert is_candidate(text, text_terms(literal))


ATOMS = r"a b ab Abc aB _ \. . \w \W \s \d \b ^ $ [ab] [Aa] [^a] (ab|c) (?:a) (b_|) é s 1 \( [_a-c] [^\w] \Qa(\E (?i:k)"
atoms = st.sampled_from([" ", *re.split(" ", ATOMS)])
pieces = st.tuples(atoms, st.sampled_from(["", "", "", "", "?", "*", "+", "{1,2}", "{2}", "+?"])).map("".join)
patterns = st.lists(pieces, min_size=1, max_size=7).map("".join)


@pytest.mark.slow
@settings(max_examples=1000)
@given(st.tuples(st.sampled_from(["", "(?i)"]), patterns).map("".join), texts)
@example(r"a\W+\(", "a é(")
@example(r"\bab\b", "éab")
@example(r"(?i)s", "ſ")
@example(r"F[Oo]o_", "FOo_")
@example(r"_*a", "b_a")
def test_every_text_that_a_pattern_matches_is_a_candidate(pattern, text):
    options = re2.Options()
    options.log_errors = False
    try:
        compiled = re2.compile(pattern, options=options)
    except re2.error:
        assume(False)

    if any(compiled.search(line) for line in text.split("\n")):
        assert is_candidate(text, regex_terms(pattern))


def test_terms_are_plain_values():
    assert text_terms("[x]").alternatives == (((TermPattern("body", ("x",)),),),)

"""Which texts the engine finds as candidates of a scan. A wrong filter would lose matches, so it is tested on matches; the
engine's decision is computed from the document and the query that it would get."""

import re

import msgspec
import pytest
import re2
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from codecompass.cluster.documents import DocumentMaker
from codecompass.cluster.engine_queries import narrowed_filters
from codecompass.cluster.schema import TEXT_FIELDS
from codecompass.cluster.trigrams import MAX_LOOKED_UP, trigrams, with_trigrams
from codecompass.languages.records import Chunk
from codecompass.languages.words import MAX_TOKEN_BYTES
from codecompass.query.words.regex_terms import regex_terms, text_terms
from codecompass.store.rows import IndexedFile

pytestmark = pytest.mark.invariant(of="test_what_one_query_leaves_out_has_no_answer")

FILE = IndexedFile(1, "src/app.py", "python", 1)


def document(text):
    """Returns the tokens of the engine's document for a chunk, by field."""
    lines = [
        msgspec.json.decode(line)
        for action in DocumentMaker("r", "p").of_file(FILE, [Chunk(1, 1, text)], [])
        for line in action.splitlines()
    ]
    chunk = next(line for line in lines if line.get("record") == "c")
    assert set(chunk) <= set(TEXT_FIELDS)
    return {field: chunk.get(field, "").split() for field in ("body", "parts", "names", "odd_trigrams")}


def has(tokens, query):
    """Whether a document with these tokens matches a query of the engine."""
    ((kind, what),) = query.items()
    if kind == "bool":
        assert set(what) <= {"filter", "should", "minimum_should_match"}
        should = what.get("should", [])
        return all(has(tokens, each) for each in what.get("filter", [])) and (
            not should or any(has(tokens, each) for each in should)
        )
    ((field, value),) = what.items()
    if kind == "term":
        return value in tokens[field]
    assert kind == "regexp"
    return any(re.fullmatch(value["value"], token) for token in tokens[field])


def is_candidate(text, narrowing):
    tokens = document(text)
    return all(has(tokens, query) for query in narrowed_filters(narrowing))


short = st.text(alphabet="abcABs12_ .((é→ſK\t", max_size=12)
runs = st.tuples(st.sampled_from(["a", "ab", "aB", "Ab_", "1_", "é", "ſ", "K"]), st.integers(1, 140)).map(
    lambda run: run[0] * run[1]
)
texts = st.tuples(short, runs, short, runs, short).map("".join)


@settings(max_examples=500, deadline=None)
@given(texts, st.integers(0, 400), st.integers(1, 200))
@example("x" * 70 + "getUser" + "x" * 70, 70, 7)
@example("a" * (MAX_TOKEN_BYTES - 1) + "  (", 100, 30)
@example("ab" * 70 + " ſ", 0, 5)
def test_every_text_with_a_literal_is_a_candidate(text, start, length):
    literal = text[start : start + length]
    assume(literal)

    assert is_candidate(text, text_terms(literal))


PATTERNS = (
    *(r"\bab\b", r"ab\w*AB", r"(?i)ABAB", r"[Aa]bab", r"aB\w+\(", r"abab|é", r"(ab){70,}", r"\w{128}", r"Ab_Ab_", r"a_1_1"),
    *(r"aBaB.*s1", r"(?i)\bs\b", r"(?i)bs\b", r"(?i)sab", r"(?i)kk", r"(?i)ask"),
)


@settings(max_examples=1000, deadline=None)
@given(st.sampled_from(PATTERNS), texts)
def test_every_text_that_a_pattern_matches_is_a_candidate(pattern, text):
    if re2.compile(pattern).search(text):
        assert is_candidate(text, regex_terms(pattern))


@pytest.mark.parametrize("inside", ["getUserName", "get_user", "user"])
def test_a_long_word_is_a_candidate_only_for_what_may_be_in_it(inside):
    data = "QmFzZTY0" * 40
    long = f"x = {data}{inside}{data}"

    assert is_candidate(long, text_terms(inside))
    assert not is_candidate(f"x = {data}", text_terms(inside))
    assert is_candidate(f"{data}é—{inside}é", text_terms(inside))
    assert not is_candidate(f"x = {data}é", text_terms(inside))


@pytest.mark.parametrize(("letter", "twin"), [("s", "\u017f"), ("k", "\u212a")])
def test_a_letter_that_is_another_one_if_case_is_ignored_is_found_by_that(letter, twin):
    text = f"a{twin}e {'z' * 200}"

    assert is_candidate(text, regex_terms(f"(?i)a{letter}e"))
    assert not is_candidate(text, regex_terms("(?i)aze"))


def test_a_short_word_is_found_in_any_long_one():
    assert is_candidate("zz" * 100, regex_terms(r"\w*zz\("))


def test_trigrams_are_lower_case_once_and_of_ascii_alone():
    assert trigrams("src/AppApp.py") == ["src", "rc/", "c/a", "/ap", "app", "ppa", "pap", "pp.", "p.p", ".py"]
    assert trigrams("a b\tcdé\0xyz") == ["xyz"]
    assert trigrams("ab") == []


def test_few_trigrams_of_a_long_text_are_looked_up():
    text = "".join(f"{number:03}" for number in range(200))

    found = [query["term"]["f"] for query in with_trigrams("f", [text])]

    assert len(found) <= MAX_LOOKED_UP
    assert found[0] == "000"
    assert text.index(found[-1]) > 500

"""How a pattern is parsed: what it is taken for is never narrower than what it matches."""

import pytest

from codecompass.query.words.regex_branches import MAX_BRANCHES, MAX_DEPTH, Gap, branches_of

ANY, WORD, MARKS, PLAIN, MAYBE, EDGE = Gap.ANY, Gap.WORD, Gap.MARKS, Gap.PLAIN, Gap.MAYBE_PLAIN, Gap.EDGE


@pytest.mark.parametrize(
    ("pattern", "branches"),
    [
        ("ab", {("a", "b")}),
        ("a|b|a", {("a",), ("b",)}),
        ("(?:a|bc)d", {("a", "d"), ("b", "c", "d")}),
        ("(a(b|c))?d", {("a", "b", "d"), ("a", "c", "d"), ("d",)}),
        ("(?P<name>a)(?<other>b)", {("a", "b")}),
        ("(|a)b", {("b",), ("a", "b")}),
        ("ab?c", {("a", "b", "c"), ("a", "c")}),
        ("ab*c", {("a", WORD, "c")}),
        ("ab+c", {("a", "b", WORD, "c")}),
        ("a{2}", {("a", WORD)}),
        ("a{1}b{0,1}", {("a", "b"), ("a",)}),
        ("a{0,3}b", {(WORD, "b")}),
        ("a{,3}", {("a", "{", ",", "3", "}")}),
        ("a{2", {("a", "{", "2")}),
        ("a+?b", {("a", WORD, "b")}),
        (r"(\.\.)*a", {(MAYBE, "a")}),
        (r"\s*a\s+", {(MAYBE, "a", PLAIN, MAYBE)}),
        (r"(a\.)*", {(ANY,)}),
        (r"a.b", {("a", ANY, "b")}),
        (r"^a\b$", {(EDGE, "a", EDGE, EDGE)}),
        (r"\Aa\z", {(EDGE, "a", EDGE)}),
        (r"a\Bb", {("a", ANY, "b")}),
        (r"\w\d\s\W", {(WORD, WORD, PLAIN, MARKS)}),
        (r"\S\D", {(ANY, ANY)}),
        (r"\.\(\_\t\\", {(".", "(", "_", "\t", "\\")}),
        (r"\x41\x{1F600}\07\pL\p{Greek}\P{^Lu}\C", {(ANY,) * 7}),
        (r"a\Qb.c\Ed", {("a", "b", ".", "c", "d")}),
        (r"\Qab\E+c", {("a", ANY, ANY, "c")}),
        (r"\Qa|b", {("a", "|", "b")}),
        ("[ab]", {("a",), ("b",)}),
        ("[Aa]", {("a",)}),
        ("[a.]", {("a",), (PLAIN,)}),
        ("[a-z]x", {(WORD, "x")}),
        ("[a-z.]x", {(ANY, "x")}),
        ("[^a-z]", {(ANY,)}),
        (r"[^\w]", {(MARKS,)}),
        (r"[\s.,]", {(PLAIN,)}),
        (r"[.é]", {(MARKS,)}),
        ("[aé]", {(ANY,)}),
        (r"[\D]", {(ANY,)}),
        (r"[\W]", {(MARKS,)}),
        ("[]a]", {(PLAIN,), ("a",)}),
        ("[^]]", {(ANY,)}),
        (r"[\]\-]", {(PLAIN,)}),
        (r"[a\-]", {("a",), (PLAIN,)}),
        ("[a-]", {("a",), (PLAIN,)}),
        ("[[:punct:]]", {("_",), (PLAIN,)}),
        ("[[:space:]]", {(PLAIN,)}),
        ("[[:^space:]]", {(ANY,)}),
        ("[[:digit:]]", {(digit,) for digit in "0123456789"}),
        (r"[\x00-\x1f]", {(ANY,)}),
        ("(?i)a(?i:b)", {("a", "b")}),
        (
            "(a|b)(a|b)(a|b)(a|b)(c|d)",
            {(*one, ANY) for one in [(w, x, y, z) for w in "ab" for x in "ab" for y in "ab" for z in "ab"]},
        ),
        ("é", {("é",)}),
        ("", {()}),
    ],
)
def test_a_pattern_is_read_as_its_alternatives(pattern, branches):
    assert set(branches_of(pattern).branches) == branches


@pytest.mark.parametrize(
    ("pattern", "is_by_ascii", "has_case"),
    [
        ("aé", False, True),
        (r"\ba", True, True),
        (r"\W", True, True),
        (r"[^\w]", True, True),
        (r"\s", False, True),
        ("(?i)a", False, False),
        ("(?s-i:a)", False, False),
        ("(?s)a", False, True),
        ("[ab]", False, True),
        ("[Aa]", False, False),
        ("[A-Z]x", False, True),
    ],
)
def test_what_is_said_of_letters(pattern, is_by_ascii, has_case):
    read = branches_of(pattern)

    assert (read.is_by_ascii, read.has_case) == (is_by_ascii, has_case)


def test_too_many_alternatives_are_any_text():
    assert branches_of("|".join(f"a{number}" for number in range(MAX_BRANCHES + 1))).branches == ((ANY,),)


def test_too_deep_a_pattern_is_any_text():
    deep = "(" * (MAX_DEPTH + 1) + "a" + ")" * (MAX_DEPTH + 1)

    assert branches_of(f"b{deep}|c").branches == ((ANY,),)

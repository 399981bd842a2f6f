"""What is nested deeper than people nest is blank for the grammars that would take time in the square of it."""

import pytest

from codecompass.languages import load
from codecompass.languages.functional.literatehaskell import regions
from codecompass.languages.walk.depth import MAX_BRACKETS, MAX_COMMENTS, with_shallow_brackets, with_shallow_comments

MANY = 13_000


@pytest.mark.parametrize("language", ["purescript", "matlab"])
@pytest.mark.parametrize("opening", [b"f = (\n", b"x = [1 ", b"x = { a: "])
def test_a_grammar_is_given_a_bounded_number_of_brackets_that_nothing_closes(language, opening):
    source = opening * MANY

    prepared = load(language).prepare(source)

    assert sum(prepared.count(bracket) for bracket in (b"(", b"[", b"{")) == MAX_BRACKETS
    assert len(prepared) == len(source)
    assert prepared.count(b"\n") == source.count(b"\n")


def test_a_grammar_is_given_a_bounded_number_of_comments_that_nothing_closes():
    source = b"/* x\n" * MANY

    prepared = load("odin").prepare(source)

    assert prepared.count(b"/*") == MAX_COMMENTS
    assert len(prepared) == len(source)
    assert prepared.count(b"\n") == source.count(b"\n")


def test_what_follows_the_end_of_what_is_too_deep_is_kept():
    deep = b"(" * (MAX_BRACKETS + 50) + b"x" + b")" * (MAX_BRACKETS + 50)
    source = b"a = " + deep + b"\nb = (1)\n" + deep + b"\nc = 2\n"

    shallow = with_shallow_brackets(source)

    kept = b"(" * MAX_BRACKETS + b" " * 101 + b")" * MAX_BRACKETS
    assert shallow == b"a = " + kept + b"\nb = (1)\n" + kept + b"\nc = 2\n"


@pytest.mark.parametrize(
    "source",
    [
        b"f(x)\n" * MANY,
        b"(" * MAX_BRACKETS,
        b")" * MANY + b"(x)",
        b"/* x */ y\n" * MANY,
        b"/*" * MAX_COMMENTS,
        b"",
    ],
)
def test_what_is_nested_as_people_nest_stays_as_it_is(source):
    assert with_shallow_brackets(source) == source
    assert with_shallow_comments(source) == source


def test_long_comments_at_the_beginning_of_matlab_code_leave_no_blank_lines():
    """The grammar takes time in the square of the number of blank lines before the first statement."""
    source = b"%{\n" + b"about it\n" * MANY + b"%}\nx = 1;\n"

    prepared = load("matlab").prepare(source)

    assert sum(not line.strip() for line in prepared.splitlines()) == 0
    assert prepared.endswith(b"\nx = 1;\n")
    assert len(prepared) == len(source)
    assert prepared.count(b"\n") == source.count(b"\n")


def test_a_block_of_literate_haskell_that_is_not_closed_ends_where_the_next_one_begins():
    (code,) = regions("\\begin{code}\n" * MANY + "f = 1\n\\end{code}\ntext\n")

    assert code.text_in("").split() == ["f", "=", "1"]

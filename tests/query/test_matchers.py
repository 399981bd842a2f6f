import pytest

from codecompass.query.exact_scan import literal_matcher, regex_matcher

TEXT = "one\n\ntwo one one\n\n\nthree\n"


@pytest.mark.parametrize(
    ("literal", "expected"),
    [
        ("one", [(0, 0, 3), (2, 4, 7)]),
        ("\n", [(0, 3, 4), (1, 0, 1), (2, 11, 12), (3, 0, 1), (4, 0, 1), (5, 5, 6)]),
        ("\n\n", [(0, 3, 5), (2, 11, 13), (3, 0, 2)]),
        ("\ntwo", [(1, 0, 4)]),
        ("one\n", [(0, 0, 4), (2, 8, 12)]),
        ("three\n", [(5, 0, 6)]),
        ("four", []),
    ],
)
def test_a_literal_matches_once_in_each_line_that_it_begins_in(literal, expected):
    assert list(literal_matcher(literal)(TEXT)) == expected


@pytest.mark.parametrize(("pattern", "lines"), [("one", [0, 2]), ("^$", [1, 3, 4]), ("", [0, 1, 2, 3, 4, 5]), (r"\n", [])])
def test_a_pattern_sees_one_line_at_a_time(pattern, lines):
    assert [line for line, _, _ in regex_matcher(pattern)(TEXT)] == lines

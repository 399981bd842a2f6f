"""Where the words of a question occur in the texts of a file: what any of its lines have of them."""

import re
from itertools import pairwise

import pytest

from codecompass.query.words.query_words import WantedWords
from codecompass.query.words.word_places import UNIT, word_places

TEXTS = [(10, "def retry(delay):\n    wait(delay, delays)\n\n    return retry\n"), (20, "retries\n")]
WANTED = WantedWords({"retry": 1.0, "delay": 1.0, "queue": 1.0})


@pytest.mark.parametrize(
    ("first", "last", "found"),
    [
        (1, 100, {0: 2.9, 1: 2.9}),
        (10, 10, {0: 1.0, 1: 1.0}),
        (11, 12, {1: 1.9}),
        (12, 12, {}),
        (14, 19, {}),
        (20, 20, {0: 0.9}),
    ],
)
def test_the_words_of_any_lines_are_counted(first, last, found):
    places = word_places(TEXTS, WANTED, ())

    own = places.within(first, last)

    counts = {number: (sums[own.stop] - sums[own.start]) / UNIT for number, sums in places.sums.items()}
    assert {number: count for number, count in counts.items() if count} == found


def test_a_line_counts_with_what_it_has_and_lines_with_the_best_of_them():
    places = word_places(TEXTS, WANTED, ())

    assert places.lines == [10, 11, 13, 20]
    assert [dict(places.on_line(index)) for index in range(4)] == [{0: 1.0, 1: 1.0}, {1: 1.9}, {0: 1.0}, {0: 0.9}]
    assert dict(places.most(range(1, 4))) == {0: 1.0, 1: 1.0}
    assert dict(places.most(range(3, 4))) == {0: 0.9}


def test_empty_lines_are_known_by_their_numbers():
    assert word_places(TEXTS, WANTED, ()).empty == {12}


def test_a_pattern_counts_only_beside_a_word():
    texts = [(1, "assert a\n\n\nretry\nassert b\n\n\nassert c\n")]

    places = word_places(texts, WANTED, (re.compile("assert"),))

    pattern = len(WANTED.worth)
    assert places.lines == [4]
    assert dict(places.on_line(0)) == {0: 1.0, pattern: 1.0}


def test_equal_lines_have_equal_sums_wherever_they_are():
    line = "delayed delays delaying\n"
    places = word_places([(1, line * 50)], WANTED, ())

    sums = places.sums[1]

    assert len({after - before for before, after in pairwise(sums)}) == 1

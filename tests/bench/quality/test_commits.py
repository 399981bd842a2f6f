"""Commit messages as queries: when a hit contains what was changed, and which messages share few words with it."""

from pathlib import Path

import msgspec

from bench.quality.commits import Commit, Function, commits_table, judge, shares_few_words
from bench.quality.data import Answer, Hit, Range

SOURCE = "def pay(cart):\n    return cart.total()\n\n\ndef refund(order):\n    return order.close()\n"


def commit(query: str, name: str = "refund", line_start: int = 5, line_end: int = 6) -> Commit:
    changed = Function(path="shop.py", line_start=line_start, line_end=line_end, name=name)
    return Commit(id=query, repo="shop", language="python", query=query, category="described", relevant=(changed,))


def ranks(*hits: Hit) -> tuple[int | None, bool, int | None]:
    asked = commit("Give money back")
    [found] = judge([asked], [Answer(repo="shop", query=asked.query, results=hits)])
    return found.function, found.is_first, found.file


def test_a_function_counts_where_a_range_of_a_hit_touches_it():
    other = Hit(path="a.py", line_start=1, line_end=9)

    assert ranks(other, Hit(path="shop.py", line_start=6, line_end=6)) == (2, False, 2)
    assert ranks(Hit(path="shop.py", line_start=5, line_end=6)) == (1, True, 1)
    assert ranks(Hit(path="shop.py", line_start=1, line_end=2)) == (None, False, 1)
    assert ranks(other) == (None, False, None)


def test_what_is_named_beside_a_hit_counts_at_its_rank_but_not_as_first():
    assert ranks(Hit(path="shop.py", line_start=1, line_end=2, also=(Range(5, 6),))) == (1, False, 1)


def test_a_range_that_a_reader_would_have_to_search_in_counts_only_for_the_file():
    assert ranks(Hit(path="shop.py", line_start=1, line_end=500)) == (None, False, 1)


def test_a_hit_after_the_tenth_does_not_count():
    others = [Hit(path="a.py", line_start=1, line_end=1)] * 10

    assert ranks(*others, Hit(path="shop.py", line_start=5, line_end=6)) == (None, False, None)


def test_few_words_are_shared_where_at_most_one_is_in_the_text_of_the_function(tmp_path: Path):
    (tmp_path / "shop.py").write_text(SOURCE)

    assert shares_few_words(commit("Give money back for orders"), tmp_path)
    assert not shares_few_words(commit("Refund the whole order"), tmp_path)


def test_each_repository_counts_the_same_in_the_table():
    first, second = commit("one"), msgspec.structs.replace(commit("two"), repo="other")
    answers = [
        Answer(repo="shop", query="one", results=(Hit(path="shop.py", line_start=5, line_end=6),)),
        Answer(repo="other", query="two", results=()),
    ]

    table = commits_table(judge([first, first, first, second], answers), {"two"})

    overall, few = (next(line for line in table.splitlines() if line.startswith(name)) for name in ("overall", "at most"))
    assert overall.split()[1:] == ["0.500", "0.500", "0.500", "0.500", "0.500", "4"]
    assert few.split()[-6:] == ["0.000", "0.000", "0.000", "0.000", "0.000", "1"]

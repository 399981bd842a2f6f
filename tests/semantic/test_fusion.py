"""Reciprocal rank fusion."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from codecompass.semantic.fusion import K, fused


def test_what_two_rankings_have_comes_before_what_one_has_at_the_same_ranks():
    assert fused([("abc", 1.0), ("bdc", 1.0)]) == ["b", "c", "a", "d"]


def test_ties_are_in_the_order_of_the_first_ranking():
    assert fused([("ab", 1.0), ("cd", 1.0)]) == ["a", "c", "b", "d"]


def test_one_ranking_or_none_stays_as_it_is():
    assert fused([("cab", 1.0)]) == ["c", "a", "b"]
    assert fused([([], 1.0), ("cab", 0.5)]) == ["c", "a", "b"]
    assert fused([]) == []


def test_a_ranking_of_half_the_weight_moves_less():
    assert fused([("abcdefghij", 1.0), ("x", 0.5)]).index("x") == 7
    assert fused([("abcdefghij", 1.0), ("j", 0.5)]).index("j") == 1


rankings = st.lists(st.tuples(st.lists(st.integers(0, 20), unique=True), st.sampled_from([0.5, 1.0])), max_size=4)


@given(rankings)
def test_every_item_is_there_once_by_the_sum_of_its_reciprocal_ranks(given_rankings):
    def score(item: int) -> float:
        return sum(weight / (K + ranking.index(item) + 1) for ranking, weight in given_rankings if item in ranking)

    found = fused(given_rankings)

    assert sorted(found) == sorted({item for ranking, _ in given_rankings for item in ranking})
    scores = [score(item) for item in found]
    assert all(first >= second - 1e-12 for first, second in pairwise(scores))

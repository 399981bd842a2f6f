"""The scores compared with values calculated by hand from their definitions."""

from math import log2

import pytest

from bench.quality.data import Hit, Target
from bench.quality.scores import (
    is_definition,
    macro,
    median_range_ratio,
    ndcg,
    score_lookup,
    score_search,
    within_a_line,
)


def hit(path: str, start: int | None = None, end: int | None = None) -> Hit:
    return Hit(path=path, line_start=start, line_end=end)


def target(path: str, start: int | None = None, end: int | None = None, *, secondary: bool = False) -> Target:
    return Target(path=path, start_line=start, end_line=end, secondary=secondary)


def test_the_only_target_in_third_place():
    score = score_search([hit("x"), hit("y"), hit("a")], [target("a")])

    # 1 / log2(3 + 1) relative to the ideal 1 / log2(2)
    assert score.ndcg == pytest.approx(0.5)
    assert score.mrr == pytest.approx(1 / 3)
    assert (score.success_1, score.success_5, score.recall) == (0.0, 1.0, 1.0)


def test_two_of_three_targets_found():
    score = score_search([hit("a"), hit("x"), hit("x"), hit("b")], [target("a"), target("b"), target("c")])

    ideal = 1 + 1 / log2(3) + 1 / 2
    assert score.ndcg == pytest.approx((1 + 1 / log2(5)) / ideal)
    assert score.recall == pytest.approx(2 / 3)
    assert score.success_1 == 1.0


def test_secondary_targets_count_like_the_others():
    both = score_search([hit("a"), hit("b")], [target("a"), target("b", secondary=True)])

    assert both.ndcg == pytest.approx(1.0)


def test_two_targets_found_by_one_hit_are_one_gain():
    """The ideal still has two ranks, as in the definition of the published figures."""
    score = score_search([hit("a", 1, 100)], [target("a", 10, 20), target("a", 30, 40)])

    assert score.ndcg == pytest.approx(1 / (1 + 1 / log2(3)))
    assert score.recall == 1.0


def test_a_hit_counts_only_where_its_lines_touch_the_target():
    hits = [hit("a", 1, 9), hit("a", 20, 30)]

    assert score_search(hits, [target("a", 10, 20)]).first == 2
    assert score_search(hits, [target("a", 9, 9)]).first == 1
    assert score_search(hits, [target("a", 31, 40)]).first is None


def test_without_lines_the_file_is_enough():
    assert score_search([hit("a", 5, 6)], [target("a")]).first == 1
    assert score_search([hit("a")], [target("a", 100, 110)]).first == 1


def test_by_file_each_file_takes_one_rank_and_lines_do_not_matter():
    hits = [hit("x", 1, 2), hit("x", 3, 4), hit("a", 1, 2)]

    score = score_search(hits, [target("a", 50, 60)])

    assert score.ndcg == 0.0
    assert score.ndcg_files == pytest.approx(1 / log2(3))


def test_a_path_may_be_written_from_further_down():
    assert score_search([hit("src/pkg/a.py")], [target("pkg/a.py")]).first == 1
    assert score_search([hit("pkg/ba.py")], [target("a.py")]).first is None


def test_what_stands_below_rank_ten_is_not_found():
    hits = [hit("x")] * 10 + [hit("a")]

    score = score_search(hits, [target("a")])

    assert (score.ndcg, score.mrr, score.recall, score.success_5) == (0.0, 0.0, 0.0, 0.0)


def test_no_hits_score_nothing():
    score = score_search([], [target("a")])

    assert (score.ndcg, score.ndcg_files, score.mrr, score.first) == (0.0, 0.0, 0.0, None)


def test_ndcg_of_no_targets_is_zero_and_of_more_than_ten_can_be_one():
    assert ndcg([], 0) == 0.0
    assert ndcg(range(1, 13), 12) == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("found", "is_right"),
    [
        (hit("a", 13, 20), True),
        (hit("a", 7, 9), True),
        (hit("a", 14, 14), False),
        (hit("a", 6, 9), False),
        (hit("b", 10, 12), False),
        (hit("a"), False),
    ],
)
def test_a_definition_is_found_within_three_lines(found, is_right):
    """Decorators and comments shift the line at which a definition is reported to begin."""
    assert is_definition(found, target("a", 10, 12)) is is_right


def test_a_range_around_a_definition_must_not_be_much_longer_than_it():
    truth = target("a", 100, 109)

    assert is_definition(hit("a", 80, 130), truth)
    assert not is_definition(hit("a", 80, 131), truth)
    assert not is_definition(hit("a", 1, 500), truth)


def test_recall_of_a_lookup_counts_all_definitions():
    hits = [hit("a", 1, 5), hit("x", 1, 5), hit("b", 7, 9)]

    score = score_lookup(hits, [target("a", 1, 5), target("b", 8, 9), target("c", 1, 2)])

    assert score.recall == pytest.approx(2 / 3)
    assert (score.first, score.success_1, score.mrr, score.lines_off) == (1, 1.0, 1.0, 0)


def test_the_first_right_hit_tells_how_exact_its_lines_are():
    scores = [
        score_lookup([hit("x", 1, 1), hit("a", 9, 28)], [target("a", 10, 19)]),
        score_lookup([hit("a", 13, 22)], [target("a", 10, 19)]),
        score_lookup([], [target("a", 10, 19)]),
        score_lookup([hit("a", 10, 30)], [target("a", 10, 10)]),
    ]

    assert [score.lines_off for score in scores] == [1, 3, None, 0]
    assert within_a_line(scores) == pytest.approx(2 / 3)
    # The end of the last target is unknown.
    assert [score.range_ratio for score in scores] == [2.0, 1.0, None, None]
    assert median_range_ratio(scores) == 1.5


def test_macro_weighs_repositories_alike_however_many_queries_they_have():
    assert macro([("a", 1.0), ("a", 0.0), ("b", 1.0)]) == pytest.approx(0.75)
    assert macro([]) == 0.0

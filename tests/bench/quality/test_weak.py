"""Questions asked of the wrong repository: what the figures count."""

from bench.quality.weak import Judged, auc, weak_table


def judged(score: float, *, asked: str = "shop", is_weak: bool = False, is_right: bool = False) -> Judged:
    return Judged(set="semble", repo="shop", asked=asked, query="q", is_weak=is_weak, score=score, is_right=is_right)


def test_a_weak_answer_is_below_every_other_whatever_its_score():
    rows = [judged(0.5, is_right=True), judged(0.9, asked="other", is_weak=True)]

    assert auc(rows, lambda each: (not each.is_weak, each.score)) == 1.0
    assert auc(rows, lambda each: (True, each.score)) == 0.0


def test_equal_answers_count_half_and_no_pair_is_nothing():
    rows = [judged(0.5), judged(0.5, asked="other")]

    assert auc(rows, lambda each: (not each.is_weak, each.score)) == 0.5
    assert auc(rows[:1], lambda each: (True, each.score)) == 0.0


def test_the_table_has_the_shares_of_weak_answers():
    rows = [judged(0.9, is_right=True), judged(0.4, is_weak=True), judged(0.4, asked="other", is_weak=True)]

    line = weak_table(rows).splitlines()[2].split()

    assert line == ["all", "0.750", "0.750", "1.000", "0.500", "0.000", "3"]

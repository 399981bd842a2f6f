"""Figures over random halves of the repositories: the same halves each time, and the variation that they show."""

from bench.quality.data import Target, Truth
from bench.quality.report import Judged, search_figure
from bench.quality.resampling import earning_table, halves_line
from bench.quality.scores import score_search


def judged(figures):
    """Returns one query per repository, answered right at rank 1 (1) or not at all (0)."""
    rows = []
    for repo, figure in figures.items():
        target = Target(path="a.py")
        truth = Truth(id=repo, repo=repo, language="python", query="q", category="semantic", relevant=(target,))
        rows.append(Judged(truth, score_search([target] if figure else [], truth.relevant)))
    return rows


def test_the_range_over_halves_is_that_of_the_repositories():
    even = judged(dict.fromkeys("abcdef", 1))
    uneven = judged({"a": 1, "b": 1, "c": 1, "d": 0, "e": 0, "f": 0})

    assert halves_line(even, search_figure).endswith("median 1.000, 5..95 % 1.000..1.000, lowest 1.000")
    assert halves_line(uneven, search_figure).endswith("lowest 0.000")
    assert halves_line(uneven, search_figure) == halves_line(uneven, search_figure)


def test_one_repository_has_no_halves():
    assert "too few" in halves_line(judged({"a": 1}), search_figure)


def test_a_signal_that_helps_everywhere_earns_in_every_half_and_one_that_does_nothing_in_none():
    whole = judged(dict.fromkeys("abcdef", 1))
    without = {"nothing": whole, "everything": judged(dict.fromkeys("abcdef", 0))}

    rows = [line.split() for line in earning_table(whole, without).splitlines()[2:]]

    assert rows == [["everything", "1.00", "0.00"], ["nothing", "0.00", "0.00"]]

"""The figure that summarises many samples, and how it is written."""

import pytest

from bench.figures import percentile


def test_a_percentile_is_a_sample_that_so_many_do_not_exceed():
    samples = [5.0, 1.0, 4.0, 2.0, 3.0]

    assert percentile(samples, 0.5) == 3.0
    assert percentile(samples, 0.95) == 5.0
    assert percentile(samples, 0.2) == 1.0
    assert percentile(samples, 0.0) == 1.0


def test_the_95th_percentile_of_a_hundred_leaves_five_above_it():
    samples = [float(number) for number in range(1, 101)]

    assert percentile(samples, 0.95) == 95.0


def test_nothing_has_no_percentile():
    with pytest.raises(ValueError, match="at least one sample"):
        percentile([], 0.5)

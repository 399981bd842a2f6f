"""The figure that summarises many samples, and how it is written."""

import pytest

from bench.figures import figure, percentile, written


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


def test_a_figure_is_the_median_and_its_ratio_to_others():
    row = figure("cold", [9.0, 3.0, 6.0], "s", beside=[("ctags", 2.0), ("nothing", 0.0)])

    assert row.value == 6.0
    assert [(other.name, other.ratio) for other in row.beside] == [("ctags", 3.0)]


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (12.345, "s", "12.3 s"),
        (1.2345, "s", "1.23 s"),
        (0.0512, "s", "51.2 ms"),
        (123.4, "ms", "123 ms"),
        (0.0721, "ms", "0.07 ms"),
        (999.0, "bytes", "999 B"),
        (1536.0, "bytes", "1.50 kB"),
        (300 * 1024 * 1024.0, "bytes", "300 MB"),
        (1.333, "x", "1.33x"),
        (12345.0, "count", "12,345"),
    ],
)
def test_values_are_written_with_their_unit_and_three_digits(value, unit, text):
    assert written(value, unit) == text

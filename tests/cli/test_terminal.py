"""Output on a terminal: colour where wanted, no control sequences from files, widths that fit."""

import io

import pytest

from codecompass import formatting
from codecompass.cli.terminal import Terminal, columns, cut, pad, printable
from codecompass.formatting import iso_time


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text", "plain text"),
        ("naïve 漢字 ✓", "naïve 漢字 ✓"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("a\tb", "a    b"),
        ("a\r\nb", "a\\x0d\\x0ab"),
        ("\x9b31m", "\\x9b31m"),
        ("\u202eright to left", "\\u202eright to left"),
        ("caf\udce9", "caf\\xe9"),
        ("\ud800", "\\ud800"),
        ("\U000e0001", "\\U000e0001"),
    ],
)
def test_nothing_that_controls_a_terminal_passes(text, expected):
    assert printable(text) == expected


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("abcdef", 6, "abcdef"),
        ("abcdefg", 6, "abcde…"),
        ("漢字漢字", 6, "漢字…"),
        ("e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"),
        ("ab  cd", 4, "ab…"),
    ],
)
def test_text_is_cut_to_columns_and_not_to_characters(text, width, expected):
    assert cut(text, width) == expected
    assert columns(cut(text, width)) <= width


def test_text_without_a_width_is_not_cut():
    assert cut("x" * 1000, None) == "x" * 1000


def test_padding_counts_columns():
    assert pad("漢", 4) == "漢  "


@pytest.mark.parametrize(
    ("stream", "environment", "is_colored"),
    [
        (Screen, {}, True),
        (Screen, {"NO_COLOR": "1"}, False),
        (Screen, {"TERM": "dumb"}, False),
        (io.StringIO, {}, False),
    ],
)
def test_colour_is_for_terminals_that_want_it(stream, environment, is_colored):
    terminal = Terminal(environment, out=stream(), err=io.StringIO())

    assert ("\x1b[" in terminal.style("x", "red")) is is_colored
    assert terminal.style("x") == "x"


def test_answers_and_remarks_go_to_different_streams():
    out, err = io.StringIO(), io.StringIO()
    terminal = Terminal({}, out=out, err=err)

    terminal.line("answer")
    terminal.note("remark")
    terminal.warn("a\x1bb")

    assert out.getvalue() == "answer\n"
    assert err.getvalue() == "remark\nwarning: a\\x1bb\n"


@pytest.mark.parametrize(
    ("number", "expected"), [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KB"), (58_100_000, "55.4 MB"), (2**40 * 3, "3.0 TB")]
)
def test_sizes_are_read_at_a_glance(number, expected):
    assert formatting.size(number) == expected


@pytest.mark.parametrize(
    ("elapsed", "expected"),
    [
        (0, "just now"),
        (59, "59 seconds ago"),
        (60, "1 minute ago"),
        (3600 * 5, "5 hours ago"),
        (86400 * 40, "1 month ago"),
        (86400 * 800, "2 years ago"),
        (-100, "just now"),
    ],
)
def test_times_are_told_from_now(elapsed, expected):
    assert formatting.ago(1_000_000_000.0 - elapsed, 1_000_000_000.0) == expected


def test_counts_and_durations_read_well():
    assert (formatting.count(1, "file"), formatting.count(3891, "file")) == ("1 file", "3,891 files")
    assert formatting.count(2, "directory", "directories") == "2 directories"
    assert (formatting.duration(14.21), formatting.duration(187)) == ("14.2 s", "3 min 07 s")
    assert iso_time(0) == "1970-01-01T00:00:00Z"

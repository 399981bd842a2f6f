"""Tables for terminals and documents."""

from bench.figures import figure
from bench.table import figures_table, markdown_table, plain_table


def test_columns_are_as_wide_as_their_widest_cell():
    text = plain_table(("name", "n"), [("a", "1"), ("longer", "100")], "<>")

    assert text.splitlines() == [
        "name      n",
        "------  ---",
        "a         1",
        "longer  100",
    ]


def test_a_table_without_rows_has_its_headings():
    assert plain_table(("a", "b"), []).splitlines() == ["a  b", "-  -"]


def test_markdown_escapes_bars_and_aligns_by_its_second_line():
    text = markdown_table(("name", "n"), [("a|b", "1")], "<>")

    assert text.splitlines() == ["| name | n |", "| --- | ---: |", "| a\\|b | 1 |"]


def test_a_figure_shows_targets_comparisons_and_its_note_below():
    row = figure("cold", [4.0], "s", must="60 s", aim="10 s", beside=[("ctags", 2.0), ("rg", 8.0)], note="40 files")

    lines = figures_table([row]).splitlines()

    cells = [cell.strip() for cell in lines[2].split("  ") if cell]
    assert cells == ["cold", "60 s", "10 s", "4.00 s", "ctags 2.00 s (2.0x); rg 8.00 s (0.50x)"]
    assert lines[3].strip() == "40 files"

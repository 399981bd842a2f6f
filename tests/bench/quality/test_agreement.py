"""Literal and regular expression search compared with ripgrep, over random patterns."""

import trio

from bench.quality.agreement import Pattern, compare, in_ripgrep, our_lines, ripgrep_lines
from tests.conftest import tool
from tests.query.project import FILES


def test_random_patterns_give_the_lines_that_ripgrep_gives(workspace):
    workspace.write(FILES)
    workspace.write(
        {
            "unicode.txt": "größer als Ägypten\nпроверка подписи 12\n署名の検証 x1\ncafé_au_lait = 3\n",
            "crlf.txt": "first line = 1\r\nsecond line;\r\n\r\nlast line",
            "dense.py": "".join(
                f"value_{number} = [{number}, 0x{number:x}, '{number}-a.b']  # {number}%\n" for number in range(200)
            ),
        }
    )
    trio.run(workspace.sync)

    with workspace.index.snapshot() as snapshot:
        result = compare(snapshot, workspace.root, tool("rg"), seed=20261121, count=250)

    assert result.differences == ()
    assert result.matching > 150


def test_a_line_that_only_one_of_the_two_has_is_a_difference(workspace):
    workspace.write({"a.txt": "needle one\nneedle two\n"})
    trio.run(workspace.sync)
    workspace.write({"a.txt": "needle one\nchanged since\n", "not_indexed.txt": "needle three\n"})
    pattern = Pattern("literal", "needle")

    with workspace.index.snapshot() as snapshot:
        assert our_lines(snapshot, pattern) == {("a.txt", 1), ("a.txt", 2)}
        assert ripgrep_lines(tool("rg"), workspace.root, pattern, snapshot) == {("a.txt", 1)}
        differing = compare(snapshot, workspace.root, tool("rg"), seed=1, count=20).differences

    assert any(("a.txt", 2) in difference.only_ours for difference in differing)


def test_classes_that_mean_ascii_to_us_mean_it_in_ripgrep_too(workspace):
    workspace.write({"a.txt": "é\n٣\nx\n3\n"})
    trio.run(workspace.sync)

    with workspace.index.snapshot() as snapshot:
        for pattern, lines in ((r"^\w$", {3, 4}), (r"^\d$", {4}), (r"\bx\b", {3}), (r"^.$", {1, 2, 3, 4})):
            found = {("a.txt", line) for line in lines}
            assert our_lines(snapshot, Pattern("regex", pattern)) == found
            assert ripgrep_lines(tool("rg"), workspace.root, Pattern("regex", pattern), snapshot) == found


def test_an_escaped_backslash_before_a_letter_is_no_class():
    assert in_ripgrep(r"a\\d\d") == r"a\\d[0-9]"

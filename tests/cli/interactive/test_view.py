"""The lines on the screen: of the requested width, and without control sequences from their contents."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codecompass.cli.interactive.highlighting import PreviewHighlighter
from codecompass.cli.interactive.preview import MAX_LINE_CHARACTERS, preview
from codecompass.cli.interactive.source import CodeAround, ListedHit
from codecompass.cli.interactive.view import Line, cut_start, fitted, hit_row, key_line, preview_lines, status_line
from codecompass.cli.terminal import columns, printable
from codecompass.protocol.replies import Result

pytestmark = pytest.mark.invariant(of="test_nothing_of_a_repository_commands_the_terminal")

TEXTS = st.text(st.characters(), max_size=60) | st.sampled_from(["\x1b]0;x\x07", "漢字かな" * 9, "a\u0301" * 30, "\u202e\x9b31m"])
WIDTHS = st.integers(0, 130)
many = settings(max_examples=200, deadline=None)

FIRST_LINE = ListedHit(Result(path="a", line_start=1, line_end=1), 1)


@pytest.fixture(scope="module")
def highlighter():
    made = PreviewHighlighter()
    yield made
    made.close()


def wanted() -> bool:
    return False


def text_of(line: Line) -> str:
    return "".join(text for _, text in line)


def assert_harmless(line: Line) -> None:
    assert text_of(line) == printable(text_of(line))


@many
@given(TEXTS, TEXTS, TEXTS, WIDTHS, st.booleans(), st.booleans())
def test_a_row_has_the_width_of_the_terminal_whatever_the_repository_holds(path, name, text, width, is_selected, is_changed):
    result = Result(path=path, line_start=12, line_end=14, kind="fn", name=name, qualified_name=name)

    row = hit_row(ListedHit(result, 12, text), width, is_selected=is_selected, is_changed=is_changed)

    assert columns(text_of(row)) == width
    assert_harmless(row)


@many
@given(
    st.lists(TEXTS, max_size=12),
    st.sampled_from(["python", "html", "rust", "yaml", "no such language"]),
    WIDTHS,
    st.integers(0, 9),
)
@example(["0\u03000"], "python", 4, 2)
def test_a_preview_has_the_size_of_its_window(highlighter, lines, language, width, height):
    result = Result(path="a.py", line_start=2, line_end=4)

    shown = preview_lines(
        preview(CodeAround(1, tuple(lines), language), ListedHit(result, 2), highlighter, wanted), width, height
    )

    assert len(shown) <= height
    for line in shown:
        assert columns(text_of(line)) == width
        assert_harmless(line)


@many
@given(
    st.lists(st.text(st.characters(exclude_characters="\n"), max_size=60), max_size=12),
    st.sampled_from(["python", "c", "markdown"]),
)
def test_highlighting_moves_no_line(highlighter, lines, language):
    shown = preview(CodeAround(1, tuple(lines), language), FIRST_LINE, highlighter, wanted)

    assert [text_of(list(line)) for line in shown.lines] == [printable(line.expandtabs(4).rstrip()) for line in lines]


def test_syntax_is_coloured(highlighter):
    shown = preview(CodeAround(1, ("def f():", "    return 'x'  # why"), "python"), FIRST_LINE, highlighter, wanted)

    assert ("class:code.keyword", "def") in shown.lines[0]
    assert ("class:code.comment", "# why") in shown.lines[1]


def test_a_line_of_data_is_cut_before_it_is_highlighted(highlighter):
    code = CodeAround(1, ("x" * 1_000_000,), "python")

    shown = preview(code, FIRST_LINE, highlighter, wanted)

    assert len(text_of(list(shown.lines[0]))) == MAX_LINE_CHARACTERS


@many
@given(TEXTS.map(printable), WIDTHS)
def test_what_is_cut_keeps_its_end_or_its_beginning(text, width):
    assert columns(text_of(fitted([("", text)], width))) == width
    short = cut_start(text, max(width, 1))
    assert columns(short) <= max(width, 1)
    assert text.endswith(short.removeprefix("…"))


@many
@given(TEXTS.map(printable), TEXTS.map(printable), WIDTHS)
def test_a_status_and_the_keys_fit(left, right, width):
    assert columns(text_of(status_line(width, left, False, ("", right)))) == width
    assert columns(text_of(key_line(width))) == width

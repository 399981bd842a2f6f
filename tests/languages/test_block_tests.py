"""Tests with titles and blocks: cases that the golden samples do not contain."""

import pytest
from tree_sitter_language_pack import get_parser

from codecompass import languages
from codecompass.languages.walk.block_tests import MAX_DEPTH, MAX_MATCHES, MAX_TITLE
from codecompass.languages.walk.extract import extract, parse


def found(name, source):
    language = languages.load(name)
    return extract(language, parse(language, get_parser(language.grammar), source).root_node, source, "a/b").symbols


def block_tests_of(name, source):
    return [(symbol.name, symbol.line_start, symbol.line_end) for symbol in found(name, source) if symbol.kind == "test"]


def test_a_title_is_one_line_of_bounded_length():
    titles = block_tests_of("javascript", b"it(`adds\n   two\n numbers`, () => {});\nit('" + b"x " * 500 + b"', () => {});\n")

    assert titles[0] == ("adds two numbers", 1, 3)
    assert len(titles[1][0]) <= MAX_TITLE
    assert titles[1][0].endswith("…")


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("javascript", b"it('', () => {});\nit('  ', () => {});\n"),
        ("javascript", b"const it = 1;\nit(x);\nit['a'];\n"),
        ("javascript", b"x = `\nit('in a text', () => {})\n`;\n"),
        ("javascript", b"it('a' + b, () => {});\n"),
        ("ruby", b'x = <<~TEXT\n  it "is text" do\n  end\nTEXT\n'),
        ("ruby", b"it = 1\nputs it\n"),
        ("elixir", b'@doc """\ntest "x" do\nend\n"""\n'),
        ("bash", b'cat <<EOF\n@test "x" {\n}\nEOF\n'),
        ("php", b"<?php\n$x->it('a', function () {});\n"),
    ],
)
def test_a_line_that_only_looks_like_a_test_is_left_out(name, source):
    assert block_tests_of(name, source) == []


def test_the_first_line_and_windows_line_ends_are_no_exception():
    assert block_tests_of("javascript", b"it('a', () => {\r\n});\r\nit('b', () => {});") == [("a", 1, 2), ("b", 3, 3)]


def test_deep_nesting_does_not_make_names_of_any_length():
    depth = 300
    source = b"".join(b"describe('" + b"level " * 20 + b"', () => {\n" for _ in range(depth)) + b"});\n" * depth

    assert max(len(symbol.qualified_name) for symbol in found("javascript", source)) < 2_000


def test_a_file_has_a_bounded_number_of_tests():
    source = b"it('a', () => {});\n" * (MAX_MATCHES + 10)

    assert len(block_tests_of("javascript", source)) == MAX_MATCHES


def test_tests_in_tests_have_a_bounded_depth():
    """Code that nests the symbols of a file relies on a bounded depth."""
    symbols = found("javascript", b"describe('a', () => {\n" * 400 + b"});\n" * 400)

    depths: list[int] = []
    for symbol in symbols:
        depths.append(1 if symbol.parent < 0 else depths[symbol.parent] + 1)

    assert len(symbols) == 400
    assert max(depths) == MAX_DEPTH + 1

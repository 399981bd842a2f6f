"""Preparation of Haskell source, and recovery of definitions that the grammar misses."""

import pytest
from tree_sitter_language_pack import get_parser

from codecompass import languages
from codecompass.languages.functional.haskell_syntax import prepare
from codecompass.languages.walk.extract import extract, parse


def names_in(text):
    haskell = languages.load("haskell")
    source = text.encode()
    tree = parse(haskell, get_parser("haskell"), source)
    return [
        (symbol.name, symbol.line_start, symbol.line_end) for symbol in extract(haskell, tree.root_node, source, "A.hs").symbols
    ]


@pytest.mark.parametrize(
    "text",
    ["a = '\\n'\n\nb' = 1\n", "#if X\na = 1\n#else\nb = '\\1234'\n#endif\n", "é = '\\DEL' -- ü\n#elif\n", "#endif\n#else\n#if"],
)
def test_the_parser_gets_as_many_bytes_and_the_same_line_breaks(text):
    source = text.encode()

    result = prepare(source)

    assert len(result) == len(source)
    assert [index for index, byte in enumerate(result) if byte == 10] == [
        index for index, byte in enumerate(source) if byte == 10
    ]


def test_an_escaped_character_swallows_no_definitions():
    """The grammar searched for a closing quote from `'\\n'` at the end of a line up to the next name with a prime."""
    text = "a = char '\\n'\n\nb :: Int\nb = 1\n\nc' = 2\n"

    assert names_in(text) == [("a", 1, 1), ("b", 3, 4), ("c'", 6, 6)]


def test_both_branches_of_a_top_level_conditional_are_found():
    text = "#ifdef X\na = 1\n#else\na = 2\nb = 3\n#endif\n"

    assert names_in(text) == [("a", 2, 2), ("a", 4, 4), ("b", 5, 5)]


def test_a_conditional_inside_a_function_is_left_alone():
    text = "f x =\n#if X\n  x + 1\n#else\n  x + 2\n#endif\ng = 1\n"

    assert prepare(text.encode()) == text.encode()
    assert ("g", 7, 7) in names_in(text)


def test_a_function_after_an_open_bracket_is_found_in_the_text():
    text = "a = (\n\n{-\nnot_me :: Int\n-}\nb :: Int\n  -> Int\nb 0 = 1\nb n = n\n\nc = 2\n"

    found = names_in(text)

    assert ("b", 6, 9) in found
    assert "not_me" not in [name for name, _, _ in found]


def test_a_recovered_signature_is_whole_and_without_comments():
    """After an open bracket the grammar finds nothing; reading the text found only the first line of the type."""
    text = (
        "broken = [ (\n\nload\n  :: FilePath  -- ^ where\n  -> {- how often -} Int\n  -> IO (Maybe Text)\n"
        "load path n = undefined\n\nnext :: Int -> Int\nnext = (+ 1)\n"
    )
    haskell = languages.load("haskell")
    source = text.encode()

    symbols = extract(haskell, parse(haskell, get_parser("haskell"), source).root_node, source, "A.hs").symbols

    assert [(symbol.signature, symbol.line_start, symbol.line_end) for symbol in symbols if symbol.name in ("load", "next")] == [
        ("load :: FilePath -> Int -> IO (Maybe Text)", 3, 7),
        ("next :: Int -> Int", 9, 10),
    ]

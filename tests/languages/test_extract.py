"""Guarantees of the walk for all languages: order, nesting, cleaned signatures and docs."""

import pytest
from tree_sitter_language_pack import get_parser

from codecompass import languages
from codecompass.languages.walk.extract import MAX_NESTING, MAX_SYMBOLS_PER_FILE, clean_doc, clean_signature, extract, parse


def extraction(name, text, path="a"):
    language = languages.load(name)
    source = text.encode()
    return extract(language, parse(language, get_parser(language.grammar), source).root_node, source, path)


def test_symbols_come_out_by_line_with_parents_before_their_members():
    """The fields that a constructor sets are extracted with the constructor, its nested functions later."""
    text = "class A:\n def __init__(self):\n  self.a = 1\n  def f(): pass\n  self.b = 2\n def g(self): pass\n"

    symbols = extraction("python", text).symbols

    assert [(symbol.name, symbol.line_start) for symbol in symbols] == [
        ("A", 1),
        ("__init__", 2),
        ("a", 3),
        ("f", 4),
        ("b", 5),
        ("g", 6),
    ]
    assert [symbols[symbol.parent].name if symbol.parent >= 0 else "" for symbol in symbols] == [
        "",
        "A",
        "A",
        "__init__",
        "A",
        "A",
    ]


@pytest.mark.parametrize(
    ("name", "opening", "closing"),
    [("rust", "mod a {\n", "}\n"), ("java", "class A {\n", "}\n"), ("javascript", "function f() {\n", "}\n")],
)
def test_generated_nesting_ends_at_the_limit(name, opening, closing):
    """Otherwise qualified names grow quadratically: 200 kB of braces became gigabytes."""
    depth = 20 * MAX_NESTING

    symbols = extraction(name, opening * depth + closing * depth).symbols

    assert len(symbols) == MAX_NESTING + 1
    assert symbols[-1].qualified_name.count(symbols[-1].name) > MAX_NESTING


def test_a_file_of_generated_constants_keeps_what_is_found_up_to_the_limit():
    text = "".join(f"A{number} = {number}\n" for number in range(MAX_SYMBOLS_PER_FILE + 5))

    assert len(extraction("python", text).symbols) == MAX_SYMBOLS_PER_FILE


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("def f(\n    a,\n    b,\n):", "def f(a, b)"),
        ("fn f<T>()\nwhere\n    T: X,\n{", "fn f<T>() where T: X"),
        ("x = [\n 1,\n 2\n]", "x = [1, 2]"),
        ("const A = ", "const A"),
        ("impl a::", "impl a::"),
        ("", ""),
        ("a" * 300, "a" * 239 + "…"),
    ],
)
def test_a_signature_is_one_line_without_what_opens_the_body(text, expected):
    assert clean_signature(text) == expected


def test_the_ending_of_a_signature_is_within_the_limit():
    assert clean_signature("int f(int a);", ";") == "int f(int a);"
    assert clean_signature("a" * 300, ";") == "a" * 238 + "…;"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"""Does it.\n\n    More.\n    """', "Does it."),
        ("/**\n * Does\n * it.\n *\n * @param a b\n */", "Does it."),
        ("/// Does `it`.", "Does `it`."),
        ("# one\n# two", "one two"),
        ("//", ""),
        ("# " + "word " * 200, ("word " * 200)[:299].rstrip() + "…"),
    ],
)
def test_a_doc_is_its_first_paragraph_without_markers(text, expected):
    assert clean_doc(text) == expected

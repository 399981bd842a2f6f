"""Common to all languages: signatures without comments, and which comment belongs to the definition after it."""

import pytest
from tree_sitter_language_pack import get_parser

from codecompass import languages
from codecompass.languages.detect import EXTENSIONS
from codecompass.languages.language import HEAD_BYTES
from codecompass.languages.walk.extract import extract, parse


def symbols_of(name, text):
    language = languages.load(name)
    source = text.encode()
    root = parse(language, get_parser(language.grammar), source).root_node
    extension = next(extension for extension, of in EXTENSIONS.items() if of == name)
    return extract(language, root, source, f"a{extension}").symbols


@pytest.mark.parametrize(
    ("name", "text", "signature"),
    [
        ("python", "def f(a,  # first\n      b):  # why\n    pass\n", "def f(a, b)"),
        ("go", "package p\nfunc f(a int, // first\n\tb int /* second */) error { // why\n}\n", "func f(a int, b int) error"),
        ("rust", "fn f(\n    a: u8, // first\n    /* second */ b: u8,\n) -> u8 // why\n{ 1 }\n", "fn f(a: u8, b: u8) -> u8"),
        ("java", "class A { void f(int a, // first\n int b /* second */) throws E // why\n{} }", "void f(int a, int b) throws E"),
        (
            "typescript",
            "function f(a: number, // first\n  b: 'x//y'): void { // why\n}\n",
            "function f(a: number, b: 'x//y'): void",
        ),
        ("javascript", "const f = (a, // first\n  b) => { // why\n}\n", "const f = (a, b)"),
        ("ruby", "def f(a, # first\n      b) # why\nend\n", "def f(a, b)"),
        ("elixir", "def f(a, # first\n      b) do # why\n  1\nend\n", "def f(a, b)"),
        ("php", "<?php function f($a, // first\n  $b /* second */) // why\n{}\n", "function f($a, $b)"),
        ("lua", "function f(a, -- first\n  b) -- why\nend\n", "function f(a, b)"),
        ("haskell", "f :: Int -- ^ first\n  -> {- second -} Int\nf = id\n", "f :: Int -> Int"),
        ("bash", "f=(1 # one\n  2)\n", "f=(1 2)"),
        (
            "kotlin",
            "fun f(a: Int, // first\n      b: Int /* two */): Int { // why\n return 1 }\n",
            "fun f(a: Int, b: Int): Int",
        ),
        (
            "swift",
            "func f(a: Int, // first\n b: Int /* two */) -> Int { // why\n return 1 }\n",
            "func f(a: Int, b: Int) -> Int",
        ),
        ("scala", "object O { def f(a: Int, // first\n b: Int): Int = { // why\n 1 } }\n", "def f(a: Int, b: Int): Int"),
        ("csharp", "class A { void f(int a, // first\n int b /* second */) // why\n {} }", "void f(int a, int b)"),
        ("cpp", "int f(int a, // first\n      int b) // why\n{ return 1; }\n", "int f(int a, int b)"),
        ("zig", "fn f(a: u8, // first\n    b: u8) void { // why\n}\n", "fn f(a: u8, b: u8) void"),
    ],
)
def test_a_signature_holds_no_comments(name, text, signature):
    assert [symbol.signature for symbol in symbols_of(name, text) if symbol.name == "f"] == [signature]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("go", "package p\ntype T struct { // about T\n\tf int\n}\n"),
        ("typescript", "interface T { // about T\n  f: number\n}\n"),
        ("elixir", "defmodule T do # about T\n  def f(a), do: a\nend\n"),
        ("rust", "struct T { // about T\n    f: u8,\n}\n"),
        ("python", "class T: # about T\n    f = 1\n"),
        ("lua", "local t = { -- about t\n  f = function() end,\n}\n"),
    ],
)
def test_a_comment_after_an_opening_brace_does_not_document_the_first_member(name, text):
    assert [symbol.doc for symbol in symbols_of(name, text) if symbol.name == "f"] == [""]


def test_two_comments_on_one_line_are_both_about_what_follows():
    (symbol,) = symbols_of("javascript", "/** One. */ /* Two. */\nfunction f() {}\n")

    assert symbol.doc == "One. Two."


def test_a_signature_is_cut_before_a_long_value_is_read():
    """A table of thousands of lines with comments must cost no more than its first lines."""
    (symbol,) = symbols_of("python", "f = [\n" + "    1,  # one\n" * HEAD_BYTES + "]\n")

    assert symbol.signature.startswith("f = [1, 1, 1,")
    assert "#" not in symbol.signature

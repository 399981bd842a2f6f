"""Hits for people: names without what the path says, lines that matter, columns that fit."""

import io
from pathlib import Path

import pytest

from codecompass.cli.excerpts import Excerpt, NumberedLine, word_pattern
from codecompass.cli.render import short_name, write_hits, write_outline
from codecompass.cli.terminal import Terminal, columns
from codecompass.protocol.metadata import Metadata
from codecompass.protocol.replies import FileOutlineReply, OutlineNode, Result


def result(path: str, kind: str, qualified_name: str, **fields: object) -> Result:
    name = fields.pop("name", qualified_name.replace("::", ".").replace("#", ".").rpartition(".")[2])
    return Result(
        path=path, line_start=7, line_end=9, kind=kind, name=name, qualified_name=qualified_name, symbol_id="s", **fields
    )


@pytest.mark.parametrize(
    ("path", "kind", "qualified_name", "expected"),
    [
        ("src/pkg/jwt.py", "fn", "pkg.jwt.validate", "validate"),
        ("src/pkg/jwt.py", "method", "pkg.jwt.Token.close", "Token.close"),
        ("auth/jwt.rs", "fn", "auth::jwt::validate", "validate"),
        ("com/shop/Cart.java", "method", "com.shop.Cart.total", "Cart.total"),
        ("lib/a.rb", "method", "A::B#m", "A::B#m"),
        ("x/x.go", "method", "x.(*T).Run", "(*T).Run"),
        ("other.py", "fn", "pkg.validate", "pkg.validate"),
        ("a.hs", "fn", "M.f", "M.f"),
    ],
)
def test_a_name_leaves_out_what_the_path_says(path, kind, qualified_name, expected):
    assert short_name(result(path, kind, qualified_name)) == expected


def test_a_name_of_odd_characters_is_shown_as_it_is():
    odd = result("a.cpp", "fn", "ns::operator/", name="operator/")

    assert short_name(odd) == "ns::operator/"
    assert short_name(result("a.py", "fn", "", name="f")) == "f"


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [40, 80, 140])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width):
    screen = Screen()
    terminal = Terminal({"NO_COLOR": "1"}, out=screen, err=io.StringIO())
    terminal.width = width
    long = "漢字" * 100 + "word"
    hits = [result("a.py", "fn", "a." + "x" * 300, signature="def " + "y" * 300), result("b.py", "fn", "b.f")]

    write_hits(terminal, tmp_path, hits, [Excerpt((NumberedLine(123, long),)), Excerpt(())], word_pattern("word"))

    lines = screen.getvalue().splitlines()
    # The place itself is never cut: it is what one copies.
    assert max(columns(line) for line in lines[1:3]) <= width
    assert lines[1].endswith("…")


def test_the_words_of_the_query_stand_out():
    screen = Screen()
    terminal = Terminal({}, out=screen, err=io.StringIO())

    excerpt = Excerpt((NumberedLine(8, "    validates = emailValidatorOf()"),))
    write_hits(terminal, Path("/p"), [result("a.py", "fn", "a.f")], [excerpt], word_pattern("where to validate"))

    assert "\x1b[33;1mvalidates\x1b[0m" in screen.getvalue()
    assert "email\x1b[33;1mValidator\x1b[0mOf" in screen.getvalue()


def test_lines_lose_the_indentation_that_they_share():
    screen = io.StringIO()
    lines = Excerpt((NumberedLine(8, "\t\tif a:"), NumberedLine(9, "\t\t\treturn")), is_cut=True)

    write_hits(Terminal({}, out=screen), Path("/p"), [result("a.py", "fn", "a.f")], [lines], None)

    assert screen.getvalue().splitlines()[1:] == ["   8  if a:", "   9      return", "      …"]


def test_imports_of_an_outline_are_one_line():
    nodes = (
        OutlineNode(kind="use", name="os", line_start=1, line_end=1),
        OutlineNode(kind="use", name="re", line_start=2, line_end=2),
        OutlineNode(kind="class", name="A", line_start=4, line_end=9, signature="class A(B)"),
        OutlineNode(kind="fn", name="f", line_start=12, line_end=13),
    )
    screen = io.StringIO()
    metadata = Metadata(
        codecompass_protocol_version="1.0",
        freshness_status="fresh",
        indexing_status="ready",
        result_completeness="complete",
        ref="main",
        schema_status="compatible",
        workspace="/p",
        project_id="x",
    )

    reply = FileOutlineReply(file_path="a.py", language="python", symbols=nodes, metadata=metadata)
    write_outline(Terminal({}, out=screen), Path("/p"), reply)

    assert screen.getvalue().splitlines()[1:] == ["   1  use os, re", "   4  class A(B)", "  12  fn f"]

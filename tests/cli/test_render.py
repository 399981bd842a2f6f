"""Hits for people: names without what the path already says, relevant lines, columns that fit."""

import io
from pathlib import Path

import pytest

from codecompass.cli.render import write_hits, write_outline
from codecompass.cli.terminal import Terminal, columns
from codecompass.protocol.metadata import Metadata
from codecompass.protocol.replies import Excerpt, FileOutlineReply, MatchedLine, OutlineNode, Result
from codecompass.query.excerpts import word_pattern


def result(path: str, kind: str, qualified_name: str, **fields: object) -> Result:
    name = fields.pop("name", qualified_name.replace("::", ".").replace("#", ".").rpartition(".")[2])
    return Result(
        path=path, line_start=7, line_end=9, kind=kind, name=name, qualified_name=qualified_name, result_type="symbol", **fields
    )


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("width", [40, 80, 140])
def test_no_line_is_wider_than_the_terminal(tmp_path: Path, width):
    screen = Screen()
    terminal = Terminal({"NO_COLOR": "1"}, out=screen, err=io.StringIO())
    terminal.width = width
    long = "漢字" * 100 + "word"
    excerpt = Excerpt(lines=(MatchedLine(line=123, text=long),))
    hits = [
        result("a.py", "fn", "a." + "x" * 300, signature="def " + "y" * 300, excerpt=excerpt),
        result("b.py", "fn", "b.f"),
    ]

    write_hits(terminal, {"": tmp_path}, hits, word_pattern("word"))

    lines = screen.getvalue().splitlines()
    # The location is never cut, because users copy it.
    assert max(columns(line) for line in lines[1:3]) <= width
    assert lines[1].endswith("…")


def test_the_words_of_the_query_stand_out():
    screen = Screen()
    terminal = Terminal({}, out=screen, err=io.StringIO())

    excerpt = Excerpt(lines=(MatchedLine(line=8, text="    validates = emailValidatorOf()"),))
    write_hits(terminal, {"": Path("/p")}, [result("a.py", "fn", "a.f", excerpt=excerpt)], word_pattern("where to validate"))

    assert "\x1b[33;1mvalidates\x1b[0m" in screen.getvalue()
    assert "email\x1b[33;1mValidator\x1b[0mOf" in screen.getvalue()


def test_lines_lose_the_indentation_that_they_share():
    screen = io.StringIO()
    lines = (MatchedLine(line=8, text="\t\tif a:"), MatchedLine(line=9, text="\t\t\treturn"))

    hits = [result("a.py", "fn", "a.f", excerpt=Excerpt(lines=lines, n_omitted=3))]
    write_hits(Terminal({}, out=screen), {"": Path("/p")}, hits, None)

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

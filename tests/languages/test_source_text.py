"""Reading the text of a source file: the comment above a definition, and the offsets of markers."""

import re

import pytest
from tree_sitter_language_pack import get_parser

from codecompass.languages.language import RuleContext
from codecompass.languages.walk.source_text import comment_above_byte, holds_marker, offsets


def above(source: str) -> str:
    """Returns the comment above the line that contains `HERE`."""
    data = source.encode()
    return comment_above_byte(data, data.index(b"HERE"))


@pytest.mark.parametrize(
    ("source", "comment"),
    [
        ("// one\n// two\nHERE", "// one\n// two"),
        ("/* block\n * more */\nHERE", "/* block\n * more */"),
        ("  /// indented\n  HERE", "  /// indented"),
        ("// about\n[[nodiscard]]\n@Inline(x)\nHERE", "// about"),
        ("/* about */\nEXPORT_API\nHERE", "/* about */"),
        ("// about\nEXPORT_API HERE", "// about"),
    ],
)
def test_a_comment_on_the_lines_above_is_found_through_attributes(source, comment):
    assert above(source) == comment


@pytest.mark.parametrize(
    "source",
    [
        "// apart\n\nHERE",
        "int a; /* about a */\nHERE",
        "int b;\nHERE",
        "// above the line\nint a; HERE",
        "HERE",
        "never opened */\nHERE",
    ],
)
def test_a_comment_that_is_about_something_else_is_not_taken(source):
    assert above(source) == ""


def test_offsets_of_several_markers_are_in_order():
    assert offsets(b"b a b a", (b"a", b"b")) == (0, 2, 4, 6)


def test_a_pattern_keeps_the_offsets_at_which_it_matches():
    assert offsets(b"function (a) function b", (b"function",), re.compile(rb"function \w")) == (13,)


def test_a_node_holds_the_markers_between_its_first_and_its_last_byte():
    root = get_parser("python").parse(b"a = 1\nb = 2\nc = 3\n").root_node
    context = RuleContext(path="a", source=b"", module=(), marker_offsets=(6,))

    assert [holds_marker(node, context) for node in root.named_children] == [False, True, False]

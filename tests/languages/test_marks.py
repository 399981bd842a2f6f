"""Where markers stand, and whether a node holds one."""

import re

from tree_sitter_language_pack import get_parser

from codecompass.languages.language import Context
from codecompass.languages.source_text import holds_mark, offsets


def test_offsets_come_in_order_whatever_marker_they_are_of():
    assert offsets(b"b a b a", (b"a", b"b")) == (0, 2, 4, 6)


def test_a_pattern_keeps_the_offsets_at_which_it_matches():
    assert offsets(b"function (a) function b", (b"function",), re.compile(rb"function \w")) == (13,)


def test_a_node_holds_the_marks_between_its_first_and_its_last_byte():
    root = get_parser("python").parse(b"a = 1\nb = 2\nc = 3\n").root_node
    context = Context(path="a", source=b"", module=(), marks=(6,))

    assert [holds_mark(node, context) for node in root.named_children] == [False, True, False]

"""The comment above a definition, as read from the text."""

import pytest

from codecompass.languages.source_text import comment_above_byte


def above(source: str) -> str:
    """The comment above the line that holds `HERE`."""
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

"""JSON as people write it."""

import pytest

from codecompass.imports.jsonc import decode


def test_comments_and_last_commas_are_no_part_of_the_value():
    source = b"""\xef\xbb\xbf// first
    {
        "url": "https://x/*not*/", /* a
        comment */ "list": [1, 2, /* three */ ], // end
        "quote": "\\"// kept, ]",
    }"""

    assert decode(source) == {"url": "https://x/*not*/", "list": [1, 2], "quote": '"// kept, ]'}


@pytest.mark.parametrize("source", [b"", b"[]", b"3", b"{", b'{"a": }', b"\xff\xfe{}", b'{"a": 1} x', b"/*" * 50_000])
def test_what_is_no_object_is_a_value_error(source):
    with pytest.raises(ValueError):
        decode(source)

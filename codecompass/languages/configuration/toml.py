"""TOML: tables and keys; lock files have none."""

import re
from collections.abc import Iterator

from codecompass import lazy
from codecompass.languages.configuration.keys import first, has_keys, tables
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import Entry

_PART = r"(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')"
_STRING = (
    r"\"\"\"(?>(?:[^\"\\]++|\\[\s\S]|\"(?!\"\"))*)\"\"\"|'''(?>(?:[^']++|'(?!''))*)'''"
    r"|\"(?>(?:[^\"\\\n]++|\\.)*)\"|'[^'\n]*+'"
)
_ITEM = rf"(?:[^\[\]\"'#]++|{_STRING}|#[^\n]*+)"
_VALUE = rf"[ \t]*+(?:{_STRING}|\[(?>(?:{_ITEM}|\[(?>{_ITEM}*)\])*)\])"
"""A string or an array: what can take several lines and hold what looks like a key."""

_PATTERN = lazy.pattern(
    rf"^[ \t]*+\[{{1,2}}(?P<table>[^\[\]\n]++)\]|^[ \t]*+(?P<key>{_PART}(?>(?:\.{_PART})*))[ \t]*+=(?!=)(?>(?:{_VALUE})?)",
    re.MULTILINE,
)


def outline(text: str, path: str) -> Iterator[Entry]:
    """Yields tables and keys."""
    if has_keys(text, path):
        yield from first(tables(_PATTERN, text))


TOML = Language(outline=outline, comment_starts=(b"#",), display=Display(line_comment="#", lexer="toml"))

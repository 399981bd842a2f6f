"""Org: headlines as sections, without their states and tags."""

import re

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import headings

_BLOCKS = lazy.pattern(
    r"^[ \t]*+#\+begin_(?P<block>\w++).*?(?:^[ \t]*+#\+end_(?P=block)\b|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE
)


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns the number of stars."""
    return len(match[1])


ORG = Language(
    outline=headings(
        r"^(\*++)[ \t]++(?:(?:TODO|DONE|NEXT|WAIT(?:ING)?|CANCELLED)[ \t]++)?(?:\[#\w\][ \t]++)?"
        r"(?P<section>[^\n]*?\S)(?:[ \t]++:[\w@:#%]+:)?[ \t]*+$",
        level,
        _BLOCKS,
    ),
    display=Display(line_comment="#", lexer="org"),
)

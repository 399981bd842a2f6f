"""AsciiDoc: headings as sections."""

import re

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import headings

_LISTINGS = lazy.pattern(
    r"^(?P<fence>-{4,}+|\.{4,}+|`{3,}+|/{4,}+|\+{4,}+)[^\n]*\n.*?(?:^(?P=fence)[ \t]*$|\Z)", re.DOTALL | re.MULTILINE
)


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns the number of `=`."""
    return len(match[1])


ASCIIDOC = Language(
    outline=headings(r"^(={1,6}|#{1,6})[ \t]++(?P<section>[^\n]*?\S)[ \t]*+(?:=++[ \t]*+)?$", level, _LISTINGS),
    display=Display(lexer=None),
)

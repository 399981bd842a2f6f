"""Markdown: headings as sections."""

import re

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import headings

WITHOUT_HEADINGS = (
    r"\A---\n.*?\n(?:---|\.\.\.)[ \t]*$|<!--.*?(?:-->|\Z)"
    r"|^[ \t>]*+(?P<fence>`{3,}+|~{3,}+)[^\n]*\n.*?(?:^[ \t>]*+(?P=fence)[`~]*+[ \t]*$|\Z)"
)
"""Front matter, comments and listings."""

NO_HEADINGS = lazy.pattern(WITHOUT_HEADINGS, re.DOTALL | re.MULTILINE)


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns the number of `#`, or 1 and 2 for the two kinds of underlines."""
    mark = match[0].lstrip()
    return len(mark) - len(mark.lstrip("#")) or (1 if mark.rstrip()[-1] == "=" else 2)


HEADING = (
    r"#{1,6}[ \t]++(?P<section>[^\n]*?)[ \t]*+(?:#++[ \t]*+)?$"
    r"|(?:\A|(?<=\n\n))(?P<section2>[^\s\-*+>|#=`][^\n|]*+)\n(?:=++|-{2,})[ \t]*+$"
)
"""A heading after its indentation, or with a line below it."""

MARKDOWN = Language(
    outline=headings(rf"^ {{0,3}}{HEADING}", level, NO_HEADINGS),
    display=Display(lexer=None),
)

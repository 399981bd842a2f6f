"""Pages of manuals (`man`, `mdoc`): their sections."""

import re

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import headings


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns 1 for a section, 2 for one in it."""
    return 2 if match[0][1:3].lower() == "ss" else 1


MAN = Language(
    outline=headings(r"^\.(?:SH|SS|Sh|Ss)[ \t]++\"?(?P<section>[^\n\"]*?\S)\"?[ \t]*+$", level),
    comment_starts=(b'.\\"',),
    display=Display(line_comment='.\\"', lexer="groff"),
)

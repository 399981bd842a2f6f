"""reStructuredText: titles as sections, whose order tells how deep each style of underline is."""

import re

from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import headings

_LINE = r"(?:={2,}|-{2,}|`{2,}|:{2,}|'{2,}|\"{2,}|~{2,}|\^{2,}|_{2,}|\*{2,}|\+{2,}|#{2,}|<{2,}|>{2,}|\.{3,})"


def level(match: re.Match[str], seen: list[str]) -> int:
    """Returns the place of the style of a title among those before it; 0 if the underline is too short."""
    over, title, under = match["over"] or "", match["section"], match["under"]
    if len(under) < len(title.rstrip()) - 1 or (over and over[0] != under[0]):
        return 0
    style = f"{over[:1]}{under[0]}"
    if style not in seen:
        seen.append(style)
    return seen.index(style) + 1


RESTRUCTUREDTEXT = Language(
    outline=headings(
        rf"(?:\A|(?<=\n))(?:(?P<over>{_LINE})[ \t]*+\n[ ]*+)?(?P<section>(?!\.\. )[^\s][^\n]*+)\n(?P<under>{_LINE})[ \t]*+$"
        r"",
        level,
    ),
    display=Display(line_comment="..", lexer="rst"),
)

"""reStructuredText: titles as sections, whose order tells how deep each style of underline is; labels, citations, substitutions
and references to them, included files and the documents of a table of contents."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.imports.plain import plain_imports
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, blocks, headings, plain_title, together

_LINE = r"(?:={2,}|-{2,}|`{2,}|:{2,}|'{2,}|\"{2,}|~{2,}|\^{2,}|_{2,}|\*{2,}|\+{2,}|#{2,}|<{2,}|>{2,}|\.{3,})"
_SHORTEST: Final = 4
"""Characters of an underline that is one although its title is longer, as docutils has it."""

_ROLE: Final = lazy.pattern(
    r"(?::[\w+.-]++(?>(?::[\w+.-]++)*):)?`([^`<]*[^`<\s])(?:[ ]<[^`<>]*+>)?`_{0,2}|[ ]\[[\w#*.-]++\]_|\|([^|\s][^|]*+)\|_{0,2}"
)
_CONTENTS: Final = lazy.pattern(r"^[ \t]*+\.\. toctree::[^\n]*\n((?>(?:[ \t]++[^\n]*+\n|[ \t]*+\n)+))", re.MULTILINE)
_DOCUMENT: Final = lazy.pattern(r"^[ \t]++(?!:)(?:[^\n<]*<)?(/?(?!self\b|https?:)[\w.][\w./-]*+)>?[ \t]*+$", re.MULTILINE)


def level(match: re.Match[str], seen: list[str]) -> int:
    """Returns the place of the style of a title among those before it; 0 if the underline is too short."""
    over, title, under = match["over"] or "", match["section"], match["under"]
    if (len(under) < len(title.rstrip()) - 1 and len(under) < _SHORTEST) or (over and over[0] != under[0]):
        return 0
    style = f"{over[:1]}{under[0]}"
    if style not in seen:
        seen.append(style)
    return seen.index(style) + 1


def title(text: str) -> str:
    """Returns a title with the texts of its links and roles."""
    return plain_title(_ROLE.sub(lambda match: match[1] or match[2] or "", text.replace("``", "`")))


_SECTIONS: Final = together(
    headings(
        rf"(?:\A|(?<=\n))(?:(?P<over>{_LINE})[ \t]*+\n[ ]*+)?(?P<section>(?!\.\. )[^\s][^\n]*+)\n(?P<under>{_LINE})[ \t]*+$"
        r"",
        level,
        title=title,
    ),
    blocks(
        r"^\.\.[ ]++(?:_`(?P<target>[^`\n]++)`:|_(?P<target2>[^_`:\n](?>(?:[^:\n]|:(?!\s))*)):(?=\s|\Z)"
        r"|\[(?!\d++\])(?P<target3>[\w.-]++)\](?=[ ])"
        r"|\|(?P<target4>[^|\n]++)\|[ ]++\w++::)",
        ends={},
        imports=r"^[ \t]*+\.\.[ ]++(?:include|literalinclude)::[ ]++(\S++)",
    ),
)


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields other files, then sections and labels."""
    for contents in _CONTENTS.finditer(text):
        for match in _DOCUMENT.finditer(contents[1]):
            line = text.count("\n", 0, contents.start(1) + match.start(1)) + 1
            yield Import(line, line, match[1], kind="include")
    yield from _SECTIONS(text, path)


RESTRUCTUREDTEXT = Language(
    outline=outline,
    imports=plain_imports(endings=("", ".rst", ".txt")),
    uses=references(
        "restructuredtext",
        r":(?:ref|numref|any|term)?:`(?:[^`<\n]*<)?(?P<command>[^`<>\n]++)>?`|(?<![\w:`])`(?P<command2>[^`<>\n]++)`_(?!_)"
        r"|\[(?P<command3>[A-Za-z][\w.-]*+)\]_|\|(?P<command4>[^|\s\n][^|\n]*+)\|",
    ),
    display=Display(line_comment="..", lexer="rst"),
)

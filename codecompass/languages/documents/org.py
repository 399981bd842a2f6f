"""Org: headlines as sections, without their states, priorities, tags and marks of links and code."""

import re
from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import Entry, headings, plain_title

_BLOCKS = lazy.pattern(
    r"^[ \t]*+#\+begin_(?P<block>\w++).*?(?:^[ \t]*+#\+end_(?P=block)\b|\Z)", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
_STATES: Final = lazy.pattern(r"^[ \t]*+#\+(?:seq_|typ_)?todo:([^\n]*+)", re.MULTILINE | re.IGNORECASE)
_STATE: Final = lazy.pattern(r"([^\s|()]++)(?:\([^()]*+\))?")
_USUAL: Final = frozenset({"TODO", "DONE", "NEXT", "WAIT", "WAITING", "CANCELLED"})
"""States that are read although a file does not declare them, because its readers' settings do."""

_BEFORE: Final = lazy.pattern(r"(?:\[#\w{1,2}\][ \t]++)?(?:COMMENT[ \t]++)?")
_LINK: Final = lazy.pattern(r"\[\[([^\[\]]++)\](?:\[([^\[\]]++)\])?\]")
_MARKED: Final = lazy.pattern(r"(?<!\w)([=~])(\S|\S[^\n]*?\S)\1(?!\w)")
_PROGRESS: Final = lazy.pattern(r"[ \t]*+\[(?:\d*+/\d*+|\d*+%)\]")


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns the number of stars."""
    return len(match[1])


_sections = headings(r"^(\*++)[ \t]++(?P<section>[^\n]*?\S)(?:[ \t]++:[\w@:#%]+:)?[ \t]*+$", level, _BLOCKS, title=str)


def outline(text: str, path: str) -> Iterator[Entry]:
    """Yields the headlines; the file may declare states of its own."""
    states = _USUAL.union(found[1] for line in _STATES.finditer(text) for found in _STATE.finditer(line[1]))
    for entry in _sections(text, path):
        if not isinstance(entry, Entry):
            continue
        state, _, rest = entry.name.partition(" ")
        title = rest.lstrip() if state in states and rest else entry.name
        title = _LINK.sub(lambda match: match[2] or match[1], title[len(_BEFORE.match(title)[0]) :])  # type: ignore[index]
        title = plain_title(_PROGRESS.sub("", _MARKED.sub(r"\2", title)))
        yield replace(entry, name=title or entry.name)


ORG = Language(outline=outline, display=Display(line_comment="#", lexer="org"))

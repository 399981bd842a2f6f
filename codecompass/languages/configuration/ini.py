"""INI files, properties, environment files, units of systemd: sections and keys."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.configuration.keys import first, has_keys, tables
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.walk.text_rules import Entry, hidden

_TABLE: Final = r"^[ \t]*+\[[ \t]*+(?P<table>(?>(?:[^\]\n]|\](?![ \t]*+(?:[;#][^\n]*+)?$))+))\][ \t]*+(?:[;#][^\n]*+)?$"
_PATTERN: Final = lazy.pattern(
    rf"{_TABLE}|^[ \t]*+(?P<key>[^\s=:;#!\[\]\"'<>(){{}}|&](?:[^=:;\"'<>(){{}}|&\n]{{0,60}}[^\s=:;\"'<>(){{}}|&])?)"
    r"[ \t]*+[=:](?!=)",
    re.MULTILINE,
)
_PLAIN: Final = lazy.pattern(
    rf"{_TABLE}|^[ \t]*+(?:export[ \t]++)?(?P<key>[^\W\d][\w.\-/]*+(?:\[[^\[\]\n]*+\][\w.\-/]*+)?)[ \t]*+[=:](?!=)", re.MULTILINE
)
"""For files without sections, whose format may be any other."""

_PROPERTY: Final = lazy.pattern(r"^[ \t]*+(?P<key>(?:[^\s=:#!\\]|\\[^\n])(?>(?:[^\s=:\\]|\\[^\n])*))", re.MULTILINE)
_QUOTED: Final = lazy.pattern(r"(?<==)(?:\"[^\"]*+\"|'[^']*+')")


def outline(text: str, path: str) -> Iterator[Entry]:
    """Yields sections and keys."""
    if not has_keys(text, path):
        return
    has_sections = lazy.pattern(_TABLE, re.MULTILINE).search(text) is not None
    if not has_sections and ".env" in path:
        text = hidden(_QUOTED, text)
    pattern = _PATTERN if has_sections else _PROPERTY if path.endswith(".properties") else _PLAIN
    yield from first(tables(pattern, _without_continuations(text, has_sections), is_dotted=False))


def _without_continuations(text: str, has_sections: bool) -> str:
    """Returns `text` without the further lines of values: after `\\`, and in sections those indented more than their key."""
    lines: list[str] = []
    indent, is_continued = 1_000, False
    for line in text.split("\n"):
        written = line.lstrip()
        depth = len(line) - len(written)
        if is_continued or (has_sections and depth > indent):
            lines.append(" " * len(line))
        else:
            lines.append(line)
            if written and written[0] not in "#;":
                indent = 1_000 if written[0] == "[" else depth
        is_continued = line.endswith("\\") and written[:1] not in ("#", ";", "!")
    return "\n".join(lines)


INI = Language(outline=outline, comment_starts=(b"#", b";"), display=Display(line_comment="#", lexer="ini"))

"""Kconfig: options, choices and menus, the options that others depend on or select, files that are read."""

from collections.abc import Iterator
from typing import Final

from msgspec.structs import replace

from codecompass import lazy
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.code_only import blank
from codecompass.languages.uses.patterns import DOUBLE, HASH, any_of
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, blocks

_HELP: Final = lazy.pattern(r"^[ \t]*+(?:---)?help(?:---)?[ \t]*+$")
_EDGE: Final = lazy.pattern(r"(?m)^[ \t]*+(?:(?P<open>menu|choice)\b|end(?P<close>menu|choice)\b)")

_heads: Final = blocks(
    r"^[ \t]*+(?:(?:menu)?config[ \t]++(?P<const>\w++)[ \t]*+(?:#[^\n]*+)?$"
    r"|(?:main)?menu[ \t]++[\"'](?P<section>[^\"'\n]++)[\"']|choice[ \t]++(?P<section3>\w++)"
    r"|choice[ \t]*+\n[ \t]++(?:prompt|bool|tristate)[ \t]++\"(?P<section2>[^\"\n]++)\")",
    ends={"const": r"(?=^[ \t]*+(?:config|(?:main)?menu|menuconfig|choice|endchoice|endmenu|if|endif|o?r?source|comment)\b)"},
    imports=r"^[ \t]*+(?:o?r?source)[ \t]++[\"']?([^\"'\s$]++)[\"']?[ \t]*+$",
)


def without_help(text: str) -> str:
    """Returns `text` with the texts of help blank, each of which ends before a line that is indented less than its first."""
    lines: list[str] = []
    depth = -1
    """How far the help is indented; -1 outside of one, 0 before its first line."""
    for line in text.split("\n"):
        indent = len(line[: len(line) - len(line.lstrip())].expandtabs())
        if depth >= 0 and line.strip():
            depth = max(depth, indent) if depth == 0 else depth if indent >= depth else -1
            depth = depth or -1
        lines.append(blank(line) if depth > 0 else line)
        if depth < 0 and _HELP.match(line):
            depth = 0
    return "\n".join(lines)


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields options, and menus and choices up to their ends."""
    code = without_help(text)
    ends: dict[int, int] = {}
    open_: list[int] = []
    for match in _EDGE.finditer(code):
        if match["open"]:
            open_.append(match.start("open"))
        elif open_:
            ends[open_.pop()] = match.end()
    for item in _heads(code, path):
        if isinstance(item, Entry) and not code.startswith(("config", "menuconfig"), item.start):
            yield replace(item, end=ends.get(item.start, item.end), signature=None)
        else:
            yield item


KCONFIG = Language(
    outline=outline,
    comment_starts=(b"#",),
    imports=C_IMPORTS,
    uses=references(
        "kconfig",
        r"(?:\b(?:depends on|select|imply|if|default|def_bool|def_tristate)[ \t]++[!(]*+|[&|=<>!(][ \t]*+[!(]*+)"
        r"(?P<variable>[A-Z]\w++|\d++[A-Z_]\w*+)|\brange[ \t]++(?P<variable2>[A-Z]\w++(?:[ \t]++[A-Z]\w++)?)",
        any_of(HASH, DOUBLE),
    ),
    display=Display(line_comment="#", lexer=None),
)

"""AsciiDoc: headings as sections, anchors and references to them, included files."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass import lazy
from codecompass.languages.c_family.c_imports import C_IMPORTS
from codecompass.languages.display import Display
from codecompass.languages.language import Language
from codecompass.languages.records import Import
from codecompass.languages.uses.code_only import blank
from codecompass.languages.uses.references import references
from codecompass.languages.walk.text_rules import Entry, blocks, headings, plain_title, together

_FENCE: Final = lazy.pattern(
    r"^(?P<fence>-{4,}|\.{4,}|/{4,}|\+{4,}|={4,}|\*{4,}|_{4,}|--|[|,:!]={3,}|`{3,}(?P<word>[^`\n]*+))[ \t]*+$", re.MULTILINE
)
_UNDERLINED: Final = r"(?P<section2>[^\s.\[|/=+*](?:[^\n]*?\S)?)[ \t]*+\n(?P<under>={3,}|-{3,}|~{3,}|\^{3,}|\+{3,})[ \t]*+$"
_UNDERLINES: Final = "=-~^+"
_ANCHOR: Final = lazy.pattern(r"\[\[[^\[\]]*+\]\]|footnote:\w*+\[[^\[\]]*+\]|\({3}[^()]*+\){3}|^(?:=++|#++)[ \t]++")
_MACRO: Final = lazy.pattern(r"<<[^<>,]*+,[ ]?([^<>]*+)>>|(?<!\w)[a-z]++:[^\s\[\]]*+\[([^\[\]]*+)\]|\(\(([^()]*+)\)\)")


def level(match: re.Match[str], _seen: list[str]) -> int:
    """Returns the number of `=`, or what an underline of the same length means; 0 for one that is shorter or longer."""
    if match["section"] is not None:
        return len(match[1])
    is_title = abs(len(match["section2"]) - len(match["under"])) <= 1
    return _UNDERLINES.index(match["under"][0]) + 1 if is_title else 0


def title(text: str) -> str:
    """Returns a title without anchors and footnotes, and with the texts of links."""
    return plain_title(_MACRO.sub(lambda match: match[match.lastindex or 0], _ANCHOR.sub("", text)))


def without_blocks(text: str) -> str:
    """Returns `text` with its delimited blocks blank, whose lines are no headings."""
    pieces: list[str] = []
    opened, start, end = "", 0, 0
    for match in _FENCE.finditer(text):
        fence = match["fence"]
        if opened:
            if fence == opened:
                pieces += [text[end:start], blank(text[start : match.end()])]
                opened, end = "", match.end()
            continue
        above = text[text.rfind("\n", 0, max(match.start() - 1, 0)) + 1 : match.start()].strip()
        is_underline = fence[0] in _UNDERLINES and above[:1] not in ("", ".", "[", "+") and abs(len(above) - len(fence)) <= 1
        if not is_underline:
            opened, start = fence.removesuffix(match["word"] or ""), match.start()
    pieces += [text[end:start], blank(text[start:])] if opened else [text[end:]]
    return "".join(pieces)


_OUTLINE: Final = together(
    headings(
        rf"^(?:(={{1,6}}|#{{1,6}})[ \t]++(?P<section>[^\n]*?\S)(?:[ \t]++\1)?[ \t]*+$|{_UNDERLINED})",
        level,
        title=title,
    ),
    blocks(
        r"\[\[(?P<target>[^\[\],\n]++)(?=[,\]])|^\[[\w, -]*#(?P<target2>[\w-]++)",
        ends={},
        imports=r"^include::([^\s\[\]{}]++)\[",
    ),
)


def outline(text: str, path: str) -> Iterator[Entry | Import]:
    """Yields included files, headings and anchors."""
    yield from _OUTLINE(without_blocks(text), path)


ASCIIDOC = Language(
    outline=outline,
    imports=C_IMPORTS,
    uses=references("asciidoc", r"<<(?P<command>[^<>,\s#]++)|\bxref:(?P<command2>[^\s\[\]#]++)\["),
    display=Display(lexer=None),
)

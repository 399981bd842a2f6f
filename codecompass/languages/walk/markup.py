"""The code in the templates of components: expressions in attributes and braces, and the tags of components.

What is found is a text that is as long as the markup and has its line breaks, in which all but the code is blank. A tag of a
component keeps its `<`.
"""

import re
from collections.abc import Iterator
from typing import Final

from msgspec import Struct

from codecompass import lazy

CODE_STRINGS: Final = r'"(?>(?:[^"\\\n]++|\\.)*)"|\'(?>(?:[^\'\\\n]++|\\.)*)\'|`(?>(?:[^`\\]++|\\.)*)`'


class Pieces:
    """Collects pieces of a text; what lies between them becomes blank."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces: list[str] = []
        self._end = 0

    def add(self, start: int, end: int, code: str | None = None) -> None:
        """Keeps the text from `start` to `end`, or `code` in its place, which is equally long. In the order of the text."""
        if start < self._end:
            return
        self._pieces += [blank(self._text[self._end : start]), self._text[start:end] if code is None else code]
        self._end = end

    def whole(self) -> str:
        """Returns the text with all but the pieces blank."""
        return "".join((*self._pieces, blank(self._text[self._end :])))


_NOT_A_BREAK: Final = lazy.pattern(r"[^\r\n]")


def blank(text: str) -> str:
    """Returns as many blanks as the text has characters, with its line breaks."""
    return _NOT_A_BREAK.sub(" ", text)


_SEPARATORS: Final = lazy.pattern(r"[-_.\s]+(\w)")


def in_pascal_case(name: str) -> str:
    """Returns the name of a component as scripts write it: `MyPanel` for `my-panel`."""
    joined = _SEPARATORS.sub(lambda match: match[1].upper(), name)
    return joined[:1].upper() + joined[1:]


_STRINGS: Final = lazy.pattern(CODE_STRINGS, re.DOTALL)


def add_expression(pieces: Pieces, markup: str, start: int, end: int) -> None:
    """Keeps an expression between semicolons, unless a template or comment in it does not end: that would hide what follows."""
    rest = _STRINGS.sub("", markup[start:end])
    if "`" not in rest and "/*" not in rest:
        pieces.add(start - 1, end + 1, f";{markup[start:end]};")


_MARKUP_TOKEN: Final = lazy.pattern(
    r"[{}]|<(?P<tag>[A-Z][\w$.]*+)|(?<=\s)(?:use|transition|in|out|animate):(?P<action>[^\W\d][\w$.]*+)"
)
_CODE_TOKEN: Final = lazy.pattern(rf"[{{}}]|{CODE_STRINGS}", re.DOTALL)
_BLOCK: Final = lazy.pattern(r"\s*+[#:/@][a-z]++")


def braces_code(markup: str) -> str:
    """Returns the code in the markup of Svelte and Astro: tags of components, `{x}`, `{#if x}`, `use:x`.

    In Astro there may be markup again in the braces.
    """
    pieces = Pieces(markup)
    depth, begin, at = 0, 0, 0
    while (match := (_CODE_TOKEN if depth else _MARKUP_TOKEN).search(markup, at)) is not None:
        at = match.end()
        token = match[0]
        if depth == 0:
            if token == "{":
                depth, begin = 1, match.start()
            elif token != "}":
                start = match.start("action") if match["action"] is not None else match.start()
                pieces.add(start, at)
        elif token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                start = begin + 1
                block = _BLOCK.match(markup, start, at)
                add_expression(pieces, markup, start if block is None else block.end(), at - 1)
    return pieces.whole()


_OPENING: Final = lazy.pattern(
    r"<!--|<(?P<tag>script|style)\b(?P<attributes>[^<>\"']*+(?>(?:(?:\"[^\"]{0,2000}+\"|'[^']{0,2000}+')[^<>\"']*+)*))>"
)
_ATTRIBUTE: Final = lazy.pattern(r"\b(lang|type)\s*+=\s*+[\"']?([\w/+.-]++)")


class Part(Struct, frozen=True):
    """A part of a component or page between two offsets: `script`, `style` or `markup`."""

    kind: str
    start: int
    end: int
    written_in: str = ""
    """The language that a script names, empty if it names none."""


def parts(text: str, start: int) -> Iterator[Part]:
    """Yields the parts of a component or page from `start` on, without comments and the tags of scripts."""
    at = start
    while (match := _OPENING.search(text, at)) is not None:
        yield Part("markup", at, match.start())
        tag = match["tag"]
        end = text.find("-->" if tag is None else f"</{tag}", match.end())
        if end < 0:
            end = len(text)
        if tag is not None:
            written = dict(_ATTRIBUTE.findall(match["attributes"]))
            yield Part(tag, match.end(), end, (written.get("lang") or written.get("type") or "").lower())
        at = end if end == len(text) else text.find(">", end) + 1 or len(text)
    yield Part("markup", at, len(text))

"""Work on the text of a source file that a syntax tree does not help with, shared by several languages.

Comments above a definition, blanks in the place of code that a grammar cannot parse, and the lines on which a marker stands.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final

from codecompass.languages.language import Context, Found, Inside, Node

_ATTRIBUTE_LINE: Final = re.compile(rb"(?:[A-Z_][A-Z0-9_]*(?:\(.*\))?|\[\[.*\]\]|\[.*\]|@\w[\w.]*(?:\(.*\))?)$")
_ATTRIBUTE_STARTS: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ_[@")
_SKIPPED_LINES: Final = 4
"""Attribute lines that may stand between a comment and what it is about."""


def comment_above(node: Node, context: Context) -> str:
    """Returns the comment that ends on the line above `node`, markers and all; empty if there is none."""
    return comment_above_byte(context.source, node.start_byte)


def comment_above_byte(source: bytes, start: int) -> str:
    """Returns the comment that ends on the line above the byte at `start`, if no more than attributes stand before it."""
    line_start = own_line = first = source.rfind(b"\n", 0, start) + 1
    skipped = 0
    while line_start > 0:
        end = line_start - 1
        line_start = source.rfind(b"\n", 0, end) + 1
        line = source[line_start:end].strip()
        if not line:
            break
        if line.startswith(b"//"):
            first = line_start
        elif first > end and line.endswith(b"*/"):
            return _block(source, end) if _begins_line(source, start) else ""
        elif first > end and skipped < _SKIPPED_LINES and line[0] in _ATTRIBUTE_STARTS and _ATTRIBUTE_LINE.match(line):
            skipped += 1
            first = line_start
        else:
            break
    if first == own_line or not _begins_line(source, start):
        return ""
    lines = source[first:start].decode("utf-8", "replace").splitlines()
    return "\n".join(line for line in lines if line.lstrip().startswith("//"))


def _begins_line(source: bytes, start: int) -> bool:
    before = source[source.rfind(b"\n", 0, start) + 1 : start].strip()
    return not before or _ATTRIBUTE_LINE.match(before) is not None


_NO_CODE: Final = re.compile(
    rb"""(?P<kept>"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]|\\.)'?) | /\*.*?\*/ | //[^\n]*
    | ^[ \t]*\#[ \t]*(?:else|elif)\b.*?(?=^[ \t]*\#[ \t]*endif) | ^[ \t]*\#[^\n]*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


def plain_code(source: bytes) -> str:
    """Returns a piece of source without the comments and directives in it, and without a semicolon at its end."""
    if b"//" in source or b"/*" in source or b"#" in source:
        source = _NO_CODE.sub(lambda match: match["kept"] or b" ", source)
    return source.decode("utf-8", "replace").rstrip("; \n\r\t")


def _block(source: bytes, end: int) -> str:
    start = source.rfind(b"/*", 0, end)
    # A comment behind code on the same line is about that code.
    if start < 0 or source[source.rfind(b"\n", 0, start) + 1 : start].strip():
        return ""
    return source[start:end].decode("utf-8", "replace")


C_LITERALS: Final = re.compile(
    # Each branch begins with a plain character, so that the search can skip to the next of them.
    rb"""//(?:[^\n\\]++|\\\r\n|\\.)*+ | /\*.*?(?:\*/|\Z)
    | R(?:(?<!\wR)|(?<=\b[uUL]R)|(?<=\bu8R))"(?P<tag>[^()\\\s"]{0,16})\(.*?(?:\)(?P=tag)"|\Z)
    | "(?:[^"\\\n]++|\\\r\n|\\.)*+" | '(?<![0-9a-fA-F]')(?:[^'\\\n]|\\.)++'""",
    re.DOTALL | re.VERBOSE,
)

_BLANKS: Final = bytes(byte if byte in b"\r\n" else 0x20 for byte in range(256))
_QUOTES: Final = bytes(byte if byte in b"\r\n" else 0x22 for byte in range(256))


def masked(source: bytes, literals: re.Pattern[bytes] = C_LITERALS) -> bytearray:
    """Returns `source` with comments as blanks and the other `literals` (strings, characters) as rows of `"`."""
    return bytearray(literals.sub(_mask, source))


def _mask(match: re.Match[bytes]) -> bytes:
    text = match[0]
    if text[:1] != b"/":
        return text.translate(_QUOTES)
    blanks = text.translate(_BLANKS)
    # In a macro the line goes on behind the comment.
    for continuation in (b"\\\n", b"\\\r\n"):
        if continuation in text:
            blanks = continuation.join(part.translate(_BLANKS) for part in text.split(continuation))
    return blanks


def blank(text: bytearray, start: int, end: int) -> None:
    """Overwrites `text[start:end]` with blanks, line breaks excepted."""
    text[start:end] = text[start:end].translate(_BLANKS)


def blank_each(text: bytearray, code: bytes, in_the_way: Iterable[tuple[bytes, re.Pattern[bytes]]]) -> None:
    """Blanks in `text` the first group of each match in `code`; a pattern is tried only where its marker is in the code."""
    for marker, pattern in in_the_way:
        if marker in code:
            for match in pattern.finditer(code):
                blank(text, match.start(1), match.end(1))


def offsets(source: bytes, markers: tuple[bytes, ...], confirmed_by: re.Pattern[bytes] | None = None) -> tuple[int, ...]:
    """Returns the byte offsets, ascending, at which one of the markers begins and the pattern, if any, matches."""
    found: list[int] = []
    for marker in markers:
        # find() is many times faster than a pattern with alternatives.
        start = source.find(marker)
        while start >= 0:
            if confirmed_by is None or confirmed_by.match(source, start) is not None:
                found.append(start)
            start = source.find(marker, start + len(marker))
    return tuple(sorted(found))


def holds_mark(node: Node, context: Context) -> bool:
    """Whether one of the offsets that the language has put into `context.marks` lies in `node`."""
    marks = context.marks or ()
    index = bisect_left(marks, node.start_byte)
    return index < len(marks) and marks[index] < node.end_byte


def noted(markers: tuple[bytes, ...], confirmed_by: re.Pattern[bytes] | None = None) -> Callable[[Node, Context], None]:
    """Returns what a language does before the walk: it puts the offsets of its markers into `context.marks`."""

    def note(_root: Node, context: Context) -> None:
        context.marks = offsets(context.source, markers, confirmed_by)

    return note


def inside_when_marked(node: Node, context: Context) -> Iterable[Found]:
    """Looks into an expression or a block only when something in it is marked; in nearly all nothing is."""
    return (Inside(node),) if holds_mark(node, context) else ()


def local_when_marked(node: Node, context: Context) -> Iterable[Found]:
    """Looks into a function without a name only when something in it is marked, which is then local."""
    return (Inside(node, "fn"),) if holds_mark(node, context) else ()

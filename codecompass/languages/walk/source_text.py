"""Reads the text of a source file instead of its tree, for several languages: comments above a definition, code without comments,
and the offsets of markers.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable
from typing import Final

from codecompass import lazy
from codecompass.languages.language import Descend, Found, RuleContext
from codecompass.languages.nodes import Node

_ATTRIBUTE_LINE: Final = lazy.pattern(rb"(?:[A-Z_][A-Z0-9_]*(?:\(.*\))?|\[\[.*\]\]|\[.*\]|@\w[\w.]*(?:\(.*\))?)$")
_ATTRIBUTE_STARTS: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ_[@")
_SKIPPED_LINES: Final = 4
"""Attribute lines allowed between a comment and its definition."""


def comment_above(node: Node, context: RuleContext) -> str:
    """Returns the comment that ends on the line above `node`, with its comment markers; empty if there is none."""
    return comment_above_byte(context.source, node.start_byte)


def comment_above_byte(source: bytes, start: int) -> str:
    """Returns the comment that ends on the line above the byte at `start`; empty if code precedes that byte on its line."""
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


MAX_VALUE_BYTES: Final = 120
"""Bytes of a value shown in the signature of a variable, field or macro; a longer value is left out."""

_NO_CODE: Final = lazy.pattern(
    rb"""(?P<kept>"(?:[^"\\\n]++|\\.)*+"|'(?:[^'\\\n]|\\.)'?) | /\*.*?\*/ | //[^\n]*
    | ^[ \t]*\#[ \t]*(?:else|elif)\b.*?(?=^[ \t]*\#[ \t]*endif) | ^[ \t]*\#[^\n]*""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)


def plain_code(source: bytes) -> str:
    """Returns a piece of source without comments and directives, and without semicolons at its end."""
    if b"//" in source or b"/*" in source or b"#" in source:
        source = _NO_CODE.sub(lambda match: match["kept"] or b" ", source)
    return source.decode("utf-8", "replace").rstrip("; \n\r\t")


def _block(source: bytes, end: int) -> str:
    start = source.rfind(b"/*", 0, end)
    # A comment after code on the same line is about that code.
    if start < 0 or source[source.rfind(b"\n", 0, start) + 1 : start].strip():
        return ""
    return source[start:end].decode("utf-8", "replace")


def offsets(source: bytes, markers: tuple[bytes, ...], confirmed_by: re.Pattern[bytes] | None = None) -> tuple[int, ...]:
    """Returns the byte offsets, ascending, at which a marker begins and the pattern, if any, matches."""
    found: list[int] = []
    for marker in markers:
        # find() is many times faster than a pattern with alternatives.
        start = source.find(marker)
        while start >= 0:
            if confirmed_by is None or confirmed_by.match(source, start) is not None:
                found.append(start)
            start = source.find(marker, start + len(marker))
    return tuple(sorted(found))


def holds_marker(node: Node, context: RuleContext) -> bool:
    """Whether one of `context.marker_offsets` is in `node`."""
    offsets_of_markers = context.marker_offsets or ()
    index = bisect_left(offsets_of_markers, node.start_byte)
    return index < len(offsets_of_markers) and offsets_of_markers[index] < node.end_byte


def marker_finder(
    markers: tuple[bytes, ...], confirmed_by: re.Pattern[bytes] | None = None
) -> Callable[[Node, RuleContext], None]:
    """Returns a `before_walk` that sets `context.marker_offsets` to the offsets of these markers."""

    def note(_root: Node, context: RuleContext) -> None:
        context.marker_offsets = offsets(context.source, markers, confirmed_by)

    return note


def enter_if_marked(node: Node, context: RuleContext) -> Iterable[Found]:
    """Enters an expression or block only if it holds a marker; nearly all hold none."""
    return (Descend(node),) if holds_marker(node, context) else ()


def enter_function_if_marked(node: Node, context: RuleContext) -> Iterable[Found]:
    """Enters a function without a name only if it holds a marker; definitions in it are local."""
    return (Descend(node, "fn"),) if holds_marker(node, context) else ()

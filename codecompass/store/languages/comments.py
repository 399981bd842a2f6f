"""The comment above a definition, read from the text: for languages whose comments are `//` and `/* */`.

Asking the tree for a node's neighbours costs a walk from the root each time, which a file of ten thousand enumerators
turns into minutes; looking at the lines above costs what the comment is long.
"""

import re
from typing import Final

from codecompass.store.languages.base import Context, Node

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

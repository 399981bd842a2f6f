"""Haskell as text: what the grammar stumbles over is taken out before it parses, what it lost is found afterwards."""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.store.languages.base import HEAD_BYTES, Context, Definition, Node
from codecompass.store.languages.haskell_exports import visibility_of

CONDITIONAL: Final = re.compile(rb"^#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b[^\n]*", re.MULTILINE)
SIGNATURE: Final = re.compile(
    rb"\{-.{0,20000}?-\}|\[\w*\|.{0,20000}?\|\]|^(?P<name>[a-z_][\w']*)[ \t]*(?:\n[ \t]+)?::[^\n]*(?:\n[ \t]+\S[^\n]*)*",
    re.MULTILINE | re.DOTALL,
)
"""A signature that begins a line; what only looks like one, in a comment or a quotation, is matched with these."""
COMMENT: Final = re.compile(rb"\{-.*?-\}|(?<![!#$%&*+./<=>?@\\^|~:-])--+(?![!#$%&*+./<=>?@\\^|~:])[^\n]*", re.DOTALL)
AT_TOP_LEVEL: Final = re.compile(rb"^[^\W\d]|^\(", re.MULTILINE)


ESCAPED_CHARACTER: Final = re.compile(rb"(?<![\w'])'\\(?:[abfnrtv\\\"'&]|\d+|x[0-9a-fA-F]+|o[0-7]+|\^.|[A-Z][A-Z0-9]{1,2})'")


def prepared(source: bytes) -> bytes:
    """Returns the source without two things that the grammar stumbles over; see the functions that remove them."""
    return _without_conditionals(_without_escaped_characters(source))


def _without_escaped_characters(source: bytes) -> bytes:
    """`'\\n'` at the end of a line sends the grammar looking for a quote, through all lines up to the next `x'`."""
    if b"'\\" not in source:
        return source
    return ESCAPED_CHARACTER.sub(lambda match: b"'x'".ljust(match.end() - match.start()), source)


def _without_conditionals(source: bytes) -> bytes:
    """Blanks the directives of `#if ... #else ...` around top-level declarations.

    The grammar takes what follows `#else` for a comment; here both branches are code, and both are found. Conditionals
    inside a declaration stay, because both of their branches together would be no Haskell.
    """
    if b"#el" not in source and b"# el" not in source:
        return source
    blanked = bytearray(source)
    open_groups: list[list[re.Match[bytes]]] = []
    for directive in CONDITIONAL.finditer(source):
        word = directive[1]
        if word.startswith(b"if"):
            open_groups.append([directive])
        elif open_groups:
            open_groups[-1].append(directive)
        if word == b"endif" and open_groups:
            group = open_groups.pop()
            if len(group) > 2 and AT_TOP_LEVEL.search(source, group[1].end(), directive.start()):
                for line in group:
                    blanked[line.start() : line.end()] = b" " * (line.end() - line.start())
    return bytes(blanked)


def recover(root: Node, context: Context) -> Iterator[Definition]:
    """Functions whose signature begins a line, for those that the grammar lost: an open bracket swallows what follows it."""
    line, position = 1, 0
    for match in SIGNATURE.finditer(context.source):
        if match["name"] is None:
            continue
        name = match["name"].decode("utf-8", "replace")
        clause = re.compile(re.escape(match["name"]) + rb"(?![\w'])")
        later = (found.start() for found in AT_TOP_LEVEL.finditer(context.source, match.end()))
        end = next((start for start in later if clause.match(context.source, start) is None), len(context.source))
        text = context.source[match.start() : end].rstrip()
        line += context.source.count(b"\n", position, match.start())
        position = match.start()
        yield Definition(
            name=name,
            kind="fn",
            node=root,
            start_line=line,
            end_line=line + text.count(b"\n"),
            signature=COMMENT.sub(b"", match[0][:HEAD_BYTES]).decode("utf-8", "replace"),
            visibility=visibility_of(name, "value", context),
            doc="",
            qualified_name=".".join((*context.module, name)),
        )

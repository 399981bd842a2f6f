"""Where a C or C++ definition stands, what of it is shown, and which function bodies are worth entering."""

import re
from typing import Final

from codecompass.store.languages.base import CLASS_LIKE, Context, Node
from codecompass.store.languages.comments import plain_code
from codecompass.store.records import Visibility

FUNCTIONS: Final = frozenset({"fn", "method", "test"})

_LOCAL_DEFINITIONS: Final = (
    (b"struct", re.compile(rb"struct\b(?:[^;(){}=]|alignas\s*\([^()]*\))*\{")),
    (b"class", re.compile(rb"class\b(?:[^;(){}=]|alignas\s*\([^()]*\))*\{")),
    (b"enum", re.compile(rb"enum\b[^;(){}=]*\{")),
    (b"union", re.compile(rb"union\b[^;(){}=]*\{")),
    (b"typedef", re.compile(rb"typedef\b")),
    (b"using", re.compile(rb"using\s+\w+\s*=")),
    (b"#", re.compile(rb"#[ \t]*define\b")),
)
"""What begins a definition in a function: a word that is quick to look for, and what must follow it."""


def visibility_here(context: Context, node: Node, is_static: bool = False) -> Visibility:
    """Members have that of their section; beside them `static` and what is in a nameless namespace is private."""
    enclosing = context.enclosing
    if enclosing in FUNCTIONS:
        return ""
    if enclosing in CLASS_LIKE:
        section = context.notes.get(("section", len(context.scope_kinds)), "")
        return SECTIONS.get(section, context.scope_visibility)
    hidden = context.notes.get(("hidden",))
    if is_static or (hidden is not None and node.start_byte < int(hidden)):
        return "private"
    return "public"


SECTIONS: Final[dict[str, Visibility]] = {"public": "public", "private": "private", "protected": "protected"}


def open_section(context: Context, visibility: Visibility, depth: int = 0) -> None:
    """Notes the section for what follows in the current scope, or `depth` scopes further in."""
    context.notes[("section", len(context.scope_kinds) + depth)] = visibility


def head(start: Node, end: Node | None, context: Context) -> str:
    """The source from the start of one node to the start of another; to the end of the first one without it."""
    return plain_code(context.source[start.start_byte : start.end_byte if end is None else end.start_byte])


_ATTRIBUTES: Final = frozenset({"attribute_declaration", "attribute_specifier", "ms_declspec_modifier"})


def first_line(node: Node) -> int | None:
    """The line of the first word behind `[[attributes]]` that stand before a declaration; None where none do."""
    first = node.child(0)
    if first is None or first.type not in _ATTRIBUTES:
        return None
    return next((child.start_point[0] + 1 for child in node.children if child.type not in _ATTRIBUTES | {"comment"}), None)


def local_bodies(body: Node | None, context: Context) -> tuple[Node, ...]:
    """The body of a function if it defines types or macros: most do not, and walking them would cost the most."""
    if body is None:
        return ()
    if body.has_error:
        # What follows may have been taken for a part of this function.
        return (body,)
    source, start, end = context.source, body.start_byte, body.end_byte
    for marker, definition in _LOCAL_DEFINITIONS:
        found = source.find(marker, start, end)
        while found >= 0:
            if definition.match(source, found, end):
                return (body,)
            found = source.find(marker, found + 1, end)
    return ()

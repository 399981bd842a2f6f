"""Types and flags that well-known macros of Rust define, whose bodies are no code to the grammar."""

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from codecompass import lazy
from codecompass.languages.nodes import Node
from codecompass.languages.records import Symbol, SymbolKind
from codecompass.languages.systems.rust_imports import rust_module
from codecompass.languages.walk.registrations import MAX_REGISTRATIONS, Registration, annotation_node

_MARKERS: Final = (b"bitflags!", b"quick_error!")
_MACRO: Final = lazy.pattern(rb"\b(?:bitflags|quick_error)!\s*+[({]")
_HEAD: Final = lazy.pattern(
    rb"^[ \t]*+(?P<head>(?:pub(?:\([^()\n]*+\))?[ \t]++)?"
    rb"(?:(?P<type>struct|enum)[ \t]++|(?P<flag>const)[ \t]++)(?P<name>[A-Za-z_]\w*+)[^\n{]*+)",
    re.MULTILINE,
)
_BRACE: Final = lazy.pattern(rb"[{}]")


def registered(root: Node, source: bytes, path: str, _symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields what the macros of a file define; the flags of a type are qualified by it."""
    if not any(marker in source for marker in _MARKERS):
        return
    module = rust_module(path)
    for macro in islice(_MACRO.finditer(source), MAX_REGISTRATIONS):
        node = annotation_node(root, macro.start(), frozenset({"macro_invocation"}))
        if node is None:
            continue
        owner, owner_end = "", 0
        for match in islice(_HEAD.finditer(source, macro.end(), node.end_byte), MAX_REGISTRATIONS):
            name, start = match["name"].decode("utf-8", "replace"), match.start("head")
            kind: SymbolKind = "const"
            end = match.end()
            if match["type"] is not None:
                kind = "struct" if match["type"] == b"struct" else "enum"
                end = _end_of_block(source, end, node.end_byte)
                owner, owner_end = name, end
            elif match["flag"] is not None and start >= owner_end:
                continue
            scope = (owner,) if match["flag"] is not None else ()
            head = match["head"].decode("utf-8", "replace").strip()
            yield Registration(name, kind, start, end, head, "::".join((*module, *scope, name)))


def _end_of_block(source: bytes, start: int, last: int) -> int:
    """Returns the index after the brace that closes the block at `start`; `start` if none begins there."""
    depth = 0
    for brace in _BRACE.finditer(source, start, last):
        depth += 1 if brace[0] == b"{" else -1
        if depth <= 0:
            return brace.end() if depth == 0 else start
    return last

"""Types that macros of `<sys/queue.h>` and `<sys/tree.h>` define: `TAILQ_HEAD(jobs, job);` is `struct jobs`."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from codecompass import lazy
from codecompass.languages.nodes import Node
from codecompass.languages.records import Symbol
from codecompass.languages.walk.registrations import MAX_REGISTRATIONS, Registration

_HEAD: Final = lazy.pattern(rb"_HEAD\([ \t]*+(?P<name>[A-Za-z_]\w*+)[ \t]*+,[ \t]*+(?:struct[ \t]++)?\w++[ \t]*+\)")
_KINDS: Final = (b"LIST", b"SLIST", b"STAILQ", b"TAILQ", b"SIMPLEQ", b"CIRCLEQ", b"RB", b"SPLAY")
_LONGEST: Final = 8


def registered(root: Node, source: bytes, _path: str, _symbols: Sequence[Symbol]) -> Iterator[Registration]:
    """Yields the types."""
    for match in islice(_HEAD.finditer(source), MAX_REGISTRATIONS):
        before = source[max(match.start() - _LONGEST, 0) : match.start()].rpartition(b"\n")[2].split()
        node = root.descendant_for_byte_range(match.start() - 1, match.start())
        if not before or before[-1] not in _KINDS or node is None or "comment" in node.type or "string" in node.type:
            continue
        line = source.rfind(b"\n", 0, match.start()) + 1
        if source[line : match.start()].lstrip().startswith(b"#"):
            continue
        name, head = match["name"].decode(), source[line : match.end()].decode("utf-8", "replace").strip()
        yield Registration(name, "struct", line, match.end(), head)

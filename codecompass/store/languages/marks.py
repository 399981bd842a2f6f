"""Where in a file something stands that a rule would have to look deeper for: found once, asked for often.

Nested blocks ask about the same bytes again and again; searching them each time would cost the square of the nesting.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable

from codecompass.store.languages.base import Context, Found, Inside, Node


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

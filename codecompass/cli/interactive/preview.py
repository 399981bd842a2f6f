"""The code around a hit, with its syntax coloured: lines of styled text without control characters.

The lines come from the index, so that a preview shows what is indexed: at most 161, cut to a bounded length. The inside of a
construct that starts above them, such as a comment, may be coloured wrongly.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from codecompass.cli.interactive.highlighting import PreviewHighlighter
from codecompass.cli.interactive.source import CodeAround, ListedHit
from codecompass.cli.terminal import printable
from codecompass.worker.messages import Span

MAX_LINE_CHARACTERS: Final = 400
"""More than any terminal shows of a line."""

TAB_COLUMNS: Final = 4

Fragment = tuple[str, str]
"""A style of prompt_toolkit, and a printable text."""

_STYLES: Final = {
    "c": "class:code.comment",
    "s": "class:code.string",
    "m": "class:code.number",
    "k": "class:code.keyword",
    "f": "class:code.name",
    "p": "class:code.decorator",
}
"""Styles by kind of a span (`worker.highlighting.CLASSES`)."""


class Preview(Struct, frozen=True):
    """Lines from `first` on, each as fragments. The hit is `hit_first`..`hit_last`; `focus` is the line to mark."""

    path: str
    first: int
    lines: tuple[tuple[Fragment, ...], ...]
    focus: int
    hit_first: int
    hit_last: int


def preview(code: CodeAround, hit: ListedHit, highlighter: PreviewHighlighter, is_dropped: Callable[[], bool]) -> Preview:
    """Returns the preview of a hit from the lines around it, without colours once `is_dropped` returns True."""
    lines = [printable(line[:MAX_LINE_CHARACTERS].expandtabs(TAB_COLUMNS).rstrip()) for line in code.lines]
    found = highlighter.highlighted("\n".join(lines), code.language, is_dropped) if lines else None
    spans = [()] * len(lines) if found is None or len(found.lines) != len(lines) else found.lines
    return Preview(
        path=hit.path,
        first=code.first,
        lines=tuple(tuple(_fragments(line, own)) for line, own in zip(lines, spans, strict=True)),
        focus=hit.line,
        hit_first=hit.result.line_start,
        hit_last=hit.result.line_end,
    )


def _fragments(line: str, spans: Sequence[Span]) -> Iterator[Fragment]:
    at = 0
    for span in spans:
        yield _STYLES.get(span.kind, ""), line[at : at + span.length]
        at += span.length
    if at < len(line):
        yield "", line[at:]

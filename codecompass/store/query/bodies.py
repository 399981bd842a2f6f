"""The whole text of a hit: a definition from its first line to its last, exactly as it stands, up to a budget of lines.

What belongs to a definition above its first line (decorators, attributes) comes with it; the comment above that only where it
is asked for. A hit that is no definition shows its own lines, or the short definition that they lie in.
"""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from codecompass.store.index import Snapshot
from codecompass.store.query.places import MAX_SYMBOL_LINES
from codecompass.store.query.ranking import RankedPlace
from codecompass.store.query.source import comment_marks, lines_of

BODY_LINES: Final = 120
"""Lines of one body. Of the functions of 32 repositories 99 % are shorter; a longer class is better asked for by its parts."""

BODY_BYTES: Final = 16_000
"""Of one body, so that the first hit of an answer cannot fill it alone."""

BODY_LINE_CHARACTERS: Final = 2_000
"""A longer line is data, and is cut."""

MAX_LINES_ABOVE: Final = 60
"""Lines above a definition that are looked at for what belongs to it."""

MAX_ATTRIBUTE_LINES: Final = 12

_ATTRIBUTE_STARTS: Final[Mapping[str, tuple[str, ...]]] = {
    **dict.fromkeys(("python", "java", "kotlin", "scala", "swift", "typescript", "tsx", "javascript"), ("@",)),
    "rust": ("#[",),
    "php": ("#[",),
    "csharp": ("[",),
    "elixir": ("@spec", "@impl", "@deprecated"),
    "c": ("__attribute__", "[["),
    "cpp": ("template", "__attribute__", "[["),
}
_BLOCK_COMMENTS: Final = (("*/", "/*"), ("-}", "{-"), ('"""', '"""'))
_DOC_ATTRIBUTES: Final = ("@doc", "@moduledoc", "@typedoc")


class Body(Struct, frozen=True):
    """Whole lines as they stand in the file, from `line_start` on (1-based), and how many behind them are left out."""

    lines: tuple[str, ...]
    line_start: int
    lines_omitted: int

    @property
    def text(self) -> str:
        """The lines without their common indentation."""
        return textwrap.dedent("\n".join(self.lines))


def body_of(snapshot: Snapshot, place: RankedPlace, *, with_docs: bool = False) -> Body:
    """Returns the text of a place as a whole."""
    first, last = place.line_start, place.line_end
    is_definition = place.symbol is not None
    around = place.enclosing
    if not is_definition and around is not None and around.line_end - around.line_start < MAX_SYMBOL_LINES:
        first, last, is_definition = around.line_start, around.line_end, True
    if is_definition:
        above = lines_of(snapshot, place.place.id, max(1, first - MAX_LINES_ABOVE), first - 1) if first > 1 else []
        first -= _lead(above, place.place.language, with_docs=with_docs)
    return body_lines(snapshot, place.place.id, first, last)


def body_lines(snapshot: Snapshot, file_id: int, first: int, last: int) -> Body:
    """Returns the lines `first`..`last` of a file, as many as the budget allows; the first always."""
    end = min(last, first + BODY_LINES - 1)
    lines = lines_of(snapshot, file_id, first, end)
    if len(lines) < end - first + 1:
        last = first + len(lines) - 1  # the file ends before
    kept: list[str] = []
    size = 0
    for line in lines:
        shown = line if len(line) <= BODY_LINE_CHARACTERS else line[: BODY_LINE_CHARACTERS - 1] + "…"
        size += len(shown.encode("utf-8", "replace")) + 1
        if kept and size > BODY_BYTES:
            break
        kept.append(shown)
    return Body(tuple(kept), first, max(0, last - first + 1 - len(kept)))


def _lead(above: Sequence[str], language: str, *, with_docs: bool) -> int:
    """How many of the lines above a definition belong to it."""
    count = 0
    while count < len(above):
        height = _attribute_height(above, count, language) or (_comment_height(above, count, language) if with_docs else 0)
        if not height:
            break
        count += height
    return count


def _attribute_height(above: Sequence[str], count: int, language: str) -> int:
    """The lines of the decorator or attribute that ends `count` lines above the definition, 0 where none does."""
    starts = _ATTRIBUTE_STARTS.get(language, ())
    if not starts:
        return 0
    ending = above[-1 - count]
    if ending.strip().startswith(starts):
        return 1
    if not ending.strip().startswith((")", "]", "}")):
        return 0
    indentation = len(ending) - len(ending.lstrip())
    for height in range(2, min(MAX_ATTRIBUTE_LINES, len(above) - count) + 1):
        line = above[-count - height]
        if line.strip() and len(line) - len(line.lstrip()) <= indentation:
            return height if line.strip().startswith(starts) else 0
    return 0


def _comment_height(above: Sequence[str], count: int, language: str) -> int:
    """The lines of the comment that ends `count` lines above the definition, 0 where none does."""
    ending = above[-1 - count].strip()
    for end, start in _BLOCK_COMMENTS:
        if ending.endswith(end) and not ending.startswith(start):
            heights = range(2, len(above) - count + 1)
            return next((height for height in heights if start in above[-count - height]), 0)
    if ending == '"""' and language == "elixir":
        heights = range(2, len(above) - count + 1)
        return next((height for height in heights if above[-count - height].strip().startswith(_DOC_ATTRIBUTES)), 0)
    marks = comment_marks(language) + (_DOC_ATTRIBUTES if language == "elixir" else ())
    return 1 if ending.startswith(marks) else 0

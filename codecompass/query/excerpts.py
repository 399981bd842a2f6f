"""The lines of a hit that an answer shows: a whole definition up to a budget, or the lines with most of the query.

A definition is shown from its first line to its last, with its decorators and attributes; the comment above it only on request.
All text is read from the index, so that it is of the generation that was searched.
"""

import re
import textwrap
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from codecompass.languages import described
from codecompass.protocol.replies import Enclosing, Excerpt, MatchedLine
from codecompass.protocol.requests import DetailLevel
from codecompass.query.names.named_locations import lines_shown
from codecompass.query.search_hits import MAX_SYMBOL_LINES, RankedPlace
from codecompass.query.source_lines import comment_marks, cut, lines_of
from codecompass.query.words.query_words import query_words, stem
from codecompass.store.rows import SymbolRow
from codecompass.store.snapshot import Snapshot

MATCHING_LINES: Final = 3
"""Lines shown of a definition or passage that is too long to be shown whole."""

WHOLE_LINES: Final = 8
"""A definition of up to this many lines is shown whole: a reader would request it next."""

CONTEXT_LINES: Final = 30
"""Lines shown at level `context`, from the first one on."""

SEARCHED_LINES: Final = 400
"""Only this many lines at the beginning of a longer hit are searched."""

SHOWN_CHARACTERS: Final = 200
LEAD_CHARACTERS: Final = 60
"""Characters shown of a long line, and how many of them before the first match."""

MIN_WORD: Final = 2


def word_pattern(query: str) -> re.Pattern[str] | None:
    """Returns the pattern of the query's words and words with the same stem; None for a query without words."""
    stems = {stem(word.text) for word in query_words(query) if len(word.text) >= MIN_WORD}
    if not stems:
        return None
    alternatives = "|".join(re.escape(word) for word in sorted(stems, key=lambda word: (-len(word), word)))
    # Lower-case letters after a stem belong to the word: `writer`, but only `write` in `writeLock`.
    return re.compile(f"(?:(?i:{alternatives}))[a-z]*")


def excerpt_of(
    snapshot: Snapshot,
    place: RankedPlace,
    matched: Sequence[MatchedLine],
    level: DetailLevel,
    pattern: re.Pattern[str] | None,
    *,
    with_docs: bool = False,
    is_brief: bool = False,
) -> Excerpt:
    """Returns the lines of `place` to show, in order; with `is_brief` none of a definition, and the best one of anything else.

    `matched` are the lines that matched a literal or regular expression: they are shown unchanged, except at the levels `context`
    and `body`, which show the beginning and the whole of the place.
    """
    enclosing = None if place.symbol is not None else enclosing_of(place.enclosing)
    if level == "location" or place.type == "file" or (is_brief and level == "signature" and place.symbol and not matched):
        return Excerpt(enclosing=enclosing)
    if level == "body":
        return _whole(snapshot, place, enclosing, with_docs=with_docs)
    if (matched or place.asked_first) and level != "context":
        return Excerpt(lines=tuple(matched) or lines_shown(snapshot, place), enclosing=enclosing)
    last = min(place.line_end, place.line_start + SEARCHED_LINES - 1)
    lines = [
        MatchedLine(line=place.line_start + offset, text=text)
        for offset, text in enumerate(lines_of(snapshot, place.file.id, place.line_start, last))
    ]
    if level == "context":
        return _beginning(lines, place, enclosing)
    if place.symbol is not None and len(lines) <= WHOLE_LINES:
        # The signature of a route says what serves it, which its lines may not.
        is_whole = place.symbol.kind != "route"
        return Excerpt(lines=tuple(_shortened(line, None) for line in lines), is_whole=is_whole, enclosing=enclosing)
    candidates = _below_signature(lines, place.symbol) if place.symbol is not None else lines
    return Excerpt(lines=_best(candidates, pattern, place.focus, 1 if is_brief else MATCHING_LINES), enclosing=enclosing)


def enclosing_of(row: SymbolRow | None) -> Enclosing | None:
    """Returns a definition as an answer shows it around a place or a use."""
    if row is None:
        return None
    return Enclosing(
        kind=row.kind, name=row.name, qualified_name=row.qualified_name, line_start=row.line_start, line_end=row.line_end
    )


def _whole(snapshot: Snapshot, place: RankedPlace, enclosing: Enclosing | None, *, with_docs: bool) -> Excerpt:
    body = body_of(snapshot, place, with_docs=with_docs)
    lines = tuple(MatchedLine(line=number, text=text) for number, text in enumerate(body.lines, body.line_start))
    return Excerpt(lines=lines, is_whole=not body.lines_omitted, n_omitted=body.lines_omitted, enclosing=enclosing)


def _beginning(lines: Sequence[MatchedLine], place: RankedPlace, enclosing: Enclosing | None) -> Excerpt:
    first = 0
    if place.symbol is None and place.focus:
        first = max(0, min(place.focus - place.line_start - MATCHING_LINES, len(lines) - CONTEXT_LINES))
    shown = tuple(_shortened(line, None) for line in lines[first : first + CONTEXT_LINES])
    omitted = place.line_end - place.line_start + 1 - first - len(shown)
    return Excerpt(lines=shown, is_whole=not (first or omitted), n_omitted=omitted, enclosing=enclosing)


def _below_signature(lines: Sequence[MatchedLine], row: SymbolRow) -> Sequence[MatchedLine]:
    """Returns the lines of a definition without those of its signature, which is shown above the excerpt."""
    if not row.signature:
        return lines
    said = "".join(row.signature.split())
    for number, line in enumerate(lines[1:], 1):
        if "".join(line.text.split()).rstrip(":{,") not in said:
            return lines[number:]
    return ()


def _best(lines: Sequence[MatchedLine], pattern: re.Pattern[str] | None, focus: int, most: int) -> tuple[MatchedLine, ...]:
    """Returns up to `most` lines in order: the focus line and those with the most different words, earlier ones first among
    equals. Where no line has two of the words, one is returned."""
    counts = {line.line: _n_words(line.text, pattern) for line in lines}
    found = sorted((line for line in lines if counts[line.line]), key=lambda line: (-counts[line.line], line.line))
    most_words = counts[found[0].line] if found else 0
    focused = [line for line in lines if line.line == focus]
    # Beside a line with all words, a line with one of them is noise.
    others = [line for line in found if line.line != focus and (counts[line.line] == most_words or counts[line.line] > 1)]
    kept = (focused + others)[: most if most_words > 1 else 1]
    return tuple(_shortened(line, pattern) for line in sorted(kept, key=lambda line: line.line))


def _n_words(text: str, pattern: re.Pattern[str] | None) -> int:
    return 0 if pattern is None else len({stem(match.lower()) for match in pattern.findall(text)})


def _shortened(line: MatchedLine, pattern: re.Pattern[str] | None) -> MatchedLine:
    if len(line.text) <= SHOWN_CHARACTERS:
        return MatchedLine(line=line.line, text=line.text.rstrip())
    match = pattern.search(line.text) if pattern is not None else None
    return MatchedLine(line=line.line, text=shortened(line.text, match.start() if match is not None else 0))


def shortened(text: str, match_start: int) -> str:
    """Returns a line of code as it is shown: whole, or the part around the match, with `…` where it was cut."""
    if len(text) <= SHOWN_CHARACTERS:
        return text.rstrip()
    first = max(0, match_start - LEAD_CHARACTERS)
    cut = text[first : first + SHOWN_CHARACTERS].rstrip()
    return ("…" if first else "") + cut + ("…" if first + SHOWN_CHARACTERS < len(text) else "")


BODY_LINES: Final = 120
"""Lines of one body. In 32 repositories 99 % of the functions are shorter; a longer class is better requested in parts."""

BODY_BYTES: Final = 16_000
"""Bytes of one body, so that the first hit cannot fill the whole answer."""

BODY_LINE_CHARACTERS: Final = 2_000
"""Longer lines are data, and are cut."""

MAX_LINES_ABOVE: Final = 60
"""Lines above a definition that are searched for its comment and attributes."""

MAX_ATTRIBUTE_LINES: Final = 12

_BLOCK_COMMENTS: Final = (("*/", "/*"), ("-}", "{-"), ('"""', '"""'))


class Body(Struct, frozen=True):
    """Whole lines of a file from `line_start` (1-based) on, and how many lines after them are left out."""

    lines: tuple[str, ...]
    line_start: int
    lines_omitted: int

    @property
    def text(self) -> str:
        """The lines without their common indentation."""
        return textwrap.dedent("\n".join(self.lines))


def body_of(snapshot: Snapshot, place: RankedPlace, *, with_docs: bool = False) -> Body:
    """Returns the whole text of a place, up to the budget of a body."""
    first, last = place.line_start, place.line_end
    is_definition = place.symbol is not None
    around = place.enclosing
    if not is_definition and around is not None and around.line_end - around.line_start < MAX_SYMBOL_LINES:
        first, last, is_definition = around.line_start, around.line_end, True
    if is_definition:
        above = lines_of(snapshot, place.file.id, max(1, first - MAX_LINES_ABOVE), first - 1) if first > 1 else []
        first -= _lead(above, place.file.language, with_docs=with_docs)
    return body_lines(snapshot, place.file.id, first, last)


def body_lines(snapshot: Snapshot, file_id: int, first: int, last: int) -> Body:
    """Returns the lines `first`..`last` of a file, as many as the budget allows; always the first one."""
    end = min(last, first + BODY_LINES - 1)
    lines = lines_of(snapshot, file_id, first, end)
    if len(lines) < end - first + 1:
        last = first + len(lines) - 1  # the file is shorter
    kept: list[str] = []
    size = 0
    for line in lines:
        shown = cut(line, BODY_LINE_CHARACTERS)
        size += len(shown.encode("utf-8", "replace")) + 1
        if kept and size > BODY_BYTES:
            break
        kept.append(shown)
    return Body(tuple(kept), first, max(0, last - first + 1 - len(kept)))


def _lead(above: Sequence[str], language: str, *, with_docs: bool) -> int:
    """Returns how many of the lines above a definition belong to it."""
    count = 0
    while count < len(above):
        height = _attribute_height(above, count, language) or (_comment_height(above, count, language) if with_docs else 0)
        if not height:
            break
        count += height
    return count


def _attribute_height(above: Sequence[str], count: int, language: str) -> int:
    """Returns the height of the decorator or attribute that ends `count` lines above the definition, 0 if none does."""
    starts = described(language).display.attribute_starts
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
    """Returns the height of the comment that ends `count` lines above the definition, 0 if none does."""
    ending = above[-1 - count].strip()
    for end, start in _BLOCK_COMMENTS:
        if ending.endswith(end) and not ending.startswith(start):
            heights = range(2, len(above) - count + 1)
            return next((height for height in heights if start in above[-count - height]), 0)
    doc_attributes = described(language).display.doc_attributes
    if ending == '"""' and doc_attributes:
        heights = range(2, len(above) - count + 1)
        return next((height for height in heights if above[-count - height].strip().startswith(doc_attributes)), 0)
    marks = comment_marks(language) + doc_attributes
    return 1 if ending.startswith(marks) else 0

"""Splits a text into chunks of whole lines, preferably between top-level definitions.

Uses no parser, so that text is searchable before any symbol is known and chunks do not depend on a grammar. A chunk preferably
begins at a line with little indentation after a blank line, where in all known languages a definition (or the comment
above it) begins.
"""

from functools import cache
from typing import Final

from codecompass.languages.records import Chunk
from codecompass.languages.words import WordSplitter

MIN_LINES: Final = 12
TARGET_LINES: Final = 36
MAX_LINES: Final = 60
"""Lines of a chunk. About 36 lines are one or two functions: small enough to be a result, large enough to rank."""

MAX_CHARACTERS: Final = 6_000
"""A chunk with long lines ends early, so that minified data does not outrank code."""

_COST_NO_BLANK_ABOVE: Final = 6.0
_COST_CLOSES_BLOCK: Final = 8.0
_COST_PER_LINE_OFF_TARGET: Final = 0.12
_CLOSERS: Final = ("}", ")", "]", "end", "else", "elif", "except", "finally", "catch")
_CLOSER_INITIALS: Final = frozenset(closer[0] for closer in _CLOSERS)


def chunk(text: str, splitter: WordSplitter) -> tuple[Chunk, ...]:
    """Returns the chunks of `text` in order, without gaps or overlap; an empty tuple for an empty text.

    Lines end at `\\n` only.
    """
    if not text:
        return ()
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    count = len(lines)
    chunks = []
    start = 0
    while start < count:
        end = _end_of_chunk(lines, start, count)
        body = "\n".join(lines[start:end])
        if end < count or text.endswith("\n"):
            body += "\n"
        words = splitter.words_of_text(body)
        chunks.append(Chunk(start + 1, end, body, words.parts, words.names, words.pairs))
        start = end
    return tuple(chunks)


def line_count(text: str) -> int:
    """Returns the number of lines; a last line without a line break counts."""
    return text.count("\n") + (0 if not text or text.endswith("\n") else 1)


def _end_of_chunk(lines: list[str], start: int, count: int) -> int:
    """Returns the index after the chunk's last line."""
    last = min(start + MAX_LINES, count)
    if sum(map(len, lines[start:last])) + last - start > MAX_CHARACTERS:
        last = _last_within(lines, start, last)
    elif last == count:
        return count
    best, best_cost = last, 1e9
    target = start + TARGET_LINES
    first = min(start + MIN_LINES, last)
    # From the target outwards: the sooner a good line is found, the fewer are looked at.
    for offset in _offsets(first - target, last - target):
        off_target = abs(offset) * _COST_PER_LINE_OFF_TARGET
        if off_target > best_cost:
            break  # However good the line is, it is too far from the target.
        index = target + offset
        line = lines[index]
        stripped = line.lstrip()
        # Most lines are indented too deeply; checking this first saves the slower checks.
        cost = len(line) - len(stripped) + off_target
        if cost > best_cost or not stripped:
            continue
        cost += 3.0 * line.count("\t", 0, len(line) - len(stripped))
        above = lines[index - 1]
        if above and not above.isspace():
            cost += _COST_NO_BLANK_ABOVE
        if stripped[0] in _CLOSER_INITIALS and stripped.startswith(_CLOSERS):
            cost += _COST_CLOSES_BLOCK
        if cost < best_cost or (cost == best_cost and index < best):
            best, best_cost = index, cost
    return best


@cache
def _offsets(before: int, after: int) -> tuple[int, ...]:
    """Returns the numbers from `before` to `after`, without the latter, by their distance from 0."""
    return tuple(sorted(range(before, after), key=abs))


def _last_within(lines: list[str], start: int, last: int) -> int:
    """Returns the index after the last line that fits into MAX_CHARACTERS; the first line always fits."""
    size = 0
    for index in range(start, last):
        size += len(lines[index]) + 1
        if size > MAX_CHARACTERS:
            return max(index, start + 1)
    return last

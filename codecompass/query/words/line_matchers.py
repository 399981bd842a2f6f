"""Matchers of literals and regular expressions: they find the matching lines of a text, in linear time.

A whole literal matches only where no letter, digit or underscore continues it, as `rg --word-regexp` has it.
"""

import re
from collections.abc import Callable, Sequence
from typing import Final

import re2

from codecompass import lazy
from codecompass.errors import InvalidInput
from codecompass.languages.unspaced import has_letters
from codecompass.protocol.decode import SHOWN_VALUE_LENGTH
from codecompass.units import KIB

_TOO_LARGE: Final = "pattern too large"
"""The message of RE2."""

_SPECIAL: Final = lazy.pattern(r"[\\^$.|?*+()\[\]{}]")

_WHOLE_TEXT_ANCHORS: Final = ("\\A", "\\z", "\\C")

MAX_PATTERN_LENGTH: Final = 4096
"""Characters of a regular expression. RE2 reads 100 `\\pL` in 20 ms (measured 2026-11-22)."""

MAX_PATTERN_STEPS: Final = 10_000
"""Instructions of a compiled pattern. If its automaton becomes too large, a line of 20,000 characters takes 70 ms with 6,000 of
them, 0.7 s with 12,000 and 4 s with 65,000, and cannot be interrupted (measured 2026-11-22)."""

_FEW_STEPS_BYTES: Final = 512 * KIB
"""A memory limit at which RE2 quickly gives up on patterns with many more instructions."""

LineMatch = tuple[int, int, int]
"""A matching line, counted from 0, and start and end of the first match in it, in characters."""

Matcher = Callable[[str], Sequence[LineMatch]]
"""Maps a text with `\\n` line ends to its matching lines, in order."""


def literal_matcher(literal: str) -> Matcher:
    """Returns the case-sensitive matcher of a literal. A literal with line breaks matches at its first line."""
    needle = literal.replace("\r\n", "\n")

    def matches(text: str) -> Sequence[LineMatch]:
        at = text.find(needle)
        if at < 0:
            return ()
        found = []
        line = counted = 0
        while at >= 0:
            line += text.count("\n", counted, at)
            counted = at
            line_start = text.rfind("\n", 0, at) + 1
            found.append((line, at - line_start, at - line_start + len(needle)))
            line_end = text.find("\n", at)
            # Continues after the line break: a literal that begins with one would match there again.
            at = text.find(needle, line_end + 1) if line_end >= 0 else -1
        return found

    return matches


def whole_matcher(literal: str, *, has_case: bool = True) -> Matcher:
    """Returns the matcher of a literal of one line where it stands as a whole: `max-time` does not match in `max-timeout`, but in
    `--max-time`."""
    begins, ends = is_word_character(literal[:1]), is_word_character(literal[-1:])
    any_case = None if has_case else re.compile(re.escape(literal), re.IGNORECASE)

    def first(text: str, position: int) -> tuple[int, int]:
        if any_case is not None:
            match = any_case.search(text, position)
            return (-1, -1) if match is None else match.span()
        start = text.find(literal, position)
        return start, start + len(literal)

    def matches(text: str) -> Sequence[LineMatch]:
        found = []
        line = counted = position = 0
        # A pattern that looks at the characters around it would be tried at every position.
        while (span := first(text, position))[0] >= 0:
            start, end = span
            if (begins and _continues(text[start - 1 : start])) or (ends and _continues(text[end : end + 1])):
                position = start + 1
                continue
            line += text.count("\n", counted, start)
            counted = start
            line_start = text.rfind("\n", 0, start) + 1
            found.append((line, start - line_start, end - line_start))
            line_end = text.find("\n", end)
            if line_end < 0:
                break
            position = line_end + 1
        return found

    return matches


def _continues(character: str) -> bool:
    return character.isalnum() or character == "_"


def any_case_matcher(literal: str) -> Matcher:
    """Returns the matcher of a literal of one line that ignores case."""
    return regex_matcher("(?i)" + escaped(literal))


def escaped(literal: str) -> str:
    """Returns the RE2 expression that matches exactly this text."""
    return _SPECIAL.sub(r"\\\g<0>", literal)


def is_word_character(character: str) -> bool:
    """Whether a character continues a word. Text in scripts without blanks between words has no whole words: for letters of these
    a word may end anywhere."""
    return character == "_" or (character.isalnum() and not has_letters(character))


def regex_matcher(pattern: str) -> Matcher:
    """Returns the matcher of an RE2 pattern, which is applied to single lines without their line breaks.

    Raises InvalidInput for a pattern that is too large, or that RE2 rejects, with its reason.
    """
    require_regex(pattern)
    by_line = _compiled(pattern, pattern)
    if any(anchor in pattern for anchor in _WHOLE_TEXT_ANCHORS):
        return _line_by_line(by_line)
    # Searching the whole text is ten times cheaper than each line, but anchors of the text have another meaning there.
    whole = _compiled(f"(?m:{pattern})", pattern)

    def matches(text: str) -> Sequence[LineMatch]:
        data = text.encode()
        found = []
        line, counted, position = 0, 0, 0
        while position < len(data) and (match := whole.search(data, position)) is not None:
            start, end = match.span()
            if start == len(data) and data.endswith(b"\n"):
                break
            line += data.count(b"\n", counted, start)
            counted = start
            line_start = data.rfind(b"\n", 0, start) + 1
            line_end = data.find(b"\n", start)
            line_end = len(data) if line_end < 0 else line_end
            if end > line_end:
                # The match extends beyond the line break: the line may match by itself as well.
                alone = by_line.search(data[line_start:line_end])
                start, end = (-1, -1) if alone is None else (line_start + alone.start(), line_start + alone.end())
            if start >= 0:
                found.append((line, len(_decoded(data[line_start:start])), len(_decoded(data[line_start:end]))))
            position = line_end + 1
        return found

    return matches


def require_regex(pattern: str) -> None:
    """Raises InvalidInput for a pattern that is too large, or that RE2 rejects, with its reason."""
    if len(pattern) > MAX_PATTERN_LENGTH:
        raise _too_large(pattern, f"{len(pattern):,} characters", f"{MAX_PATTERN_LENGTH:,} characters")
    steps = _compiled(pattern, pattern, _FEW_STEPS_BYTES).programsize
    if steps > MAX_PATTERN_STEPS:
        raise _too_large(pattern, f"{steps:,} instructions", f"{MAX_PATTERN_STEPS:,} instructions")


def _line_by_line(pattern: "re2._Regexp") -> Matcher:
    def matches(text: str) -> Sequence[LineMatch]:
        lines = text.encode().split(b"\n")
        if lines[-1] == b"":
            lines.pop()
        matches = [(index, line, pattern.search(line)) for index, line in enumerate(lines)]
        return [
            (index, len(_decoded(line[: match.start()])), len(_decoded(line[: match.end()])))
            for index, line, match in matches
            if match is not None
        ]

    return matches


def _too_large(pattern: str, size: str, bound: str) -> InvalidInput:
    return InvalidInput(
        f"query is too large a regular expression: {size}, at most {bound}. Search for a part of it, or with mode literal.",
        field="query",
        value=pattern[:SHOWN_VALUE_LENGTH],
        constraint=f"at most {bound}",
    )


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _compiled(pattern: str, shown: str, max_bytes: int | None = None) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    if max_bytes is not None:
        options.max_mem = max_bytes
    # Without groups only the ends of a match are computed, at a fraction of the cost.
    options.never_capture = True
    try:
        return re2.compile(pattern.encode(), options=options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not a valid pattern"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        if _TOO_LARGE in text:
            raise _too_large(shown, "too many instructions", f"{MAX_PATTERN_STEPS:,} instructions") from error
        raise InvalidInput(
            f"query is no valid RE2 regular expression: {text}. Correct it (RE2 has no look-around and no back references), "
            "or search with mode literal.",
            field="query",
            value=shown[:SHOWN_VALUE_LENGTH],
            constraint="RE2 regular expression",
        ) from error

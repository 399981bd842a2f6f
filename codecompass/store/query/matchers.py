"""Finds the matching lines of one text: by a literal or by an RE2 pattern."""

from collections.abc import Callable, Sequence
from typing import Final

import re2

from codecompass.errors import InvalidInput
from codecompass.protocol.decode import well_formed

_WHOLE_TEXT_ANCHORS: Final = ("\\A", "\\z", "\\C")

LineMatch = tuple[int, int, int]
"""A matching line from 0, start and end of the first match in it, in characters."""

Matcher = Callable[[str], Sequence[LineMatch]]
"""From a text with `\\n` line ends to each matching line, in order."""


def literal_matcher(literal: str) -> Matcher:
    """Returns the matcher of a literal, case-sensitive. A literal with line breaks matches at its first line."""
    needle = well_formed(literal).replace("\r\n", "\n")

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
            # Behind the line break: a literal that begins with one would be found there for ever.
            at = text.find(needle, line_end + 1) if line_end >= 0 else -1
        return found

    return matches


def regex_matcher(pattern: str) -> Matcher:
    """Returns the matcher of an RE2 pattern, which sees one line at a time, without its line break.

    Raises InvalidInput with RE2's reason for a pattern that it refuses.
    """
    pattern = well_formed(pattern)
    by_line = _compiled(pattern, pattern)
    if any(anchor in pattern for anchor in _WHOLE_TEXT_ANCHORS):
        return _line_by_line(by_line)
    # A look at the whole text is ten times cheaper than one at each line. Anchors of the text mean another place there.
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
                # It goes over the line break: whether it can do without is not known.
                alone = by_line.search(data[line_start:line_end])
                start, end = (-1, -1) if alone is None else (line_start + alone.start(), line_start + alone.end())
            if start >= 0:
                found.append((line, len(_decoded(data[line_start:start])), len(_decoded(data[line_start:end]))))
            position = line_end + 1
        return found

    return matches


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


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _compiled(pattern: str, shown: str) -> "re2._Regexp":
    options = re2.Options()
    options.log_errors = False
    # Only where a match begins and ends is asked for, which costs a fraction of where each group does.
    options.never_capture = True
    try:
        return re2.compile(pattern.encode(), options=options)
    except re2.error as error:
        reason = error.args[0] if error.args else "not a valid pattern"
        text = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise InvalidInput(
            f"query is no valid RE2 regular expression: {text}. Correct it (RE2 has no look-around and no back references), "
            "or search with mode literal.",
            field="query",
            value=shown[:100],
            constraint="RE2 regular expression",
        ) from error

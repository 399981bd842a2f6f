"""The code of a use as an answer shows it: its line, or all lines of a call that is written over a few."""

import re
from collections.abc import Sequence
from typing import Final

from codecompass import lazy
from codecompass.query.excerpts import shortened
from codecompass.query.source_lines import lines_of
from codecompass.store.snapshot import Snapshot

MAX_LINE_CHARACTERS: Final = 240
"""Limit for a line of code in an answer; a longer one is cut around the name."""

MAX_CALL_LINES: Final = 8
MAX_CALL_CHARACTERS: Final = 400
"""A call over more lines or characters is shown by its first line."""

CALLING_ROLES: Final = frozenset({"call", "construct", "decorate"})

_QUOTED: Final = lazy.pattern(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'")
_BRACKETS: Final = {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}


def use_text(snapshot: Snapshot, file_id: int, line: int, role: str, names: Sequence[str]) -> tuple[str, int]:
    """Returns the text of a use and its last line: one line, or those of a call that ends within a few."""
    n_lines = MAX_CALL_LINES if role in CALLING_ROLES else 1
    lines = lines_of(snapshot, file_id, line, line + n_lines - 1)
    if not lines:
        return "", line
    n_kept = _call_length(lines, names)
    if n_kept > 1:
        return "\n".join(each.rstrip() for each in lines[:n_kept]), line + n_kept - 1
    return shown_line(lines[0], names), line


def shown_line(text: str, names: Sequence[str]) -> str:
    """Returns a line of code, cut around the first of the names if it is too long."""
    if len(text) <= MAX_LINE_CHARACTERS:
        return text
    return shortened(text, max((text.find(name) for name in names), default=0))


def _call_length(lines: Sequence[str], names: Sequence[str]) -> int:
    """Returns how many lines the call of one of the names takes, 1 if it does not end within them or is too long.

    Brackets in strings do not count. A block that is passed as an argument (`foo(() => {`) ends the first line: it is code of its
    own.
    """
    first = lines[0]
    opened = [match.end() for name in names for match in re.finditer(rf"(?<![\w$]){re.escape(name)}(?![\w$])[!?]?\(", first)]
    if not opened or first.rstrip().endswith(("{", "=>", "|", ":", "do")):
        return 1
    depth, size = 1, len(first)
    for number, line in enumerate(lines):
        code = _QUOTED.sub("", line[opened[-1] :] if not number else line)
        for character in code:
            depth += _BRACKETS.get(character, 0)
            if depth == 0:
                return number + 1
        if number:
            size += len(line)
        if size > MAX_CALL_CHARACTERS:
            return 1
    return 1

"""What tokens a text must hold for a literal or a regular expression to match in it: what narrows a scan.

Always on the safe side: a term is only given where every match implies it, so a scan of the narrowed chunks finds what a
scan of everything would. Only ASCII runs are used, because on those we and the index's tokenizer surely agree.
"""

import re
from collections.abc import Iterator
from typing import Final

from codecompass.store.text import MAX_TOKEN_BYTES, TermPattern

MIN_OPEN_LENGTH: Final = 3
"""Shorter pieces of words are in too many words to narrow anything."""

MAX_TERMS: Final = 8

_RUN: Final = re.compile(r"[A-Za-z0-9]+")
_ZERO_WIDTH_OR_CLASS: Final = frozenset("wWdDsSbB")
_GROUP_FLAGS: Final = re.compile(r"\(\?[imsU-]+\)")
_REPEAT: Final = re.compile(r"[*+?]|\{[0-9,]*\}?")
_GAP: Final = None
_EDGE: Final = "\n"
"""Stands for the beginning or end of a line: no token goes on across it."""


def literal_terms(text: str) -> tuple[TermPattern, ...]:
    """Returns the terms that any text with `text` in it must hold. Empty where nothing can be said."""
    return _useful(_runs(text))


def regex_terms(pattern: str) -> tuple[TermPattern, ...]:
    """Returns the terms that any line matched by an RE2 pattern must hold. Empty for what is not plainly a sequence."""
    segments = _segments(pattern)
    return () if segments is None else _useful(term for segment in segments for term in _runs(segment))


def _runs(text: str) -> Iterator[TermPattern]:
    """The ASCII words of a text; those at its ends, and those beside letters that are not ASCII, may go on."""
    for run in _RUN.finditer(text):
        before, after = text[run.start() - 1 : run.start()] if run.start() else "", text[run.end() : run.end() + 1]
        yield TermPattern(
            run[0].lower(),
            is_start_open=not before or not before.isascii(),
            is_end_open=not after or not after.isascii(),
        )


def _useful(terms: Iterator[TermPattern]) -> tuple[TermPattern, ...]:
    """The cheapest terms that narrow well: whole tokens, else the longest beginning, else the longest piece."""
    found = list(dict.fromkeys(terms))
    whole = [term for term in found if not (term.is_start_open or term.is_end_open)]
    if whole:
        return tuple(whole[:MAX_TERMS])
    pieces = [term for term in found if MIN_OPEN_LENGTH <= len(term.token) < MAX_TOKEN_BYTES]
    starts = [term for term in pieces if not term.is_start_open]
    return tuple(sorted(starts or pieces, key=lambda term: (-len(term.token), term.token))[:1])


def _segments(pattern: str) -> list[str] | None:
    """The literal runs of a pattern that is a sequence at its top level; None where it has alternatives or is unusual."""
    segments: list[str] = []
    current = ""
    index = 0
    while index < len(pattern):
        atom, index = _atom(pattern, index)
        if index < 0:
            return None
        repeat = _REPEAT.match(pattern, index)
        if repeat is not None:
            index = repeat.end()
            if repeat[0] == "+" and atom is not None:
                current += atom
            atom = _GAP
            while index < len(pattern) and pattern[index] in "?+*{":
                index += 1
        if atom is None:
            segments.append(current)
            current = ""
        else:
            current += atom
    return [segment for segment in (*segments, current) if segment]


def _atom(pattern: str, index: int) -> tuple[str | None, int]:
    """One atom at `index`: (its literal character or None for a gap, the index behind it); index -1 gives up."""
    character = pattern[index]
    if character == "\\":
        following = pattern[index + 1 : index + 2]
        if following in _ZERO_WIDTH_OR_CLASS and following:
            return _GAP, index + 2
        return (following, index + 2) if following and not following.isalnum() and following.isascii() else (_GAP, -1)
    if character in "^$":
        return _EDGE, index + 1
    if character == ".":
        return _GAP, index + 1
    if character == "[":
        return _GAP, _class_end(pattern, index)
    if character == "(":
        flags = _GROUP_FLAGS.match(pattern, index)
        return _GAP, flags.end() if flags is not None else _group_end(pattern, index)
    if character in "|)*+?":
        return _GAP, -1
    return character, index + 1


def _class_end(pattern: str, index: int) -> int:
    """The index behind the character class that opens at `index`, -1 if it does not end or holds another class."""
    index += 1
    if pattern[index : index + 1] == "^":
        index += 1
    if pattern[index : index + 1] == "]":
        index += 1
    while index < len(pattern):
        if pattern[index] == "\\":
            index += 1
        elif pattern[index] == "[":
            return -1
        elif pattern[index] == "]":
            return index + 1
        index += 1
    return -1


def _group_end(pattern: str, index: int) -> int:
    """The index behind the group that opens at `index`, -1 if it does not end."""
    depth = 0
    while 0 <= index < len(pattern):
        character = pattern[index]
        if character == "\\":
            if pattern[index + 1 : index + 2] in ("Q", "E"):
                return -1
            index += 2
            continue
        if character == "[":
            index = _class_end(pattern, index)
            continue
        depth += {"(": 1, ")": -1}.get(character, 0)
        index += 1
        if depth == 0:
            return index
    return -1

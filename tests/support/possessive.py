"""Finds possessive groups that CPython 3.11.0 to 3.11.4 matches wrongly, and says why.

There a possessive repetition of a group continues where its last, failed iteration gave up, not where that began (gh-106052):
`(?:ab\\s++)*+(\\w++)` on `abc` captures `c`. The matcher records a place whenever it enters a repetition, an alternation or a
lookaround, so a group is safe if nothing can fail once such a place lies after the beginning of the iteration. An atomic group
around a usual repetition, `(?>(?:ab\\s++)*)`, means the same and is matched correctly everywhere.

A capture inside of a possessive group is a SystemError for some texts, also in 3.13.0.
"""

import re
from collections.abc import Iterable, Sequence
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

from msgspec import Struct

Node = tuple[Any, Any]

_UNITS = {codes.LITERAL, codes.NOT_LITERAL, codes.IN, codes.ANY}
_REPETITIONS = {codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT}


class _Unsafe(Exception):
    """Something can fail after the recorded place has moved."""


class _Place(Struct, frozen=True):
    """What is known between two elements of an iteration: whether text may have been read, and whether the recorded place may be
    another than the iteration's beginning."""

    has_read: bool = False
    has_moved: bool = False


def misread_groups(pattern: re.Pattern[Any]) -> list[str]:
    """Returns what is wrong with the possessive groups of `pattern` on the oldest interpreters; empty if nothing is."""
    return list(_misread(parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)))


def _misread(nodes: Iterable[Node]) -> Iterable[str]:
    for code, value in nodes:
        if code is codes.POSSESSIVE_REPEAT and not _is_unit(value[2]):
            try:
                _after(value[2], _Place())
            except _Unsafe as problem:
                yield f"{problem} within {value[2]!r}"
        for part in _parts(code, value):
            yield from _misread(part)


def _parts(code: Any, value: Any) -> list[Sequence[Node]]:
    """Returns the sequences of nodes in a node."""
    if code in _REPETITIONS:
        return [value[2]]
    if code is codes.BRANCH:
        return list(value[1])
    if code is codes.SUBPATTERN:
        return [value[3]]
    if code is codes.ATOMIC_GROUP:
        return [value]
    if code in (codes.ASSERT, codes.ASSERT_NOT):
        return [value[1]]
    if code is codes.GROUPREF_EXISTS:
        return [part for part in value[1:] if part]
    return []


def _is_unit(nodes: Sequence[Node]) -> bool:
    """Whether the matcher counts repetitions of `nodes` in a loop of its own, in which no iteration is left halfway."""
    return len(nodes) == 1 and nodes[0][0] in _UNITS


def _after(nodes: Iterable[Node], place: _Place) -> _Place:
    for code, value in nodes:
        place = _after_one(code, value, place)
    return place


def _after_one(code: Any, value: Any, place: _Place) -> _Place:
    if code in _UNITS or code in (codes.AT, codes.GROUPREF):
        if place.has_moved:
            raise _Unsafe(f"{code} can fail")
        return _Place(place.has_read or code is not codes.AT, place.has_moved)
    if code is codes.SUBPATTERN:
        if value[0] is not None:
            raise _Unsafe("a capture")
        return _after(value[3], place)
    entered = _Place(place.has_read, place.has_moved or place.has_read)
    if code in _REPETITIONS:
        return _after_repetition(code, value, entered)
    if code is codes.BRANCH:
        ends = [_after(part, entered) for part in value[1]]
        return _Place(any(end.has_read for end in ends), any(end.has_moved for end in ends))
    if code is codes.ATOMIC_GROUP:
        _after(value, entered)
        return _Place(has_read=True, has_moved=True)
    raise _Unsafe(f"{code}")


def _after_repetition(code: Any, value: Any, entered: _Place) -> _Place:
    least, _most, body = value
    if not _is_unit(body):
        if least or code is not codes.POSSESSIVE_REPEAT:
            _after(body, entered)
        return _Place(has_read=True, has_moved=True)
    if least:
        _after(body, entered)
    return _Place(has_read=True, has_moved=entered.has_moved or code is not codes.POSSESSIVE_REPEAT)

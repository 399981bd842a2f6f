"""Parses an RE2 pattern into the texts that it can match: a few alternatives, each of known characters and gaps.

Keeps only what the text index can look up: which letters and digits are adjacent, and where their word certainly ends. Unknown
syntax becomes a gap that any text fills, so the alternatives never match less than the pattern. RE2 must accept the pattern.
"""

import enum
import string
from collections.abc import Sequence
from itertools import product
from typing import Final

from msgspec import Struct

from codecompass import lazy


class Gap(enum.Enum):
    """What is between known characters. A mark is a character that `\\w` does not match."""

    ANY = "any text, or none"
    WORD = "any characters that `\\w` matches, or none"
    MARKS = "at least one mark, and no other character"
    PLAIN = "at least one mark of ASCII, and no other character"
    MAYBE_PLAIN = "marks of ASCII, or none"
    EDGE = "nothing, at a place where two characters that `\\w` matches never meet"


Item = str | Gap
"""A single character, or a gap."""

Branch = tuple[Item, ...]


class Branches(Struct, frozen=True):
    """The alternatives of a pattern."""

    branches: tuple[Branch, ...]
    """A text matches only if it contains one of these."""
    is_by_ascii: bool
    """Whether only ASCII letters count as letters: for `\\b` and `\\W`, `é` is not one."""
    has_case: bool
    """Whether case counts."""


MAX_BRANCHES: Final = 16
"""Alternatives that are kept; an expression with more of them becomes a gap."""

MAX_DEPTH: Final = 50
"""Depth of nested groups that are parsed."""

WORD: Final = frozenset(string.ascii_letters + string.digits + "_")
"""The characters that `\\w` matches."""

_ASCII: Final = frozenset(map(chr, range(128)))
_SPACES: Final = frozenset("\t\n\f\r ")
_CLASSES: Final = {"d": frozenset(string.digits), "w": WORD, "s": _SPACES}
_POSIX: Final = {
    "alnum": WORD - {"_"},
    "alpha": frozenset(string.ascii_letters),
    "blank": frozenset(" \t"),
    "digit": frozenset(string.digits),
    "lower": frozenset(string.ascii_lowercase),
    "punct": frozenset(string.punctuation),
    "space": frozenset(string.whitespace),
    "upper": frozenset(string.ascii_uppercase),
    "word": WORD,
    "xdigit": frozenset(string.hexdigits),
}
_CONTROL: Final = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_REPEAT: Final = lazy.pattern(r"(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??")
_GROUP: Final = lazy.pattern(r"\((?:\?(?:P?<\w+>|([imsU]*(?:-[imsU]+)?)([:)])))?")
_CODE: Final = lazy.pattern(r"\\(?:x\{[0-9A-Fa-f]+\}|x[0-9A-Fa-f]{2}|[0-7]{1,3}|[pP](?:\{\^?\w+\}|\w)|C)")
_BEYOND: Final = "\x80"
"""Stands for all characters outside ASCII."""

_POSIX_CLASS: Final = lazy.pattern(r"\[:(\^?)(\w+):\]")
_ANYTHING: Final[tuple[Branch, ...]] = ((Gap.ANY,),)
_NOTHING: Final[tuple[Branch, ...]] = ((),)


def branches_of(pattern: str) -> Branches:
    """Returns the alternatives of `pattern`; a single gap if nothing is known."""
    parser = _Parser(pattern)
    found = parser.alternatives(0)
    return Branches(_ANYTHING if parser.is_too_deep else found, parser.is_by_ascii, parser.has_case)


class _Parser:
    """Recursive descent over the pattern; each method returns the branches of what it has parsed."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._at = 0
        self.is_by_ascii = False
        self.has_case = True
        self.is_too_deep = False

    def alternatives(self, depth: int) -> tuple[Branch, ...]:
        found: list[Branch] = []
        while True:
            found += self._sequence(depth)
            if not self._takes("|"):
                return _few(found)

    def _sequence(self, depth: int) -> tuple[Branch, ...]:
        found: list[list[Item]] = [[]]
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            atom = self._repeated(self._atom(depth))
            if len(found) * len(atom) > MAX_BRANCHES:
                atom = _ANYTHING
            if len(atom) > 1:
                found = [[*before, *after] for before, after in product(found, atom)]
            else:
                for branch in found:
                    branch += atom[0]
        return tuple(map(tuple, found))

    def _repeated(self, atom: tuple[Branch, ...]) -> tuple[Branch, ...]:
        repeat = _REPEAT.match(self._pattern, self._at)
        if repeat is None:
            return atom
        self._at = repeat.end()
        sign, least, has_range, most = repeat.groups()
        is_optional = sign in ("*", "?") or (least is not None and int(least) == 0)
        is_single = sign == "?" or (least is not None and (most == "1" or (not has_range and least == "1")))
        more = _repetition(atom)
        if is_optional:
            return _few([*atom, ()]) if is_single else ((more,),)
        return atom if is_single else tuple((*branch, more) for branch in atom)

    def _atom(self, depth: int) -> tuple[Branch, ...]:
        character = self._pattern[self._at]
        if character == "(":
            return self._group(depth)
        if character == "[":
            return self._class()
        if character == "\\":
            return self._escape()
        self._at += 1
        if character == ".":
            return _ANYTHING
        if character in "^$":
            return ((Gap.EDGE,),)
        return ((character,),)

    def _group(self, depth: int) -> tuple[Branch, ...]:
        opening = _GROUP.match(self._pattern, self._at)
        assert opening is not None  # RE2 has no other kind of group
        self._at = opening.end()
        flags, end = opening.groups()
        if flags and "i" in flags:
            self.has_case = False
        if end == ")":
            return _NOTHING
        if depth >= MAX_DEPTH:
            self.is_too_deep = True
            self._at = len(self._pattern)
            return _ANYTHING
        found = self.alternatives(depth + 1)
        self._takes(")")
        return found

    def _escape(self) -> tuple[Branch, ...]:
        if self._takes("\\Q"):
            end = self._pattern.find("\\E", self._at)
            quoted = self._pattern[self._at :] if end < 0 else self._pattern[self._at : end]
            self._at = len(self._pattern) if end < 0 else end + 2
            # A repetition after it applies to its last character only.
            if _REPEAT.match(self._pattern, self._at):
                return ((*quoted[:-1], Gap.ANY),)
            return (tuple(quoted),)
        code = _CODE.match(self._pattern, self._at)
        if code is not None:
            self._at = code.end()
            return _ANYTHING
        character = self._pattern[self._at + 1]
        self._at += 2
        if character in _CONTROL:
            return ((_CONTROL[character],),)
        if character == "E":
            return _NOTHING
        self.is_by_ascii |= character in "bW"
        if character in "sW":
            return ((Gap.PLAIN if character == "s" else Gap.MARKS,),)
        if character in "Azb":
            return ((Gap.EDGE,),)
        if character in "wd":
            return ((Gap.WORD,),)
        return _ANYTHING if character.isalnum() else ((character,),)

    def _class(self) -> tuple[Branch, ...]:
        self._at += 1
        is_negated = self._takes("^")
        members: set[str] = set()
        is_known, is_first = True, True
        while is_first or self._pattern[self._at] != "]":
            is_first = False
            found = self._members()
            if found is None:
                is_known = False
            else:
                members |= found
        self._at += 1
        if not is_known:
            return _ANYTHING
        ascii_members = _ASCII - members if is_negated else _ASCII & members
        is_beyond = is_negated or len(ascii_members) < len(members)
        letters = {member.lower() for member in ascii_members & WORD}
        if not letters:
            self.is_by_ascii |= is_beyond
            return ((Gap.MARKS if is_beyond else Gap.PLAIN,),)
        if is_beyond:
            return _ANYTHING
        marks: list[Branch] = [(Gap.PLAIN,)] if ascii_members - WORD else []
        if len(letters) + len(marks) <= MAX_BRANCHES:
            self.has_case &= letters == ascii_members & WORD
            return (*((letter,) for letter in sorted(letters)), *marks)
        return _ANYTHING if marks else ((Gap.WORD,),)

    def _members(self) -> frozenset[str] | None:
        """Returns the characters of one member of a class, None if they are not known."""
        named = _POSIX_CLASS.match(self._pattern, self._at)
        if named is not None:
            self._at = named.end()
            members = _POSIX.get(named[2])
            return None if named[1] else members
        first = self._member()
        if first is None or len(first) != 1 or self._pattern[self._at] != "-" or self._pattern[self._at + 1] == "]":
            return first
        self._at += 1
        last = self._member()
        if last is None:
            return None
        ((start,), (end,)) = first, last
        # Of characters outside ASCII it only matters that there are some.
        return frozenset(map(chr, range(ord(start), min(ord(end), 128) + 1))) | {end}

    def _member(self) -> frozenset[str] | None:
        character = self._pattern[self._at]
        if character != "\\":
            self._at += 1
            return frozenset(character)
        code = _CODE.match(self._pattern, self._at)
        if code is not None:
            self._at = code.end()
            return None
        character = self._pattern[self._at + 1]
        self._at += 2
        if character in _CLASSES:
            return _CLASSES[character]
        if character == "W":
            return _ASCII - WORD | {_BEYOND}
        if character in "DS":
            return None
        return frozenset(_CONTROL.get(character, character))

    def _takes(self, text: str) -> bool:
        if not self._pattern.startswith(text, self._at):
            return False
        self._at += len(text)
        return True


def _few(branches: Sequence[Branch]) -> tuple[Branch, ...]:
    """Returns the branches without duplicates; any text if there are too many."""
    distinct = tuple(dict.fromkeys(branches))
    return distinct if len(distinct) <= MAX_BRANCHES else _ANYTHING


def _repetition(branches: Sequence[Branch]) -> Gap:
    """Returns the gap for zero or more repetitions of `branches`."""
    items = [item for branch in branches for item in branch]
    if all(item is Gap.WORD or item in WORD for item in items):
        return Gap.WORD
    return Gap.MAYBE_PLAIN if all(is_plain(item) for item in items) else Gap.ANY


def is_plain(item: Item) -> bool:
    """Whether an item matches only ASCII marks, or nothing."""
    return item in (Gap.PLAIN, Gap.MAYBE_PLAIN) if isinstance(item, Gap) else item.isascii() and item not in WORD

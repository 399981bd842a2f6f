"""Says a regular expression again without possessive or atomic groups, and makes words that it may match.

`X*+` is the same as `(?=(X*))\\1`: a lookahead is not entered again either.
"""

import re
from collections.abc import Sequence
from random import Random
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Node = tuple[Any, Any]

_AT = {
    codes.AT_BEGINNING: "^",
    codes.AT_BEGINNING_STRING: r"\A",
    codes.AT_BOUNDARY: r"\b",
    codes.AT_NON_BOUNDARY: r"\B",
    codes.AT_END: "$",
    codes.AT_END_STRING: r"\Z",
}
_CATEGORIES = {
    codes.CATEGORY_DIGIT: (r"\d", "07"),
    codes.CATEGORY_NOT_DIGIT: (r"\D", "a "),
    codes.CATEGORY_SPACE: (r"\s", " \n\t"),
    codes.CATEGORY_NOT_SPACE: (r"\S", "a("),
    codes.CATEGORY_WORD: (r"\w", "ab_0"),
    codes.CATEGORY_NOT_WORD: (r"\W", " .("),
}
_FLAGS = {re.ASCII: "a", re.IGNORECASE: "i", re.LOCALE: "L", re.MULTILINE: "m", re.DOTALL: "s", re.UNICODE: "u", re.VERBOSE: "x"}
_ANY = "ax \n\"'()<>{}[]\\/,:;=*&."
"""Characters for a place that takes almost any: those that mean something in languages."""


def group_name(number: int) -> str:
    """Returns the name that the group `number` of a pattern has in the one without possessive groups."""
    return f"g{number}"


def without_possessives(pattern: re.Pattern[Any]) -> re.Pattern[Any]:
    """Returns an equal pattern without possessive or atomic groups. Its group `group_name(n)` is the group n of `pattern`."""
    source = _Writer().sequence(parser.parse(pattern.pattern, pattern.flags))
    # The pattern was taken apart: blanks and `#` are themselves.
    flags = pattern.flags & ~re.VERBOSE
    return re.compile(source.encode("latin-1") if isinstance(pattern.pattern, bytes) else source, flags)


class _Writer:
    def __init__(self) -> None:
        self._n_atomic = 0

    def sequence(self, nodes: Sequence[Node]) -> str:
        return "".join(self._node(code, value) for code, value in nodes)

    def _node(self, code: Any, value: Any) -> str:
        if code in (codes.LITERAL, codes.NOT_LITERAL):
            return _character(value) if code is codes.LITERAL else f"[^{_character(value)}]"
        if code is codes.ANY:
            return "."
        if code is codes.AT:
            return _AT[value]
        if code is codes.IN:
            return f"[{''.join(map(_in_set, value))}]"
        if code is codes.BRANCH:
            return f"(?:{'|'.join(map(self.sequence, value[1]))})"
        if code is codes.SUBPATTERN:
            return self._group(*value)
        if code in (codes.ASSERT, codes.ASSERT_NOT):
            direction, body = value
            sign = "=" if code is codes.ASSERT else "!"
            return f"(?{'<' if direction < 0 else ''}{sign}{self.sequence(body)})"
        if code is codes.GROUPREF:
            return f"(?P={group_name(value)})"
        if code is codes.ATOMIC_GROUP:
            return self._atomic(self.sequence(value))
        least, most, body = value
        repeated = f"(?:{self.sequence(body)}){{{least},{'' if most is codes.MAXREPEAT else most}}}"
        if code is codes.POSSESSIVE_REPEAT:
            return self._atomic(repeated)
        return repeated + ("?" if code is codes.MIN_REPEAT else "")

    def _group(self, number: int | None, added: int, removed: int, body: Sequence[Node]) -> str:
        if number is not None:
            return f"(?P<{group_name(number)}>{self.sequence(body)})"
        on, off = ("".join(sign for flag, sign in _FLAGS.items() if flags & flag and sign != "x") for flags in (added, removed))
        return f"(?{on}{'-' if off else ''}{off}:{self.sequence(body)})"

    def _atomic(self, source: str) -> str:
        self._n_atomic += 1
        return f"(?=(?P<whole{self._n_atomic}>{source}))(?P=whole{self._n_atomic})"


def _character(code: int) -> str:
    return re.escape(chr(code))


def _in_set(item: Node) -> str:
    code, value = item
    if code is codes.NEGATE:
        return "^"
    if code is codes.RANGE:
        return f"{_character(value[0])}-{_character(value[1])}"
    return _CATEGORIES[value][0] if code is codes.CATEGORY else _character(value)


def words(pattern: re.Pattern[Any], random: Random, count: int) -> list[Any]:
    """Returns texts that `pattern` matches or nearly matches: some are cut, lack a piece, or have one more."""
    nodes = parser.parse(pattern.pattern, pattern.flags)
    made = [_spoilt(_word(nodes, random), random) for _ in range(count)]
    return [each.encode("latin-1", "replace") for each in made] if isinstance(pattern.pattern, bytes) else made


def _spoilt(word: str, random: Random) -> str:
    at, to = sorted((random.randint(0, len(word)), random.randint(0, len(word))))
    extra = random.choice(_ANY)
    return random.choice(
        (word, word[:to], word[:at] + word[to:], word[:at] + word[at + 1 :], word[:at] + extra + word[at:], word * 2)
    )


def _word(nodes: Sequence[Node], random: Random) -> str:
    return "".join(_piece(code, value, random) for code, value in nodes)


def _piece(code: Any, value: Any, random: Random) -> str:
    if code is codes.LITERAL:
        return chr(value)
    if code in (codes.ANY, codes.NOT_LITERAL, codes.GROUPREF):
        return random.choice(_ANY)
    if code is codes.IN:
        return _of_set(value, random)
    if code is codes.BRANCH:
        return _word(random.choice(value[1]), random)
    if code is codes.SUBPATTERN:
        return _word(value[3], random)
    if code is codes.ATOMIC_GROUP:
        return _word(value, random)
    if code in (codes.AT, codes.ASSERT_NOT):
        return ""
    if code is codes.ASSERT:
        return _word(value[1], random) if random.random() < 0.5 else ""
    least, most, body = value
    return "".join(_word(body, random) for _ in range(random.randint(least, min(most, least + 3))))


def _of_set(items: Sequence[Node], random: Random) -> str:
    if items[0][0] is codes.NEGATE:
        return random.choice(_ANY)
    code, value = random.choice(items)
    if code is codes.RANGE:
        return chr(random.randint(*value))
    return random.choice(_CATEGORIES[value][1]) if code is codes.CATEGORY else chr(value)

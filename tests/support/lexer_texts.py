"""Texts that lead the lexers of the page into each of their states, and repeat there what the rules of the state match."""

import random
import re
from collections.abc import Iterator, Mapping
from re import _constants as codes  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]

MAX_REPEAT = 2
"""Repetitions of a repeated part in a sample, above its minimum."""

_OF_CATEGORY = {
    codes.CATEGORY_DIGIT: "7", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a",
    codes.CATEGORY_NOT_DIGIT: "a", codes.CATEGORY_NOT_SPACE: "a", codes.CATEGORY_NOT_WORD: "+",
}  # fmt: skip


def sample(pattern: str, flags: int, choose: random.Random) -> str:
    """Returns a text that a pattern is likely to match; conditions on what is around it are ignored."""
    groups: dict[int, str] = {}
    return "".join(_sampled(_parser.parse(pattern, flags), groups, choose))


def _sampled(parsed, groups: dict[int, str], choose: random.Random) -> Iterator[str]:
    for code, value in parsed:
        if code is codes.LITERAL:
            yield chr(value)
        elif code is codes.NOT_LITERAL:
            yield "a" if value != ord("a") else "b"
        elif code is codes.ANY:
            yield choose.choice("a .")
        elif code is codes.IN:
            yield _one_of(value, choose)
        elif code is codes.BRANCH:
            yield from _sampled(choose.choice(value[1]), groups, choose)
        elif code is codes.SUBPATTERN:
            text = "".join(_sampled(value[3], groups, choose))
            if value[0] is not None:
                groups[value[0]] = text
            yield text
        elif code is codes.ATOMIC_GROUP:
            yield from _sampled(value, groups, choose)
        elif code is codes.GROUPREF:
            yield groups.get(value, "")
        elif code in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            least, most, inner = value
            for _ in range(choose.randint(least, min(most, least + MAX_REPEAT))):
                yield from _sampled(inner, groups, choose)


def _one_of(items, choose: random.Random) -> str:
    if items[0][0] is codes.NEGATE:
        refused = re.compile(f"[{''.join(_class_item(item) for item in items[1:])}]")
        return next((each for each in "a +'\"\\(1\n-é" if not refused.match(each)), "\x01")
    code, value = choose.choice(items)
    if code is codes.LITERAL:
        return chr(value)
    if code is codes.RANGE:
        return chr(choose.randint(*value))
    return _OF_CATEGORY.get(value, "a")


def _class_item(item) -> str:
    code, value = item
    if code is codes.LITERAL:
        return re.escape(chr(value))
    if code is codes.RANGE:
        return f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
    return {
        codes.CATEGORY_DIGIT: r"\d", codes.CATEGORY_SPACE: r"\s", codes.CATEGORY_WORD: r"\w",
        codes.CATEGORY_NOT_DIGIT: r"\D", codes.CATEGORY_NOT_SPACE: r"\S", codes.CATEGORY_NOT_WORD: r"\W",
    }[value]  # fmt: skip


def units_by_state(lexer, seed: int) -> Mapping[str, tuple[str, list[str]]]:
    """Returns for each state of a RegexLexer a text that leads there, as far as one is found, and one text for each rule."""
    choose = random.Random(seed)
    states = getattr(lexer, "_tokens", {})  # one lexer, of JSON, is a loop
    ways = {"root": ""}
    queue = ["root"]
    while queue:
        state = queue.pop(0)
        for match, _action, following in states.get(state, ()):
            for target in following if isinstance(following, tuple) else (following,):
                if isinstance(target, str) and target in states and target not in ways:
                    ways[target] = ways[state] + _of_rule(match, choose)
                    queue.append(target)
    return {state: (ways.get(state, ""), [_of_rule(match, choose) for match, *_ in rules]) for state, rules in states.items()}


def _of_rule(match, choose: random.Random) -> str:
    pattern = match.__self__
    return sample(pattern.pattern, pattern.flags & ~re.UNICODE, choose)

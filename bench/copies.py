"""Generates repositories from real ones: each is a copy of one real index, with its own words.

Vocabulary grows from one real repository to the next. Of the words of a repository that are in one or two of its pieces of text,
60 % are in none of the others (mean of 25 real ones, compared with each other). A copy has as many words of its own: `changed`
picks SHARE of those words, the same for each copy, and a mark after each becomes letters that no other copy has.
"""

import hashlib
import math
import random
import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import Final

SHARE: Final = 0.6
RARE: Final = 2
"""A rare word is in at most this many pieces of text."""

WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")

_LETTERS: Final = "bcdfghjkmnpqrtvwxz"
"""Neither vowels nor `s`, so that no analyser strips an ending."""

_LENGTH: Final = 4
MARK: Final = "zqjkkkkx"
"""Placeholder for a copy's letters. All begin with the same three, which no word has, so the order of words stays the same."""

MAX_COPIES: Final = len(_LETTERS) ** _LENGTH


def suffix(number: int) -> str:
    """Returns the letters that replace MARK in copy `number`: as many as in MARK, and unique."""
    if not 0 <= number < MAX_COPIES:
        raise ValueError(f"there can be {MAX_COPIES:,} copies, not {number:,}")
    letters = []
    for _ in range(_LENGTH):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return f"zqj{''.join(letters)}x"


def words_in(text: str) -> set[str]:
    """Returns the words that may be changed, in lower case."""
    return {word.lower() for word in WORD.findall(text)}


def changed(rare: Iterable[str]) -> frozenset[str]:
    """Returns the words that copies have in their own form: SHARE of them, chosen by hash."""
    return frozenset(word for word in rare if hashlib.blake2b(word.encode(), digest_size=4).digest() < _BELOW)


_BELOW: Final = int(SHARE * 2**32).to_bytes(4, "big")


def marked(text: str, words: Collection[str]) -> str:
    """Returns the text with MARK after each of the words, which are in lower case."""
    return WORD.sub(lambda found: found[0] + MARK if found[0].lower() in words else found[0], text)


def spread(sizes: Sequence[int]) -> float:
    """Returns the standard deviation of the logarithms of sizes."""
    logarithms = [math.log(size) for size in sizes]
    mean = sum(logarithms) / len(logarithms)
    return math.sqrt(sum((each - mean) ** 2 for each in logarithms) / len(logarithms))


def chosen(sizes: Sequence[int], n: int, mean: float, seed: str) -> list[int]:
    """Returns, for `n` repositories, the index in `sizes` (of the real ones) of the one that each copies.

    Sizes are drawn from a lognormal distribution as widely spread as the real ones; each is a copy of one of the three real
    repositories of nearest size. The middle of the distribution is chosen so that the sizes have that `mean`.
    """
    width = spread(sizes)

    def with_middle(middle: float) -> list[int]:
        rng = random.Random(f"{seed}:sizes")
        return [_near(sizes, middle + width * rng.gauss(0, 1), rng.random()) for _ in range(max(n, 2_000))]

    low, high = math.log(min(sizes)) - 3 * width, math.log(max(sizes)) + 3 * width
    for _ in range(40):
        middle = (low + high) / 2
        found = with_middle(middle)
        if sum(sizes[each] for each in found) / len(found) < mean:
            low = middle
        else:
            high = middle
    return with_middle(low)[:n]


def _near(sizes: Sequence[int], logarithm: float, turn: float) -> int:
    order = sorted(range(len(sizes)), key=lambda each: sizes[each])
    logarithms = [math.log(sizes[each]) for each in order]
    at = bisect_left(logarithms, logarithm)
    around = range(max(0, at - 3), min(len(order), at + 3))
    nearest = sorted(around, key=lambda each: abs(logarithms[each] - logarithm))[:3]
    return order[nearest[int(turn * len(nearest))]]

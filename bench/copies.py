"""Generates repositories from real ones: how large they are, and which words each has of its own.

Vocabulary grows from one real repository to the next. Of the words of a repository that are in one or two of its pieces of text,
60 % are in none of the others (mean of 25 real ones, compared with each other). So SHARE of the rare words of a real repository
are each in the summary of a single one of its copies, which owns the word. In place of it the summaries of the others have one
with letters that no other copy has: all summaries are as large as the real one, and a rare word selects one copy.
"""

import hashlib
import math
import random
import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Final

SHARE: Final = 0.6
RARE: Final = 2
"""A rare word is in at most this many pieces of text."""

WORD: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{3,}")

_LETTERS: Final = "bcdfghjkmnpqrtvwxz"
_LENGTH: Final = 4

MAX_COPIES: Final = len(_LETTERS) ** _LENGTH


def suffix(number: int) -> str:
    """Returns the letters that make a word one that only copy `number` has."""
    if not 0 <= number < MAX_COPIES:
        raise ValueError(f"there can be {MAX_COPIES:,} copies, not {number:,}")
    letters = []
    for _ in range(_LENGTH):
        number, rest = divmod(number, len(_LETTERS))
        letters.append(_LETTERS[rest])
    return f"zqj{''.join(letters)}x"


def words_in(text: str) -> set[str]:
    """Returns the words of a text, in lower case."""
    return {word.lower() for word in WORD.findall(text)}


_BELOW: Final = int(SHARE * 2**32)


class Owners:
    """Which of the copies of one real repository owns which of its rare words. Threads may share it."""

    def __init__(self, n_copies: int) -> None:
        self.n_copies: Final = n_copies
        self._known: dict[str, int] = {}

    def owner(self, word: str) -> int | None:
        """Returns the copy that owns a rare word, whatever its case, from 0; None for a word that all copies have."""
        known = self._known.get(word)
        if known is None:
            digest = hashlib.blake2b(word.lower().encode("utf-8", "surrogatepass"), digest_size=8).digest()
            is_owned = int.from_bytes(digest[:4], "big") < _BELOW
            known = self._known[word] = int.from_bytes(digest[4:], "big") % self.n_copies if is_owned else _SHARED
        return None if known == _SHARED else known

    def own(self, word: str, turn: int, letters: str) -> str:
        """Returns the word that copy `turn` has in place of a rare word: the same, or one with `letters`."""
        return word if self.owner(word) in (None, turn) else word + letters


_SHARED: Final = -1


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

"""Where the words of a question occur in the part of a file that was read, as sums over the lines before each line: each word is
then counted in any lines by one subtraction.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Final

from msgspec import Struct

from codecompass.query.words.query_words import WantedWords

UNIT: Final = 1_000
"""A word that matches whole, in the units of the sums: whole numbers, so that equal lines have equal sums wherever they are."""


class WordPlaces(Struct, frozen=True):
    """The lines with words of the question. Words have their numbers; numbers after those are patterns."""

    lines: Sequence[int]
    """Line numbers with matches, ascending."""
    with_hits: frozenset[int]
    """The same."""
    sums: Mapping[int, Sequence[int]]
    """For each word that occurs, how well it matches in all lines before the first of `lines`, the second and so on, and in all
    of them: sums of matches, in 1/UNIT."""
    empty: frozenset[int]
    """Line numbers of empty lines."""

    def within(self, first: int, last: int) -> range:
        """Returns the indexes of the lines from `first` to `last`."""
        start = bisect_left(self.lines, first)
        return range(start, bisect_right(self.lines, last, start))

    def most(self, lines: range) -> Iterator[tuple[int, float]]:
        """Yields the words that occur in the lines with these indexes, each with how well it matches at best in one: up to 1."""
        for number, sums in self.sums.items():
            if sums[lines.stop] > sums[lines.start]:
                most = max([after - before for before, after in pairwise(sums[lines.start : lines.stop + 1])])
                yield number, min(1.0, most / UNIT)

    def on_line(self, index: int) -> Iterator[tuple[int, float]]:
        """Yields the words in the line with this index, each with the sum of its matches."""
        for number, sums in self.sums.items():
            count = sums[index + 1] - sums[index]
            if count:
                yield number, count / UNIT


def word_places(texts: Sequence[tuple[int, str]], wanted: WantedWords, patterns: Sequence[re.Pattern[str]]) -> WordPlaces:
    """Returns where words occur in the texts, each given with its first line number, and lines that match the patterns.

    A line matches a pattern only if words are in it or in an adjacent line.
    """
    joined = "\n".join([text.removesuffix("\n") for _, text in texts])
    numbers: list[int] = []
    for first, text in texts:
        numbers += range(first, first + 1 + text.count("\n", 0, len(text) - 1))
    by_word: list[dict[int, float]] = [{} for _ in wanted.worth]
    for index, matches in wanted.places_in(joined):
        line = numbers[index]
        for number, match in matches:
            own = by_word[number]
            own[line] = own.get(line, 0.0) + match
    with_hits = frozenset().union(*by_word)
    lines = sorted(with_hits)
    for pattern in patterns:
        matched: dict[int, float] = {}
        for first, text in texts:
            for found in pattern.finditer(text):
                line = first + text.count("\n", 0, found.start())
                at = bisect_left(lines, line - 1)
                if at < len(lines) and lines[at] <= line + 1:
                    matched[lines[at]] = 1.0
        by_word.append(matched)
    sums: dict[int, Sequence[int]] = {}
    places = {line: index for index, line in enumerate(lines, 1)}
    for number, own in enumerate(by_word):
        if own:
            counts = [0] * (len(lines) + 1)
            for line, match in own.items():
                counts[places[line]] = round(match * UNIT)
            sums[number] = tuple(accumulate(counts))
    return WordPlaces(lines, with_hits, sums, frozenset([line for first, text in texts for line in _empty_lines(first, text)]))


def _empty_lines(line: int, text: str) -> Iterator[int]:
    """Yields the numbers of empty lines in a text whose first line has the number `line`."""
    counted, at = 0, text.find("\n\n")
    while at >= 0:
        line += text.count("\n", counted, at + 1)
        counted = at + 1
        yield line
        at = text.find("\n\n", counted)

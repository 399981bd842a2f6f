"""The different words of a text index, as one text that is searched for those with a given piece.

tantivy finds the words that have a piece in their middle by walking through all of them: 80 ms for 327,000. A text of them takes
3 ms, but is made in 440 ms and kept in memory (5 MB), so it is made only for an index that is asked again.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Final, Protocol

WALKS: Final = 2
"""Walks through the words of an index before they are kept."""

MAX_FOUND: Final = 10_000
"""Words of one search. Documents with one of 5,900 of 88,000 words are found in 17 ms, by the walk in 27; with one of 2,600 in 10
and 17."""

LEAST_BEGINNING: Final = 3
"""Letters, with the mark, of a beginning of words that is looked up: shorter ones have thousands of words."""

MAX_READ_WHOLE: Final = 50_000
"""Words of an index that are all read at once, for those that begin with NOT_KEPT, which takes 70 ms without a pause."""

_END_OF_KEPT: Final = 0x3000
"""Words that begin with a later character (of Chinese, Japanese, Korean) are not kept if the index is large: there are too many
such characters to read the words one letter at a time."""

NOT_KEPT: Final = f"[{chr(_END_OF_KEPT)}-\U0010ffff]"
"""The first letter of the words that are not kept."""


@cache
def _first_letters() -> str:
    """Returns the characters that words which are kept begin with."""
    others = map(chr, range(0x80, _END_OF_KEPT))
    kept = [each for each in others if unicodedata.category(each)[0] in "LMNS" and each == each.lower()]
    return string.digits + string.ascii_lowercase + "_" + "".join(kept)


class Terms(Protocol):
    """The dictionary of an index."""

    def terms_with_prefix(self, field: str, prefix: str) -> list[tuple[str, int]]:
        """Returns the words of a field that begin with a prefix, each with how many documents have it."""


class Vocabulary:
    """The words of one generation, apart from those that begin with NOT_KEPT. Thread-safe: at worst two threads make the same
    text."""

    def __init__(self, terms: Terms) -> None:
        self._terms = terms
        self._texts: dict[tuple[str, str], tuple[str, bool]] = {}
        """The words of each field and mark, and whether the index has others, which begin with NOT_KEPT."""
        self._walks: dict[tuple[str, str], int] = {}

    @property
    def is_kept(self) -> bool:
        """Whether words of the index are kept, so that finding some is quick."""
        return bool(self._texts)

    def words_beginning(self, field: str, text: str) -> list[str] | None:
        """Returns the words of a field that begin with `text`; None if it is short or they may be many. The dictionary of the
        index has them in order: finding them takes a tenth of the time in which tantivy builds a query for an expression."""
        if len(text) < LEAST_BEGINNING:
            return None
        found = [word for word, _ in self._terms.terms_with_prefix(field, text)]
        return found if len(found) <= MAX_FOUND else None

    def words_with(
        self, field: str, mark: str, pieces: Iterable[str], pattern: str, has_others: Callable[[], bool]
    ) -> tuple[list[str], bool] | None:
        """Returns the words of a field that begin with `mark`, have one of the pieces and match the pattern, and whether words
        that are not kept may do so too; None if a walk is to find them. `has_others` finds out whether the index has words that
        begin with NOT_KEPT, once: a query for these takes .7 ms to build."""
        key = field, mark
        if key not in self._texts:
            walks = self._walks[key] = self._walks.get(key, 0) + 1
            if walks <= WALKS:
                return None
            self._texts[key] = self._read(field, mark, has_others())
        text, has_more = self._texts[key]
        matches = re.compile(re.escape(mark) + pattern).fullmatch
        found: dict[str, None] = {}
        for piece in pieces:
            for word in _words_with(text, piece):
                if matches(word) is not None:
                    found[word] = None
                if len(found) > MAX_FOUND:
                    return None
        return list(found), has_more

    def _read(self, field: str, mark: str, has_others: bool) -> tuple[str, bool]:
        # One letter at a time, so that other threads run meanwhile.
        text = "".join(
            f"{word}\n" for first in _first_letters() for word, _ in self._terms.terms_with_prefix(field, mark + first)
        )
        if not has_others or text.count("\n") > MAX_READ_WHOLE:
            return text, has_others
        every = self._terms.terms_with_prefix(field, mark)
        return text + "".join(f"{word}\n" for word, _ in every if word[len(mark) : len(mark) + 1] >= chr(_END_OF_KEPT)), False


def _words_with(text: str, piece: str) -> Iterator[str]:
    at = text.find(piece)
    while at >= 0:
        end = text.find("\n", at)
        yield text[text.rfind("\n", 0, at) + 1 : end]
        at = text.find(piece, end)

"""The words of a text index that cannot be found by their letters (`words.ODD_WORD_MARK`), as one text that is searched for a
piece.

A text with such a word may match whatever is looked for. Reading all of them for each question took half the time of most: 337
pieces of changelogs with checksums in Kubernetes, of 44,000.
"""

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from typing import Final

from codecompass.languages.words import odd_words
from codecompass.units import MIB

MAX_CHUNKS: Final = 1_000
"""Texts with such words that are read at most: 30 ms."""

MAX_CHARACTERS: Final = 1 * MIB
"""Characters of these words that are kept at most. Kubernetes has 505,000."""

_LONG_S: Final = str.maketrans("\u017f", "s")
"""Lower-casing leaves this letter as it is, although it is an `s` in another case."""


class OddWords:
    """The odd words of each text that has some, lower-case. Immutable."""

    def __init__(self, words: Mapping[int, str]) -> None:
        """`words` are those of each text by its key, separated by blanks."""
        self._keys: Final = tuple(words)
        # No word has a line break, so no piece is found across two texts.
        self.text: Final = "".join(f"{own}\n" for own in words.values())
        """All of them, lower-case, those of one text in a line."""
        starts = [0]
        for own in words.values():
            starts.append(starts[-1] + len(own) + 1)
        self._starts: Final = starts

    def keys_with(self, pieces: Iterable[str]) -> list[int]:
        """Returns the keys of the texts that have an odd word with one of the lower-case pieces in it, in no order."""
        found: set[int] = set()
        for piece in pieces:
            at = self.text.find(piece)
            while at >= 0:
                number = bisect_right(self._starts, at) - 1
                found.add(self._keys[number])
                at = self.text.find(piece, self._starts[number + 1])
        return list(found)


def odd_words_of(texts: Iterable[tuple[int, str]]) -> OddWords | None:
    """Returns the odd words of texts with their keys; None if they are too many to keep."""
    words: dict[int, str] = {}
    n_characters = 0
    for key, text in texts:
        words[key] = " ".join(odd_words(text)).lower().translate(_LONG_S)
        n_characters += len(words[key])
        if n_characters > MAX_CHARACTERS:
            return None
    return OddWords(words)

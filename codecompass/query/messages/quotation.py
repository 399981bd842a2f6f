"""How much of a pasted text another one has word for word: finds the workspace that a message comes from.

Many workspaces have all words of `does not support flag` somewhere, but only that of the message has them next to each other.
"""

import math
from functools import lru_cache
from itertools import pairwise
from typing import Final

from codecompass import lazy
from codecompass.query.messages.message_parsing import read_message
from codecompass.query.words.query_words import STOP_WORDS

MIN_WORDS: Final = 3
"""Fewer words are next to each other by chance."""

STOP_WORD_WORTH: Final = 0.2
"""Worth of a word like `the`, compared with other words."""

_WORD: Final = lazy.pattern(r"[^\W_]+")


class Quotation:
    """A pasted text whose words are sought in other texts. Immutable."""

    def __init__(self, text: str) -> None:
        """The text is read as a message, without what a terminal or a logger has added."""
        message = read_message(text)
        tokens: list[str] = []
        for piece in message.pieces:
            if piece.before or not tokens or tokens[-1] != piece.token:
                tokens.append(piece.token if piece.is_core else "")
        pairs = {pair: _worth(pair[0]) + _worth(pair[1]) for pair in pairwise(tokens) if all(pair)}
        self._pairs = pairs if message.word_count >= MIN_WORDS else {}
        self._firsts = frozenset(first for first, _ in self._pairs)
        self._total = math.fsum(pairs.values())

    def share_in(self, text: str) -> float:
        """Returns how much of the pairs of adjacent words is adjacent in `text` too, 0..1; 0 for a text of few words."""
        if not self._pairs:
            return 0.0
        firsts, words = self._firsts, _WORD.findall(text.lower())
        found = {pair for pair in pairwise(words) if pair[0] in firsts}
        # Exact, as the order of a set differs from run to run.
        return math.fsum(self._pairs[pair] for pair in found & self._pairs.keys()) / self._total


@lru_cache(maxsize=16)
def quotation_of(text: str) -> Quotation:
    """Returns the quotation of a question, cached because each of many workspaces is asked it."""
    return Quotation(text)


def _worth(word: str) -> float:
    return STOP_WORD_WORTH if word in STOP_WORDS else 1.0

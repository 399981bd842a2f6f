"""BM25 as the embedded store has it, over documents that the engine found.

The engine ranks by the words of all repositories in a shard; a repository is ranked by its own. So the engine is given weights
that make up for its own rarity of each word, is asked for some more documents than are wanted, and those are scored here with the
counts and averages of their generation. The numbers are tantivy's (`bm25.rs`, `fieldnorm/code.rs`).
"""

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from codecompass.cluster.manifests import Averages
from codecompass.cluster.schema import K1, B
from codecompass.store.text_queries import WordQuery


def _length_classes() -> tuple[int, ...]:
    """The lengths that are told apart: exact up to 40, then with three bits behind the first."""
    classes = list(range(40))
    base, step = 40, 2
    while len(classes) < 256:
        for number in range(8):
            classes.append(base + number * step)
            if len(classes) == 256:
                break
        base, step = base + 8 * step, 2 * step
    return tuple(classes)


LENGTHS: Final = _length_classes()
"""The length of a field is kept in a byte, in both engines: the place of the largest of these that is not larger."""


def kept_length(n_tokens: int) -> int:
    """Returns the length as it is kept."""
    return LENGTHS[bisect_right(LENGTHS, n_tokens) - 1]


def rarity(n_having: int, n_documents: int) -> float:
    """Returns the inverse document frequency; a word that no document has is as rare as can be."""
    n_having = min(n_having, n_documents)
    return math.log(1.0 + (n_documents - n_having + 0.5) / (n_having + 0.5))


Counts = Mapping[str, tuple[int, Mapping[str, int]]]
"""Of one document: by field, how many tokens it has there, and how often each word of the query is among them."""


class Scorer:
    """Scores documents for one query in one generation. `count(field, word)` says how many documents have a word."""

    def __init__(self, words: Sequence[WordQuery], averages: Averages, count: Callable[[str, str], int]) -> None:
        self._words = {word.word: word for word in words}
        self._required = frozenset(word.word for word in words if word.is_required)
        self._needs_another = len(self._required) < len(words)
        self._means = {item.field: averages.mean(item.field) or 1.0 for word in words for item in word.fields}
        self._weights: dict[str, dict[str, float]] = {field: {} for field in self._means}
        for word in words:
            for item in word.fields:
                rare = rarity(count(item.field, word.word), averages.documents)
                self._weights[item.field][word.word] = (1.0 + K1) * item.boost * word.boost * rare

    def score(self, document: Counts) -> float:
        """Returns the score of a document; 0 where it lacks a required word, or has none of the others."""
        found: dict[str, list[float]] = {}
        for field, (n_tokens, counts) in document.items():
            weights = self._weights.get(field)
            if counts and weights:
                norm = K1 * (1.0 - B + B * kept_length(n_tokens) / self._means[field])
                for word, tf in counts.items():
                    if tf and word in weights:
                        found.setdefault(word, []).append(weights[word] * tf / (tf + norm))
        if not self._required <= found.keys() or (self._needs_another and len(found) == len(self._required)):
            return 0.0
        return sum(self._value(self._words[word], values) for word, values in found.items())

    @staticmethod
    def _value(word: WordQuery, values: Sequence[float]) -> float:
        if word.is_constant:
            return word.boost
        best = max(values)
        return best + word.tie_breaker * (sum(values) - best)

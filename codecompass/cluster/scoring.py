"""Scores documents that the engine found with the BM25 of the embedded store.

The engine ranks with the word statistics of all repositories in a shard, but a repository must be ranked with its own. So the
query's weights compensate for the engine's rarity of each word, the engine is asked for some more documents than are wanted, and
these are scored here with the counts and averages of their generation. The constants are tantivy's (`bm25.rs`,
`fieldnorm/code.rs`). `EngineRarities` caches the engine's rarities, from its term statistics for an artificial document.
"""

import math
import threading
import time
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from codecompass.cluster.engine import Engine
from codecompass.cluster.manifests import Averages
from codecompass.cluster.schema import K1, B, JsonObject
from codecompass.store.text_queries import WordQuery
from codecompass.units import MINUTES


def _length_classes() -> tuple[int, ...]:
    """Returns the lengths that one byte distinguishes: exact up to 40, then with three bits after the leading one."""
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
"""Both engines store the length of a field in a byte: the index of the largest of these that is not larger."""


def kept_length(n_tokens: int) -> int:
    """Returns the length of a field as it is after being stored in a byte."""
    return LENGTHS[bisect_right(LENGTHS, n_tokens) - 1]


def rarity(n_having: int, n_documents: int) -> float:
    """Returns the inverse document frequency, which is highest for a word that no document has."""
    n_having = min(n_having, n_documents)
    return math.log(1.0 + (n_documents - n_having + 0.5) / (n_having + 0.5))


Counts = Mapping[str, tuple[int, Mapping[str, int]]]
"""One document's number of tokens in each field, and how often each word of the query occurs among them."""


class Scorer:
    """Scores documents for one query in one generation. `count(field, word)` returns the number of documents with a word."""

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
        """Returns the score of a document: 0 if it lacks a required word, or all of the optional ones."""
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


KEPT_WORDS: Final = 200_000
"""Cached words of all shards: 30 MB."""

KEPT_SHARDS: Final = 10_000
"""Cached numbers of shards: one for each repository that a prefix can have."""

KEPT_SECONDS: Final = 10 * MINUTES
"""Rarities change slowly, and only the choice of candidates depends on them."""

LEAST_RARITY: Final = 1e-3
"""Lower bound of rarities, because weights are divided by them."""


class EngineRarities:
    """Cached rarities. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._shards: dict[str, tuple[int, float]] = {}
        """By routing: the shard, and when it was first asked about."""
        self._kept: OrderedDict[tuple[int, str, str], tuple[float, float]] = OrderedDict()

    def of(self, routing: str, fields: Iterable[str], words: Sequence[WordQuery]) -> dict[tuple[str, str], float]:
        """Returns the inverse document frequencies in the shard of `routing`, by field and word.

        None of them is from before the first call for this routing: a new repository can be most of its shard.
        """
        names = list(fields)
        sought = list(dict.fromkeys(word.word for word in words))
        shard, first_asked = self._shard(routing)
        now = time.monotonic()
        oldest = max(first_asked, now - KEPT_SECONDS)
        found: dict[tuple[str, str], float] = {}
        with self._lock:
            for field in names:
                for word in sought:
                    kept = self._kept.get((shard, field, word))
                    if kept is not None and kept[1] >= oldest:
                        found[field, word] = kept[0]
        missing = [word for word in sought if any((field, word) not in found for field in names)]
        if missing:
            read = self._read(routing, names, missing)
            found |= read
            with self._lock:
                for (field, word), value in read.items():
                    self._kept[shard, field, word] = (value, now)
                while len(self._kept) > KEPT_WORDS:
                    self._kept.popitem(last=False)
        return found

    def _shard(self, routing: str) -> tuple[int, float]:
        found = self._shards.get(routing)
        if found is None:
            found = self._engine.shard(self._engine.names.text, routing), time.monotonic()
            if len(self._shards) >= KEPT_SHARDS:
                self._shards.clear()
            self._shards[routing] = found
        return found

    def _read(self, routing: str, fields: Sequence[str], words: Sequence[str]) -> dict[tuple[str, str], float]:
        body: JsonObject = {
            "doc": dict.fromkeys(fields, " ".join(words)),
            "term_statistics": True,
            "field_statistics": True,
            "offsets": False,
            "payloads": False,
            "positions": False,
        }
        said = self._engine.term_statistics(self._engine.names.text, body, routing=routing)
        found = {}
        for field in fields:
            vector = said.get("term_vectors", {}).get(field)
            if vector is None:
                continue
            n_documents = max(1, vector.get("field_statistics", {}).get("doc_count", 1))
            for word, term in vector["terms"].items():
                found[field, word] = max(rarity(term.get("doc_freq", 0), n_documents), LEAST_RARITY)
        return found

"""A cache of the engine's inverse document frequencies: of a word in a shard, over all repositories there.

They come from the engine's term statistics for an artificial document, which its own ranking uses as well.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from codecompass.cluster.engine import Engine, JsonObject
from codecompass.cluster.scoring import rarity
from codecompass.store.text_queries import WordQuery
from codecompass.units import MINUTES

KEPT_WORDS: Final = 200_000
"""Cached words of all shards: 30 MB."""

KEPT_SECONDS: Final = 10 * MINUTES
"""Rarities change slowly, and only the choice of candidates depends on them."""


class EngineRarities:
    """Cached rarities. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, str, str], tuple[float, float]] = OrderedDict()

    def of(self, routing: str, fields: Iterable[str], words: Sequence[WordQuery]) -> dict[tuple[str, str], float]:
        """Returns the inverse document frequencies in the shard of `routing`, by field and word."""
        now = time.monotonic()
        names = list(fields)
        sought = list(dict.fromkeys(word.word for word in words))
        found: dict[tuple[str, str], float] = {}
        with self._lock:
            for field in names:
                for word in sought:
                    kept = self._kept.get((routing, field, word))
                    if kept is not None and now - kept[1] < KEPT_SECONDS:
                        found[field, word] = kept[0]
        if len(found) < len(names) * len(sought):
            found |= self._read(routing, names, sought)
            with self._lock:
                for (field, word), value in found.items():
                    self._kept[routing, field, word] = (value, now)
                while len(self._kept) > KEPT_WORDS:
                    self._kept.popitem(last=False)
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


LEAST_RARITY: Final = 1e-3
"""Lower bound of rarities, because weights are divided by them."""

"""How much of an error message stands in a piece of source word for word: its longest run of consecutive words.

A message in the source has gaps where values are filled in, so the whole of it is seldom there; the longest run tells the
place where it is raised from places that merely use the same words.
"""

from collections.abc import Sequence
from typing import Final

from codecompass.protocol.decode import well_formed
from codecompass.store.analyzer import index_tokens
from codecompass.store.index import Snapshot
from codecompass.store.query.candidates import Candidates, ChunkPlace

LOOKED_AT: Final = 100
"""Chunks whose text is compared; the best by BM25."""

MAX_WORDS: Final = 60
MIN_RUN: Final = 3
"""Words in a row that are no coincidence."""


def phrase_shares(snapshot: Snapshot, found: Candidates, message: str) -> dict[ChunkPlace, float]:
    """Returns for the best chunks which share (0..1) of the message they hold as one run of words; without the zeros."""
    words = index_tokens(well_formed(message))[:MAX_WORDS]
    if len(words) < MIN_RUN:
        return {}
    hits = sorted((hit for file in found.files for hit in file.chunks), key=lambda hit: (-hit.score, hit.file_id, hit.line_start))
    shares = {}
    for hit in hits[:LOOKED_AT]:
        text = "".join(chunk.text for chunk in snapshot.text.file_chunks(hit.file_id, hit.line_start, hit.line_end))
        run = longest_run(words, index_tokens(text))
        if run >= MIN_RUN:
            shares[hit.file_id, hit.line_start] = run / len(words)
    return shares


def longest_run(words: Sequence[str], text: Sequence[str]) -> int:
    """Returns the length of the longest run of consecutive `words` that stands in `text` as one run."""
    places: dict[str, list[int]] = {}
    for index, word in enumerate(words):
        places.setdefault(word, []).append(index)
    best = 0
    ending: dict[int, int] = {}
    for token in text:
        ending = {index: ending.get(index - 1, 0) + 1 for index in places.get(token, ())}
        best = max(best, *ending.values()) if ending else best
    return best

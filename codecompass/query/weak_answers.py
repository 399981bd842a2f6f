"""Whether what was found by words is an answer at all: most words of a question about something else occur in any code, but not
together.

Three signs are added up: what the best file has beyond words somewhere in it (its path, its names); the most of the question in
one chunk, times the logarithm of the number of its words, because a few of them are together by chance; and BM25 over what all
words are worth. Chosen by logistic regression on questions of 28 repositories asked of others (`bench.quality.weak`). A long text
names much of what it is about: its names count instead of the path.
"""

import math
from collections.abc import Sequence
from typing import Final

from codecompass.query.search_hits import QueryIntent, RankedPlace
from codecompass.query.source_lines import listed
from codecompass.query.words.retrieval import MIN_COVERED_WORDS, Candidates, Weights, n_chunks
from codecompass.store.snapshot import Snapshot

TOGETHER: Final = 2.0
TEXT: Final = 1.3
LEAST: Final = 2.55
"""Weights of the second and third sign beside the first, and the sum below which an answer is weak."""

USUAL_CHUNKS: Final = 3_000
SIZE: Final = 0.15
"""How much more is asked of an index with e times as many chunks: more of a question is there by chance."""

NAMED: Final = 2.0
TEXT_OF_FEW: Final = 0.3
LEAST_OF_FEW: Final = 1.2
"""The same for questions with too few words to be together: how well a definition's name matches counts instead."""

NAMED_PLACES: Final = 20

LONG_NAMES: Final = 0.9
LONG_TEXT: Final = 0.7
LEAST_OF_LONG: Final = 0.53
"""The same for long texts: the share of their names that are defined here, and BM25, beside the share of their words together."""

LIKELY_NAMES: Final = 0.5
"""Names that are supposed of a text beside its own, half of them defined: few names say little."""

MAX_NAMES: Final = 12

WHAT_NEXT: Final = "Ask in names of this code, or elsewhere: pass * as workspace"

WEAK_EVERYWHERE: Final = "weak: no project has much of the question in one place. Ask in names of the code"


def is_weak(snapshot: Snapshot, intent: QueryIntent, found: Candidates, ranked: Sequence[RankedPlace], weights: Weights) -> bool:
    """Returns whether none of the places found by words fits the question. `ranked` is the order before definitions compete."""
    if intent == "path" or not ranked:
        return False
    most = max(found.coverage.values(), default=0.0)
    worth = sum(found.wanted.worth) or 1.0
    text = max((file.chunks[0].score for file in found.files if file.chunks), default=0.0) / worth
    if found.is_long:
        return most * found.known + LONG_NAMES * _names_defined(snapshot, found) + LONG_TEXT * text < LEAST_OF_LONG
    beyond = ranked[0].score - weights.text - weights.spread
    n_words = len(found.wanted.worth)
    if n_words == 1:
        return False  # Where the word is, also if nothing is called so, is the answer.
    if n_words < MIN_COVERED_WORDS:
        named = max(place.signals.definition for place in ranked[:NAMED_PLACES])
        return beyond + NAMED * named + TEXT_OF_FEW * text < LEAST_OF_FEW
    least = LEAST + SIZE * math.log(n_chunks(snapshot) / USUAL_CHUNKS)
    return beyond + TOGETHER * most * math.log(n_words + 1) + TEXT * text < least


def _names_defined(snapshot: Snapshot, found: Candidates) -> float:
    """Returns the share of a long text's names that are defined here, by their weights."""
    names = list(found.name_weights.items())[-MAX_NAMES:]  # the heaviest ones are last
    defined = sum(weight for name, weight in names if name and snapshot.facts.symbols_named(name[-1], 1))
    return (defined + LIKELY_NAMES / 2) / (sum(weight for _, weight in names) + LIKELY_NAMES)


def weak_notice(absent: tuple[str, ...]) -> str:
    """Returns what is said before a weak answer: why it is one, and what to do. `absent` are words that are nowhere."""
    why = f"not found in the index: {listed(absent)}" if absent else "no place has much of the question"
    return f"weak: {why}. {WHAT_NEXT}"

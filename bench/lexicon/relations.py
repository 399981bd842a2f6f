"""Selects the relations to keep from those learned, and computes their strength.

Two things make a relation strong: for the same word of people, code says the other word nearly as often as the word itself, and
much more often there than elsewhere. The strength is the square root of their product, because the best of several weak relations
still has to count.
"""

from collections.abc import Iterable, Mapping
from math import log, sqrt
from typing import Final

from bench.lexicon.data_file import Relation
from bench.lexicon.translation import Translations
from codecompass.query.words.query_words import STOP_WORDS, stem

MAX_RELATIONS: Final = 16
"""Maximum number of relations of one word."""

MIN_LIFT: Final = 2.0
"""How much more probable a word must be with the other than elsewhere; a word below this occurs with everything."""

FULL_LIFT: Final = 16.0
"""At this lift and above, a word's general frequency no longer weakens a relation."""

MIN_STRENGTH: Final = 0.1

LEAST_SELF: Final = 0.1
"""Minimum probability of the word itself in the comparison, for words that code hardly ever says."""


def strongest(translations: Translations) -> dict[str, list[Relation]]:
    """Returns the relations of each stem, strongest first, ties by stem; stems without relations are omitted."""
    chosen: dict[str, list[Relation]] = {}
    for said, row in sorted(translations.probability.items()):
        itself = max(row.get(said, 0.0), LEAST_SELF)
        related = [
            Relation(written, strength)
            for written, probability in row.items()
            if written != said
            and (lift := probability / translations.usual[written]) >= MIN_LIFT
            and (strength := sqrt(min(1.0, probability / itself) * min(1.0, log(lift) / log(FULL_LIFT)))) >= MIN_STRENGTH
        ]
        related.sort(key=lambda relation: (-relation.strength, relation.stem))
        if related:
            chosen[said] = related[:MAX_RELATIONS]
    return chosen


def usual_words(forms: Iterable[Mapping[str, int]]) -> dict[str, str]:
    """Returns the most frequent word of code for each stem; of ties the shortest, then the alphabetically first."""
    counts: dict[str, int] = {}
    for repository in forms:
        for word, count in repository.items():
            counts[word] = counts.get(word, 0) + count
    usual: dict[str, str] = {}
    for word in sorted(counts, key=lambda word: (-counts[word], len(word), word)):
        if word not in STOP_WORDS:
            usual.setdefault(stem(word), word)
    return usual

"""Chooses the relations that are kept of all that was learned, and says how strong each is.

Two things make a relation strong: that code says the other word nearly as often as it says the word itself, for the same word
of people, and that it says it much more often there than anywhere. The strength is the square root of their product, because
the best of several weak relations still has to count.
"""

from collections.abc import Iterable, Mapping
from math import log, sqrt
from typing import Final

from bench.lexicon.data_file import Relation
from bench.lexicon.translation import Translations
from codecompass.query.query_words import STOP_WORDS, stem

MAX_RELATIONS: Final = 16
"""Of one word."""

MIN_LIFT: Final = 2.0
"""How much more probable a word must be beside the other than anywhere: less is a word that is beside everything."""

FULL_LIFT: Final = 16.0
"""From here on a relation is no weaker for the word's being usual anywhere."""

MIN_STRENGTH: Final = 0.1

LEAST_SELF: Final = 0.1
"""A word that code hardly ever says itself is compared with this probability."""


def strongest(translations: Translations) -> dict[str, list[Relation]]:
    """Returns the relations of each stem, the strongest first, equal ones by stem; stems without any are left out."""
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
    """Returns the word that code has most often for each stem: of equal ones the shortest, then the first in the alphabet."""
    counts: dict[str, int] = {}
    for repository in forms:
        for word, count in repository.items():
            counts[word] = counts.get(word, 0) + count
    usual: dict[str, str] = {}
    for word in sorted(counts, key=lambda word: (-counts[word], len(word), word)):
        if word not in STOP_WORDS:
            usual.setdefault(stem(word), word)
    return usual

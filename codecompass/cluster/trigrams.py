"""Trigrams: groups of three adjacent characters by which the engine finds a text inside longer ones.

Two fields have them: `path_trigrams` of files, and `odd_trigrams` of chunks with words that cannot be found by their letters,
most of them too long to be tokens. A text that contains another has all trigrams of that, whatever the case of its letters;
whoever asks checks the rest. Only ASCII is used, which is all that a scan looks up.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from codecompass.cluster.schema import JsonObject

LENGTH: Final = 3

MAX_LOOKED_UP: Final = 32
"""Trigrams of one text that are looked up: more hardly exclude any text that has these."""


def trigrams(text: str) -> list[str]:
    """Returns the different trigrams of `text`, lower-case and in order; none with blanks or characters outside ASCII."""
    # Of all letters outside ASCII, these two are the same as one of ASCII if case is ignored.
    lower = text.replace("\u017f", "s").lower()
    groups = (lower[start : start + LENGTH] for start in range(len(lower) - LENGTH + 1))
    return list(dict.fromkeys(group for group in groups if group.isascii() and group.isprintable() and " " not in group))


def with_trigrams(field: str, texts: Iterable[str]) -> list[JsonObject]:
    """Returns the filters for documents with all trigrams of the texts in `field`; empty if the texts have none."""
    return [{"term": {field: group}} for group in _spread([group for text in texts for group in trigrams(text)])]


def _spread(groups: Sequence[str]) -> Sequence[str]:
    """Returns at most MAX_LOOKED_UP of the groups, as far from each other as possible."""
    step = -(-len(groups) // MAX_LOOKED_UP) or 1
    return groups[::step]

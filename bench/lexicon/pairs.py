"""Pairs of what people say and what code says, in stems: the sentences that the training aligns.

A pair is a comment with the name or the identifiers of its definition, or a subject line with the functions or the changed lines
of its commit. Words are compared by their stems, as in queries.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from msgspec import Struct

from bench.lexicon.identifier_words import words_of
from bench.lexicon.records import ChangeWords, DefinitionWords
from codecompass.languages.words import word_set
from codecompass.query.words.query_words import STOP_WORDS, stem

MAX_SAID: Final = 14
"""Maximum number of stems of a sentence."""
MAX_WRITTEN: Final = 20
"""Maximum number of stems from the identifiers of a body or a change, the most frequent ones."""
MAX_CHANGED_FUNCTIONS: Final = 4

MAX_DEFINITIONS: Final = 2_000
MAX_CHANGES: Final = 1_500
"""Rows per repository, evenly spaced, so that a large one does not impose its own vocabulary."""

IDENTIFIERS_WEIGHT: Final = 1.0
"""Weight of a pair with a body or with changed lines; one with names has weight 1."""

MAX_FORM_COUNT: Final = 50
"""Maximum count per repository for the usual form of a stem."""

SYNTAX: Final = word_set(
    "as case class const def do elif else end extends final fn fun func function if implements import impl include int let "
    "namespace new override package priv private protected pub public require return self static std struct switch then "
    "this uint use using usize val var void"
)
"""Words of declarations that occur in any code: next to everything, they would be learned as meaning it."""

_Item = TypeVar("_Item")


class Pair(Struct, frozen=True, array_like=True, gc=False):
    """Stems that were said and stems that were written for it, each once and in order; the weight of the pair."""

    said: tuple[str, ...]
    written: tuple[str, ...]
    weight: float


class RepositoryPairs(Struct, frozen=True):
    """The pairs of a repository, and how often its code has each word, at most MAX_FORM_COUNT times."""

    pairs: tuple[Pair, ...]
    forms: Mapping[str, int]


def stems(words: Iterable[str], limit: int) -> tuple[str, ...]:
    """Returns the first `limit` distinct stems of words, without stop words."""
    found: dict[str, None] = {}
    for word in words:
        if word not in STOP_WORDS:
            found[stem(word)] = None
            if len(found) >= limit:
                break
    return tuple(found)


def repository_pairs(definitions: Iterable[DefinitionWords], changes: Iterable[ChangeWords]) -> RepositoryPairs:
    """Returns the pairs of one repository; the same pair counts once."""
    forms: Counter[str] = Counter()
    described: dict[_Described, None] = {}
    for definition in definitions:
        forms.update(definition.name)
        forms.update(definition.body)
        names = stems(definition.name, MAX_WRITTEN)
        described[_Described(stems(definition.doc, MAX_SAID), names, _distinct(definition.body))] = None
    committed: dict[_Described, None] = {}
    for change in changes:
        words = [word for _, name in change.functions[:MAX_CHANGED_FUNCTIONS] for word in words_of(name)]
        forms.update(words)
        forms.update(change.changed)
        names = stems(words, MAX_WRITTEN)
        committed[_Described(stems(change.subject, MAX_SAID), names, _distinct(change.changed))] = None
    rows = [*_chosen(described, MAX_DEFINITIONS), *_chosen(committed, MAX_CHANGES)]
    pairs = [pair for row in rows for pair in row.pairs()]
    return RepositoryPairs(tuple(pairs), {word: min(count, MAX_FORM_COUNT) for word, count in sorted(forms.items())})


def spread(items: Sequence[_Item], limit: int) -> list[_Item]:
    """Returns at most `limit` of the items, evenly spaced."""
    step = max(1.0, len(items) / limit)
    return [items[int(number * step)] for number in range(min(len(items), limit))]


class _Described(Struct, frozen=True):
    said: tuple[str, ...]
    names: tuple[str, ...]
    written: tuple[str, ...]

    def pairs(self) -> list[Pair]:
        written = tuple(each for each in self.written if each not in self.names)[:MAX_WRITTEN]
        named = [Pair(self.said, self.names, 1.0)] if self.names else []
        return named + ([Pair(self.said, written, IDENTIFIERS_WEIGHT)] if written else [])


def _chosen(rows: Iterable[_Described], limit: int) -> list[_Described]:
    return spread([row for row in rows if len(row.said) > 1], limit)


def _distinct(words: Sequence[str]) -> tuple[str, ...]:
    return stems((word for word in words if word not in SYNTAX), 2 * MAX_WRITTEN)

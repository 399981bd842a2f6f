"""Measures the gain from relations: the functions of a repository are ranked for a sentence, with and without them.

The sentence is the subject of a commit (right: the functions that it changed and that still exist) or the comment of a function
(right: that function, its comment hidden). All functions of the repository compete; a function scores the words of the sentence
that it has, by their rarity in the repository. A missing word counts by the best related word that the function has. This is not
the product's ranking; only the difference matters.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import inf, log
from typing import Final

from msgspec import Struct

from bench.lexicon.data_file import Relation
from bench.lexicon.pairs import MAX_SAID, spread, stems
from bench.lexicon.records import ChangeWords, DefinitionWords

MAX_SENTENCES: Final = 100
"""Sentences of each kind per repository, evenly spaced."""
MAX_RIGHT: Final = 6
"""A commit that changed more functions describes none of them."""
FEW_SHARED: Final = 1
MIN_SAID: Final = 2
"""Minimum number of stems of a subject; a comment has at least one word more, stop words included."""

IN_NAME: Final = 1.0
IN_LINES: Final = 0.6

Relations = Mapping[str, Sequence[Relation]]


class Sentence(Struct, frozen=True):
    """The stems of a sentence and the numbers of the right functions."""

    said: tuple[str, ...]
    right: frozenset[int]


class HeldOut(Struct, frozen=True):
    """A held-out repository: for each stem, the functions that have it with its weight there, with and without comments."""

    n_functions: int
    with_comments: Mapping[str, Mapping[int, float]]
    without_comments: Mapping[str, Mapping[int, float]]
    commits: tuple[Sentence, ...]
    comments: tuple[Sentence, ...]


class Figures(Struct, frozen=True, kw_only=True):
    """For `n` sentences: the mean reciprocal rank of the best right function, and the shares with one first and in ten."""

    n: int
    reciprocal_rank: float
    first: float
    in_ten: float


class Expansion(Struct, frozen=True):
    """How relations are used: the weight of a word of strength 1, and the number of relations used per word."""

    weight: float
    n_words: int


class Comparison(Struct, frozen=True, kw_only=True):
    """The figures of all sentences of a kind, and of those that share at most FEW_SHARED words with the right functions."""

    kind: str
    all: Figures
    few_shared: Figures


def held_out(definitions: Iterable[DefinitionWords], changes: Iterable[ChangeWords]) -> HeldOut:
    """Returns a repository's functions and sentences."""
    places: dict[tuple[str, str], list[int]] = {}
    with_comments: dict[str, dict[int, float]] = {}
    without: dict[str, dict[int, float]] = {}
    documented = []
    number = 0
    for definition in definitions:
        if not definition.body:
            continue
        places.setdefault((definition.path, definition.symbol), []).append(number)
        doc = stems(definition.doc, MAX_SAID)
        if len(definition.doc) > MIN_SAID:
            documented.append(Sentence(doc, frozenset((number,))))
        lines = stems(definition.body, len(definition.body))
        names = stems(definition.name, len(definition.name))
        for each in doc:
            with_comments.setdefault(each, {})[number] = IN_LINES
        for table in (with_comments, without):
            for each in lines:
                table.setdefault(each, {})[number] = IN_LINES
            for each in names:
                table.setdefault(each, {})[number] = IN_NAME
        number += 1
    committed: dict[tuple[str, ...], Sentence] = {}
    for change in changes:
        right = frozenset(place for function in change.functions for place in places.get(function, ()))
        said = stems(change.subject, MAX_SAID)
        if 0 < len(right) <= MAX_RIGHT and len(said) >= MIN_SAID:
            committed.setdefault(said, Sentence(said, right))
    return HeldOut(
        number,
        with_comments,
        without,
        tuple(spread(list(committed.values()), MAX_SENTENCES)),
        tuple(spread(documented, MAX_SENTENCES)),
    )


def compare(repositories: Sequence[HeldOut], relations: Relations, expansion: Expansion | None) -> tuple[Comparison, Comparison]:
    """Returns the figures of commits and of comments over all repositories; without an expansion, for unexpanded sentences."""
    ranks: dict[str, list[tuple[float, bool]]] = {"commits": [], "comments": []}
    for repository in repositories:
        for kind, sentences, table in (
            ("commits", repository.commits, repository.with_comments),
            ("comments", repository.comments, repository.without_comments),
        ):
            for sentence in sentences:
                rank = rank_of(sentence, table, repository.n_functions, relations, expansion)
                ranks[kind].append((rank, _shared(sentence, table) <= FEW_SHARED))
    commits, comments = (
        Comparison(
            kind=kind,
            all=figures([rank for rank, _ in rows]),
            few_shared=figures([rank for rank, is_few in rows if is_few]),
        )
        for kind, rows in ranks.items()
    )
    return commits, comments


def rank_of(
    sentence: Sentence,
    table: Mapping[str, Mapping[int, float]],
    n_functions: int,
    relations: Relations,
    expansion: Expansion | None,
) -> float:
    """Returns the rank of the best right function, 1-based; ties get their mean rank; infinite if no word leads to a right
    one."""
    worth: dict[int, float] = {}
    for said in sentence.said:
        rarity = _rarity(table, said, n_functions)
        best = {place: rarity * degree for place, degree in table.get(said, {}).items()}
        if expansion is not None:
            related = [each for each in relations.get(said, ()) if each.stem not in sentence.said][: expansion.n_words]
            for each in related:
                factor = expansion.weight * each.strength * min(rarity, _rarity(table, each.stem, n_functions))
                for place, degree in table.get(each.stem, {}).items():
                    best[place] = max(best.get(place, 0.0), factor * degree)
        for place, value in best.items():
            worth[place] = worth.get(place, 0.0) + value
    most = max(worth.get(place, 0.0) for place in sentence.right)
    if not most:
        return inf
    n_better = sum(value > most + _SAME for value in worth.values())
    n_equal = sum(abs(value - most) <= _SAME for value in worth.values())
    n_right = sum(abs(worth.get(place, 0.0) - most) <= _SAME for place in sentence.right)
    return 1 + n_better + (n_equal - n_right) / 2


_SAME: Final = 1e-9
"""Sums that differ by less are equal."""


def figures(ranks: Sequence[float]) -> Figures:
    """Returns the figures of some ranks; zeros if there are none."""
    n = len(ranks)
    share = 1 / n if n else 0.0
    return Figures(
        n=n,
        reciprocal_rank=round(sum(1 / rank for rank in ranks) * share, 4),
        first=round(sum(rank < 1.5 for rank in ranks) * share, 4),
        in_ten=round(sum(rank <= 10 for rank in ranks) * share, 4),
    )


def _rarity(table: Mapping[str, Mapping[int, float]], word: str, n_functions: int) -> float:
    having = len(table.get(word, ()))
    return log(1 + (n_functions - having + 0.5) / (having + 0.5))


def _shared(sentence: Sentence, table: Mapping[str, Mapping[int, float]]) -> int:
    return max(sum(place in table.get(said, ()) for said in sentence.said) for place in sentence.right)

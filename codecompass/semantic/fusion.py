"""Reciprocal rank fusion: joins rankings whose scores cannot be compared.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual Rank Learning Methods" (SIGIR 2009).
"""

from collections.abc import Hashable, Sequence
from typing import Final, TypeVar

K: Final = 5
"""Larger values make the first ranks differ less. The paper uses 60, for long lists of equal quality; with 5 the first ranks of
the better list stay first (measured, see ADR 0025)."""

Item = TypeVar("Item", bound=Hashable)


def reciprocal(rank: int, weight: float) -> float:
    """Returns what a rank, counted from 1, adds to the score of an item."""
    return weight / (K + rank)


def fused(rankings: Sequence[tuple[Sequence[Item], float]]) -> list[Item]:
    """Returns the items of all rankings, best first: by the sum of weight / (K + rank) over the rankings that contain them.

    Each ranking comes with its weight; ranks count from 1. Ties keep the order of the first ranking that contains them. An item
    counts once in each ranking, at its first place.
    """
    scores: dict[Item, float] = {}
    for ranking, weight in rankings:
        for rank, item in enumerate(dict.fromkeys(ranking), 1):
            scores[item] = scores.get(item, 0.0) + reciprocal(rank, weight)
    return sorted(scores, key=lambda item: -scores[item])

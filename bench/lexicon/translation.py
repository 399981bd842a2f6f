"""Learns how likely code says a word where people say another: IBM's translation model 1 (Brown et al. 1993), by EM.

Every stem that was written in a pair is explained by one of the stems that were said, or by none of them. Which one explains it
is unknown; each round distributes it by the previous round's probabilities, so that a word that explains itself (`remove` beside
`remove`) explains little else. Only additions, multiplications and divisions in a fixed order: the same result on every machine.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from bench.lexicon.pairs import Pair

MIN_REPOSITORIES: Final = 4
"""A relation must occur in pairs of this many repositories; fewer are the vocabulary of one project and its forks."""

ROUNDS: Final = 4
"""Rounds of EM. More rounds make rare words overconfident about words that they occurred with once."""

USUAL_WEIGHT: Final = 3_000.0
"""Maximum total weight of the pairs of one repository."""


class Translations(Struct, frozen=True):
    """The learned probabilities. Rows are by the stem that was said, columns by the stem that was written.

    - `probability`: of each stem that was written, given the stem that was said; each row sums to at most 1.
    - `usual`: the share of each stem among all that was written.
    - `n_repositories`: the number of repositories with pairs that have both.
    """

    probability: dict[str, dict[str, float]]
    usual: dict[str, float]
    n_repositories: dict[str, dict[str, int]]


def learn(repositories: Sequence[Sequence[Pair]], rounds: int = ROUNDS, support: int = MIN_REPOSITORIES) -> Translations:
    """Returns what the pairs of the repositories teach. The order of the repositories does not affect which stems are related."""
    stems = _supported_stems(repositories, support)
    numbers = {each: number for number, each in enumerate(stems)}
    numbered = [_numbered(pairs, numbers) for pairs in repositories]
    together = _together(numbered, len(stems), support)
    usual = _usual(numbered, len(stems))
    probability = [{written: usual[written] for written in row} for row in together]
    none = list(usual)
    for _ in range(rounds):
        probability, none = _round(numbered, probability, none)
    return Translations(
        {stems[said]: {stems[written]: p for written, p in row.items()} for said, row in enumerate(probability) if row},
        {each: share for each, share in zip(stems, usual, strict=True) if share},
        {stems[said]: {stems[written]: n for written, n in row.items()} for said, row in enumerate(together) if row},
    )


_Numbered = tuple[tuple[int, ...], tuple[int, ...], float]
"""A pair with the numbers of its known stems, and its weight."""


def _supported_stems(repositories: Sequence[Sequence[Pair]], support: int) -> list[str]:
    counts: Counter[str] = Counter()
    for pairs in repositories:
        counts.update({each for pair in pairs for each in (*pair.said, *pair.written)})
    return sorted(each for each, count in counts.items() if count >= support)


def _numbered(pairs: Sequence[Pair], numbers: dict[str, int]) -> list[_Numbered]:
    total = 0.0
    for pair in pairs:
        total += pair.weight
    scale = min(1.0, USUAL_WEIGHT / total) if total else 0.0
    rows = []
    for pair in pairs:
        said = tuple(numbers[each] for each in pair.said if each in numbers)
        written = tuple(numbers[each] for each in pair.written if each in numbers)
        if said and written:
            rows.append((said, written, pair.weight * scale))
    return rows


def _together(repositories: Sequence[Sequence[_Numbered]], n_stems: int, support: int) -> list[dict[int, int]]:
    """Counts the repositories with each pair of stems; pairs in fewer than `support` are omitted."""
    counts: Counter[int] = Counter()
    for pairs in repositories:
        counts.update({one * n_stems + other for said, written, _ in pairs for one in said for other in written})
    rows: list[dict[int, int]] = [{} for _ in range(n_stems)]
    for key in sorted(key for key, count in counts.items() if count >= support):
        rows[key // n_stems][key % n_stems] = counts[key]
    return rows


def _usual(repositories: Sequence[Sequence[_Numbered]], n_stems: int) -> list[float]:
    counts = [0.0] * n_stems
    total = 0.0
    for pairs in repositories:
        for _, written, weight in pairs:
            for each in written:
                counts[each] += weight
                total += weight
    return [count / total for count in counts] if total else counts


def _round(
    repositories: Sequence[Sequence[_Numbered]], probability: list[dict[int, float]], none: list[float]
) -> tuple[list[dict[int, float]], list[float]]:
    counts = [dict.fromkeys(row, 0.0) for row in probability]
    of_none = [0.0] * len(none)
    for pairs in repositories:
        for said, written, weight in pairs:
            rows = [(probability[each], counts[each]) for each in said]
            for each in written:
                total = none[each]
                found = []
                for row, count in rows:
                    if each in row:
                        share = row[each]
                        total += share
                        found.append((count, share))
                if total:
                    factor = weight / total
                    of_none[each] += none[each] * factor
                    for count, share in found:
                        count[each] += share * factor
    return [_normalised(row) for row in counts], _shares(of_none)


def _normalised(row: dict[int, float]) -> dict[int, float]:
    total = 0.0
    for count in row.values():
        total += count
    return {each: count / total for each, count in row.items()} if total else row


def _shares(counts: list[float]) -> list[float]:
    total = 0.0
    for count in counts:
        total += count
    return [count / total for count in counts] if total else counts

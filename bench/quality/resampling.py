"""How much figures vary with the repositories: each is computed again over random halves of them.

A result over all repositories may rest on a few of them. A signal that helps in nearly every half helps elsewhere too; one that
helps in half of the halves is noise.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Final

from bench.figures import percentile
from bench.quality.report import Judged, Score, search_figure
from bench.quality.scores import SearchScore
from bench.table import plain_table

DRAWS: Final = 400
SEED: Final = 1


def halves_line(judged: Sequence[Judged[Score]], value: Callable[[Sequence[Judged[Score]]], float]) -> str:
    """Returns the figure over halves of the repositories: median, 5th to 95th percentile, minimum."""
    figures = [value(_of(judged, half)) for half in _halves(judged)]
    if not figures:
        return "random halves: too few repositories"
    middle, low, high = (percentile(figures, share) for share in (0.5, 0.05, 0.95))
    spread = f"median {middle:.3f}, 5..95 % {low:.3f}..{high:.3f}, lowest {min(figures):.3f}"
    return f"{len(figures)} random halves of the repositories: {spread}"


def earning_table(judged: Sequence[Judged[SearchScore]], without: Mapping[str, Sequence[Judged[SearchScore]]]) -> str:
    """Returns for each signal the share of halves that score lower without it, and of those that score higher."""
    rows = []
    for signal, answers in without.items():
        changes = [search_figure(_of(answers, half)) - search_figure(_of(judged, half)) for half in _halves(judged)]
        lower, higher = (sum(sign * change > 0 for change in changes) / max(1, len(changes)) for sign in (-1, 1))
        rows.append((signal, lower, higher))
    rows.sort(key=lambda row: (-row[1], row[2], row[0]))
    table = [(signal, f"{lower:.2f}", f"{higher:.2f}") for signal, lower, higher in rows]
    return plain_table(("without", "lower", "higher"), table, "<>>")


def _halves(judged: Sequence[Judged[Score]]) -> Iterator[frozenset[str]]:
    """Yields the same halves for the same repositories."""
    repositories = sorted({item.truth.repo for item in judged})
    random = Random(SEED)
    for _ in range(DRAWS if len(repositories) > 1 else 0):
        yield frozenset(random.sample(repositories, len(repositories) // 2))


def _of(judged: Sequence[Judged[Score]], repositories: frozenset[str]) -> list[Judged[Score]]:
    return [item for item in judged if item.truth.repo in repositories]

"""Scores ranked answers. Pure; the definitions are those of the published figures.

NDCG@10 has binary gains: 1 at each distinct rank up to 10 at which some target is first found, discounted by 1/log2(rank + 1),
divided by the same sum for a list that begins with all the targets. A target is found at the first result with its path (one may
be a `/`-suffix of the other) whose lines touch the target's, if both have lines.

A definition is found by a result in its file that begins within 3 lines of it (decorators and comments shift it), or that holds
its first line without being much longer than it: a whole file is no lookup.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import Final

from msgspec import Struct

from bench.quality.data import Hit, Target

CUT: Final = 10
LINE_TOLERANCE: Final = 3
RANGE_FACTOR: Final = 3
RANGE_SLACK: Final = 20
"""A range counts as a definition's only up to this many times its length plus this many lines."""


class SearchScore(Struct, frozen=True, kw_only=True):
    """The score of one search, all 0..1. `ndcg_files` counts each file once and ignores lines. `first` is the rank of the
    first right hit, None if there is none."""

    ndcg: float
    ndcg_files: float
    mrr: float
    recall: float
    success_1: float
    success_5: float
    first: int | None


class LookupScore(Struct, frozen=True, kw_only=True):
    """The score of one lookup, 0..1. For the first right hit: its rank, how many lines its beginning is off, and the length of
    its range divided by the true one (None if the truth is one line: some sources know no ends)."""

    success_1: float
    success_5: float
    mrr: float
    recall: float
    first: int | None
    lines_off: int | None
    range_ratio: float | None


def score_search(hits: Sequence[Hit], targets: Sequence[Target]) -> SearchScore:
    """Returns the scores of one ranked list; no hits score 0."""
    ranks = [_rank(hits, target, _touches) for target in targets]
    files = [_rank(_one_a_file(hits), target, _same_path) for target in targets]
    first = min((rank for rank in ranks if rank is not None), default=None)
    return SearchScore(
        ndcg=ndcg(ranks, len(targets)),
        ndcg_files=ndcg(files, len(targets)),
        mrr=1 / first if first is not None and first <= CUT else 0.0,
        recall=_share(rank is not None and rank <= CUT for rank in ranks),
        success_1=float(first == 1),
        success_5=float(first is not None and first <= 5),
        first=first,
    )


def score_lookup(hits: Sequence[Hit], targets: Sequence[Target]) -> LookupScore:
    """Returns the scores of one lookup; no hits score 0."""
    right = ((rank, hit, target) for rank, hit in enumerate(hits, 1) for target in targets if is_definition(hit, target))
    first, hit, target = next(right, (None, None, None))
    lines_off = ratio = None
    if hit is not None and target is not None and hit.line_start is not None and target.start_line is not None:
        lines_off = abs(hit.line_start - target.start_line)
        if hit.line_end is not None and target.end_line is not None and target.end_line > target.start_line:
            ratio = (hit.line_end - hit.line_start + 1) / (target.end_line - target.start_line + 1)
    return LookupScore(
        success_1=float(first == 1),
        success_5=float(first is not None and first <= 5),
        mrr=0.0 if first is None else 1 / first,
        recall=_share(any(is_definition(hit, target) for hit in hits[:CUT]) for target in targets),
        first=first,
        lines_off=lines_off,
        range_ratio=ratio,
    )


def ndcg(ranks: Iterable[int | None], targets: int) -> float:
    """Returns NDCG@10 from the rank at which each target was first found (None: not at all)."""
    found = {rank for rank in ranks if rank is not None and rank <= CUT}
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(CUT, targets) + 1))
    return sum(1 / math.log2(rank + 1) for rank in found) / ideal if ideal else 0.0


def is_definition(hit: Hit, target: Target) -> bool:
    """Returns whether a hit leads to the definition `target`."""
    if hit.path != target.path or hit.line_start is None or target.start_line is None:
        return False
    if abs(hit.line_start - target.start_line) <= LINE_TOLERANCE:
        return True
    if hit.line_end is None:
        return False
    length = (target.end_line or target.start_line) - target.start_line + 1
    is_short = hit.line_end - hit.line_start <= RANGE_FACTOR * length + RANGE_SLACK
    return hit.line_start <= target.start_line <= hit.line_end and is_short


def mean(values: Iterable[float]) -> float:
    """Returns the mean; 0 if there are no values."""
    known = list(values)
    return sum(known) / len(known) if known else 0.0


def macro(values: Iterable[tuple[str, float]]) -> float:
    """Returns the mean over groups of the mean within each; values come as (group, value)."""
    groups: dict[str, list[float]] = defaultdict(list)
    for group, value in values:
        groups[group].append(value)
    return mean(mean(members) for members in groups.values())


def within_a_line(scores: Iterable[LookupScore]) -> float:
    """Returns the share of first right hits that begin within one line of the definition."""
    return _share(score.lines_off <= 1 for score in scores if score.lines_off is not None)


def median_range_ratio(scores: Iterable[LookupScore]) -> float | None:
    """Returns the median of the range ratios; None if there are none."""
    ratios = [score.range_ratio for score in scores if score.range_ratio is not None]
    return median(ratios) if ratios else None


def _rank(hits: Sequence[Hit], target: Target, is_right: Callable[[Hit, Target], bool]) -> int | None:
    return next((rank for rank, hit in enumerate(hits, 1) if is_right(hit, target)), None)


def _touches(hit: Hit, target: Target) -> bool:
    if not _same_path(hit, target):
        return False
    if target.start_line is None or target.end_line is None or hit.line_start is None:
        return True
    return hit.line_start <= target.end_line and (hit.line_end or hit.line_start) >= target.start_line


def _same_path(hit: Hit, target: Target) -> bool:
    one, other = hit.path.replace("\\", "/"), target.path.replace("\\", "/")
    return one == other or one.endswith("/" + other) or other.endswith("/" + one)


def _one_a_file(hits: Iterable[Hit]) -> list[Hit]:
    first: dict[str, Hit] = {}
    for hit in hits:
        first.setdefault(hit.path, hit)
    return list(first.values())


def _share(facts: Iterable[bool]) -> float:
    return mean(map(float, facts))

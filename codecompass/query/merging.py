"""Merges the answers of several workspaces into one page. Pure: the rules that put their hits into one order.

Search by words: value = score * known * sqrt(best * own), where `score` is that of the hit in its workspace, `own` how much of
the question it has, `best` the most that one of the first hits of its workspace has, `known` how much of the question occurs in
that workspace at all; each a share of the question's worth, with words weighed by how rare they are over all workspaces
together. Measured over 32 repositories asked at once (`bench.quality.across`).

Names: how well the name matches, then the rank in its workspace. Literals, patterns and lists of files: alternating between
workspaces, because none of their hits is better than another.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from codecompass.protocol.metadata import RankingReason
from codecompass.protocol.replies import LocateSymbolReply, Result, SearchCodeReply, SearchEvidence
from codecompass.query.exact_names import NameMatch
from codecompass.query.retrieval import inverse_frequency

NAME_MATCHES: Final = get_args(NameMatch)
"""How a name matches, the best first."""

FIRST_HITS: Final = 5
"""First hits of a workspace; the one with most of the question says how much of it the workspace has."""

LEAST_PROSPECT: Final = 0.7
"""Least promise of a workspace to be searched, as a share of the best one's. Four searches of 32 repositories become 2.1 on
average, and of 333 messages as many find their commit (`bench.quality.across`); from .85 on fewer do."""


class Part(Struct, frozen=True):
    """The answer of one workspace: the label that names it to people, and its reply."""

    label: str
    reply: SearchCodeReply | LocateSymbolReply


class MergedResults(Struct, frozen=True):
    """Results of several workspaces in one order, each with the label of its workspace, and their ranking reasons."""

    results: tuple[Result, ...]
    reasons: tuple[RankingReason, ...]


class _Valued(Struct, frozen=True):
    """A result, identified by its index in the reply of a part, and its value for the order."""

    value: tuple[float, ...]
    part: Part
    index: int


def merged_results(parts: Sequence[Part], limit: int) -> MergedResults:
    """Returns the first `limit` results of all parts in one order; ties in the order of the parts."""
    evidence = [part.reply.evidence for part in parts if isinstance(part.reply, SearchCodeReply) and part.reply.evidence]
    worth = _worth(evidence)
    found = [each for part in parts for each in _values(part, worth)]
    found.sort(key=lambda each: each.value, reverse=True)
    results, reasons = [], []
    for place, each in enumerate(found[:limit]):
        reply = each.part.reply
        results.append(replace(reply.results[each.index], project=each.part.label))
        reasons += [
            replace(reason, result_index=place) for reason in reply.metadata.ranking_reasons if reason.result_index == each.index
        ]
    return MergedResults(tuple(results), tuple(reasons))


def in_turns(first: MergedResults, second: MergedResults, limit: int) -> MergedResults:
    """Returns the first `limit` results of two pages that cannot be compared: alternating, each in its own order."""
    pages = [[(page, index) for index in range(len(page.results))] for page in (first, second)]
    chosen = [each for pair in zip_longest(*pages) for each in pair if each is not None][:limit]
    reasons = [
        replace(reason, result_index=place)
        for place, (page, index) in enumerate(chosen)
        for reason in page.reasons
        if reason.result_index == index
    ]
    return MergedResults(tuple(page.results[index] for page, index in chosen), tuple(reasons))


def _values(part: Part, worth: Mapping[str, float]) -> Iterator[_Valued]:
    reply = part.reply
    if isinstance(reply, LocateSymbolReply):
        for index, result in enumerate(reply.results):
            match = NAME_MATCHES.index(result.match) if result.match in NAME_MATCHES else len(NAME_MATCHES)
            yield _Valued((-match, -index), part, index)
    elif reply.evidence is None:
        for index in range(len(reply.results)):
            yield _Valued((-index,), part, index)
    else:
        values = _search_values(reply.evidence, worth)
        for index, value in enumerate(values[: len(reply.results)]):
            yield _Valued((value,), part, index)


def _worth(evidence: Sequence[SearchEvidence]) -> Mapping[str, float]:
    """Returns the worth of each word of the question over all workspaces: its inverse document frequency times its weight."""
    n_texts = sum(each.n_texts for each in evidence)
    frequencies: dict[str, int] = {}
    weights: dict[str, float] = {}
    for each in evidence:
        for word in each.words:
            frequencies[word.text] = frequencies.get(word.text, 0) + word.frequency
            weights[word.text] = word.weight
    return {word: weights[word] * inverse_frequency(frequency, n_texts) for word, frequency in frequencies.items()}


def most_promising(evidence: Sequence[SearchEvidence], count: int) -> list[int]:
    """Returns the up to `count` workspaces with most of the question, as indexes of their evidence, best first: those to search.
    Fewer if the others have less than LEAST_PROSPECT of what the best one has. The measure is that of a search without the
    scores: known * best."""
    worth = _worth(evidence)
    prospects = []
    for number, each in enumerate(evidence):
        known, own = _shares(each, worth)
        prospects.append((-known * max(own[:FIRST_HITS], default=0.0), number))
    prospects.sort()
    least = LEAST_PROSPECT * -prospects[0][0] if prospects else 0.0
    return [number for prospect, number in prospects[:count] if prospect < 0.0 and -prospect >= least]


def _shares(evidence: SearchEvidence, worth: Mapping[str, float]) -> tuple[float, Sequence[float]]:
    """Returns how much of the question occurs in a workspace, and how much each of its hits has."""
    own_worth = [worth[word.text] for word in evidence.words]
    total = sum(own_worth) or 1.0
    known = sum(each for each, word in zip(own_worth, evidence.words, strict=True) if word.frequency) / total
    return known, [sum(each * match for each, match in zip(own_worth, hit.has, strict=True)) / total for hit in evidence.hits]


def _search_values(evidence: SearchEvidence, worth: Mapping[str, float]) -> Sequence[float]:
    known, own = _shares(evidence, worth)
    best = max(own[:FIRST_HITS], default=0.0)
    return [hit.score * known * math.sqrt(best * share) for hit, share in zip(evidence.hits, own, strict=True)]

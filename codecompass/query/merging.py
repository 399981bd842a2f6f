"""Merges the answers of several workspaces into one page; collects the evidence by which their hits can be compared.

Scores of different collections are not comparable: each is relative to the best of its own collection, and a word that is rare
in one is common in another. Comparable is which words of the question a hit has; how rare a word is over all workspaces follows
from how many texts of each have it.

Search by words: value = score * known * sqrt(best * own), where `score` is that of the hit in its workspace, `own` how much of
the question it has, `best` the most that one of the first hits of its workspace has, `known` how much of the question occurs in
that workspace at all; each a share of the question's worth, with words weighed by how rare they are over all workspaces
together. Measured over 32 repositories asked at once (`bench.quality.across`).

Texts that stand somewhere as they were asked: the workspaces that have them first, alternating.

Names: how well the name matches, then the rank in its workspace. Literals, patterns and lists of files: alternating between
workspaces, because none of their hits is better than another.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from codecompass.languages.words import split_identifier
from codecompass.protocol.metadata import RankingReason
from codecompass.protocol.replies import HitEvidence, LocateSymbolReply, Result, SearchCodeReply, SearchEvidence, WordEvidence
from codecompass.query.messages.quotation import quotation_of
from codecompass.query.names.exact_names import NameMatch
from codecompass.query.search_hits import Hit, RankedPlace
from codecompass.query.source_lines import lines_of
from codecompass.query.words.long_question import asked_words
from codecompass.query.words.query_words import WantedWords
from codecompass.query.words.retrieval import coverage_query, inverse_frequency, n_chunks, word_frequency
from codecompass.store.snapshot import Snapshot

NAME_MATCHES: Final = get_args(NameMatch)
"""How a name matches, the best first."""

FIRST_HITS: Final = 5
"""First hits of a workspace; the one with most of the question says how much of it the workspace has."""

LEAST_PROSPECT: Final = 0.7
"""Least promise of a workspace to be searched, as a share of the best one's. Four searches of 32 repositories become 2.1 on
average, and of 333 messages as many find their commit (`bench.quality.across`); from .85 on fewer do."""

QUOTED: Final = 1.0
"""How much more promising a workspace is that has all of the question word for word."""

SAMPLED_CHUNKS: Final = 5

READ_LINES: Final = 120
"""Lines read of each hit: longer ones are judged by their beginnings."""

IN_NAME: Final = 0.5
IN_PATH: Final = 0.5
"""What a word adds if it is in the name of the definition, and in the path; one in the text adds 1."""


class WorkspacePart(Struct, frozen=True):
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
    part: WorkspacePart
    index: int


def merged_results(parts: Sequence[WorkspacePart], limit: int) -> MergedResults:
    """Returns the first `limit` results of all parts in one order; ties in the order of the parts. If some have the question as
    it was asked, those come first, and what is merely similar elsewhere is left out."""
    if any(_is_verbatim(part) for part in parts):
        parts = [part for part in parts if _is_verbatim(part) or not part.reply.notice]
    evidence = [part.reply.evidence for part in parts if isinstance(part.reply, SearchCodeReply) and part.reply.evidence]
    worth = word_worth(evidence)
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


def has_best_hit(reply: SearchCodeReply | LocateSymbolReply) -> bool:
    """Whether a reply has a hit that only hits of earlier workspaces can precede: a definition with exactly the name that was
    asked for, and any literal, pattern or file."""
    if isinstance(reply, LocateSymbolReply):
        return any(result.match == NAME_MATCHES[0] for result in reply.results)
    return bool(reply.results) and reply.evidence is None


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


def _is_verbatim(part: WorkspacePart) -> bool:
    return isinstance(part.reply, SearchCodeReply) and part.reply.is_verbatim


def merged_page(merged: MergedResults, start: int, end: int) -> MergedResults:
    """Returns the results from `start` up to `end`, with their reasons."""
    reasons = [
        replace(reason, result_index=reason.result_index - start)
        for reason in merged.reasons
        if start <= reason.result_index < end
    ]
    return MergedResults(merged.results[start:end], tuple(reasons))


def _values(part: WorkspacePart, worth: Mapping[str, float]) -> Iterator[_Valued]:
    reply = part.reply
    if isinstance(reply, LocateSymbolReply):
        for index, result in enumerate(reply.results):
            match = NAME_MATCHES.index(result.match) if result.match in NAME_MATCHES else len(NAME_MATCHES)
            yield _Valued((-match, -index), part, index)
    elif reply.evidence is None:
        for index in range(len(reply.results)):
            yield _Valued((float(reply.is_verbatim), -index), part, index)
    else:
        values = _search_values(reply.evidence, worth)
        for index, value in enumerate(values[: len(reply.results)]):
            yield _Valued((0.0, value), part, index)


def word_worth(evidence: Sequence[SearchEvidence]) -> Mapping[str, float]:
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
    scores: known * best; more with a text that has much of the question word for word, as the origin of a message does."""
    worth = word_worth(evidence)
    prospects = []
    for number, each in enumerate(evidence):
        known, own = _shares(each, worth)
        prospects.append((-known * max(own[:FIRST_HITS], default=0.0) * (1.0 + QUOTED * each.quoted), number))
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


def search_evidence(snapshot: Snapshot, query: str, hits: Sequence[Hit]) -> SearchEvidence:
    """Returns how many texts have each word of the query, and for each hit how well it has them. Reads the lines of the hits."""
    words = _words(snapshot, query)
    wanted = WantedWords({word.text: word.weight for word in words})
    return SearchEvidence(
        n_texts=n_chunks(snapshot),
        words=words,
        hits=tuple(HitEvidence(hit.place.score, _of_place(snapshot, hit.place, wanted)) for hit in hits),
    )


def sample_evidence(snapshot: Snapshot, query: str) -> SearchEvidence:
    """Returns the same evidence for the chunks with most of the query, at a tenth of the cost of a search."""
    words = _words(snapshot, query)
    n_texts = n_chunks(snapshot)
    worth = {word.text: word.weight * inverse_frequency(word.frequency, n_texts) for word in words if word.frequency}
    found = snapshot.text.search_chunks(coverage_query(worth), SAMPLED_CHUNKS)
    best = [(hit.score, snapshot.text.chunk_text(hit)) for hit in found]
    wanted = WantedWords({word.text: word.weight for word in words})
    quotation = quotation_of(query)
    return SearchEvidence(
        n_texts=n_texts,
        words=words,
        hits=tuple(HitEvidence(score, _matches(wanted, text)) for score, text in best),
        quoted=max((quotation.share_in(text) for _, text in best), default=0.0),
    )


def _words(snapshot: Snapshot, query: str) -> tuple[WordEvidence, ...]:
    total = n_chunks(snapshot)
    return tuple(WordEvidence(word.text, word.weight, word_frequency(snapshot, word.text, total)) for word in asked_words(query))


def _of_place(snapshot: Snapshot, place: RankedPlace, wanted: WantedWords) -> tuple[float, ...]:
    last = min(place.line_end, place.line_start + READ_LINES)
    in_text = _matches(wanted, "\n".join(lines_of(snapshot, place.file.id, place.line_start, last)))
    named = place.symbol or place.enclosing
    in_name = {} if named is None else wanted.numbers_of(named.name)
    in_path = wanted.matches(split_identifier(place.file.path), 1.0)
    return tuple(
        match + IN_NAME * in_name.get(number, 0.0) + IN_PATH * in_path.get(number, 0.0) for number, match in enumerate(in_text)
    )


def _matches(wanted: WantedWords, text: str) -> tuple[float, ...]:
    best = [0.0] * len(wanted.words)
    for _, matches in wanted.places_in(text):
        for number, match in matches:
            best[number] = max(best[number], match)
    return tuple(best)

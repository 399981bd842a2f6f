"""Evidence about the hits of one workspace, by which they can be compared with hits of other workspaces.

Scores of different collections are not comparable: each is relative to the best of its own collection, and a word that is rare
in one is common in another. Comparable is which words of the question a hit has; how rare a word is over all workspaces
follows from how many texts of each have it.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from codecompass.languages.words import split_identifier
from codecompass.protocol.replies import HitEvidence, SearchEvidence, WordEvidence
from codecompass.query.query_words import WantedWords, query_words
from codecompass.query.retrieval import coverage_query, inverse_frequency, n_chunks, word_frequency
from codecompass.query.search_hits import Hit, RankedPlace
from codecompass.query.source_lines import lines_of
from codecompass.store.snapshot import Snapshot

SAMPLED_CHUNKS: Final = 5

READ_LINES: Final = 120
"""Lines read of each hit: longer ones are judged by their beginnings."""

IN_NAME: Final = 0.5
IN_PATH: Final = 0.5
"""What a word adds if it is in the name of the definition, and in the path; one in the text adds 1."""


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
    wanted = WantedWords({word.text: word.weight for word in words})
    n_texts = n_chunks(snapshot)
    worth = {word.text: word.weight * inverse_frequency(word.frequency, n_texts) for word in words if word.frequency}
    chunks = snapshot.text.search_chunks(coverage_query(worth), SAMPLED_CHUNKS)
    snapshot.text.expect_texts(chunks)
    return SearchEvidence(
        n_texts=n_texts,
        words=words,
        hits=tuple(HitEvidence(hit.score, _matches(wanted, snapshot.text.chunk_text(hit))) for hit in chunks),
    )


def evidence_of(query: str, frequencies: Mapping[str, int], n_texts: int, best: Iterable[tuple[float, str]]) -> SearchEvidence:
    """Returns the same evidence for an index known only by numbers: how many of its `n_texts` have each word, and the scores and
    texts with most of the query, best first."""
    words = tuple(WordEvidence(word.text, word.weight, frequencies.get(word.text, 0)) for word in query_words(query))
    wanted = WantedWords({word.text: word.weight for word in words})
    return SearchEvidence(
        n_texts=n_texts, words=words, hits=tuple(HitEvidence(score, _matches(wanted, text)) for score, text in best)
    )


def _words(snapshot: Snapshot, query: str) -> tuple[WordEvidence, ...]:
    total = n_chunks(snapshot)
    return tuple(WordEvidence(word.text, word.weight, word_frequency(snapshot, word.text, total)) for word in query_words(query))


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
